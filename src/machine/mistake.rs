//! Mistakes of a kernel that do not end its execution.

use std::collections::BTreeMap;

use crate::instruction::Space;
use crate::shadow::UseKind;

/// Most mistakes that are kept of a machine's launches. Later ones mostly follow from the first.
const MOST: usize = 24;

/// Most reads of unwritten memory that are kept until it is known whether they are races.
const MOST_EARLY: usize = 1 << 16;

/// Bytes of an array that an access touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub space: Space,
    /// Name of the array. Empty for local memory whose size the launch sets, and for a lane's private memory.
    pub array: String,
    /// First byte, from the array's first one.
    pub offset: i64,
    pub bytes: usize,
    /// Bytes of the array, and of one of its elements.
    pub length: usize,
    pub element: usize,
}

/// One mistake of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub kind: MistakeKind,
    /// Index of the instruction.
    pub pc: u32,
    pub workgroup: [u32; 3],
    pub thread: [u32; 3],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MistakeKind {
    /// A read of memory that nothing has written.
    Unwritten { kind: UseKind, place: Place },
    /// A use of memory that another thread uses, with no order between the two.
    Race {
        kind: UseKind,
        place: Place,
        /// Index of the other instruction.
        other_pc: u32,
        /// Number of the other thread in its workgroup.
        other_thread: u32,
        is_other_workgroup: bool,
        /// True for two threads of one wave, which hardware may order by chance.
        is_same_wave: bool,
        /// True if the other thread wrote, false if it read.
        other_wrote: bool,
    },
    /// The thread takes the value of a lane that takes no part.
    IdleLane { lane: usize },
}

/// An array's key, and the word in it.
pub(crate) type Word = (u64, u64);

/// The mistakes found so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mistakes {
    all: Vec<Mistake>,
    /// Reads of unwritten memory. If another thread writes the word before the two meet, the mistake is the race.
    early: BTreeMap<Word, Mistake>,
}

impl Mistakes {
    pub fn all(&self) -> &[Mistake] {
        &self.all
    }

    pub fn add(&mut self, word: Word, mistake: Mistake) {
        match mistake.kind {
            MistakeKind::Unwritten { .. } => {
                if self.early.len() < MOST_EARLY {
                    self.early.entry(word).or_insert(mistake);
                }
            }
            _ => {
                self.early.remove(&word);
                self.keep(mistake);
            }
        }
    }

    /// Keeps a mistake, if its instructions have not made it before. A race of two waves says more than one of two lanes.
    pub fn keep(&mut self, mistake: Mistake) {
        let other = |one: &Mistake| match one.kind {
            MistakeKind::Race {
                other_pc,
                other_wrote,
                ..
            } => Some((other_pc, other_wrote)),
            _ => None,
        };
        let is_same = |one: &Mistake| {
            one.pc == mistake.pc
                && std::mem::discriminant(&one.kind) == std::mem::discriminant(&mistake.kind)
                && other(one) == other(&mistake)
        };
        let is_in_wave = |one: &Mistake| match one.kind {
            MistakeKind::Race { is_same_wave, .. } => is_same_wave,
            _ => false,
        };
        match self.all.iter().position(is_same) {
            Some(at) if is_in_wave(&self.all[at]) && !is_in_wave(&mistake) => {
                self.all[at] = mistake;
            }
            Some(_) => {}
            None if self.all.len() < MOST => self.all.push(mistake),
            None => {}
        }
    }

    /// Keeps the reads of words for which `is_settled`, because no other thread can write them any more.
    pub fn settle(&mut self, is_settled: impl Fn(&Word) -> bool) {
        let (settled, early) = std::mem::take(&mut self.early)
            .into_iter()
            .partition(|(word, _): &(Word, Mistake)| is_settled(word));
        self.early = early;
        let settled: BTreeMap<Word, Mistake> = settled;
        for mistake in settled.into_values() {
            self.keep(mistake);
        }
    }
}
