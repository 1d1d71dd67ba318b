//! The near end of a launch. It waits for a place, starts the far end there, passes its stream on, and reconnects if the
//! connection breaks.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::error::LaunchError;
use super::mark::StreamMark;
use super::remote_end::{STOP, stream};
use super::slurm::Slurm;
use super::slurm::array::take_errors;
use super::ssh::Ssh;
use super::stream::StreamPiece;
use super::{launch, wrap};
use crate::supervise::STOPPED;
use crate::{Launcher, LauncherKind, each_line, signal_group};
use tinyllama_base::die_with_parent;
use tinyllama_base::{host_name, unix_time};
use tinyllama_contract::{Body, Event, Phase, PhaseName};

const TICK: Duration = Duration::from_millis(200);
/// How long a run may take to end before the connection is cut.
const CANCEL_GRACE: Duration = Duration::from_secs(6);
/// Bytes at the end of an error stream that are examined.
const LAST_WORDS: usize = 4 << 10;
/// Status of a run that was never made, or was lost, because of the place.
pub const NO_PLACE: i32 = 3;

/// Returns a flag that the first ending signal sets. These signals have no other effect from then on.
pub(super) fn end_signals() -> Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&asked)).context("cannot listen for signals")?;
    }
    Ok(asked)
}

/// A way to reach the far end.
pub(super) trait Transport {
    /// Name of the place, for people.
    fn name(&self) -> String;
    /// Waits until there is a place.
    fn wait_until_ready(&mut self, events: &mut EventWriter) -> Result<(), LaunchError>;
    /// Returns the command line that starts `far` there.
    fn command(&self, far: Vec<OsString>) -> Vec<OsString>;
    /// Returns whether the command's standard input reaches the far end.
    fn has_stdin(&self) -> bool;
    /// Asks the run there to end.
    fn cancel(&self);
    /// Decides what to do after the connection broke during a run.
    fn reconnect(&mut self, follow: &[OsString], stream: &Path, said: &str) -> Reconnect;
    /// Called when a connection to the far end works again.
    fn on_output(&mut self);
    /// Explains why no run started, or why it is lost, from the command's output.
    fn trouble(&self, said: &str) -> LaunchError;
    /// Explains a line of the command's output that means waiting.
    fn waiting_reason(&self, _line: &str) -> Option<&'static str> {
        None
    }
}

pub(super) enum Reconnect {
    /// This command line continues the stream.
    With(Vec<OsString>),
    /// Read the stream's file here. Its writer is still active, or done.
    Read,
    Never(LaunchError),
}

/// Reports what happens, as events among those of the run.
pub(super) struct EventWriter {
    began: Instant,
    /// Start of the far end on this end's clock. The run's times count from there.
    zero: f64,
    last: String,
    /// The run's last phase event, as a line.
    phase: Vec<u8>,
    stop: Arc<AtomicBool>,
}

impl EventWriter {
    fn new() -> Result<Self> {
        Ok(EventWriter {
            began: Instant::now(),
            zero: 0.0,
            last: String::new(),
            phase: Vec::new(),
            stop: end_signals()?,
        })
    }

