//! Programs that are asked something and may never answer.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// More of an answer is not read.
const MOST_BYTES: u64 = 1 << 20;

/// What a program prints, on both streams, and how it ended; `None` where it did not within `patience`.
///
/// # Errors
/// Why it cannot be started or waited for.
pub fn ask(
    program: &Path,
    words: &[&str],
    patience: Duration,
) -> io::Result<Option<(ExitStatus, String)>> {
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new(program);
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut child = command.spawn()?;
    // It holds the ends of the pipe that would keep the reader waiting.
    drop(command);
    let output = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = reader.by_ref().take(MOST_BYTES).read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some((status, output.join().unwrap_or_default())));
        }
        if started.elapsed() > patience {
            // Nothing more can be done about a process that ignores this.
            drop(child.kill());
            drop(child.wait());
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The name this machine gives itself.
pub fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}
