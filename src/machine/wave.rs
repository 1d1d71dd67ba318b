//! The registers of one wave, and the results that it waits for.

use crate::operand::{EXEC, Kind, NULL, Operand, Part, VCC};

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
    vectors: Vec<u32>,
    /// All ones for the lanes of `masked`, a value that EXEC had.
    lane_masks: [u32; 64],
    masked: u64,
    pub(crate) permuted: [u32; 64],
    pub(crate) outstanding: Vec<Outstanding>,
    /// For each register, one more than the index of the instruction that loads it; 0 if none does.
    pending: Vec<u32>,
    pub(crate) scratch: Vec<u8>,
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
            vectors: vec![UNWRITTEN; rows * lanes],
            lane_masks: [0; 64],
            masked: 0,
            permuted: [0; 64],
            outstanding: vec![],
            pending: vec![0; SCALARS + rows],
            scratch: vec![0; scratch_bytes * lanes],
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

    pub(crate) fn vector_mut(&mut self, row: u16) -> &mut [u32] {
        let start = usize::from(row) * self.lanes;
        &mut self.vectors[start..start + self.lanes]
    }

    pub fn exec(&self) -> u64 {
        self.mask_at(EXEC)
    }

    pub fn vcc(&self) -> u64 {
        self.mask_at(VCC)
    }

    fn mask_at(&self, index: u16) -> u64 {
        let at = usize::from(index);
        match self.lanes {
            32 => u64::from(self.scalars[at]),
            _ => u64::from(self.scalars[at]) | u64::from(self.scalars[at + 1]) << 32,
        }
    }

    pub(crate) fn all_lanes(&self) -> u64 {
        u64::MAX >> (64 - self.lanes)
    }

    /// Returns one bit per lane, from a scalar register or a pair.
    pub(crate) fn mask(&self, operand: &Operand) -> u64 {
        match operand.kind {
            Kind::Scalar => self.mask_at(operand.index),
            _ => operand.value & self.all_lanes(),
        }
    }

    pub(crate) fn set_mask(&mut self, operand: &Operand, mask: u64) {
        let at = usize::from(operand.index);
        if operand.index == NULL {
            return;
        }
        self.scalars[at] = mask as u32;
        if self.lanes == 64 {
            self.scalars[at + 1] = (mask >> 32) as u32;
        }
    }

    pub(crate) fn set_exec(&mut self, mask: u64) {
        self.set_mask(&Operand::new(Kind::Scalar, EXEC, 2), mask);
    }

    /// Returns a scalar operand. For a vector register it returns the first lane.
    pub(crate) fn scalar(&self, operand: &Operand) -> u32 {
        match operand.kind {
            Kind::Scalar => self.scalars[usize::from(operand.index)],
            Kind::Vector => self.vector(operand.index)[0],
            Kind::Scc => u32::from(self.scc),
            _ => operand.value as u32,
        }
    }

    pub(crate) fn scalar64(&self, operand: &Operand) -> u64 {
        match operand.kind {
            Kind::Scalar if operand.index == NULL => 0,
            Kind::Scalar => {
                let at = usize::from(operand.index);
                u64::from(self.scalars[at]) | u64::from(self.scalars[at + 1]) << 32
            }
            _ => operand.value,
        }
    }

    pub(crate) fn set_scalar(&mut self, operand: &Operand, value: u32) {
        if operand.index != NULL {
            self.scalars[usize::from(operand.index)] = value;
        }
    }

    pub(crate) fn set_scalar64(&mut self, operand: &Operand, value: u64) {
        if operand.index != NULL {
            let at = usize::from(operand.index);
            self.scalars[at] = value as u32;
            self.scalars[at + 1] = (value >> 32) as u32;
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
    pub(crate) fn wait(&mut self, vector: u32, lds: u32, store: u32, done: &mut Vec<u32>) {
        use Counter::{Lds, Scalar, Store, Vector};
        let count = |of: &[Counter]| {
            self.outstanding
                .iter()
                .filter(|one| of.contains(&one.counter))
                .count()
        };
        let over = |of: &[Counter], left: u32| count(of).saturating_sub(left as usize);
        let (mut vectors, mut stores) = (over(&[Vector], vector), over(&[Store], store));
        // Loads of scalars may end first, so only what exceeds their number is certain to be LDS.
        let together = over(&[Lds, Scalar], lds);
        let mut scalars = if lds == 0 { together } else { 0 };
        let mut lds = if lds == 0 {
            together
        } else {
            together.saturating_sub(count(&[Scalar]))
        };
        let pending = &mut self.pending;
        self.outstanding.retain(|one| {
            let left = match one.counter {
                Vector => &mut vectors,
                Lds => &mut lds,
                Scalar => &mut scalars,
                Store => &mut stores,
            };
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

    /// Writes `value(lane)` to the lanes in EXEC. The last argument only says how many lanes there are.
    #[inline(always)]
    pub(crate) fn write_lanes<const N: usize, T: Lane>(
        &mut self,
        operand: &Operand,
        value: impl Fn(usize) -> T,
        mut low: [u32; N],
    ) {
        let mut high = [0; N];
        for lane in 0..N {
            let value = value(lane);
            low[lane] = value.low();
            if T::WIDE {
                high[lane] = value.high();
            }
        }
        self.write_row(operand, 0, &low);
        if T::WIDE {
            self.write_row(operand, 1, &high);
        }
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
    if let Some(Part {
        shift,
        bits,
        signed,
    }) = operand.part
    {
        let unused = 32 - u32::from(bits);
        for word in value.iter_mut() {
            let part = *word >> shift << unused;
            *word = if signed {
                (part.cast_signed() >> unused).cast_unsigned()
            } else {
                part >> unused
            };
        }
    }
    let sign = match operand.part {
        Some(part) if part.bits == 16 => 0x8000,
        _ => 0x8000_0000_u32,
    };
    let keep = if operand.absolute { !sign } else { u32::MAX };
    let flip = if operand.negate { sign } else { 0 };
    for word in value {
        *word = (*word & keep) ^ flip;
    }
}

/// A value of one lane, in one register or two.
pub(crate) trait Lane: Copy + Default {
    const WIDE: bool;
    fn from_words(low: u32, high: u32) -> Self;
    fn low(self) -> u32;
    fn high(self) -> u32;

    fn read<const N: usize>(wave: &Wave, operand: &Operand) -> [Self; N] {
        let words = Words::<N>::read::<Self>(wave, operand);
        let mut values = [Self::default(); N];
        for (lane, value) in values.iter_mut().enumerate() {
            *value = words.lane(lane);
        }
        values
    }

    fn write<const N: usize>(wave: &mut Wave, operand: &Operand, values: &[Self; N]) {
        wave.write_lanes(operand, |lane| values[lane], [0; N]);
    }
}

/// The registers of an operand, by lane.
pub(crate) struct Words<const N: usize> {
    low: [u32; N],
    high: [u32; N],
}

impl<const N: usize> Words<N> {
    #[inline(always)]
    pub fn read<T: Lane>(wave: &Wave, operand: &Operand) -> Words<N> {
        let mut words = Words {
            low: wave.row(operand, 0),
            high: if T::WIDE {
                wave.row(operand, 1)
            } else {
                [0; N]
            },
        };
        if operand.is_modified() {
            modify(
                operand,
                if T::WIDE {
                    &mut words.high
                } else {
                    &mut words.low
                },
            );
        }
        words
    }

    #[inline(always)]
    pub fn lane<T: Lane>(&self, lane: usize) -> T {
        T::from_words(self.low[lane], self.high[lane])
    }
}

macro_rules! lane {
    ($type:ty, $wide:expr, |$bits:ident| $from:expr, |$value:ident| $to:expr) => {
        impl Lane for $type {
            const WIDE: bool = $wide;
            #[inline(always)]
            fn from_words(low: u32, high: u32) -> Self {
                let $bits = u64::from(low) | u64::from(high) << 32;
                $from
            }
            #[inline(always)]
            fn low(self) -> u32 {
                let $value = self;
                let bits = $to;
                bits as u32
            }
            #[inline(always)]
            fn high(self) -> u32 {
                let $value = self;
                let bits = u64::from($to);
                (bits >> 32) as u32
            }
        }
    };
}
lane!(u32, false, |bits| bits as u32, |value| value);
lane!(i32, false, |bits| bits as i32, |value| value
    .cast_unsigned());
lane!(f32, false, |bits| f32::from_bits(bits as u32), |value| {
    value.to_bits()
});
lane!(u16, false, |bits| bits as u16, |value| value);
lane!(i16, false, |bits| bits as i16, |value| value
    .cast_unsigned());
lane!(u64, true, |bits| bits, |value| value);
lane!(i64, true, |bits| bits.cast_signed(), |value| value
    .cast_unsigned());
lane!(f64, true, |bits| f64::from_bits(bits), |value| value
    .to_bits());
