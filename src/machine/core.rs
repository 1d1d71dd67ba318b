//! The state that executing functions change, and the helpers that most of them use.

use crate::error::Fault;
use crate::instruction::{Instruction, Permute, Space, Special};
use crate::lds::Lds;
use crate::memory::Memory;
use crate::mistake::{Mistake, MistakeKind, Mistakes};
use crate::observe::Access;
use crate::operand::{Kind, Operand};
use crate::order::{Checks, Order, Use};
use crate::program::Program;
use crate::shadow::{Clash, UseKind};
use crate::wave::{Counter, Wave};

/// One wave, and everything that its instructions reach.
pub(crate) struct Core<'a> {
    pub program: &'a Program,
    pub wave: &'a mut Wave,
    pub memory: &'a mut Memory,
    pub lds: &'a mut Lds,
    /// Record of the instruction's access; `None` without an observer.
    pub access: Option<&'a mut Access>,
    /// Indices of the instructions that the last wait waited for.
    pub waited: &'a mut Vec<u32>,
    /// Number of instructions executed so far. Clocks read it.
    pub steps: u64,
    pub order: &'a mut Order,
    pub mistakes: &'a mut Mistakes,
    pub workgroup: [u32; 3],
    /// Threads of a workgroup in each dimension.
    pub block: [u32; 3],
}

/// Returns the coordinates of a workgroup's thread.
pub(crate) fn thread_at([width, height, _]: [u32; 3], number: u32) -> [u32; 3] {
    [
        number % width,
        number / width % height,
        number / width / height,
    ]
}

pub(crate) type Outcome = Result<(), Box<Fault>>;

/// Returns one bit for each lane in EXEC, set if `f` is true for it.
#[inline(always)]
pub(crate) fn ballot<const N: usize>(wave: &Wave, f: impl Fn(usize) -> bool) -> u64 {
    let mut is_set = [0_u8; N];
    for (lane, byte) in is_set.iter_mut().enumerate() {
        *byte = u8::from(f(lane));
    }
    let mut all = 0;
    for (at, eight) in is_set.as_chunks::<8>().0.iter().enumerate() {
        // The product gathers the lowest bits of eight bytes in the uppermost byte.
        let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        all |= bits << (8 * at);
    }
    all & wave.exec()
}