    /// Returns whether the end was requested.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits for `time`. Returns false as soon as the end is requested.
    pub(super) fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.is_stopped() && Instant::now() < until {
            thread::sleep(TICK.min(time));
        }
        !self.is_stopped()
    }

    /// Reports what is waited for, once until it changes, and the expected seconds.
    pub(super) fn phase(&mut self, message: &str, eta_s: Option<f64>) {
        if self.last == message {
            return;
        }
        self.last = message.into();
        self.event(Body::Phase(Phase {
            phase: PhaseName::Queue,
            progress: None,
            eta_s,
            message: message.into(),
        }));
    }

    fn event(&mut self, body: Body) {
        let t = self.began.elapsed().as_secs_f64();
        if let Ok(line) = serde_json::to_string(&Event { t, body }) {
            self.write_line(format!("{line}\n").as_bytes());
        }
    }

    fn write_line(&mut self, line: &[u8]) {
        let mut out = io::stdout().lock();
        if out.write_all(line).and_then(|()| out.flush()).is_err() {
            // The reader has closed the output, so the run may end.
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Passes a line of the run on, with its time counted from this end's start.
    fn forward(&mut self, line: &[u8]) {
        let later = shifted(line, self.zero);
        let line = later.as_deref().unwrap_or(line);
        if memchr::memmem::find(line, br#","event":"phase","#).is_some() {
            self.phase = line.to_vec();
        }
        self.write_line(line);
    }

    /// Repeats the run's phase after a connection broke.
    fn repeat_phase(&mut self) {
        self.last.clear();
        let line = std::mem::take(&mut self.phase);
        self.write_line(&line);
        self.phase = line;
    }
}

/// Adds `seconds` to the time of an event's line. Returns `None` for other lines.
fn shifted(line: &[u8], seconds: f64) -> Option<Vec<u8>> {
    const BEFORE: &[u8] = br#"{"t":"#;
    let rest = line.strip_prefix(BEFORE)?;
    let end = memchr::memchr(b',', rest)?;
    let t: f64 = str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
    let t = serde_json::to_vec(&(t + seconds)).ok()?;
    Some([BEFORE, &t, &rest[end..]].concat())
}

/// A line of the command's output.
enum ChildOutput {
    Out(Vec<u8>),
    Error(Vec<u8>),
}

/// How one connection ended.
enum ConnectionEnd {
    /// With the run's own status, and the text on the error stream.
    Run { status: i32, said: String },
    /// The far end searched and found no run any more.
    Lost,
    /// Without a message about the run's end.
    Broken { said: String },
}

/// A launch in progress.
struct LocalEnd<'a> {
    transport: Box<dyn Transport + 'a>,
    events: EventWriter,
    /// Number of bytes of the stream that were passed on.
    got: u64,
    has_begun: bool,
    /// When the request to end was passed on.
    asked: Option<Instant>,
}

/// Runs `argv` in the place that `launcher` names, and returns their status. `allocation` is the folder of this session's
/// allocation.
///
/// # Errors
/// Fails if this machine cannot start the launch.
pub fn run_remotely(
    launcher: &Launcher,
    allocation: Option<PathBuf>,
    argv: &[OsString],
) -> Result<i32> {
    let transport: Box<dyn Transport> = match &launcher.kind {
        LauncherKind::Ssh(host) => Box::new(Ssh {
            host,
            settings: &launcher.settings,
            away: None,
        }),
        _ => Box::new(Slurm::new(&launcher.settings, allocation)?),
    };
    let name = stream_name(launcher);
    let mut near = LocalEnd::new(transport)?;
    let status = near.follow_run(launcher, &name, argv);
    near.conclude(status, &name)
}

/// Waits for a task of a job array, passes its stream on, and returns its status.
///
/// # Errors
/// Fails if this machine cannot start the launch.
pub fn wait(launcher: &Launcher, job: String, name: &Path) -> Result<i32> {
    let mut near = LocalEnd::new(Box::new(Slurm::task(&launcher.settings, job)))?;
    let status = near.follow_task(name);
    drop(io::stderr().write_all(&take_errors(stream(name)?.path())));
    near.conclude(status, name)
}

/// Creates a unique name for a stream.
pub(super) fn stream_name(launcher: &Launcher) -> PathBuf {
    let now = unix_time().as_nanos();
    let node = host_name().replace('/', "-");
    let name = format!("{node}-{}-{now}", std::process::id());
    let user = uzers::get_effective_uid();
    let shared = launcher.settings.shared.as_ref();
    let shared = shared.map(|folder| folder.join(format!("launched-{user}")));
    shared.unwrap_or_else(|| "launched".into()).join(name)
}

impl<'a> LocalEnd<'a> {
    fn new(transport: Box<dyn Transport + 'a>) -> Result<Self> {
        Ok(LocalEnd {
            transport,
            events: EventWriter::new()?,
            got: 0,
            has_begun: false,
            asked: None,
        })
    }

    /// Returns the status, or reports why there is none.
    fn conclude(mut self, status: Result<i32, LaunchError>, name: &Path) -> Result<i32> {
        stream(name)?.remove();
        let trouble = match status {
            Ok(status) => return Ok(status),
            Err(_) if self.events.is_stopped() => return Ok(STOPPED),
            Err(trouble) => trouble,
        };
        let failure = trouble.failure();
        eprintln!("error: {}\n       {}", failure.message, failure.remedy);
        self.events.event(Body::Error(failure));
        Ok(NO_PLACE)
    }

