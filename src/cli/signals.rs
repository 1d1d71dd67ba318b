//! Ends a run on a signal and still prints the summary.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::exit::Exit;
use tinyllama_engine::train::{Reporter, StopReason, StopSignal};

/// Time for a step to end normally. Compiling and tuning cannot be interrupted from inside and take longer.
const GRACE: Duration = Duration::from_millis(1500);
/// A second signal so soon is the first one again. Slurm signals every process of a step, and a container passes its
/// signal on.
const SAME_SIGNAL: Duration = Duration::from_millis(300);

/// Stops the run on INT, TERM or HUP: after the current step, or from this thread if that takes too long.
///
/// # Errors
/// If the handlers cannot be installed.
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
            end_process(reporter, signal);
        });
        let first = Instant::now();
        if let Some(again) = received.find(|_| first.elapsed() > SAME_SIGNAL) {
            // A second signal ends the process immediately. It also skips a driver's exit handlers, because one that
            // hangs never ends. SAFETY: the call takes a number and does not return.
            unsafe { libc::_exit(Exit::Signal(again).code().into()) };
        }
    });
    Ok(())
}

/// Ends the process while the main thread is deep inside a compiler, or writes to a reader that does not read. It
/// reports the summary if that is possible in time.
fn end_process(reporter: Reporter, signal: i32) -> ! {
    let (done, reported) = mpsc::channel();
    thread::spawn(move || {
        reporter.finish(false);
        // The receiver may have given up.
        let _ = done.send(());
    });
    let _ = reported.recv_timeout(GRACE);
    std::process::exit(Exit::Signal(signal).code().into());
}
