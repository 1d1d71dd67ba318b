//! Asks other programs for output, with a limit on the waiting time.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::die_with_parent;

/// The rest of a longer answer is ignored.
const MOST_BYTES: u64 = 1 << 20;

/// Returns a program's output on both streams and its exit status; `None` if it did not end within `patience`.
///
/// # Errors
/// If it cannot be started or waited for.
pub fn ask(
    program: &Path,
    args: &[&str],
    patience: Duration,
) -> io::Result<Option<(ExitStatus, String)>> {
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    die_with_parent(&mut command, libc::SIGKILL);
    let mut child = command.spawn()?;
    // `command` holds the write ends of the pipe, and the reader would wait for them forever.
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
            // If the process ignores the kill, there is nothing more to do.
            drop(child.kill());
            drop(child.wait());
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// This machine's host name.
pub fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}