    fn follow_task(&mut self, name: &Path) -> Result<i32, LaunchError> {
        self.transport.wait_until_ready(&mut self.events)?;
        self.events.zero = self.events.began.elapsed().as_secs_f64();
        let path = stream(name).map_err(|_| LaunchError::Lost)?;
        while !path.path().exists() {
            if let Reconnect::Never(trouble) = self.transport.reconnect(&[], name, "") {
                return Err(trouble);
            }
            if !self.events.wait(TICK) {
                self.transport.cancel();
                return Ok(STOPPED);
            }
        }
        self.read(name)
    }

    fn follow_run(
        &mut self,
        launcher: &Launcher,
        name: &Path,
        argv: &[OsString],
    ) -> Result<i32, LaunchError> {
        self.transport.wait_until_ready(&mut self.events)?;
        if self.events.is_stopped() {
            return Ok(STOPPED);
        }
        let far = far_command(launcher, name, argv, self.transport.has_stdin());
        let mut line = self.transport.command(far);
        let mut pause = Duration::from_secs(1);
        loop {
            let said = match self.connect(&line)? {
                ConnectionEnd::Run { status, said } => return self.explain_failure(status, &said),
                ConnectionEnd::Lost => return Err(LaunchError::Lost),
                ConnectionEnd::Broken { said } => said,
            };
            if self.asked.is_some() {
                return Ok(STOPPED);
            }
            if !self.has_begun {
                return Err(self.transport.trouble(&said));
            }
            let place = self.transport.name();
            self.events.phase(
                &format!("the connection to {place} broke; the run goes on there"),
                None,
            );
            self.events.wait(pause);
            pause = (2 * pause).min(Duration::from_secs(10));
            let mut follow = launch(&launcher.remote_program(), "follow");
            follow.extend([name.into(), format!("--from={}", self.got).into()]);
            match self.transport.reconnect(&follow, name, &said) {
                Reconnect::With(argv) => line = argv,
                Reconnect::Read => return self.read(name),
                Reconnect::Never(trouble) => return Err(trouble),
            }
        }
    }

    /// A run that was ended from outside also ends in order. The program that ended it may have printed the reason.
    fn explain_failure(&self, status: i32, said: &str) -> Result<i32, LaunchError> {
        if status <= 128 || self.events.is_stopped() {
            return Ok(status);
        }
        match self.transport.trouble(said) {
            LaunchError::Other(_) => Ok(status),
            trouble => Err(trouble),
        }
    }

