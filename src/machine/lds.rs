//! Local memory of a workgroup (LDS): its bytes, and the waves that used each word since a barrier.

use crate::error::Fault;
use crate::program::Program;
use crate::wave::{UNWRITTEN, Wave};

/// Last uses of one word of four bytes. Waves count from 1; 0 means no wave. Times are counts of barriers.
#[derive(Clone, Copy, Debug)]
struct Use {
    writer: u32,
    written_at: u32,
    written_by: u32,
    read_at: u32,
    /// The last reader, and the last one before it that is another wave: wave and instruction.
    readers: [(u32, u32); 2],
}

/// The writer of a word that an atomic operation changed.
const ATOMIC: u32 = u32::MAX;

/// A time at which nothing is found to be a race.
const NEVER: u32 = u32::MAX;

const UNUSED: Use = Use {
    writer: 0,
    written_at: NEVER,
    written_by: 0,
    read_at: NEVER,
    readers: [(0, 0); 2],
};

#[derive(Clone, Debug, Default)]
pub struct Lds {
    pub bytes: Vec<u8>,
    uses: Vec<Use>,
    /// True if two waves that use a word without a barrier between them end the execution.
    pub(crate) finds_races: bool,
}

impl Lds {
    pub(crate) fn new(bytes: usize, finds_races: bool) -> Lds {
        let words = bytes.div_ceil(4);
        Lds {
            bytes: (0..words).flat_map(|_| UNWRITTEN.to_le_bytes()).collect(),
            uses: vec![UNUSED; words],
            finds_races,
        }
    }

    pub fn word(&self, index: usize) -> u32 {
        let word = self.bytes.get(index * 4..index * 4 + 4);
        word.and_then(|word| word.try_into().ok())
            .map_or(0, u32::from_le_bytes)
    }

    /// Returns whether a wave wrote the word.
    pub fn is_written(&self, index: usize) -> bool {
        self.uses.get(index).is_some_and(|word| word.writer != 0)
    }

    fn check(
        &self,
        what: &'static str,
        lane: usize,
        address: usize,
        bytes: usize,
    ) -> Result<(), Box<Fault>> {
        if address + bytes <= self.bytes.len() {
            return Ok(());
        }
        let sizes = [self.bytes.len(), bytes];
        Err(Fault::out_of_bounds(
            what,
            "LDS",
            lane,
            address as i64,
            sizes,
        ))
    }

    /// Returns the bytes, and whether one of them was never written.
    #[inline(always)]
    pub(crate) fn load(
        &mut self,
        program: &Program,
        wave: &Wave,
        lane: usize,
        address: usize,
        bytes: usize,
    ) -> Result<(&[u8], bool), Box<Fault>> {
        self.check("an LDS load", lane, address, bytes)?;
        let (me, now, pc) = (wave.index + 1, wave.barriers, wave.pc);
        let mut unwritten_error = false;
        let words = address / 4..(address + bytes).div_ceil(4);
        for (word, used) in words.clone().zip(&mut self.uses[words]) {
            unwritten_error |= used.writer == 0;
            if used.written_at == now && used.writer != me && self.finds_races {
                let other = (used.writer, "wrote", used.written_by);
                return Err(race(program, word * 4, lane, (me, "reads"), other));
            }
            let before = match used.readers {
                _ if used.read_at != now => (0, 0),
                [last, before] if last.0 == me => before,
                [last, _] => last,
            };
            (used.read_at, used.readers) = (now, [(me, pc), before]);
        }
        Ok((&self.bytes[address..address + bytes], unwritten_error))
    }

    #[inline(always)]
    pub(crate) fn store(
        &mut self,
        program: &Program,
        wave: &Wave,
        lane: usize,
        address: usize,
        value: &[u8],
    ) -> Result<(), Box<Fault>> {
        self.check("an LDS store", lane, address, value.len())?;
        let (me, now, pc) = (wave.index + 1, wave.barriers, wave.pc);
        let end = address + value.len();
        let changes = self.bytes[address..end] != *value;
        let words = address / 4..end.div_ceil(4);
        for (word, used) in words.clone().zip(&mut self.uses[words]) {
            // Waves may write the same value to one word, or write parts of one word.
            let whole = value.len() >= 4;
            if self.finds_races && changes && whole {
                if used.written_at == now && used.writer != me {
                    let other = (used.writer, "wrote", used.written_by);
                    return Err(race(program, word * 4, lane, (me, "writes"), other));
                }
                let mut readers = used.readers.iter().filter(|_| used.read_at == now);
                if let Some((reader, pc)) = readers.find(|one| one.0 != 0 && one.0 != me) {
                    let other = (*reader, "read", *pc);
                    return Err(race(program, word * 4, lane, (me, "writes"), other));
                }
            }
            (used.writer, used.written_at, used.written_by) = (me, now, pc);
        }
        self.bytes[address..end].copy_from_slice(value);
        Ok(())
    }

    /// Returns the bytes that an atomic operation changes, and whether one of them was never written. Atomic operations
    /// need no order among waves.
    pub(crate) fn atomic(
        &mut self,
        lane: usize,
        address: usize,
        bytes: usize,
    ) -> Result<(&mut [u8], bool), Box<Fault>> {
        self.check("an LDS atomic", lane, address, bytes)?;
        let mut unwritten_error = false;
        for used in &mut self.uses[address / 4..(address + bytes).div_ceil(4)] {
            unwritten_error |= used.writer == 0;
            (used.writer, used.written_at) = (ATOMIC, NEVER);
        }
        Ok((&mut self.bytes[address..address + bytes], unwritten_error))
    }
}

fn race(
    program: &Program,
    address: usize,
    lane: usize,
    (wave, did): (u32, &'static str),
    (other, other_did, pc): (u32, &'static str, u32),
) -> Box<Fault> {
    // The program counter already points behind the instruction while it runs.
    let instruction = program.instructions.get(pc.saturating_sub(1) as usize);
    Box::new(Fault::Race {
        address,
        lane,
        wave: wave - 1,
        did,
        other: other - 1,
        other_did,
        instruction: instruction.map_or_else(String::new, |one| one.text.clone()),
        place: instruction.map_or_else(String::new, |one| program.place(one.location)),
    })
}
