//! Ending a run on a signal, with a summary of what was done.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::exit::Exit;
use tinyllama_engine::train::{Reporter, StopReason, StopSignal};

/// How long a step may take to end by itself. Compiling and tuning cannot be interrupted from inside and take longer.
const GRACE: Duration = Duration::from_millis(1500);

/// Stops the run on INT, TERM or HUP: after the current step, or from here when that takes too long.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn watch(stop: StopSignal, reporter: Reporter) -> Result<()> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for signals")?;
    thread::spawn(move || {
        let mut received = signals.forever();
        let Some(signal) = received.next() else {
            return;
        };
        stop.request(StopReason::Signal(signal));
        thread::spawn(move || {
            thread::sleep(GRACE);
            end(reporter, signal);
        });
        if let Some(again) = received.next() {
            // A second signal does not wait, not even for what a driver does at the end of a process: one that hangs never ends.
            // SAFETY: takes a number and returns to nobody.
            unsafe { libc::_exit(Exit::Signal(again).code().into()) };
        }
    });
    Ok(())
}

/// The main thread is deep inside a compiler, or writes to somebody who does not read: report, where that is possible, and
/// leave without it.
fn end(reporter: Reporter, signal: i32) -> ! {
    let (done, reported) = mpsc::channel();
    thread::spawn(move || {
        reporter.finish(false);
        // Whoever waited may have given up.
        let _ = done.send(());
    });
    let _ = reported.recv_timeout(GRACE);
    std::process::exit(Exit::Signal(signal).code().into());
}