    /// Serves one connection until it ends.
    fn connect(&mut self, argv: &[OsString]) -> Result<ConnectionEnd, LaunchError> {
        let mut child = start(argv, self.transport.has_stdin())?;
        let heard = spawn_readers(&mut child);
        let mut said = Vec::new();
        let (mut status, mut lost) = (None, false);
        loop {
            if self.events.is_stopped() {
                self.forward_stop(&mut child);
            }
            match heard.recv_timeout(TICK) {
                Ok(ChildOutput::Error(line)) => self.error_line(line, &mut said),
                // A broken connection can leave a piece of a line. The next connection sends the whole line.
                Ok(ChildOutput::Out(line)) if line.last() != Some(&b'\n') => {}
                Ok(ChildOutput::Out(line)) => match StreamMark::read(&line) {
                    None => {
                        self.got += line.len() as u64;
                        self.events.forward(&line);
                    }
                    Some(StreamMark::Begins { node }) => self.note_start(&node),
                    Some(StreamMark::Ends { status: its_own }) => status = Some(its_own),
                    Some(StreamMark::Lost) => lost = true,
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        // Both streams are closed. The child's own status says less than they did.
        drop(child.wait());
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(match status {
            Some(status) => ConnectionEnd::Run { status, said },
            None if lost => ConnectionEnd::Lost,
            None => ConnectionEnd::Broken { said },
        })
    }

    fn note_start(&mut self, node: &str) {
        self.transport.on_output();
        if self.has_begun {
            return self.events.repeat_phase();
        }
        self.has_begun = true;
        self.events.zero = self.events.began.elapsed().as_secs_f64();
        self.events.phase(&format!("starting on {node}"), None);
    }

    fn error_line(&mut self, line: Vec<u8>, said: &mut Vec<u8>) {
        if let Some(message) = self
            .transport
            .waiting_reason(&String::from_utf8_lossy(&line))
        {
            self.events.phase(message, None);
        }
        // The supervisor of this process stores these lines. If it is gone, they are lost.
        drop(io::stderr().write_all(&line));
        said.extend(line);
        let surplus = said.len().saturating_sub(LAST_WORDS);
        said.drain(..surplus);
    }

    /// First asks in the transport's own way, then cuts the connection.
    fn forward_stop(&mut self, child: &mut Child) {
        let Some(asked) = self.asked else {
            self.asked = Some(Instant::now());
            if let Some(stdin) = &mut child.stdin {
                // A broken connection cannot pass a message on.
                drop(writeln!(stdin, "{STOP}").and_then(|()| stdin.flush()));
            }
            return self.transport.cancel();
        };
        if asked.elapsed() > CANCEL_GRACE {
            signal_group(child.id(), SIGTERM);
        }
    }

    /// Reads the stream's file to its end.
    fn read(&mut self, name: &Path) -> Result<i32, LaunchError> {
        let lost = |_| LaunchError::Lost;
        let mut reader = stream(name)
            .map_err(|_| LaunchError::Lost)?
            .reader(self.got)
            .map_err(lost)?;
        loop {
            match reader.next().map_err(lost)? {
                StreamPiece::Line(line) => self.events.forward(&line),
                StreamPiece::End(status) => return self.explain_failure(status, ""),
                StreamPiece::Nothing => {
                    if !self.events.wait(Duration::from_secs(1)) {
                        self.transport.cancel();
                        return Ok(STOPPED);
                    }
                    // The reason, if the writer is gone.
                    if let Reconnect::Never(trouble) = self.transport.reconnect(&[], name, "") {
                        return Err(trouble);
                    }
                }
            }
        }
    }
}

/// Builds the far end's command line.
fn far_command(
    launcher: &Launcher,
    name: &Path,
    argv: &[OsString],
    attended: bool,
) -> Vec<OsString> {
    let mut far = wrap(&launcher.settings);
    far.extend(launch(&launcher.remote_program(), "far"));
    far.push(name.into());
    if let Ok(folder) = env::current_dir() {
        far.extend(["--folder".into(), folder.into()]);
    }
    if attended {
        far.push("--attended".into());
    }
    far.push("--".into());
    far.extend_from_slice(argv);
    far
}

fn start(argv: &[OsString], has_a_line: bool) -> Result<Child, LaunchError> {
    let (program, arguments) = argv.split_first().ok_or(LaunchError::Lost)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(if has_a_line {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // This process ends it in order, so Ctrl-C must not reach it directly.
        .process_group(0);
    die_with_parent(&mut command, SIGTERM);
    command
        .spawn()
        .map_err(|_| LaunchError::NotInstalled(program.to_string_lossy().into_owned()))
}

fn spawn_readers(child: &mut Child) -> Receiver<ChildOutput> {
    let (sender, heard) = channel();
    if let Some(stdout) = child.stdout.take() {
        read_lines(stdout, sender.clone(), ChildOutput::Out);
    }
    if let Some(stderr) = child.stderr.take() {
        read_lines(stderr, sender, ChildOutput::Error);
    }
    heard
}

fn read_lines(
    from: impl Read + Send + 'static,
    to: Sender<ChildOutput>,
    of: fn(Vec<u8>) -> ChildOutput,
) {
    thread::spawn(move || {
        each_line(from, |line| {
            line.is_ok_and(|line| to.send(of(line)).is_ok())
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_events_go_on_where_the_queue_left_off_and_other_lines_stay() {
        let later =
            |line: &str| shifted(line.as_bytes(), 2.5).map(|line| String::from_utf8(line).unwrap());
        assert_eq!(
            later("{\"t\":0.25,\"event\":\"note\"}\n").as_deref(),
            Some("{\"t\":2.75,\"event\":\"note\"}\n")
        );
        for line in ["{\n", "{\"t\":\"x\",", "", "rocprofv3: {\"t\":1,"] {
            assert_eq!(later(line), None, "{line}");
        }
    }
}
