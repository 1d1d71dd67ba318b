//! A child process whose output and time are bounded from outside, whatever it does.

use std::io::{self, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// What ended a child before its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It wrote more than it may.
    TooMuch,
    /// It took longer than it may, by the clock on the wall.
    TooLong,
}

/// What a child left.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub stopped: Option<Stopped>,
}

/// Runs `command` with `input`; it and its own children are killed after `most` bytes on one of its streams, or after `longest`.
///
/// # Errors
/// Where it cannot be started or waited for.
pub fn run(command: &mut Command, input: &[u8], most: u64, longest: Duration) -> io::Result<Ended> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that a compiler's linker ends with it.
        .process_group(0)
        .spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        // A child that ends early does not read everything: its answer says why.
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
            // SAFETY: the group of a child that nobody has waited for yet.
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

/// All that comes, at most `most` bytes; `done` hears whether that was all.
fn read(pipe: Option<impl Read>, most: u64, done: &mpsc::Sender<bool>) -> Vec<u8> {
    let mut bytes = vec![];
    let read = pipe.map(|pipe| pipe.take(most + 1).read_to_end(&mut bytes));
    let whole = matches!(read, Some(Ok(read)) if read as u64 <= most);
    // Nobody listens any more once the other stream had too much.
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
        // `yes` is a child of the shell's, which holds the pipe when the shell is gone.
        let ended = run("yes & wait", 1 << 16, minute);
        assert_eq!(ended.stopped, Some(Stopped::TooMuch));
        assert_eq!(ended.stdout.len(), (1 << 16) + 1);
        let ended = run("sleep 60 & wait", 10, Duration::from_millis(50));
        assert_eq!(ended.stopped, Some(Stopped::TooLong));
    }
}
