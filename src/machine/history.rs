//! Records every executed step with its changes, so that a reader can go forward and back.

use std::collections::{BTreeSet, VecDeque};

use crate::instruction::Space;
use crate::lds::Lds;
use crate::observe::{AccessFigures, Observer, Step};
use crate::operand::{EXEC, Kind, M0, VCC};
use crate::program::Program;
use crate::wave::{Status, Wave};

/// Most bytes of changes that a history keeps, unless [`History::limited`] sets another limit.
const LIMIT: usize = 256 << 20;

/// Scalar registers that instructions change without naming them.
const SPECIAL: [u16; 5] = [VCC, VCC + 1, M0, EXEC, EXEC + 1];

/// One change of a step, with the value that the waves do not hold now. Applying the change swaps it with the present
/// value.
#[derive(Clone, Debug)]
enum Change {
    /// All lanes of the vector register in this row.
    Vector(u16, Box<[u32]>),
    Scalar(u16, u32),
    Condition(bool),
    /// Program counter, number of barriers passed, and the wave's status.
    Flow(u32, u32, Status),
    /// A word of LDS: its index, its value, and whether it was written.
    Local(u32, u32, bool),
}

/// One executed instruction of one wave.
#[derive(Clone, Debug)]
pub struct Record {
    pub wave: u32,
    /// Index of the instruction.
    pub pc: u32,
    /// EXEC before the instruction.
    pub exec: u64,
    pub access: Option<AccessFigures>,
    /// The [elements of the access](crate::Access::elements).
    pub elements: Box<[(u8, u64, u8)]>,
    /// Instructions whose results a wait waited for.
    pub waited: Box<[u32]>,
    changes: Box<[Change]>,
}

impl Record {
    fn bytes(&self) -> usize {
        let changes = self.changes.iter().map(|change| match change {
            Change::Vector(_, lanes) => 4 * lanes.len(),
            _ => 0,
        });
        let parts = size_of_val(&*self.changes) + size_of_val(&*self.elements);
        size_of::<Record>() + parts + changes.sum::<usize>()
    }
}

/// The steps of one workgroup, and the registers of its waves at a step that the reader can move.
///
/// It is an [`Observer`]: give it to [`Machine::run`](crate::Machine::run), then move with [`History::forward`] and
/// [`History::back`]. If the steps exceed the limit, it forgets the first ones.
#[derive(Clone, Debug, Default)]
pub struct History {
    workgroup: [u32; 3],
    steps: VecDeque<Record>,
    /// Number of steps that are applied to the waves.
    position: usize,
    waves: Vec<Wave>,
    lds: Vec<(u32, bool)>,
    forgotten: u64,
    bytes: usize,
    limit: usize,
    records: bool,
    launches: usize,
    wanted_launch: usize,
}

impl History {
    /// Creates a history of workgroup `workgroup` of the first launch.
    pub fn new(workgroup: [u32; 3]) -> History {
        History {
            workgroup,
            limit: LIMIT,
            ..History::default()
        }
    }

    /// Records launch `launch` instead. Launches count from 0, among those that this history observes.
    pub fn launch(mut self, launch: usize) -> History {
        self.wanted_launch = launch;
        self
    }

    /// Keeps at most `bytes` bytes of changes.
    pub fn limited(mut self, bytes: usize) -> History {
        self.limit = bytes;
        self
    }

    pub fn steps(&self) -> &VecDeque<Record> {
        &self.steps
    }

    /// Returns the number of steps before the first that is kept.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Returns the number of steps that are applied: 0 at the start, `steps().len()` at the end.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the step that was executed last.
    pub fn current(&self) -> Option<&Record> {
        self.steps.get(self.position.checked_sub(1)?)
    }

    /// Returns the step that comes next.
    pub fn next(&self) -> Option<&Record> {
        self.steps.get(self.position)
    }

    /// Returns the waves at this position.
    pub fn waves(&self) -> &[Wave] {
        &self.waves
    }

    /// Returns a word of LDS at this position, and whether it was written.
    pub fn local(&self, word: usize) -> Option<(u32, bool)> {
        self.lds.get(word).copied()
    }

    /// Executes the next step again. Returns false at the end.
    pub fn forward(&mut self) -> bool {
        let Some(step) = self.steps.get_mut(self.position) else {
            return false;
        };
        swap(step, &mut self.waves, &mut self.lds);
        self.position += 1;
        true
    }

