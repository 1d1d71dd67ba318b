//! Signals, on a thread of their own that needs nothing from whatever else goes on.
//!
//! When its terminal vanishes, crossterm 0.29's reader spins and never answers: the end has to come from here.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::run::Processes;
use crate::session::{Session, SessionError};

/// A session that whoever ends the tutor can close; empty once it was.
#[derive(Clone, Debug, Default)]
pub struct SharedSession(Arc<Mutex<Option<Session>>>);

impl SharedSession {
    pub fn new(session: Session) -> Self {
        Self(Arc::new(Mutex::new(Some(session))))
    }

    /// Does something to the session; none once it is closed.
    pub fn with<T>(&self, act: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let mut session = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        session.as_mut().map(act)
    }

    /// Writes its cache and lets go of its lock. All acknowledged events are on the disk already.
    ///
    /// # Errors
    /// When something that was done is not kept.
    pub fn close(&self) -> Result<(), SessionError> {
        close(self.0.lock().unwrap_or_else(PoisonError::into_inner).take())
    }

    /// The same where nobody is at it just now; none while somebody is.
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

/// What depends on the face of the tutor.
pub trait Face: Send + Sync {
    /// Gives the terminal back as it was found.
    fn restore(&self);

    /// The tutor goes on after a stop.
    fn continued(&self);

    /// An interrupt or quit from the keyboard; true when it was not meant for the tutor.
    fn interrupted(&self) -> bool;
}

/// How long the children have to end by themselves.
const GRACE: Duration = Duration::from_millis(800);
/// How long to wait for an event that is just being written.
const SAVING: Duration = Duration::from_secs(2);
/// A terminal that was stopped with Ctrl-S takes no bytes; the end does not wait for it.
const RESTORING: Duration = Duration::from_millis(300);

/// Lets the tutor say that it is on its way out.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    ending: Arc<AtomicBool>,
}

impl Watch {
    /// The tutor ends by itself: from now on a signal ends it at once. Does not return when a signal came first, whose
    /// thread is closing the session and will end the process.
    pub fn done(&self) {
        if self.ending.swap(true, Ordering::SeqCst) {
            thread::sleep(SAVING + GRACE + RESTORING);
        }
    }
}

/// Starts listening: HUP, TERM, INT and QUIT end the tutor in order, CONT has it drawn again.
pub fn watch(
    session: SharedSession,
    processes: Processes,
    face: Arc<dyn Face>,
) -> io::Result<Watch> {
    let watch = Watch::default();
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGCONT])?;
    let end: Arc<dyn Fn(i32) + Send + Sync> = {
        let (watch, face) = (watch.clone(), Arc::clone(&face));
        Arc::new(move |signal| end(signal, &watch, &session, &processes, &face))
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

/// Sleeps until the terminal is gone, also where nobody sends a signal about it.
fn watch_terminal(end: Arc<dyn Fn(i32) + Send + Sync>) {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return;
    }
    thread::spawn(move || {
        loop {
            // Without a request nothing wakes this but the end of the terminal.
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

/// Ends children, saves the session, gives the terminal back and leaves.
fn end(
    signal: i32,
    watch: &Watch,
    session: &SharedSession,
    processes: &Processes,
    face: &Arc<dyn Face>,
) {
    if watch.ending.swap(true, Ordering::SeqCst) {
        // Already on the way out. A lost terminal is often told twice, and anybody else's second signal does not wait.
        if signal == SIGHUP {
            return;
        }
        std::process::exit(128 + signal);
    }
    let children = {
        let processes = processes.clone();
        thread::spawn(move || processes.end(GRACE))
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
            // Whoever waited may have given up.
            let _ = done.send(());
        });
        let _ = restored.recv_timeout(RESTORING);
        if let Some(Err(error)) = &kept {
            eprintln!("error: {error}\n       {}", error.remedy());
        }
    }
    let _ = children.join();
    std::process::exit(128 + signal);
}
