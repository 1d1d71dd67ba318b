//! The registers of one wave, and the results that it waits for.

use crate::float;
use crate::operand::{EXEC, Kind, NULL, Operand, VCC};

/// Content of registers and LDS before the first write: a NaN that is easy to recognise.
pub const UNWRITTEN: u32 = 0x7fc0_dead;

/// Number of scalar registers in the numbering of operands. The rows of vector registers follow them.
const SCALARS: usize = 128;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Running,
    AtBarrier,
    Ended,
}

/// Counters of outstanding work that `s_waitcnt` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Loads, and on CDNA stores, of global memory.
    Vector,
    /// LDS, in order.
    Lds,
    /// Loads into scalar registers. They share a counter with LDS and end in any order.
    Scalar,
    /// Stores on RDNA.
    Store,
}

/// An instruction whose result may still be outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outstanding {
    pub counter: Counter,
    pub pc: u32,
    /// First register in [`Wave::row_of`]'s numbering, and the number of registers.
    pub registers: (u16, u16),
}

/// One wave: its registers and its position in the program.
#[derive(Clone, Debug)]
pub struct Wave {
    /// Number of the wave in its workgroup.
    pub index: u32,
    pub lanes: usize,
    /// `s0` to `s105`, then VCC at 106, M0 at 124, EXEC at 126.
    pub scalars: [u32; SCALARS],
    pub scc: bool,
    /// Index of the next instruction.
    pub pc: u32,
    pub status: Status,
    /// Number of barriers passed.
    pub barriers: u32,
    /// The lanes with a thread.
    pub(crate) started: u64,
    /// Number of wave barriers passed since the last barrier.
    pub(crate) meetings: u8,
    /// The stretch in which each lane passed a fence last; 0 if it passed none.
    pub(crate) fences: [u32; 64],
    /// Atomic reads of lanes since their last fence, and the addresses.
    pub(crate) signals: Vec<(u8, u64)>,
    vectors: Vec<u32>,
    /// All ones for the lanes of `masked`, a value that EXEC had.
    lane_masks: [u32; 64],
    masked: u64,
    pub(crate) permuted: [u32; 64],
    pub(crate) outstanding: Vec<Outstanding>,
    /// For each register, one more than the index of the instruction that loads it; 0 if none does.
    pending: Vec<u32>,
    pub(crate) scratch: Vec<u8>,
    /// Whether each byte of `scratch` was written. Empty if that is not checked.
    pub(crate) is_scratch_written: Vec<bool>,
}

impl Wave {
    pub(crate) fn new(index: u32, lanes: usize, rows: usize, scratch_bytes: usize) -> Wave {
        let mut wave = Wave {
            index,
            lanes,
            scalars: [0; SCALARS],
            scc: false,
            pc: 0,
            status: Status::Running,
            barriers: 0,
            started: 0,
            meetings: 0,
            fences: [0; 64],
            signals: vec![],
            vectors: vec![UNWRITTEN; rows * lanes],
            lane_masks: [0; 64],
            masked: 0,
            permuted: [0; 64],
            outstanding: vec![],
            pending: vec![0; SCALARS + rows],
            scratch: vec![0; scratch_bytes * lanes],
            is_scratch_written: vec![],
        };
        wave.scalars[..106].fill(UNWRITTEN);
        wave
    }

    /// Returns a vector register, one value per lane. Accumulation registers follow the program's vector registers.
    pub fn vector(&self, row: u16) -> &[u32] {
        let start = usize::from(row) * self.lanes;
        self.vectors
            .get(start..start + self.lanes)
            .unwrap_or_default()
    }

    /// Returns the values of a vector register; those of lanes that do not exist are 0.
    pub(crate) fn copy_row(&self, row: u16) -> [u32; 64] {
        let mut copy = [0; 64];
        copy[..self.lanes].copy_from_slice(self.vector(row));
        copy
    }

    pub(crate) fn vector_mut(&mut self, row: u16) -> &mut [u32] {
        let start = usize::from(row) * self.lanes;
        &mut self.vectors[start..start + self.lanes]
    }

