//! What orders two uses of memory: launches, barriers of a workgroup, barriers of a wave, and fences with atomic
//! operations between workgroups.

use std::collections::HashMap;

/// What a launch is checked for besides its bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    Off,
    /// What goes wrong on hardware whose waves run in lockstep: races in LDS between two waves.
    #[default]
    Waves,
    /// What is wrong in the language, in which every thread is on its own: races between any two threads, in LDS and
    /// in global memory; reads of memory that was never written; barriers that some threads do not reach; values taken
    /// from lanes that take no part.
    Threads,
}

/// One use of a word of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Use {
    /// Stretch of one workgroup between two barriers; 0 if there was no use, [`HOST`] for what was there before.
    pub epoch: u32,
    /// Number of the thread in its workgroup.
    pub thread: u16,
    /// Number of wave barriers that the thread's wave has passed in this stretch.
    pub meeting: u8,
    pub is_atomic: bool,
    /// Index of the instruction.
    pub pc: u32,
}

/// The epoch in which the host filled the buffers.
pub(crate) const HOST: u32 = 1;

/// Work of one workgroup that later work of another one may rely on: its stretches from `first` up to `end`, and what
/// `thread` did in stretch `end`.
#[derive(Clone, Copy, Debug)]
struct Released {
    first: u32,
    end: u32,
    thread: u16,
}

impl Released {
    fn covers(&self, one: &Use) -> bool {
        (self.first..self.end).contains(&one.epoch)
            || (one.epoch == self.end && one.thread == self.thread)
    }
}

/// The present stretch, and what it may rely on. Epochs only grow.
#[derive(Debug)]
pub(crate) struct Order {
    pub checks: Checks,
    pub epoch: u32,
    /// First stretches of the workgroup and of the launch.
    workgroup: u32,
    launch: u32,
    /// Number of lanes of a wave.
    lanes: u16,
    /// Work that was released before an atomic operation on an address.
    released: HashMap<u64, Vec<Released>>,
    /// Work that this workgroup may rely on. Until the next barrier only the thread that acquired it may.
    acquired: Vec<(Released, Option<u16>)>,
}

impl Order {
    pub fn new(lanes: usize) -> Order {
        Order {
            checks: Checks::Off,
            epoch: HOST,
            workgroup: HOST,
            launch: HOST,
            lanes: lanes as u16,
            released: HashMap::new(),
            acquired: vec![],
        }
    }

    pub fn begin_launch(&mut self, checks: Checks) {
        self.checks = checks;
        self.launch = self.epoch + 1;
        self.released.clear();
    }

    pub fn begin_workgroup(&mut self) {
        self.epoch += 1;
        self.workgroup = self.epoch;
        self.acquired.clear();
    }

    pub fn pass_barrier(&mut self) {
        self.epoch += 1;
        for (_, thread) in &mut self.acquired {
            *thread = None;
        }
    }

    pub fn is_of_workgroup(&self, one: &Use) -> bool {
        one.epoch >= self.workgroup
    }

    pub fn wave_of(&self, one: &Use) -> u16 {
        one.thread / self.lanes
    }

    /// Returns whether nothing orders the earlier use `one` before the use `now`.
    pub fn is_unordered(&self, one: &Use, now: &Use) -> bool {
        if one.epoch < self.launch {
            return false;
        }
        if !self.is_of_workgroup(one) {
            let mut acquired = self.acquired.iter();
            return !acquired.any(|(released, thread)| {
                thread.is_none_or(|thread| thread == now.thread) && released.covers(one)
            });
        }
        if one.epoch != now.epoch || one.thread == now.thread {
            return false;
        }
        if self.wave_of(one) != self.wave_of(now) {
            return true;
        }
        self.checks == Checks::Threads && one.meeting == now.meeting
    }

    /// A thread that passed a fence in stretch `fenced` changes `address` with an atomic operation.
    pub fn release(&mut self, address: u64, thread: u16, fenced: u32) {
        let own = Released {
            first: self.workgroup,
            end: fenced,
            thread,
        };
        let relied_on = self
            .acquired
            .iter()
            .filter(|(_, of)| of.is_none_or(|of| of == thread));
        let relied_on: Vec<Released> = relied_on.map(|(released, _)| *released).collect();
        let all = self.released.entry(address).or_default();
        all.extend(relied_on);
        all.push(own);
    }

    pub fn is_released(&self, address: u64) -> bool {
        self.released.contains_key(&address)
    }

    /// A thread that read `address` with an atomic operation passes a fence.
    pub fn acquire(&mut self, address: u64, thread: u16) {
        let all = self.released.get(&address).into_iter().flatten();
        self.acquired.extend(all.map(|one| (*one, Some(thread))));
    }
}