impl Core<'_> {
    /// Executes an instruction that has rare parts.
    pub fn run_special(&mut self, i: &Instruction, special: &Special) -> Outcome {
        let exec = self.wave.exec();
        if let Some(permute) = &special.permute {
            let takes_part = self.permute(permute);
            self.wave.set_exec(exec & takes_part);
        }
        let old = i.operands.first().filter(|one| one.kind == Kind::Vector);
        let old = old.map(|operand| (*operand, self.wave.copy_row(operand.index)));
        (i.run)(self, i)?;
        if let Some(second) = &special.second {
            // Both halves read the old values. So the first half's result is put back after the second half has read.
            let Some((first, before)) = &old else {
                return (second.run)(self, second);
            };
            let (result, lanes) = (self.wave.copy_row(first.index), self.wave.lanes);
            let row = |wave: &mut Wave, values: &[u32; 64]| {
                wave.vector_mut(first.index)
                    .copy_from_slice(&values[..lanes]);
            };
            row(self.wave, before);
            (second.run)(self, second)?;
            row(self.wave, &result);
        }
        if special.permute.is_some() && !i.name.starts_with("v_cmpx") {
            self.wave.set_exec(exec);
        }
        if let Some((destination, old)) = old {
            self.finish(i, special, &destination, &old)?;
        }
        Ok(())
    }

    /// Applies factors and limits, and writes parts of the result.
    fn finish(
        &mut self,
        i: &Instruction,
        special: &Special,
        destination: &Operand,
        old: &[u32],
    ) -> Outcome {
        let exec = self.wave.exec();
        let changes = special.clamp || special.factor.is_some();
        if changes && !(i.name.contains("_f32") && destination.width == 1) {
            let name = &i.name;
            return unsupported(format!(
                "a factor or limit of the result of {name} is not known to this emulator"
            ));
        }
        for lane in (0..self.wave.lanes).filter(|lane| exec >> lane & 1 == 1) {
            let word = &mut self.wave.vector_mut(destination.index)[lane];
            if changes {
                let value = f32::from_bits(*word) * special.factor.unwrap_or(1.0);
                // NaN becomes 0.
                let limited = if value > 0.0 { value.min(1.0) } else { 0.0 };
                *word = if special.clamp { limited } else { value }.to_bits();
            }
            if let Some((shift, bits, keeps)) = special.part {
                let mask = (u32::MAX >> (32 - bits)) << shift;
                let rest = if keeps { old[lane] & !mask } else { 0 };
                *word = *word << shift & mask | rest;
            }
        }
        Ok(())
    }

    /// Fetches the first source from other lanes. Returns the lanes that take part.
    fn permute(&mut self, permute: &Permute) -> u64 {
        let exec = self.wave.exec();
        let mut takes_part = 0;
        for (lane, from) in permute.from.iter().enumerate() {
            let from = from.filter(|from| exec >> from & 1 == 1);
            self.wave.permuted[lane] =
                from.map_or(0, |from| self.wave.at_lane(&permute.source, from));
            takes_part |= u64::from(from.is_some() || permute.zero) << lane;
        }
        takes_part & permute.enabled
    }

    /// Finds a register that the instruction uses before a wait for its load.
    #[inline]
    pub fn not_waited(&self, i: &Instruction) -> Option<Fault> {
        for (at, operand) in i.operands.iter().enumerate() {
            if operand.is_register()
                && let Some(pc) = self.wave.pending(operand)
                && !(at < usize::from(i.destinations) && self.comes_later(i, pc))
            {
                return Some(self.too_early(operand, pc));
            }
        }
        let special = i.special.as_ref()?;
        let permuted = special.permute.iter().map(|permute| &permute.source);
        let second = special.second.iter().flat_map(|second| &second.operands);
        let mut others = permuted
            .chain(second)
            .filter(|operand| operand.is_register());
        others.find_map(|operand| Some(self.too_early(operand, self.wave.pending(operand)?)))
    }

    /// Returns whether a load ends after the one at `pc`. Loads of one kind end in order, so both may have the same
    /// destination.
    fn comes_later(&self, i: &Instruction, pc: u32) -> bool {
        let space = |i: &Instruction| i.memory.as_ref().map(|memory| memory.space);
        let earlier = space(&self.program.instructions[pc as usize]);
        earlier == space(i) && earlier.is_some_and(|space| space != Space::Scalar)
    }

    #[cold]
    fn too_early(&self, operand: &Operand, pc: u32) -> Fault {
        let load = &self.program.instructions[pc as usize];
        Fault::NotWaited {
            register: operand.name(self.program.vectors),
            load: load.text.clone(),
            place: self.program.place(load.location),
        }
    }

    /// Returns the number of a lane's thread in its workgroup.
    fn thread(&self, lane: usize) -> u32 {
        self.wave.index * self.wave.lanes as u32 + lane as u32
    }

    /// Notes that a lane uses memory. Returns whether it reads what nothing has written.
    #[inline]
    pub fn touch(
        &mut self,
        space: Space,
        (kind, is_atomic): (UseKind, bool),
        lane: usize,
        address: u64,
        bytes: usize,
    ) -> bool {
        let now = Use {
            epoch: self.order.epoch,
            thread: self.thread(lane) as u16,
            meeting: self.wave.meetings,
            is_atomic,
            // The program counter already points behind the instruction while it runs.
            pc: self.wave.pc - 1,
        };
        let is_local = space == Space::Lds;
        let found = match is_local {
            true => {
                let found = self
                    .lds
                    .touch(address as usize, bytes, kind, &now, self.order);
                found.map(|(_, clash)| (self.lds.place(address as usize, bytes), clash))
            }
            false if self.order.checks != Checks::Threads => None,
            false => self.memory.touch(address, bytes, kind, &now, self.order),
        };
        let Some((place, clash)) = found else {
            return false;
        };
        let kind = match clash {
            Clash::Unwritten => MistakeKind::Unwritten { kind, place },
            Clash::Race { other, wrote } => MistakeKind::Race {
                kind,
                place,
                other_pc: other.pc,
                other_thread: other.thread.into(),
                is_other_workgroup: !self.order.is_of_workgroup(&other),
                is_same_wave: self.order.is_of_workgroup(&other)
                    && self.order.wave_of(&other) == self.order.wave_of(&now),
                other_wrote: wrote,
            },
        };
        let word = (u64::from(is_local), address / 4);
        self.mistake(lane, word, kind);
        clash == Clash::Unwritten
    }

    /// Keeps a mistake of a lane, if the launch is checked for it.
    pub fn mistake(&mut self, lane: usize, word: (u64, u64), kind: MistakeKind) {
        let is_wanted = match self.order.checks {
            Checks::Off => false,
            Checks::Waves => matches!(kind, MistakeKind::Race { .. }),
            Checks::Threads => true,
        };
        if is_wanted {
            let mistake = Mistake {
                kind,
                pc: self.wave.pc - 1,
                workgroup: self.workgroup,
                thread: thread_at(self.block, self.thread(lane)),
            };
            self.mistakes.add(word, mistake);
        }
    }

    /// Passes a fence that orders workgroups.
    pub fn fence(&mut self) {
        let exec = self.wave.exec();
        let epoch = self.order.epoch;
        for lane in (0..self.wave.lanes).filter(|lane| exec >> lane & 1 == 1) {
            self.wave.fences[lane] = epoch;
        }
        let first = self.thread(0);
        let order = &mut *self.order;
        self.wave.signals.retain(|(lane, address)| {
            let is_left = exec >> lane & 1 == 0;
            if !is_left {
                order.acquire(*address, (first + u32::from(*lane)) as u16);
            }
            is_left
        });
    }

    /// Notes an atomic operation of a lane on global memory, which may order workgroups together with fences.
    pub fn signal(&mut self, lane: usize, address: u64, kind: UseKind) {
        if self.order.checks != Checks::Threads {
            return;
        }
        if kind != UseKind::Write && self.order.is_released(address) {
            self.wave.signals.push((lane as u8, address));
        }
        let fenced = self.wave.fences[lane];
        if kind != UseKind::Read && fenced > 0 {
            let thread = self.thread(lane) as u16;
            self.order.release(address, thread, fenced);
        }
    }

    /// Notes that the present instruction loads into `operand`, or stores.
    pub fn issue(&mut self, counter: Counter, operand: Option<&Operand>) -> Outcome {
        self.wave.issue(counter, self.wave.pc - 1, operand);
        Ok(())
    }
}

pub(crate) fn unsupported<T>(what: String) -> Result<T, Box<Fault>> {
    Err(Box::new(Fault::Unsupported(what)))
}
