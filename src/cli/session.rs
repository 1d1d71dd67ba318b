//! `session`: shows, checks, packs and unpacks a learner's session.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;

use super::Exit;
use super::analysis::AnalysisPage;
use super::print_result::{print_prose, print_text};
use tinyllama_base::errln;
use tinyllama_base::file::path_text;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::untrusted::{self, plain};
use tinyllama_contract::flags::UsageError;
use tinyllama_session::class_rights::{self, PERMISSIONS};
use tinyllama_session::state::SessionState;
use tinyllama_session::{
    LessonProgress, LogDamage, SessionError, SessionLocation, archive, lock, scan, store,
};

/// Arguments of a command that works on a session.
#[derive(Debug, Args)]
pub struct SessionCommandArgs<C: Subcommand> {
    #[command(flatten)]
    pub place: SessionArgs,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub command: C,
}

/// Selects a session.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// Use the learner's session in this class folder instead of the one in the state folder
    #[arg(long, value_name = "DIR", global = true, env = "TINYLLAMA_CLASS")]
    class: Option<PathBuf>,
    /// Name of the learner (default: the user's name)
    #[arg(long, value_name = "NAME", global = true, env = "TINYLLAMA_LEARNER")]
    learner: Option<String>,
}

impl SessionArgs {
    /// Finds the session, and prints anything that endangers it on the error stream.
    pub fn find(&self) -> Result<SessionLocation, SessionError> {
        let location = SessionLocation::find(self.class.as_deref(), self.learner.as_deref())?;
        if let Some(class) = &self.class {
            warn_of(class, &class_rights::for_learner(class));
        }
        Ok(location)
    }
}

/// Prints problems with a class folder's permissions on the error stream.
pub fn warn_of(class: &Path, dangers: &[String]) {
    for danger in dangers {
        let class = class.display();
        errln!("warning: {}", plain(&format!("{class}: {danger}.")));
    }
    if !dangers.is_empty() {
        errln!("         {PERMISSIONS}");
    }
}

/// Prints on the error stream what endangers the sessions of a class, and what learners put into it that does not count.
pub fn warn_instructor(class: &Path) {
    warn_of(class, &class_rights::for_instructor(class));
    for what in class_rights::strange_entries(class) {
        eprintln!("warning: {}", plain(&what));
    }
}

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Show the learner's progress
    Show,
    /// Print the path of the session
    Path,
    /// Check every record against its checksum and the chain
    Verify,
    /// Pack the session into one .tar.gz
    Export {
        /// File to write; an existing one is not overwritten
        file: PathBuf,
    },
    /// Unpack an exported session if there is no session yet
    Import {
        /// File to read
        file: PathBuf,
    },
}

pub fn run(args: &SessionCommandArgs<SessionCommand>) -> Result<Exit> {
    let location = args.place.find()?;
    match &args.command {
        SessionCommand::Show => show(&location, args.json),
        SessionCommand::Path => path(&location, args.json),
        SessionCommand::Verify => verify(&location, args.json),
        SessionCommand::Export { file } => {
            store::read_only(&location)?;
            // The user named the file, so a wrong name is a usage error and not a fault of this machine.
            let name = file.display().to_string();
            if file.exists() {
                bail!(UsageError(format!(
                    "{name} already exists; name a new file"
                )));
            }
            let withheld = archive::export(&location, file)?;
            let lines = withheld.lines();
            let text = itertools::join([name].iter().chain(&lines), "\n");
            print_text(
                args.json,
                &json!({ "file": path_text(file), "withheld": lines }),
                &text,
            )
        }
        SessionCommand::Import { file } => {
            if let Some(class) = &args.place.class {
                class_rights::check(class)?;
            }
            if let Err(why) = untrusted::open(file) {
                bail!(UsageError(format!("cannot read {}: {why}", file.display())));
            }
            import(file, &location, args.json)
        }
    }
}

fn path(location: &SessionLocation, as_json: bool) -> Result<Exit> {
    let document = json!({ "path": path_text(&location.folder), "learner": location.learner });
    print_text(as_json, &document, &location.folder.display().to_string())
}