    /// Returns word `word` of a lane, of an operand in vector registers.
    #[inline(always)]
    pub(crate) fn word<const N: usize>(&self, operand: &Operand, word: u16, lane: usize) -> u32 {
        self.vectors[usize::from(operand.index + word) * N + lane]
    }

    #[inline(always)]
    pub(crate) fn word_mut<const N: usize>(
        &mut self,
        operand: &Operand,
        word: u16,
        lane: usize,
    ) -> &mut u32 {
        &mut self.vectors[usize::from(operand.index + word) * N + lane]
    }

    pub fn exec(&self) -> u64 {
        self.mask_at(EXEC)
    }

    pub fn vcc(&self) -> u64 {
        self.mask_at(VCC)
    }

    fn pair(&self, index: u16) -> u64 {
        let at = usize::from(index);
        u64::from(self.scalars[at]) | u64::from(self.scalars[at + 1]) << 32
    }

    fn mask_at(&self, index: u16) -> u64 {
        match self.lanes {
            32 => u64::from(self.scalars[usize::from(index)]),
            _ => self.pair(index),
        }
    }

    pub(crate) fn all_lanes(&self) -> u64 {
        u64::MAX >> (64 - self.lanes)
    }

    /// Returns the lanes in EXEC.
    pub(crate) fn active<const N: usize>(&self) -> impl Iterator<Item = usize> + use<N> {
        let exec = self.exec();
        (0..N).filter(move |lane| exec >> lane & 1 == 1)
    }

    /// Returns one bit per lane, from a scalar register or a pair.
    pub(crate) fn mask(&self, operand: &Operand) -> u64 {
        match operand.kind {
            Kind::Scalar => self.mask_at(operand.index),
            _ => operand.value & self.all_lanes(),
        }
    }

    pub(crate) fn set_mask(&mut self, operand: &Operand, mask: u64) {
        self.set_words(operand.index, mask, self.lanes == 64);
    }

    pub(crate) fn set_exec(&mut self, mask: u64) {
        self.set_words(EXEC, mask, self.lanes == 64);
    }

    /// Returns a lane of a vector register, or a scalar operand.
    pub(crate) fn at_lane(&self, operand: &Operand, lane: usize) -> u32 {
        match operand.kind {
            Kind::Vector => self.vector(operand.index)[lane],
            Kind::Scalar => self.scalars[usize::from(operand.index)],
            Kind::Scc => u32::from(self.scc),
            _ => operand.value as u32,
        }
    }

    /// Returns a scalar operand. For a vector register it returns the first lane.
    pub(crate) fn scalar(&self, operand: &Operand) -> u32 {
        self.at_lane(operand, 0)
    }

    pub(crate) fn scalar64(&self, operand: &Operand) -> u64 {
        match operand.kind {
            Kind::Scalar if operand.index == NULL => 0,
            Kind::Scalar => self.pair(operand.index),
            _ => operand.value,
        }
    }

    pub(crate) fn set_words(&mut self, index: u16, value: u64, wide: bool) {
        if index != NULL {
            self.scalars[usize::from(index)] = value as u32;
            if wide {
                self.scalars[usize::from(index) + 1] = (value >> 32) as u32;
            }
        }
    }

    /// Returns a register's number among all registers of a wave.
    fn row_of(operand: &Operand) -> u16 {
        match operand.kind {
            Kind::Vector => operand.index + SCALARS as u16,
            _ => operand.index,
        }
    }

    /// Notes that the instruction at `pc` loads `operand`.
    pub(crate) fn issue(&mut self, counter: Counter, pc: u32, operand: Option<&Operand>) {
        let registers = operand.map_or((0, 0), |operand| (Wave::row_of(operand), operand.width));
        let first = usize::from(registers.0);
        self.pending[first..first + usize::from(registers.1)].fill(pc + 1);
        self.outstanding.push(Outstanding {
            counter,
            pc,
            registers,
        });
    }