    /// Takes the last step back. Returns false at the start.
    pub fn back(&mut self) -> bool {
        let before = self.position.checked_sub(1);
        let Some(step) = before.and_then(|at| self.steps.get_mut(at)) else {
            return false;
        };
        swap(step, &mut self.waves, &mut self.lds);
        self.position -= 1;
        true
    }

    /// Moves to `position`, or to the end if that comes first.
    pub fn seek(&mut self, position: usize) {
        while self.position < position && self.forward() {}
        while self.position > position && self.back() {}
    }

    fn capture(&mut self, step: &Step<'_>) {
        let Some(mirror) = self.waves.get_mut(step.wave.index as usize) else {
            return;
        };
        let wave = step.wave;
        let mut changes = vec![Change::Flow(wave.pc, wave.barriers, wave.status)];
        if mirror.scc != step.wave.scc {
            changes.push(Change::Condition(step.wave.scc));
        }
        let mut scalars = SPECIAL.to_vec();
        for operand in step.instruction.written() {
            let rows = operand.index..operand.index + operand.width.max(1);
            match operand.kind {
                Kind::Scalar => scalars.extend(rows.filter(|index| !SPECIAL.contains(index))),
                _ => {
                    for row in rows.filter(|row| mirror.vector(*row) != step.wave.vector(*row)) {
                        changes.push(Change::Vector(row, step.wave.vector(row).into()));
                    }
                }
            }
        }
        for index in scalars {
            let new = step.wave.scalars[usize::from(index)];
            if mirror.scalars[usize::from(index)] != new {
                changes.push(Change::Scalar(index, new));
            }
        }
        if step.access.space == Some(Space::Lds) && step.access.stores {
            let words = step.access.elements.iter().flat_map(|(_, address, bytes)| {
                let (address, bytes) = (*address as usize, usize::from(*bytes));
                address / 4..(address + bytes).div_ceil(4)
            });
            for word in words.collect::<BTreeSet<usize>>() {
                let new = (step.lds.word(word), step.lds.is_written(word));
                if self.lds.get(word).is_some_and(|old| *old != new) {
                    changes.push(Change::Local(word as u32, new.0, new.1));
                }
            }
        }
        let mut record = Record {
            wave: step.wave.index,
            pc: step.pc,
            exec: step.exec,
            access: step.access.figures(),
            elements: step.access.elements.as_slice().into(),
            waited: step.waited.into(),
            changes: changes.into(),
        };
        swap(&mut record, &mut self.waves, &mut self.lds);
        self.bytes += record.bytes();
        self.steps.push_back(record);
        while self.bytes > self.limit && self.steps.len() > 1 {
            if let Some(first) = self.steps.pop_front() {
                self.bytes -= first.bytes();
                self.forgotten += 1;
            }
        }
        self.position = self.steps.len();
    }
}

/// Exchanges the values that a step changed with the present ones. A step names each register or word only once.
fn swap(step: &mut Record, waves: &mut [Wave], lds: &mut [(u32, bool)]) {
    let Some(wave) = waves.get_mut(step.wave as usize) else {
        return;
    };
    for change in &mut step.changes {
        match change {
            Change::Vector(row, lanes) => wave.vector_mut(*row).swap_with_slice(lanes),
            Change::Scalar(index, value) => {
                std::mem::swap(&mut wave.scalars[usize::from(*index)], value)
            }
            Change::Condition(scc) => std::mem::swap(&mut wave.scc, scc),
            Change::Flow(pc, barriers, status) => {
                std::mem::swap(&mut wave.pc, pc);
                std::mem::swap(&mut wave.barriers, barriers);
                std::mem::swap(&mut wave.status, status);
            }
            Change::Local(word, value, written) => {
                if let Some(old) = lds.get_mut(*word as usize) {
                    std::mem::swap(&mut old.0, value);
                    std::mem::swap(&mut old.1, written);
                }
            }
        }
    }
}

impl Observer for History {
    fn begin(&mut self, _: &Program, workgroup: [u32; 3], waves: &[Wave], lds: &Lds) {
        // A launch begins with its first workgroup.
        self.launches += usize::from(workgroup == [0; 3]);
        self.records = workgroup == self.workgroup && self.launches == self.wanted_launch + 1;
        if self.records {
            self.waves = waves.to_vec();
            self.lds = (0..lds.bytes.len() / 4)
                .map(|word| (lds.word(word), lds.is_written(word)))
                .collect();
        }
    }

    fn step(&mut self, step: &Step<'_>) {
        if self.records {
            self.capture(step);
        }
    }
}
