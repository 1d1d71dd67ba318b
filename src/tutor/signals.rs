//! Handles signals on a separate thread that depends on no other part of the tutor.
//!
//! When the terminal vanishes, crossterm 0.29's reader spins and never answers. So this thread has to end the
//! process.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use tinyllama_base::errln;
use tinyllama_runs::Processes;
use tinyllama_session::{Session, SessionError};

/// A session that any thread can close, because any of them may end the tutor. Empty once it is closed.
#[derive(Clone, Debug, Default)]
pub struct SharedSession(Arc<Mutex<Option<Session>>>);

impl SharedSession {
    pub fn new(session: Session) -> Self {
        Self(Arc::new(Mutex::new(Some(session))))
    }

    /// Calls `act` with the session; returns `None` once it is closed.
    pub fn with_session<T>(&self, act: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let mut session = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        session.as_mut().map(act)
    }

    /// Writes the cache and releases the lock. All acknowledged events are on the disk already.
    ///
    /// # Errors
    /// Fails if the session cannot store something that was done.
    pub fn close(&self) -> Result<(), SessionError> {
        close(self.0.lock().unwrap_or_else(PoisonError::into_inner).take())
    }

    /// Closes the session if no other thread uses it at the moment; otherwise returns `None`.
    pub fn try_close(&self) -> Option<Result<(), SessionError>> {
        match self.0.try_lock() {
            Ok(mut session) => Some(close(session.take())),
            Err(TryLockError::Poisoned(_)) => Some(Ok(())),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

fn close(session: Option<Session>) -> Result<(), SessionError> {
    session.map_or(Ok(()), |mut session| session.finish())
}

/// The parts of signal handling that depend on the interface.
pub trait Face: Send + Sync {
    /// Restores the terminal to its earlier state.
    fn restore(&self);

    /// Called when the tutor goes on after a stop.
    fn continued(&self);

    /// Handles an interrupt or quit from the keyboard. Returns true if it was not meant for the tutor.
    fn interrupted(&self) -> bool;
}

/// Time that the children get to end before they are killed.
const GRACE: Duration = Duration::from_millis(800);
/// Longest wait for an event that is being written.
const SAVING: Duration = Duration::from_secs(2);
/// A terminal stopped with Ctrl-S takes no bytes, so the end of the process waits no longer than this.
const RESTORING: Duration = Duration::from_millis(300);

/// Handle with which the tutor announces that it is ending.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    ending: Arc<AtomicBool>,
}

impl Watch {
    /// Announces that the tutor ends without a signal. From now on a signal ends the process at once. If a signal came
    /// first, this does not return, because the signal's thread closes the session and ends the process.
    pub fn done(&self) {
        if self.ending.swap(true, Ordering::SeqCst) {
            thread::sleep(SAVING + GRACE + RESTORING);
        }
    }
}

/// Starts the thread: HUP, TERM, INT and QUIT end the tutor in order, and after CONT it draws again.
pub fn watch(
    session: SharedSession,
    processes: Processes,
    face: Arc<dyn Face>,
) -> io::Result<Watch> {
    let watch = Watch::default();
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGCONT])?;
    let end: Arc<dyn Fn(i32) + Send + Sync> = {
        let (watch, face) = (watch.clone(), Arc::clone(&face));
        Arc::new(move |signal| end_process(signal, &watch, &session, &processes, &face))
    };
    watch_terminal(Arc::clone(&end));
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                match signal {
                    SIGCONT => face.continued(),
                    SIGINT | SIGQUIT if face.interrupted() => {}
                    signal => end(signal),
                }
            }
        })?;
    Ok(watch)
}

/// Waits until the terminal is gone, because not every lost terminal causes a signal.
fn watch_terminal(end: Arc<dyn Fn(i32) + Send + Sync>) {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return;
    }
    thread::spawn(move || {
        loop {
            // No event is requested, so only the end of the terminal wakes this call.
            match wait_for_hang_up(stdin.as_fd()) {
                Ok(true) => return end(SIGHUP),
                Ok(false) => {}
                Err(_) => return,
            }
        }
    });
}

fn wait_for_hang_up(terminal: BorrowedFd<'_>) -> io::Result<bool> {
    let mut watched = libc::pollfd {
        fd: terminal.as_raw_fd(),
        events: 0,
        revents: 0,
    };
    // SAFETY: one structure that outlives the call, and its count.
    let ready = unsafe { libc::poll(&raw mut watched, 1, -1) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::Interrupted => Ok(false),
            _ => Err(error),
        };
    }
    Ok(watched.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0)
}

/// Ends the children, saves the session, restores the terminal and exits.
fn end_process(
    signal: i32,
    watch: &Watch,
    session: &SharedSession,
    processes: &Processes,
    face: &Arc<dyn Face>,
) {
    if watch.ending.swap(true, Ordering::SeqCst) {
        // The process already ends. A lost terminal often sends HUP twice; a second signal of another kind
        // ends it at once.
        if signal == SIGHUP {
            return;
        }
        std::process::exit(128 + signal);
    }
    let children = {
        let processes = processes.clone();
        thread::spawn(move || processes.end_all(GRACE))
    };
    let until = Instant::now() + SAVING;
    let mut kept = session.try_close();
    while kept.is_none() && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
        kept = session.try_close();
    }
    if signal != SIGHUP {
        let (done, restored) = mpsc::channel();
        let face = Arc::clone(face);
        thread::spawn(move || {
            face.restore();
            // The receiver may have given up.
            let _ = done.send(());
        });
        let _ = restored.recv_timeout(RESTORING);
        if let Some(Err(error)) = &kept {
            errln!("error: {error}\n       {}", error.remedy());
        }
    }
    let _ = children.join();
    std::process::exit(128 + signal);
}
