//! The far end of a launch. On the compute node it starts the run and stores its stream, so that a broken connection loses
//! nothing.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGURG};
use signal_hook::iterator::Signals;

use super::VARIABLE;
use super::mark::StreamMark;
use super::stream::{RunStream, StreamPiece};
use crate::{each_line, signal_group, state_folder};
use tinyllama_base::host_name;
use tinyllama_contract::event::NODES;

/// The line by which the near end asks the run to end.
pub(super) const STOP: &str = "stop";
/// How long a run continues without a reader.
const UNHEARD: Duration = Duration::from_secs(600);
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// Finds a stream's files by the name that both ends know: a path, or a name below this machine's state folder.
pub(super) fn stream(name: &Path) -> Result<RunStream> {
    match name.is_absolute() {
        true => Ok(RunStream::new(name.to_path_buf())),
        false => Ok(RunStream::new(state_folder()?.join(name))),
    }
}

/// A run to start.
#[derive(Debug, Args)]
pub struct RemoteEnd {
    pub stream: PathBuf,
    /// Working folder of the run, if this machine has it.
    #[arg(long)]
    pub folder: Option<PathBuf>,
    /// True if standard input is a connection to the near end.
    #[arg(long)]
    pub attended: bool,
    #[arg(last = true, required = true)]
    pub argv: Vec<OsString>,
}

impl RemoteEnd {
    /// Runs the command to its end, with or without a reader.
    ///
    /// # Errors
    /// Fails if it cannot be started, or its stream cannot be stored.
    pub fn run(&self) -> Result<()> {
        let stream = stream(&self.stream)?;
        let keep = || {
            format!(
                "cannot keep the run's stream in {}",
                stream.path().display()
            )
        };
        let mut file = stream.create().with_context(keep)?;
        stream
            .is_written_by(std::process::id())
            .with_context(keep)?;
        let mut out = Listener::default();
        out.write_line(StreamMark::Begins { node: node() }.line().as_bytes());
        let mut child = self.command()?.spawn().with_context(|| {
            let program = self.argv.first().cloned().unwrap_or_default();
            format!("cannot start {} on {}", program.to_string_lossy(), node())
        })?;
        let leader = child.id();
        end_on_signals(leader)?;
        if self.attended {
            let stream = stream.clone();
            thread::spawn(move || watch_connection(leader, &stream));
        }
        let errors = child.stderr.take().map(|stderr| {
            // A separate thread: a closed connection to the learner must not end the run.
            thread::spawn(move || {
                each_line(stderr, |line| {
                    line.is_ok_and(|line| {
                        drop(io::stderr().write_all(&line));
                        true
                    })
                })
            })
        });
        let mut lines = BufReader::new(child.stdout.take().context("the run has no output")?);
        let mut line = Vec::new();
        while lines
            .read_until(b'\n', &mut line)
            .context("reading the run's output failed")?
            > 0
        {
            if line.last() != Some(&b'\n') {
                line.push(b'\n');
            }
            file.write_all(&line).with_context(keep)?;
            out.write_line(&line);
            line.clear();
        }
        let status = exit_code(child.wait().context("waiting for the run failed")?);
        if let Some(errors) = errors {
            // The thread has no result to report.
            drop(errors.join());
        }
        stream.ends(status).with_context(keep)?;
        out.write_line(StreamMark::Ends { status }.line().as_bytes());
        Ok(())
    }

    fn command(&self) -> Result<Command> {
        let (program, arguments) = self.argv.split_first().context("nothing to start")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            // On this machine, the run starts its own runs locally.
            .env(VARIABLE, "local")
            .env(NODES[0], node())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(folder) = self.folder.as_ref().filter(|folder| folder.is_dir()) {
            command.current_dir(folder);
        }
        Ok(command)
    }
}

/// Slurm's name for this machine, otherwise its host name.
fn node() -> String {
    env::var(NODES[1]).unwrap_or_else(|_| host_name())
}

fn exit_code(status: ExitStatus) -> i32 {
    let by_signal = status.signal().map(|signal| 128 + signal);
    status.code().or(by_signal).unwrap_or(1)
}

/// The standard output, until its reader is gone.
#[derive(Default)]
struct Listener {
    is_gone: bool,
}

impl Listener {
    fn write_line(&mut self, line: &[u8]) {
        let mut out = io::stdout().lock();
        self.is_gone = self.is_gone || out.write_all(line).and_then(|()| out.flush()).is_err();
    }
}

/// Passes signals for the end on to the run. A lost connection (SIGHUP) is not such a signal.
fn end_on_signals(leader: u32) -> Result<()> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP, SIGURG]).context("cannot listen for signals")?;
    thread::spawn(move || {
        for signal in signals.forever() {
            match signal {
                SIGHUP => {}
                // The near end sends SIGURG with Slurm's `scancel`, which reaches every process of a step. The run ignores
                // it, so it has to be passed on as SIGTERM.
                SIGURG => signal_group(leader, SIGTERM),
                other => signal_group(leader, other),
            }
        }
    });
    Ok(())
}