fn import(file: &Path, location: &SessionLocation, as_json: bool) -> Result<Exit> {
    let damage = archive::import(file, location)?;
    let folder = location.folder.display();
    let text = match damage.len() {
        0 => format!("{folder} now holds the session"),
        lines => format!("{folder} now holds the session; {lines} of its lines are damaged"),
    };
    let document = json!({ "path": path_text(&location.folder), "damage": damage });
    print_text(as_json, &document, &text)
}

fn verify(location: &SessionLocation, as_json: bool) -> Result<Exit> {
    let scan = scan(&location.events())?;
    if scan.records.is_empty() && scan.damage.is_empty() {
        return Err(SessionError::no_events(&location.folder).into());
    }
    let intact = scan.damage.is_empty() && scan.torn_bytes == 0;
    let value = json!({
        "intact": intact,
        "records": scan.records.len(),
        "damage": scan.damage,
        "torn_bytes": scan.torn_bytes,
        "last_hash": scan.last_hash,
    });
    print_prose(as_json, &value, |out| {
        let (file, records) = (location.events(), scan.records.len());
        writeln!(out, "{}: {records} intact records", file.display())?;
        write_damage(out, &scan.damage)?;
        if scan.torn_bytes > 0 {
            let bytes = scan.torn_bytes;
            writeln!(
                out,
                "  end: {bytes} bytes of an unfinished record; repaired when the tutor is opened next"
            )?;
        }
        writeln!(out, "hash of the last record: {}", scan.last_hash)?;
        writeln!(
            out,
            "This finds damage and careless edits; anyone who rewrites the whole file can recompute every hash."
        )
    })?;
    Ok(Exit::from_passed(intact))
}

fn write_damage(out: &mut impl Write, damage: &[LogDamage]) -> io::Result<()> {
    for damage in damage {
        writeln!(out, "  line {}: {}", damage.line, damage.why)?;
    }
    Ok(())
}

fn show(location: &SessionLocation, as_json: bool) -> Result<Exit> {
    let (state, damage) = store::read_only(location)?;
    let holder = lock::holder(&location.lock());
    let value = json!({ "path": path_text(&location.folder), "open_in": holder, "damage": damage, "state": state });
    print_prose(as_json, &value, |out| {
        writeln!(out, "{}, in {}", state.learner, location.folder.display())?;
        if let Some((title, version)) = &state.course {
            writeln!(out, "course: {title} ({version})")?;
        }
        if let Some(at) = &state.position {
            writeln!(out, "position: {}, step {}", at.lesson, at.step)?;
        }
        if let Some(holder) = holder {
            writeln!(out, "open in {holder}")?;
        }
        write_lessons(out, &state)?;
        let (runs, records, last) = (state.runs.len(), state.records, &state.last_time);
        writeln!(
            out,
            "\n{runs} runs, {records} records, the last one from {last}"
        )?;
        for (name, backup) in &state.backups {
            let restored = if backup.restored { ", restored" } else { "" };
            let (time, by) = (&backup.time, &backup.by);
            writeln!(out, "backup {name}: from {time} by {by}{restored}")?;
        }
        if !damage.is_empty() {
            writeln!(out, "\nDamaged lines (everything else was kept):")?;
            write_damage(out, &damage)?;
        }
        Ok::<_, io::Error>(())
    })
}

fn write_lessons(out: &mut impl Write, state: &SessionState) -> io::Result<()> {
    if state.lessons.is_empty() {
        return writeln!(out, "nothing done yet");
    }
    let lessons = state.lessons.iter();
    let lessons: Vec<_> = lessons
        .map(|(id, steps)| (id, LessonProgress::count(steps.values(), 0)))
        .collect();
    let table = TableColumns::titled("Lessons", &lessons)
        .left("lesson", |(id, _)| (*id).clone())
        .right("done", |(_, it)| (it.finished - it.skipped).to_string())
        .right("skipped", |(_, it)| it.skipped.to_string())
        .right("attempts", |(_, it)| it.attempts.to_string())
        .right("hints", |(_, it)| it.hints.to_string())
        .right("minutes", |(_, it)| format!("{:.1}", it.minutes));
    let width = AnalysisPage::default().widest();
    write!(out, "\n{}", TextTable::from(table).render(width))
}