    /// Returns the instruction that loads one of the operand's registers, if no wait has covered it yet.
    #[inline]
    pub(crate) fn pending(&self, operand: &Operand) -> Option<u32> {
        let first = usize::from(Wave::row_of(operand));
        let registers = self
            .pending
            .get(first..first + usize::from(operand.width))?;
        let pc = registers.iter().find(|pc| **pc != 0)?;
        Some(pc - 1)
    }

    /// Waits until no counter has more outstanding instructions than its limit. Adds the finished instructions to
    /// `done`.
    pub(crate) fn wait(&mut self, [vector, lds, store, scalar]: [u32; 4], done: &mut Vec<u32>) {
        use Counter::{Lds, Scalar, Store, Vector};
        let count = |of: Counter| {
            let all = self.outstanding.iter();
            all.filter(|one| one.counter == of).count()
        };
        let (scalars, ordered) = (count(Scalar), count(Lds));
        // Loads of scalars may end first, so only what exceeds their number is certain to be LDS.
        let mut over = [
            count(Vector).saturating_sub(vector as usize),
            if lds == 0 {
                ordered
            } else {
                ordered.saturating_sub(lds as usize)
            },
            if scalar == 0 { scalars } else { 0 },
            count(Store).saturating_sub(store as usize),
        ];
        let pending = &mut self.pending;
        self.outstanding.retain(|one| {
            let left = &mut over[one.counter as usize];
            if *left == 0 {
                return true;
            }
            *left -= 1;
            done.push(one.pc);
            let (first, count) = (usize::from(one.registers.0), usize::from(one.registers.1));
            for pc in &mut pending[first..first + count] {
                if *pc == one.pc + 1 {
                    *pc = 0;
                }
            }
            false
        });
    }

    /// Returns the row of a vector register that is read as it is.
    #[inline(always)]
    pub(crate) fn plain_row<const N: usize>(&self, operand: &Operand) -> Option<&[u32; N]> {
        let is_plain = operand.kind == Kind::Vector && !operand.is_modified();
        let rows = self.vectors.as_chunks::<N>().0;
        rows.get(usize::from(operand.index)).filter(|_| is_plain)
    }

    /// Returns word `word` of an operand, without modifiers.
    #[inline]
    pub(crate) fn row<const N: usize>(&self, operand: &Operand, word: u16) -> [u32; N] {
        let mut row = [0; N];
        match operand.kind {
            Kind::Vector => {
                let start = usize::from(operand.index + word) * N;
                row.copy_from_slice(&self.vectors[start..start + N]);
            }
            Kind::Scalar if operand.index == NULL => {}
            Kind::Scalar => row = [self.scalars[usize::from(operand.index + word)]; N],
            Kind::Permuted => row.copy_from_slice(&self.permuted[..N]),
            Kind::Scc => row = [u32::from(self.scc); N],
            _ => row = [(operand.value >> (32 * word.min(1))) as u32; N],
        }
        row
    }

    /// Writes word `word` of the lanes in EXEC.
    #[inline]
    pub(crate) fn write_row<const N: usize>(
        &mut self,
        operand: &Operand,
        word: u16,
        value: &[u32; N],
    ) {
        if operand.kind != Kind::Vector {
            return;
        }
        let exec = self.exec();
        let start = usize::from(operand.index + word) * N;
        let row = &mut self.vectors[start..start + N];
        if exec == u64::MAX >> (64 - N) {
            row.copy_from_slice(value);
            return;
        }
        if self.masked != exec {
            self.masked = exec;
            for (lane, mask) in self.lane_masks.iter_mut().enumerate() {
                *mask = 0_u32.wrapping_sub((exec >> lane) as u32 & 1);
            }
        }
        for ((old, new), mask) in row.iter_mut().zip(value).zip(&self.lane_masks) {
            *old = *old & !mask | new & mask;
        }
    }
}

