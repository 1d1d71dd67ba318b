//! A log of what this program does: children that start and end, files that it reads, sessions that it saves.

use std::fmt::{Debug, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::{create_private, locale, now};

/// Environment variable with the level of the log, such as `debug`. Without it there is no log.
const VARIABLE: &str = "TINYLLAMA_TUTOR_LOG";
/// A log that is larger when the program starts is emptied.
const MOST_BYTES: u64 = 16 << 20;

/// Writes each event of this workspace as a line. Spans are left out.
struct LogFile {
    file: File,
    level: Level,
}

/// Starts `tutor.log` in the state folder if `VARIABLE` asks for it. Several processes append to one file.
///
/// # Errors
/// Returns the file system's error.
pub fn start(state: &Path) -> io::Result<()> {
    let level = locale::variable(VARIABLE).and_then(|level| level.parse().ok());
    let Some(level) = level else { return Ok(()) };
    create_private(state)?;
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    let file = options.open(state.join("tutor.log"))?;
    if file.metadata()?.len() > MOST_BYTES {
        file.set_len(0)?;
    }
    // Only a second call in one process fails.
    let _ = tracing::subscriber::set_global_default(LogFile { file, level });
    Ok(())
}

impl Subscriber for LogFile {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        of.is_event() && *of.level() <= self.level && of.target().starts_with("tinyllama")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("{} {}", now(), std::process::id()));
        event.record(&mut line);
        let _ = (&self.file).write_all(format!("{}\n", line.0).as_bytes());
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_time_process_message_and_fields_of_this_workspace_alone() {
        let state = tempfile::tempdir().unwrap();
        let file = File::create(state.path().join("log")).unwrap();
        let level = Level::DEBUG;
        tracing::subscriber::with_default(LogFile { file, level }, || {
            crate::untrusted::open(&state.path().join("no\u{1b}file")).unwrap_err();
            tracing::trace!("finer than the level");
            tracing::error!(target: "other", "of another crate");
        });
        let text = std::fs::read_to_string(state.path().join("log")).unwrap();
        let process = format!("Z {} reads a file path=", std::process::id());
        assert!(text.contains(&process), "{text}");
        // A name cannot send sequences to the terminal that shows the log.
        assert!(
            text.contains("no\\u{1b}file") && text.lines().count() == 1,
            "{text}"
        );
    }
}
