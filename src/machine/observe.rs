//! Observes the execution of a program.

use serde::Serialize;

use crate::instruction::{Instruction, MemoryOp, Space};
use crate::lds::Lds;
use crate::program::Program;
use crate::wave::Wave;

/// Number of LDS banks. Each is four bytes wide.
const BANKS: usize = 32;

/// The memory access of one instruction of one wave.
#[derive(Clone, Debug)]
pub struct Access {
    pub space: Option<Space>,
    pub stores: bool,
    /// The lane, the first byte and the number of bytes, for each lane and element. For an exchange between lanes, which
    /// has no space: the lane, the lane whose value it takes, and 0 if EXEC excludes that one.
    pub elements: Vec<(u8, u64, u8)>,
    /// Lanes that read LDS that no wave had written.
    pub unwritten_error: u64,
}

impl Default for Access {
    fn default() -> Access {
        Access {
            space: None,
            stores: false,
            elements: Vec::with_capacity(128),
            unwritten_error: 0,
        }
    }
}

/// The counts of one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AccessFigures {
    pub space: Space,
    pub bytes: u32,
    /// Number of distinct lines of 64 and of 128 bytes; 0 in LDS and scratch.
    pub lines_64: u32,
    pub lines_128: u32,
    /// Number of passes through the 32 banks of LDS; 0 elsewhere.
    pub passes: u32,
    /// Number of passes that the same lanes would take without a conflict.
    pub least_passes: u32,
    /// Lanes that read LDS that no wave had written.
    pub unwritten_error: u64,
}

impl Access {
    pub(crate) fn clear(&mut self) {
        self.space = None;
        self.elements.clear();
        self.unwritten_error = 0;
    }

    pub(crate) fn note(&mut self, memory: &MemoryOp, lane: usize, address: u64) {
        self.space = Some(memory.space);
        self.stores = memory.stores();
        self.elements.push((lane as u8, address, memory.bytes));
    }

    /// Computes the counts. Returns `None` if the instruction moved nothing.
    pub fn figures(&self) -> Option<AccessFigures> {
        let space = self.space?;
        let bytes = self
            .elements
            .iter()
            .map(|(_, _, bytes)| u32::from(*bytes))
            .sum();
        let lines = |shift: u32| {
            let lines = self
                .elements
                .iter()
                .flat_map(|(_, at, bytes)| [*at >> shift, (*at + u64::from(*bytes) - 1) >> shift]);
            distinct(lines).len() as u32
        };
        let is_global = matches!(space, Space::Global | Space::Scalar);
        let (passes, least_passes) = match space {
            Space::Lds => self.passes(),
            _ => (0, 0),
        };
        Some(AccessFigures {
            space,
            bytes,
            lines_64: if is_global { lines(6) } else { 0 },
            lines_128: if is_global { lines(7) } else { 0 },
            passes,
            least_passes,
            unwritten_error: self.unwritten_error,
        })
    }

    /// True if a lane takes the value of a lane that EXEC excludes.
    pub fn takes_from_idle(&self) -> bool {
        self.space.is_none() && self.elements.iter().any(|element| element.2 == 0)
    }

    /// Counts the passes, and the fewest possible. Lanes go through the banks in groups that need at most 128 bytes: 32
    /// lanes of 4 bytes, 16 of 8, 8 of 16. A group takes a pass for each distinct word that its busiest bank has to
    /// give.
    fn passes(&self) -> (u32, u32) {
        let (mut passes, mut least) = (0, 0);
        let width = self
            .elements
            .iter()
            .map(|(_, _, bytes)| usize::from(*bytes))
            .max()
            .unwrap_or(4);
        let lanes = (BANKS * 4 / width.max(4)).max(1);
        // A lane's second element goes through in a separate group. All first elements come before the second ones.
        let mut seen = 0_u64;
        let groups = self.elements.iter().map(|(lane, at, bytes)| {
            let is_second = seen >> lane & 1 == 1;
            seen |= 1 << lane;
            let words = *at / 4..(*at + u64::from(*bytes)).div_ceil(4);
            ((is_second, usize::from(*lane) / lanes), words)
        });
        let groups: Vec<_> = groups.collect();
        for group in groups.chunk_by(|a, b| a.0 == b.0) {
            let words = distinct(group.iter().flat_map(|(_, words)| words.clone()));
            let mut banks = [0_u32; BANKS];
            for word in &words {
                banks[*word as usize % BANKS] += 1;
            }
            passes += banks.iter().max().copied().unwrap_or(0);
            least += words.len().div_ceil(BANKS) as u32;
        }
        (passes, least)
    }
}

/// Returns the bank of a lane's first word, and the lanes that want another word of that bank in the same pass.
pub fn bank_rivals(elements: &[(u8, u64, u8)], lane: usize) -> Option<(u64, Vec<u8>)> {
    let (_, at, bytes) = *elements.iter().find(|one| usize::from(one.0) == lane)?;
    let together = BANKS * 4 / usize::from(bytes).max(4);
    let (word, banks) = (at / 4, BANKS as u64);
    let is_rival = |one: &&(u8, u64, u8)| {
        usize::from(one.0) / together == lane / together
            && (one.1 / 4) % banks == word % banks
            && one.1 / 4 != word
    };
    let mut rivals: Vec<u8> = elements.iter().filter(is_rival).map(|one| one.0).collect();
    rivals.dedup();
    Some((word % banks, rivals))
}

/// Returns the distinct numbers, which mostly come in ascending order.
fn distinct(numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut distinct = Vec::with_capacity(128);
    for number in numbers {
        if distinct.last() != Some(&number) {
            distinct.push(number);
        }
    }
    if !distinct.is_sorted() {
        distinct.sort_unstable();
        distinct.dedup();
    }
    distinct
}

/// One executed instruction of one wave, seen after its execution.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub program: &'a Program,
    pub workgroup: [u32; 3],
    /// Index of the instruction.
    pub pc: u32,
    pub instruction: &'a Instruction,
    /// EXEC before the instruction.
    pub exec: u64,
    pub access: &'a Access,
    /// Indices of the instructions that a wait waited for.
    pub waited: &'a [u32],
    /// The wave with its registers after the instruction.
    pub wave: &'a Wave,
    pub lds: &'a Lds,
}

/// Receives every executed instruction.
pub trait Observer {
    /// True if the observer records anything. If it is false, the machine collects nothing.
    const ACTIVE: bool = true;

    /// Called when a workgroup begins with these waves.
    fn begin(&mut self, _program: &Program, _workgroup: [u32; 3], _waves: &[Wave], _lds: &Lds) {}

    fn step(&mut self, step: &Step<'_>);
}

/// Observes nothing.
impl Observer for () {
    const ACTIVE: bool = false;

    fn step(&mut self, _: &Step<'_>) {}
}

/// Passes everything to two observers.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const ACTIVE: bool = A::ACTIVE || B::ACTIVE;

    fn begin(&mut self, program: &Program, workgroup: [u32; 3], waves: &[Wave], lds: &Lds) {
        self.0.begin(program, workgroup, waves, lds);
        self.1.begin(program, workgroup, waves, lds);
    }

    fn step(&mut self, step: &Step<'_>) {
        self.0.step(step);
        self.1.step(step);
    }
}
