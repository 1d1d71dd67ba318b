//! Runs a child process with limits on its output, time and memory that the child cannot evade.

use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tinyllama_base::child::die_with_parent;

/// Limits the child's computing time in seconds and its memory in bytes. It and its own children can write no file.
pub fn limit(command: &mut Command, seconds: u64, memory: u64) {
    let limits = [
        (libc::RLIMIT_CPU, seconds),
        (libc::RLIMIT_AS, memory),
        (libc::RLIMIT_FSIZE, 0),
        (libc::RLIMIT_CORE, 0),
    ];
    // SAFETY: the closure only makes system calls that are allowed between fork and exec.
    unsafe {
        command.pre_exec(move || {
            for (resource, most) in limits {
                let limit = libc::rlimit {
                    rlim_cur: most,
                    rlim_max: most,
                };
                if libc::setrlimit(resource, &raw const limit) != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
}

/// The limit that ended a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It wrote too much.
    TooMuch,
    /// It took too long in wall-clock time.
    TooLong,
}

/// The result of a child.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub stopped: Option<Stopped>,
}

impl Ended {
    /// Whether a limit of computing time ended it.
    pub fn is_over_time(&self) -> bool {
        matches!(self.status.signal(), Some(libc::SIGXCPU | libc::SIGKILL))
    }
}

/// Runs `command` with `input`. It ends with this process. Kills it and its own children after `most` bytes on one of its streams, or after
/// `longest`.
///
/// # Errors
/// Fails if it cannot be started or waited for.
pub fn run(command: &mut Command, input: &[u8], most: u64, longest: Duration) -> io::Result<Ended> {
    die_with_parent(command, libc::SIGKILL);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A separate process group, so that a compiler's linker ends with it.
        .process_group(0)
        .spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        // A child that ends early does not read everything. Its output says why.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        let (done, ended) = mpsc::channel();
        let out = scope.spawn({
            let done = done.clone();
            move || read(stdout, most, &done)
        });
        let err = scope.spawn(move || read(stderr, most, &done));
        let until = Instant::now() + longest;
        let one = || match ended.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(true) => None,
            Ok(false) => Some(Stopped::TooMuch),
            Err(_) => Some(Stopped::TooLong),
        };
        let stopped = one().or_else(one);
        if stopped.is_some() {
            // SAFETY: a plain system call. The child was not waited for yet, so its id still names its group.
            unsafe { libc::kill(-child.id().cast_signed(), libc::SIGKILL) };
        }
        let status = child.wait()?;
        let [stdout, stderr] = [out, err].map(|reader| reader.join().unwrap_or_default());
        Ok(Ended {
            status,
            stdout,
            stderr,
            stopped,
        })
    })
}

/// Reads at most `most` bytes. `done` receives whether that was everything.
fn read(pipe: Option<impl Read>, most: u64, done: &mpsc::Sender<bool>) -> Vec<u8> {
    let mut bytes = vec![];
    let read = pipe.map(|pipe| pipe.take(most + 1).read_to_end(&mut bytes));
    let whole = matches!(read, Some(Ok(read)) if read as u64 <= most);
    // The receiver may be gone, because the other stream wrote too much.
    let _ = done.send(whole);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_ends_after_its_bytes_and_its_time() {
        let run = |script: &str, most, longest| {
            let mut command = Command::new("/bin/sh");
            run(command.args(["-c", script]), b"in", most, longest).unwrap()
        };
        let minute = Duration::from_secs(60);
        let ended = run("cat; echo err >&2; exit 3", 10, minute);
        let said = (ended.stdout.as_slice(), ended.stderr.as_slice());
        assert_eq!(said, (&b"in"[..], &b"err\n"[..]));
        assert_eq!((ended.status.code(), ended.stopped), (Some(3), None));
        // `yes` is a child of the shell and still holds the pipe when the shell is gone.
        let ended = run("yes & wait", 1 << 16, minute);
        assert_eq!(ended.stopped, Some(Stopped::TooMuch));
        assert_eq!(ended.stdout.len(), (1 << 16) + 1);
        let ended = run("sleep 60 & wait", 10, Duration::from_millis(50));
        assert_eq!(ended.stopped, Some(Stopped::TooLong));
    }
}
