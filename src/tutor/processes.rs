//! The process groups a tutor started, so that whoever ends the tutor can end them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::run::signal_group;

/// Shared by the loop that starts children and the thread that answers signals.
#[derive(Clone, Debug, Default)]
pub struct Processes(Arc<Mutex<BTreeSet<u32>>>);

/// A group that is running; dropping it says that it ended.
#[derive(Debug)]
pub struct Registered {
    processes: Processes,
    leader: u32,
}

impl Processes {
    /// Notes a group by its leader.
    pub fn add(&self, leader: u32) -> Registered {
        self.lock().insert(leader);
        Registered {
            processes: self.clone(),
            leader,
        }
    }

    /// Asks every group to end; false when there is none.
    pub fn ask_to_end(&self) -> bool {
        let leaders = self.lock();
        for leader in leaders.iter() {
            signal_group(*leader, libc::SIGTERM);
        }
        !leaders.is_empty()
    }

    /// Asks every group to end and, after `grace`, makes it.
    pub fn end(&self, grace: Duration) {
        let leaders: Vec<u32> = self.lock().iter().copied().collect();
        if leaders.is_empty() {
            return;
        }
        for leader in &leaders {
            signal_group(*leader, libc::SIGTERM);
        }
        std::thread::sleep(grace);
        for leader in &leaders {
            signal_group(*leader, libc::SIGKILL);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<u32>> {
        // A set of numbers cannot be left half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.processes.lock().remove(&self.leader);
    }
}
