//! Runs a profiler as a child, stores its log and explains its failures.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use signal_hook::consts::SIGINT;
use signal_hook::low_level;

use super::commands::line::CommandLine;
use tinyllama_base::die_with_parent;

pub mod remedy;

use self::remedy::{Remedy, remedies};

/// Destination of the child's output in addition to the log.
pub enum ProfilerOutput<'a> {
    /// To this process's terminal. The child has it while it runs, and there is no log then.
    Terminal,
    /// Line by line to a panel or a plain listing.
    Lines(&'a mut dyn FnMut(&str)),
}

/// How a run ended. A profiler that failed is also a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProfilerEnding {
    Success,
    /// The child's exit code.
    Failed(i32),
    /// The signal that ended the child.
    Killed(i32),
}

impl fmt::Display for ProfilerEnding {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ProfilerEnding::Success => out.write_str("succeeded"),
            ProfilerEnding::Failed(code) => write!(out, "ended with code {code}"),
            ProfilerEnding::Killed(signal) => write!(out, "was ended by signal {signal}"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct FinishedProfiler {
    pub ending: ProfilerEnding,
    /// Log of the child's output. `None` if it had the terminal.
    pub log: Option<PathBuf>,
    /// Known failures that its output shows.
    pub remedies: Vec<Remedy>,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{} is not installed", program.display())]
    NotInstalled { program: PathBuf },
    #[error("cannot start {}: {error}", program.display())]
    Start { program: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
}

/// Writes the line's files, runs it and waits. The log is `profiler.log` in the line's folder.
///
/// While the child runs, this process ignores an interrupt from the keyboard. Profilers write their output when the
/// program ends, and would lose it if this process ended first.
///
/// # Errors
/// Fails if the program is not installed or cannot be started, or if a file cannot be written.
pub fn run(line: &CommandLine, output: ProfilerOutput<'_>) -> Result<FinishedProfiler, RunError> {
    prepare(line)?;
    let words = line.args();
    let Some((program, arguments)) = words.split_first() else {
        return Err(RunError::NotInstalled {
            program: PathBuf::new(),
        });
    };
    let mut command = Command::new(program);
    command.args(arguments);
    match output {
        ProfilerOutput::Terminal => {
            let interrupts = Interrupts::start();
            let status = interrupts.child(command)?.wait();
            let status = status.map_err(|error| start_error(program, error))?;
            Ok(FinishedProfiler {
                ending: ending(status),
                log: None,
                remedies: Vec::new(),
            })
        }
        ProfilerOutput::Lines(each) => run_logged(line, command, each),
    }
}

fn prepare(line: &CommandLine) -> Result<(), RunError> {
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |error| RunError::File { path, error }
    };
    fs::create_dir_all(&line.folder).map_err(file_error(&line.folder))?;
    for (path, content) in &line.files {
        fs::write(path, content).map_err(file_error(path))?;
    }
    Ok(())
}

fn start_error(program: &OsStr, error: io::Error) -> RunError {
    let program = PathBuf::from(program);
    match error.kind() {
        io::ErrorKind::NotFound => RunError::NotInstalled { program },
        _ => RunError::Start { program, error },
    }
}

fn run_logged(
    line: &CommandLine,
    mut command: Command,
    each: &mut dyn FnMut(&str),
) -> Result<FinishedProfiler, RunError> {
    let path = line.folder.join("profiler.log");
    let file_error = |error| RunError::File {
        path: path.clone(),
        error,
    };
    let mut log = File::create(&path).map_err(file_error)?;
    let (reader, writer) = io::pipe().map_err(file_error)?;
    let errors = writer.try_clone().map_err(file_error)?;
    let interrupts = Interrupts::start();
    command.stdin(Stdio::null()).stdout(writer).stderr(errors);
    let mut child = interrupts.child(command)?;
    let mut seen = Vec::new();
    let copied = copy_lines(reader, &mut log, |text| {
        if seen.len() < KEPT {
            seen.extend_from_slice(text.as_bytes());
            seen.push(b'\n');
        }
        each(text);
    });
    // An error such as a full disk must not leave the child running.
    let status = child.wait().map_err(file_error)?;
    copied.map_err(file_error)?;
    let ending = ending(status);
    let mut text = String::from_utf8_lossy(&seen).into_owned();
    if text.len() >= KEPT {
        text.push_str(&tail(&path).unwrap_or_default());
    }
    Ok(FinishedProfiler {
        remedies: remedies(&text, &ending),
        ending,
        log: Some(path),
    })
}

/// Bytes at the beginning and at the end of the output that are searched for known troubles.
const KEPT: usize = 1 << 20;

/// Bytes of one line that are passed on. A progress bar can be one long line.
const LONGEST_LINE: u64 = 1 << 16;

fn copy_lines(
    reader: impl Read,
    log: &mut impl Write,
    mut each: impl FnMut(&str),
) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let mut result = Ok(());
    loop {
        line.clear();
        let mut longest = reader.by_ref().take(LONGEST_LINE);
        if longest.read_until(b'\n', &mut line)? == 0 {
            return result;
        }
        // Reading continues even if the log cannot be written, because a full pipe would stop the child.
        if let Err(error) = log.write_all(&line) {
            result = result.and(Err(error));
        }
        each(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
    }
}

fn tail(path: &Path) -> io::Result<String> {
    use std::io::{Seek, SeekFrom};
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT as u64)))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn ending(status: ExitStatus) -> ProfilerEnding {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(0), _) => ProfilerEnding::Success,
        (Some(code), _) => ProfilerEnding::Failed(code),
        (None, signal) => ProfilerEnding::Killed(signal.unwrap_or(0)),
    }
}

/// Keeps SIGINT from ending this process while this value lives. A keyboard's SIGINT reaches the child as well. Without a
/// terminal only this process receives it, and passes it on.
struct Interrupts {
    registration: Option<signal_hook::SigId>,
    /// Process group of a child that the keyboard does not reach. 0 while there is none.
    child: Option<Arc<AtomicI32>>,
}

impl Interrupts {
    fn start() -> Self {
        let child = Arc::new(AtomicI32::new(0));
        let group = Arc::clone(&child);
        let hand_on = move || {
            let group = group.load(Ordering::Relaxed);
            if group != 0 {
                // SAFETY: kill takes two numbers and is allowed in a signal handler.
                unsafe { libc::kill(-group, SIGINT) };
            }
        };
        Interrupts {
            // SAFETY: the handler calls only functions that are allowed in one.
            registration: unsafe { low_level::register(SIGINT, hand_on) }.ok(),
            child: File::open("/dev/tty").is_err().then_some(child),
        }
    }

    /// Starts a child that ends together with this process and receives its interrupts.
    fn child(&self, mut command: Command) -> Result<Child, RunError> {
        if self.child.is_some() {
            command.process_group(0);
        }
        die_with_parent(&mut command, libc::SIGTERM);
        let started = command.spawn();
        let started = started.map_err(|error| start_error(command.get_program(), error))?;
        if let (Some(child), Ok(group)) = (&self.child, i32::try_from(started.id())) {
            child.store(group, Ordering::Relaxed);
        }
        Ok(started)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        if let Some(registration) = self.registration {
            low_level::unregister(registration);
        }
    }
}