fn modify<const N: usize>(operand: &Operand, value: &mut [u32; N]) {
    if let Some((shift, bits, signed)) = operand.part {
        let unused = 32 - u32::from(bits);
        for word in value.iter_mut() {
            let part = *word >> shift << unused;
            let extended = (part.cast_signed() >> unused).cast_unsigned();
            *word = if signed { extended } else { part >> unused };
        }
    }
    let is_half = operand.part.is_some_and(|(_, bits, _)| bits == 16);
    let sign = if is_half { 0x8000 } else { 0x8000_0000 };
    let keep = if operand.absolute { !sign } else { u32::MAX };
    let flip = if operand.negate { sign } else { 0 };
    for word in value {
        *word = (*word & keep) ^ flip;
    }
}

/// A value of one lane or of a wave, in one register or two.
pub(crate) trait Lane: Copy + Default {
    const WIDE: bool;
    /// True for a type of 16 bits.
    const HALF: bool;
    fn from_words(bits: u64) -> Self;
    fn words(self) -> u64;

    #[inline(always)]
    fn read<const N: usize>(wave: &Wave, operand: &Operand) -> [Self; N] {
        let mut values = [Self::default(); N];
        // Most operands are like this, and a second copy of the row would take as long as the instruction itself.
        if !Self::WIDE
            && let Some(row) = wave.plain_row::<N>(operand)
        {
            for (value, word) in values.iter_mut().zip(row) {
                *value = Self::from_words(u64::from(*word));
            }
            return values;
        }
        let mut low = wave.row(operand, 0);
        let mut high = [0; N];
        if Self::WIDE {
            high = wave.row(operand, 1);
        }
        if operand.is_modified() {
            modify(operand, if Self::WIDE { &mut high } else { &mut low });
        }
        for lane in 0..N {
            values[lane] = Self::from_words(u64::from(low[lane]) | u64::from(high[lane]) << 32);
        }
        values
    }

    /// Writes `value(lane)` to the lanes in EXEC.
    #[inline(always)]
    fn write<const N: usize>(wave: &mut Wave, operand: &Operand, value: impl Fn(usize) -> Self) {
        let (mut low, mut high) = ([0; N], [0; N]);
        for lane in 0..N {
            let bits = value(lane).words();
            low[lane] = bits as u32;
            high[lane] = (bits >> 32) as u32;
        }
        // RDNA keeps the upper half of the register, CDNA clears it.
        if Self::HALF && N == 32 {
            for (word, old) in low.iter_mut().zip(wave.row::<N>(operand, 0)) {
                *word |= old & 0xffff_0000;
            }
        }
        wave.write_row(operand, 0, &low);
        if Self::WIDE {
            wave.write_row(operand, 1, &high);
        }
    }

    /// Reads the value of a whole wave.
    fn get(wave: &Wave, operand: &Operand) -> Self {
        if Self::WIDE {
            return Self::from_words(wave.scalar64(operand));
        }
        let mut word = [wave.scalar(operand)];
        if operand.is_modified() {
            modify(operand, &mut word);
        }
        Self::from_words(word[0].into())
    }

    fn set(self, wave: &mut Wave, operand: &Operand) {
        wave.set_words(operand.index, self.words(), Self::WIDE);
    }
}

/// A float of 16 bits, which is computed in 32.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
pub(crate) struct Half(pub f32);

macro_rules! lane {
    ($($type:ty, $bytes:literal, |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Lane for $type {
            const WIDE: bool = $bytes == 8;
            const HALF: bool = $bytes == 2;
            #[inline(always)]
            fn from_words($bits: u64) -> Self { $from }
            #[inline(always)]
            fn words(self) -> u64 {
                let $value = self;
                $to.into()
            }
        }
    )*};
}
lane! {
    u32, 4, |bits| bits as u32, |value| value;
    i32, 4, |bits| bits as i32, |value| value.cast_unsigned();
    f32, 4, |bits| f32::from_bits(bits as u32), |value| value.to_bits();
    u16, 2, |bits| bits as u16, |value| value;
    i16, 2, |bits| bits as i16, |value| value.cast_unsigned();
    Half, 2, |bits| Half(float::from_half(bits as u16)), |value| float::to_half(value.0);
    u64, 8, |bits| bits, |value| value;
    i64, 8, |bits| bits.cast_signed(), |value| value.cast_unsigned();
    f64, 8, |bits| f64::from_bits(bits), |value| value.to_bits();
}
