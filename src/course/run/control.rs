//! Asking for something of a run while it goes, from whatever thread.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::play::Speed;

/// A run's remote control, shared by whoever supervises it and whoever may end it. A stop stays asked for: no further run
/// starts under the same control.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    asked: Mutex<Asked>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Asked {
    /// Who asked for the end: the signal that was received.
    stop: Option<i32>,
    speed: Speed,
    going: Option<Going>,
}

/// What is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Going {
    /// A child that leads a process group, and the pipe that it and what it started write to.
    Child {
        leader: u32,
        output: Option<PathBuf>,
    },
    Recording,
}

impl Control {
    /// Asks what is going to end; `signal` is what the asker received.
    pub fn stop(&self, signal: i32) {
        let mut asked = self.0.asked.lock();
        // A run that is asked again ends without a word.
        if asked.stop.is_none() {
            asked.stop = Some(signal);
            asked.signal(libc::SIGTERM);
            self.0.changed.notify_all();
        }
    }

    /// The first signal that asked for the end.
    pub fn stopped(&self) -> Option<i32> {
        self.0.asked.lock().stop
    }

    /// How fast a recording is played.
    pub fn set_speed(&self, speed: Speed) {
        self.0.asked.lock().speed = speed;
        self.0.changed.notify_all();
    }

    pub(super) fn speed(&self) -> Speed {
        self.0.asked.lock().speed
    }

    /// Notes what is going now. A stop that was asked for before reaches it, too.
    pub(super) fn goes(&self, going: Option<Going>) {
        let mut asked = self.0.asked.lock();
        asked.going = going;
        if asked.stop.is_some() {
            asked.signal(libc::SIGTERM);
        }
    }

    pub(super) fn kill(&self) {
        self.0.asked.lock().signal(libc::SIGKILL);
    }

    /// Sleeps for this long, or until an end or a speed other than this one is asked for.
    pub(super) fn wait(&self, time: Duration, speed: Speed) {
        let mut asked = self.0.asked.lock();
        if asked.stop.is_none() && asked.speed == speed {
            self.0.changed.wait_for(&mut asked, time);
        }
    }
}

impl Asked {
    fn signal(&self, signal: i32) {
        if let Some(Going::Child { leader, output }) = &self.going {
            signal_group(*leader, signal);
            if let Some(output) = output {
                signal_writers(output, *leader, signal);
            }
        }
    }
}

/// Sends `signal` to a child that leads its own group, and to everything it started.
pub fn signal_group(leader: u32, signal: i32) {
    if let Ok(group) = i32::try_from(leader) {
        // SAFETY: kill takes two numbers; the group is the child's own, made when it was started.
        unsafe { libc::kill(-group, signal) };
    }
}

/// Sends `signal` to what writes to a run's pipe and is no longer in the group of its leader: `setsid` and schedulers start
/// programs in groups of their own. Nothing where the system does not tell who writes.
fn signal_writers(output: &Path, leader: u32, signal: i32) {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let writes = std::fs::read_link(process.path().join("fd/1")).is_ok_and(|to| to == output);
        let name = process.file_name();
        if let Some(id) = name
            .to_str()
            .and_then(|name| name.parse().ok())
            .filter(|_| writes)
        {
            // SAFETY: both take numbers; a process that is gone meanwhile is an error that changes nothing.
            unsafe {
                if u32::try_from(libc::getpgid(id)) != Ok(leader) {
                    libc::kill(id, signal);
                }
            }
        }
    }
}

/// The runs a tutor started, so that whoever ends the tutor can end them.
#[derive(Clone, Debug, Default)]
pub struct Processes(Arc<Mutex<Vec<Control>>>);

impl Processes {
    /// A control for a run that is about to start.
    pub fn control(&self) -> Control {
        let control = Control::default();
        let mut controls = self.0.lock();
        // Those that nobody else holds belong to runs that are over.
        controls.retain(|control| Arc::strong_count(&control.0) > 1);
        controls.push(control.clone());
        control
    }

    /// Asks every run to end; false when there is none.
    pub fn ask_to_end(&self) -> bool {
        let going = self.going(|_| true);
        going.iter().for_each(|run| run.stop(libc::SIGTERM));
        !going.is_empty()
    }

    /// Asks every run to end and, after `grace`, makes its processes.
    pub fn end(&self, grace: Duration) {
        self.ask_to_end();
        let processes = self.going(|going| *going != Going::Recording);
        if !processes.is_empty() {
            std::thread::sleep(grace);
            processes.iter().for_each(Control::kill);
        }
    }

    fn going(&self, wanted: impl Fn(&Going) -> bool) -> Vec<Control> {
        let controls = self.0.lock();
        let going = |control: &&Control| control.0.asked.lock().going.as_ref().is_some_and(&wanted);
        controls.iter().filter(going).cloned().collect()
    }
}
