//! Notes how the lanes of a wavefront access memory, for every load and store of a kernel: cache lines and sectors
//! touched, banks of local memory in conflict, and the lanes' addresses in the worst case.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tinyllama_machine::{Lds, LocalArray, Memory, Observer, Program, Space, Step, Wave};

use super::words::own_line;
use crate::picture::AccessPicture;

const LINE: u64 = 128;
const SECTOR: u64 = 32;
const BANKS: u64 = 32;
const BANK_BYTES: u64 = 4;

/// Most workgroups of a launch that are noted, and most executions of an instruction by a wave of one workgroup.
const MOST_WORKGROUPS: u32 = 16;
const MOST_TURNS: u32 = 64;

/// One lane's access: the lane, the first byte, and the number of bytes.
type Element = (u8, u64, u8);

/// One load or store, over all wavefronts that were noted.
#[derive(Debug, Default)]
struct Noted {
    picture: AccessPicture,
    /// The accesses of the wavefront with the most lines or passes above the fewest possible.
    worst: Vec<Element>,
    excess: u64,
}

/// An [`Observer`] that notes accesses and barriers.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    all: BTreeMap<u32, Noted>,
    turns: HashMap<(u32, u32), u32>,
    workgroup: u32,
    stride: u32,
    /// Barriers of the present workgroup, and of the one with most.
    barriers: u64,
    pub most_barriers: u64,
}

impl Pictures {
    /// Prepares for the workgroups of a launch.
    pub fn begin_launch(&mut self, grid: [u32; 3]) {
        let count = grid
            .iter()
            .fold(1_u32, |all, side| all.saturating_mul(*side));
        self.stride = (count / MOST_WORKGROUPS).max(1);
        self.workgroup = u32::MAX;
    }

    /// Returns the pictures, with the names of the arrays.
    pub fn finish(
        self,
        program: &Program,
        memory: &Memory,
        local_arrays: impl Fn(u32) -> Vec<LocalArray>,
    ) -> Vec<AccessPicture> {
        let finished = self.all.into_iter().map(|(pc, noted)| {
            let first = noted.worst.iter().map(|one| one.1).min().unwrap_or(0);
            let mut lanes = vec![None; program.wave_size];
            for (lane, address, _) in &noted.worst {
                lanes[usize::from(*lane)] = Some(address - first);
            }
            let array = match noted.picture.local {
                true => {
                    let arrays = local_arrays(pc);
                    let before = arrays
                        .iter()
                        .filter(|array| array.address as u64 <= first)
                        .max_by_key(|array| array.address);
                    before.map(|array| array.name.clone())
                }
                false => memory.name(first).map(|(name, _)| name.to_owned()),
            };
            AccessPicture {
                line: own_line(program, program.location(pc)).unwrap_or(0),
                array: array.unwrap_or_default(),
                first: first % LINE,
                lanes,
                ..noted.picture
            }
        });
        finished.filter(|picture| picture.line > 0).collect()
    }

    fn note(&mut self, step: &Step<'_>, space: Space, elements: &[Element]) {
        let noted = self.all.entry(step.pc).or_default();
        let picture = &mut noted.picture;
        picture.local = space == Space::Lds;
        picture.access = match step.instruction.verb() {
            Some("writes") => "write".into(),
            Some("updates") => "update".into(),
            _ => "read".into(),
        };
        picture.width = elements.first().map_or(0, |one| one.2.into());
        picture.requests += 1;
        let excess = match picture.local {
            true => add_conflicts(picture, elements),
            false => add_lines(picture, elements),
        };
        if noted.worst.is_empty() || excess > noted.excess {
            noted.excess = excess;
            noted.worst = elements.to_vec();
        }
    }
}

impl Observer for Pictures {
    fn begin(&mut self, _: &Program, _: [u32; 3], _: &[Wave], _: &Lds) {
        self.workgroup = self.workgroup.wrapping_add(1);
        self.turns.clear();
        self.barriers = 0;
    }

    fn step(&mut self, step: &Step<'_>) {
        if step.wave.index == 0 && step.instruction.is_barrier() {
            self.barriers += 1;
            self.most_barriers = self.most_barriers.max(self.barriers);
        }
        let Some(space @ (Space::Global | Space::Lds)) = step.access.space else {
            return;
        };
        if !self.workgroup.is_multiple_of(self.stride) {
            return;
        }
        // An instruction with two elements a lane lists all first ones before the second ones.
        let new_turn = |a: &Element, b: &Element| a.0 < b.0;
        for elements in step.access.elements.chunk_by(new_turn) {
            let turn = self.turns.entry((step.pc, step.wave.index)).or_default();
            *turn += 1;
            if *turn <= MOST_TURNS {
                self.note(step, space, elements);
            }
        }
    }
}

/// Counts lines and sectors. Returns the lines above the fewest possible.
fn add_lines(picture: &mut AccessPicture, elements: &[Element]) -> u64 {
    let sectors: BTreeSet<u64> = elements
        .iter()
        .flat_map(|(_, at, bytes)| at / SECTOR..=(at + u64::from(*bytes) - 1) / SECTOR)
        .collect();
    let lines: BTreeSet<u64> = sectors.iter().map(|at| at * SECTOR / LINE).collect();
    let addresses: BTreeSet<u64> = elements.iter().map(|one| one.1).collect();
    let fewest = (addresses.len() as u64 * picture.width).div_ceil(LINE);
    picture.lines += lines.len() as u64;
    picture.sectors += sectors.len() as u64;
    picture.fewest += fewest;
    (lines.len() as u64).saturating_sub(fewest)
}

/// Counts passes. Lanes are served in groups: 32 with four bytes each, fewer with wider accesses. Returns the passes of
/// the worst group above one.
fn add_conflicts(picture: &mut AccessPicture, elements: &[Element]) -> u64 {
    let together = (BANKS * BANK_BYTES / picture.width.max(BANK_BYTES)).max(1);
    let group = |one: &Element| u64::from(one.0) / together;
    let mut most = 1;
    for elements in elements.chunk_by(|a, b| group(a) == group(b)) {
        let words: BTreeSet<u64> = elements
            .iter()
            .flat_map(|(_, at, bytes)| {
                at / BANK_BYTES..(at + u64::from(*bytes)).div_ceil(BANK_BYTES)
            })
            .collect();
        let mut banks = [0; BANKS as usize];
        for word in words {
            banks[(word % BANKS) as usize] += 1;
        }
        let degree = banks.into_iter().max().unwrap_or(1).max(1);
        picture.groups += 1;
        picture.passes += degree;
        picture.degree = picture.degree.max(degree);
        most = most.max(degree);
    }
    most - 1
}
