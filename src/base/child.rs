//! Child processes that end together with their parent.

use std::fs;
#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt;
use std::os::unix::process::parent_id;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Environment variable with the process that started this one, perhaps through a shell, a launcher or a profiler.
pub const STARTER: &str = "TINYLLAMA_STARTER";
const INTERVAL: Duration = Duration::from_secs(1);
/// Time for a process to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

/// Makes the kernel send `signal` to the child when this process ends for any reason, or the thread that starts it. If the
/// child starts this program again, that process ends as well ([`end_with_starter`]).
pub fn die_with_parent(command: &mut Command, signal: libc::c_int) {
    command.env(STARTER, identity(std::process::id()).unwrap_or_default());
    tracing::debug!(?command, "starts a child");
    die_with(command, signal, std::process::id());
}

/// Ends this process soon after the one that [`STARTER`] names. The kernel sees to the children of that process, so this is
/// for its later descendants. On another machine nobody can see that process, and its launcher has to end this one.
pub fn end_with_starter() {
    let Ok(starter) = std::env::var(STARTER) else {
        return;
    };
    let Some(process) = starter.split(' ').next().and_then(|id| id.parse().ok()) else {
        return;
    };
    let is_there = move || identity(process).is_some_and(|found| found == starter);
    if process == parent_id() || !is_there() {
        return;
    }
    thread::spawn(move || {
        while is_there() {
            thread::sleep(INTERVAL);
        }
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            // SAFETY: the call takes a number, and this program's handlers expect the signal at any time.
            unsafe { libc::raise(signal) };
            thread::sleep(GRACE);
        }
    });
}

/// A process and when it was started, so that a later process with the same number is not taken for it.
fn identity(process: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let is_zombie = fields.starts_with('Z');
    let started = fields.split(' ').nth(19)?;
    (!is_zombie).then(|| format!("{process} {started}"))
}

#[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
fn die_with(command: &mut Command, signal: libc::c_int, parent: u32) {
    // SAFETY: the closure only makes two system calls, and both are allowed between fork and exec.
    #[cfg(target_os = "linux")]
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal);
            // If the parent died before this call, the kernel never sends the signal. The child then fails to start.
            match u32::try_from(libc::getppid()) == Ok(parent) {
                true => Ok(()),
                false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        });
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_child_whose_parent_is_gone_already_does_not_start() {
        let mut orphan = Command::new("true");
        // No child has process 0 as its parent here.
        die_with(&mut orphan, libc::SIGTERM, 0);
        let error = orphan.spawn().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
        let mut child = Command::new("true");
        die_with_parent(&mut child, libc::SIGTERM);
        assert!(child.status().unwrap().success());
    }
}
