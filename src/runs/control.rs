//! Sends requests to a run in progress, from any thread.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::play::Speed;

/// Remote control of a run. The supervisor shares it with everything that may end the run. A stop is permanent: no further
/// run starts under the same control.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<SharedControl>);

#[derive(Debug, Default)]
struct SharedControl {
    asked: Mutex<ControlState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ControlState {
    /// The signal that asked the run to stop.
    stop: Option<i32>,
    speed: Speed,
    activity: Option<RunActivity>,
}

/// The source of a run in progress: a child or a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunActivity {
    /// A child that leads a process group, and the pipe that the group writes to.
    Child {
        leader: u32,
        output: Option<PathBuf>,
    },
    Recording,
}

impl Control {
    /// Asks the run to end. `signal` is the signal that this process received.
    pub fn stop(&self, signal: i32) {
        let mut asked = self.0.asked.lock();
        // A second signal would end the run before it reports its end.
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

    /// Sets the speed at which a recording is played.
    pub fn set_speed(&self, speed: Speed) {
        self.0.asked.lock().speed = speed;
        self.0.changed.notify_all();
    }

    pub(super) fn speed(&self) -> Speed {
        self.0.asked.lock().speed
    }

    /// Notes what is running now. It also receives a stop that was requested earlier.
    pub(super) fn set_activity(&self, activity: Option<RunActivity>) {
        let mut asked = self.0.asked.lock();
        asked.activity = activity;
        if asked.stop.is_some() {
            asked.signal(libc::SIGTERM);
        }
    }

    pub(super) fn kill(&self) {
        self.0.asked.lock().signal(libc::SIGKILL);
    }

    /// Sleeps for `time`, or until a stop or a speed other than `speed` is requested.
    pub(super) fn wait(&self, time: Duration, speed: Speed) {
        let mut asked = self.0.asked.lock();
        if asked.stop.is_none() && asked.speed == speed {
            self.0.changed.wait_for(&mut asked, time);
        }
    }
}

impl ControlState {
    fn signal(&self, signal: i32) {
        if let Some(RunActivity::Child { leader, output }) = &self.activity {
            signal_group(*leader, signal);
            if let Some(output) = output {
                signal_writers(output, *leader, signal);
            }
        }
    }
}

/// Sends `signal` to a child that leads its own process group, and to everything in that group.
pub fn signal_group(leader: u32, signal: i32) {
    if let Ok(group) = i32::try_from(leader) {
        // SAFETY: kill takes two numbers. The group belongs to the child and was made when the child started.
        unsafe { libc::kill(-group, signal) };
    }
}

/// Sends `signal` to processes that write to a run's pipe but left its group. `setsid` and schedulers start programs in
/// other groups. Does nothing if the system does not show who writes.
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
            // SAFETY: both take numbers. A process that has ended meanwhile causes an error that changes nothing.
            unsafe {
                if u32::try_from(libc::getpgid(id)) != Ok(leader) {
                    libc::kill(id, signal);
                }
            }
        }
    }
}

/// The runs that a tutor started. They can be ended together with the tutor.
#[derive(Clone, Debug, Default)]
pub struct Processes(Arc<Mutex<Vec<Control>>>);

impl Processes {
    /// Creates a control for a run that is about to start.
    pub fn control(&self) -> Control {
        let control = Control::default();
        let mut controls = self.0.lock();
        // Controls with no other owner belong to runs that have ended.
        controls.retain(|control| Arc::strong_count(&control.0) > 1);
        controls.push(control.clone());
        control
    }

    /// Asks every run to end. Returns false if there is none.
    pub fn ask_to_end(&self) -> bool {
        let activity = self.controls_of(|_| true);
        activity.iter().for_each(|run| run.stop(libc::SIGTERM));
        !activity.is_empty()
    }

    /// Asks every run to end. After `grace`, kills the processes that are left.
    pub fn end_all(&self, grace: Duration) {
        self.ask_to_end();
        let processes = self.controls_of(|activity| *activity != RunActivity::Recording);
        if !processes.is_empty() {
            std::thread::sleep(grace);
            processes.iter().for_each(Control::kill);
        }
    }

    fn controls_of(&self, wanted: impl Fn(&RunActivity) -> bool) -> Vec<Control> {
        let controls = self.0.lock();
        let activity = |control: &&Control| {
            control
                .0
                .asked
                .lock()
                .activity
                .as_ref()
                .is_some_and(&wanted)
        };
        controls.iter().filter(activity).cloned().collect()
    }
}
