//! Child processes that end together with their parent.

#[cfg(target_os = "linux")]
use std::io;
#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the kernel send `signal` to the child when this process ends for any reason.
pub fn die_with_parent(command: &mut Command, signal: libc::c_int) {
    tracing::debug!(?command, "starts a child");
    die_with(command, signal, std::process::id());
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
