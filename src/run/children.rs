//! What every child of this program needs.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Sends `signal` to the child when this process ends, however that happens.
pub fn ends_with_this(command: &mut Command, signal: libc::c_int) {
    // SAFETY: the closure only makes one system call, which is allowed between fork and exec.
    #[cfg(target_os = "linux")]
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal);
            Ok(())
        });
    }
}

/// Hands on lines, each with its end, until there are no more or nobody hears them.
pub fn each_line(from: impl Read, mut hear: impl FnMut(io::Result<Vec<u8>>) -> bool) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let read = from.read_until(b'\n', &mut line);
        if matches!(read, Ok(0)) || !hear(read.map(|_| line)) {
            return;
        }
    }
}