/// Ends the run if the near end asks for it, or if no reader comes back.
fn watch_connection(leader: u32, stream: &RunStream) {
    if wait_for_stop() {
        return signal_group(leader, SIGTERM);
    }
    let since = Instant::now();
    loop {
        thread::sleep(Duration::from_secs(5));
        let unread = stream.unread_for().unwrap_or_else(|| since.elapsed());
        if unread > UNHEARD {
            return signal_group(leader, SIGTERM);
        }
    }
}

/// Waits for a request to stop on standard input. Returns false if the input ends without one.
fn wait_for_stop() -> bool {
    let mut lines = io::stdin().lock().lines().map_while(Result::ok);
    lines.any(|line| line == STOP)
}

/// Reads a stored stream from a byte to its end. A near end starts this after its connection broke.
///
/// # Errors
/// Fails if its files cannot be read.
pub fn follow(name: &Path, from: u64) -> Result<()> {
    let stream = stream(name)?;
    let no_stream = || format!("no run left its stream in {}", stream.path().display());
    let mut out = Listener::default();
    let mut reader = match stream.reader(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            out.write_line(StreamMark::Lost.line().as_bytes());
            return Ok(());
        }
        reader => reader.with_context(no_stream)?,
    };
    let (sender, asked) = channel();
    thread::spawn(move || {
        // The receiver may be gone first.
        let _ = sender.send(wait_for_stop());
    });
    out.write_line(StreamMark::Begins { node: node() }.line().as_bytes());
    while !out.is_gone {
        match reader.next().context("reading the run's stream failed")? {
            StreamPiece::Line(line) => out.write_line(&line),
            StreamPiece::End(status) => {
                // The files stay, because only the near end knows whether this line arrived.
                out.write_line(StreamMark::Ends { status }.line().as_bytes());
                return Ok(());
            }
            StreamPiece::Nothing => {
                let writer = stream.writer().filter(|writer| is_writer(*writer, name));
                if writer.is_none() && !stream.is_over() {
                    out.write_line(StreamMark::Lost.line().as_bytes());
                    return Ok(());
                }
                stream.is_read().with_context(no_stream)?;
                match asked.recv_timeout(BETWEEN_LOOKS) {
                    Ok(true) => ask(writer.filter(|writer| is_writer(*writer, name)), SIGTERM),
                    // The connection broke again.
                    Ok(false) => return Ok(()),
                    Err(RecvTimeoutError::Disconnected) => thread::sleep(BETWEEN_LOOKS),
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        }
    }
    Ok(())
}

fn ask(process: Option<u32>, signal: i32) {
    if let Some(process) = process.and_then(|process| i32::try_from(process).ok()) {
        // SAFETY: kill takes two numbers. The process was just checked to be a far end.
        unsafe { libc::kill(process, signal) };
    }
}

/// Returns whether `process` is alive and writes this stream. The number comes from a file in a folder that others may
/// write to, and numbers are used again. Therefore the process's arguments have to contain the stream's name.
fn is_writer(process: u32, name: &Path) -> bool {
    const FIRST_OF_OTHERS: u32 = 2;
    if process < FIRST_OF_OTHERS || i32::try_from(process).is_err() {
        return false;
    }
    // SAFETY: as above. Signal 0 only checks that the process exists.
    let is_alive = unsafe { libc::kill(process.cast_signed(), 0) } == 0;
    let args = match fs::read(format!("/proc/{process}/cmdline")) {
        Ok(args) => args,
        // Other systems have no such file, so a living process is the only evidence.
        Err(_) => return is_alive && !cfg!(target_os = "linux"),
    };
    let mut args = args.split(|byte| *byte == 0);
    is_alive && args.any(|word| word == name.as_os_str().as_encoded_bytes())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_names_the_stream_is_taken_for_its_writer() {
        let name = Path::new("/shared/launched-1/a stream");
        // Process 0 (the caller's group), process 1, this test, which writes nothing, and a number that is not a process.
        for process in [0, 1, std::process::id(), u32::MAX] {
            assert!(!is_writer(process, name), "{process}");
        }
        let mut writer = Command::new("sh")
            .args(["-c", "read word", "far"])
            .arg(name)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        // The arguments appear once the shell has started.
        let mut looks = (0..500).map(|_| {
            thread::sleep(Duration::from_millis(10));
            is_writer(writer.id(), name)
        });
        assert!(looks.any(|is_writer| is_writer));
        writer.kill().unwrap();
        writer.wait().unwrap();
        assert!(!is_writer(writer.id(), name));
    }
}
