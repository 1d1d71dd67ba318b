//! Launches a kernel: arguments, workgroups, waves, barriers.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::core::{Core, thread_at};
use crate::error::{ExecutionError, Fault, LaunchError};
use crate::lds::{Lds, LocalArray};
use crate::memory::{BufferId, Memory};
use crate::mistake::{Mistake, Mistakes};
use crate::observe::{Access, Observer, Step};
use crate::operand::{EXEC, Kind, Operand, TTMP};
use crate::order::{Checks, Order};
use crate::program::{Kernel, Program};
use crate::wave::{Status, Wave};

/// Number of instructions that a launch may execute, unless [`Launch::budget`] says otherwise.
pub const BUDGET: u64 = 500_000_000;

/// Number of instructions that a wave executes before another one gets its turn, because waves may wait for each other
/// through memory.
const TURN: u64 = 100_000;

/// Bytes of private memory for calls, if the compiler does not know how much they need.
const STACK: usize = 16 << 10;

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    Buffer(BufferId),
    /// Address in a buffer: the buffer, and the byte to start from.
    Pointer(BufferId, u64),
    /// The bits of an `int`, an `unsigned` or a `float`.
    Word(u32),
    /// Bytes of a value of another size, in memory order.
    Bytes(Vec<u8>),
}

/// A launch of one kernel.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    pub kernel: &'a str,
    /// Number of workgroups in each dimension.
    pub grid: [u32; 3],
    /// Number of threads in a workgroup, in each dimension.
    pub block: [u32; 3],
    /// Bytes of LDS that the launch requests besides the kernel's fixed size.
    pub dynamic_lds: usize,
    pub arguments: Vec<Argument>,
    /// The arrays of the kernel in LDS, if they are known. Accesses have to stay inside one of them.
    pub local_arrays: Vec<LocalArray>,
    /// Number of instructions after which the machine gives up a launch that does not end.
    pub budget: u64,
    pub checks: Checks,
    /// True if an instruction that uses a register before a wait for its load ends the launch.
    pub checks_waits: bool,
    /// Counts workgroups that are done.
    pub progress: Option<&'a AtomicU64>,
}

impl<'a> Launch<'a> {
    pub fn new(
        kernel: &'a str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: Vec<Argument>,
    ) -> Launch<'a> {
        Launch {
            kernel,
            grid,
            block,
            dynamic_lds: 0,
            arguments,
            local_arrays: vec![],
            budget: BUDGET,
            checks: Checks::default(),
            checks_waits: true,
            progress: None,
        }
    }
}

/// Executes launches of one program.
#[derive(Debug)]
pub struct Machine<'a> {
    program: &'a Program,
    pub memory: Memory,
    /// Number of wave instructions executed so far, over all launches.
    pub executed: u64,
    order: Order,
    mistakes: Mistakes,
}

impl<'a> Machine<'a> {
    pub fn new(program: &'a Program, memory: Memory) -> Machine<'a> {
        Machine {
            program,
            memory,
            executed: 0,
            order: Order::new(program.wave_size),
            mistakes: Mistakes::default(),
        }
    }

    /// Returns the mistakes that did not end a launch, each pair of instructions once.
    pub fn mistakes(&self) -> &[Mistake] {
        self.mistakes.all()
    }

    /// Executes every workgroup, one after the other. Mistakes that do not end it are in [`Machine::mistakes`].
    ///
    /// # Errors
    /// Fails if the launch does not fit the kernel. Also fails if an instruction does: memory that does not exist, a
    /// missing wait, a barrier that some threads do not reach, or a kernel that does not end.
    pub fn run<O: Observer>(
        &mut self,
        launch: &Launch<'_>,
        observer: &mut O,
    ) -> Result<(), LaunchError> {
        let kernel = self.program.kernel(launch.kernel);
        let kernel = kernel.ok_or_else(|| LaunchError::NoKernel(launch.kernel.to_owned()))?;
        let wrong = |reason: String| LaunchError::Arguments {
            kernel: kernel.name.clone(),
            reason,
        };
        let threads: u32 = launch.block.iter().product();
        if !(1..=1024).contains(&threads) || launch.grid.contains(&0) {
            return Err(wrong(format!(
                "{:?} threads of {:?} workgroups",
                launch.block, launch.grid
            )));
        }
        let lds_bytes = match &*launch.local_arrays {
            [] => kernel.lds_bytes + launch.dynamic_lds,
            arrays => arrays.iter().map(|array| array.bytes).sum(),
        };
        if lds_bytes > 64 << 10 {
            return Err(wrong(format!(
                "{lds_bytes} bytes of LDS, and a workgroup has 65536"
            )));
        }
        let arguments = self.arguments(kernel, launch).map_err(wrong)?;
        let is_tracked = launch.checks == Checks::Threads;
        let pointers = self
            .memory
            .prepare(arguments, packet(launch), self.program, is_tracked);
        self.order.begin_launch(launch.checks);
        let done = self.run_workgroups(kernel, launch, pointers, observer);
        self.mistakes.settle(|_| true);
        done
    }

    fn run_workgroups<O: Observer>(
        &mut self,
        kernel: &Kernel,
        launch: &Launch<'_>,
        pointers: [u64; 2],
        observer: &mut O,
    ) -> Result<(), LaunchError> {
        let budget = self.executed.saturating_add(launch.budget);
        let [width, height, depth] = launch.grid;
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    self.order.begin_workgroup();
                    let mut group =
                        Workgroup::new(self.program, kernel, launch, [x, y, z], pointers);
                    let done = group.run(self, launch, budget, observer);
                    // Only global memory can still be written by another workgroup.
                    self.mistakes.settle(|(space, _)| *space != 0);
                    done?;
                    if let Some(progress) = launch.progress {
                        progress.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
        Ok(())
    }

    /// Builds the segment of arguments, with the hidden ones.
    fn arguments(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<Vec<u8>, String> {
        // The compiler merges loads, and a merged load may reach past the last argument.
        let mut segment = vec![0; (kernel.argument_bytes + 1).next_multiple_of(64)];
        let mut given = launch.arguments.iter();
        for parameter in &kernel.parameters {
            let (grid, block) = (launch.grid, launch.block);
            let three = |name: &str, values: [u32; 3]| {
                let axis = parameter.kind.strip_prefix(name)?;
                let axis = ["_x", "_y", "_z"].iter().position(|known| *known == axis)?;
                Some(values[axis].to_le_bytes().to_vec())
            };
            let bytes = match parameter.kind.as_str() {
                "hidden_grid_dims" => vec![3, 0],
                "hidden_dynamic_lds_size" => (launch.dynamic_lds as u32).to_le_bytes().to_vec(),
                kind if kind.starts_with("hidden_") => three("hidden_block_count", grid)
                    .or_else(|| three("hidden_group_size", block))
                    .unwrap_or_default(),
                _ => match given.next() {
                    Some(Argument::Buffer(id)) => self.memory.address(*id).to_le_bytes().to_vec(),
                    Some(Argument::Pointer(id, offset)) => {
                        (self.memory.address(*id) + offset).to_le_bytes().to_vec()
                    }
                    Some(Argument::Word(word)) => word.to_le_bytes().to_vec(),
                    Some(Argument::Bytes(bytes)) => bytes.clone(),
                    None => return Err("more arguments are needed than were given".into()),
                },
            };
            let is_hidden = parameter.kind.starts_with("hidden_");
            if !is_hidden && bytes.len() != parameter.size {
                let (size, got) = (parameter.size, bytes.len());
                return Err(format!(
                    "an argument of {got} bytes was given where the kernel takes {size}"
                ));
            }
            let length = bytes.len().min(parameter.size);
            let place = segment.get_mut(parameter.offset..parameter.offset + length);
            let place = place.ok_or("the metadata of arguments is inconsistent")?;
            place.copy_from_slice(&bytes[..length]);
        }
        match given.next() {
            Some(_) => Err("more arguments were given than the kernel takes".into()),
            None => Ok(segment),
        }
    }
}

/// Builds the packet that the command processor would read: sizes of the workgroup and of the grid.
fn packet(launch: &Launch<'_>) -> Vec<u8> {
    let mut packet = vec![0; 64];
    for axis in 0..3 {
        let (block, grid) = (launch.block[axis], launch.grid[axis]);
        packet[4 + 2 * axis..][..2].copy_from_slice(&(block as u16).to_le_bytes());
        packet[12 + 4 * axis..][..4].copy_from_slice(&(block * grid).to_le_bytes());
    }
    packet
}

/// What one instruction did, for an observer. Reused from instruction to instruction.
#[derive(Default)]
struct StepRecord {
    access: Access,
    /// Indices of the instructions that a wait waited for.
    waited: Vec<u32>,
}

struct Workgroup<'a> {
    program: &'a Program,
    number: [u32; 3],
    waves: Vec<Wave>,
    lds: Lds,
}

impl<'a> Workgroup<'a> {
    fn new(
        program: &'a Program,
        kernel: &Kernel,
        launch: &Launch<'_>,
        number: [u32; 3],
        pointers: [u64; 2],
    ) -> Workgroup<'a> {
        let lanes = program.wave_size;
        let threads: u32 = launch.block.iter().product();
        // The compiler lets some instructions write past the registers that it reads, so there is one row more.
        let rows = usize::from(program.vectors + program.accumulators);
        let calls = program
            .instructions
            .iter()
            .any(|i| i.name == "s_swappc_b64");
        let stack = if kernel.dynamic_stack || calls {
            STACK
        } else {
            0
        };
        let waves = (0..threads.div_ceil(lanes as u32)).map(|index| {
            let mut wave = Wave::new(index, lanes, rows, kernel.scratch_bytes + stack);
            wave.pc = kernel.entry;
            if launch.checks == Checks::Threads {
                wave.is_scratch_written = vec![false; wave.scratch.len()];
            }
            set_scalars(&mut wave, kernel, number, pointers);
            let first = index * lanes as u32;
            let active = (threads - first).min(lanes as u32);
            wave.started = u64::MAX >> (64 - active);
            wave.set_mask(&Operand::new(Kind::Scalar, EXEC, 2), wave.started);
            let dimensions = kernel.directive("system_vgpr_workitem_id");
            for (lane, word) in wave.vector_mut(0).iter_mut().enumerate() {
                let [x, y, z] = thread_at(launch.block, first + lane as u32);
                // The word packs up to three numbers of ten bits, as many as the kernel asked for.
                let y = if dimensions >= 1 { y << 10 } else { 0 };
                let z = if dimensions >= 2 { z << 20 } else { 0 };
                *word = x | y | z;
            }
            wave
        });
        Workgroup {
            program,
            number,
            waves: waves.collect(),
            lds: Lds::new(kernel.lds_bytes + launch.dynamic_lds, &launch.local_arrays),
        }
    }

    fn run<O: Observer>(
        &mut self,
        machine: &mut Machine<'_>,
        launch: &Launch<'_>,
        budget: u64,
        observer: &mut O,
    ) -> Result<(), LaunchError> {
        if O::ACTIVE {
            observer.begin(self.program, self.number, &self.waves, &self.lds);
        }
        let mut seen = StepRecord::default();
        loop {
            for index in 0..self.waves.len() {
                self.take_turn(index, machine, launch, budget, observer, &mut seen)?;
            }
            if self.waves.iter().any(|wave| wave.status == Status::Running) {
                continue;
            }
            if self.waves.iter().all(|wave| wave.status == Status::Ended) {
                return Ok(());
            }
            if launch.checks == Checks::Threads
                && let Some((fault, pc, index)) = self.missed_barrier()
            {
                let exec = self.waves[index].exec();
                return Err(self.located(launch, fault, pc, index, exec).into());
            }
            // On hardware, a barrier waits for the waves that have not ended.
            machine.order.pass_barrier();
            let waiting = self.waves.iter_mut();
            for wave in waiting.filter(|wave| wave.status == Status::AtBarrier) {
                wave.status = Status::Running;
                wave.barriers += 1;
                wave.meetings = 0;
            }
        }
    }

    /// Executes instructions of one wave until it stops running or its turn is over.
    fn take_turn<O: Observer>(
        &mut self,
        index: usize,
        machine: &mut Machine<'_>,
        launch: &Launch<'_>,
        budget: u64,
        observer: &mut O,
        StepRecord { access, waited }: &mut StepRecord,
    ) -> Result<(), LaunchError> {
        let wave = &mut self.waves[index];
        let program = self.program;
        let mut turn = TURN;
        let mut previous = wave.pc;
        while wave.status == Status::Running && turn > 0 {
            turn -= 1;
            let pc = wave.pc;
            let exec = wave.exec();
            let Some(instruction) = program.instructions.get(pc as usize) else {
                let fault = Fault::BadJump(u64::from(pc) * 8);
                return Err(self.located(launch, fault, pc, index, exec).into());
            };
            wave.pc += 1;
            let meetings = u8::from(instruction.is_after_wave_barrier);
            wave.meetings = wave.meetings.wrapping_add(meetings);
            machine.executed += 1;
            if O::ACTIVE {
                access.clear();
                waited.clear();
            }
            let mut core = Core {
                program,
                wave: &mut *wave,
                memory: &mut machine.memory,
                lds: &mut self.lds,
                access: O::ACTIVE.then_some(&mut *access),
                waited: &mut *waited,
                steps: machine.executed,
                order: &mut machine.order,
                mistakes: &mut machine.mistakes,
                workgroup: self.number,
                block: launch.block,
            };
            let done = if machine.executed > budget {
                Err(Box::new(Fault::Endless(launch.budget)))
            } else {
                execute(&mut core, instruction, launch.checks_waits)
            };
            if let Err(fault) = done {
                // Traps of several lines may be merged. The branch to it still has its line.
                let is_trap = matches!(*fault, Fault::Trap { .. });
                let pc = if is_trap { previous } else { pc };
                return Err(self.located(launch, *fault, pc, index, exec).into());
            }
            previous = pc;
            if O::ACTIVE {
                observer.step(&Step {
                    program,
                    workgroup: self.number,
                    pc,
                    instruction,
                    exec,
                    access,
                    waited,
                    wave,
                    lds: &self.lds,
                });
            }
            waited.clear();
        }
        Ok(())
    }

    /// Finds threads that do not come to the barrier at which others wait. No wave is running.
    fn missed_barrier(&self) -> Option<(Fault, u32, usize)> {
        let barrier = |wave: &Wave| wave.pc - 1;
        let mut waves = (0..).zip(&self.waves);
        let (first_index, first) = waves.find(|(_, wave)| wave.status == Status::AtBarrier)?;
        let (mut waiting, mut missing, mut gone) = (0, 0, None);
        for (index, wave) in (0..).zip(&self.waves) {
            let is_there = wave.status == Status::AtBarrier;
            let location = |wave: &Wave| self.program.location(barrier(wave));
            if is_there && location(wave) != location(first) {
                let fault = Fault::TwoBarriers {
                    other_pc: barrier(wave),
                    place: self.program.place(location(wave)),
                };
                return Some((fault, barrier(first), index));
            }
            let here = if is_there {
                wave.exec() & wave.started
            } else {
                0
            };
            let left = wave.started & !here;
            waiting += here.count_ones();
            missing += left.count_ones();
            let lane = (left != 0).then(|| left.trailing_zeros());
            gone = gone.or(lane.map(|lane| index as u32 * wave.lanes as u32 + lane));
        }
        let thread = gone?;
        let fault = Fault::BarrierMissed {
            waiting,
            missing,
            thread,
        };
        Some((fault, barrier(first), first_index))
    }

    fn located(
        &self,
        launch: &Launch<'_>,
        fault: Fault,
        pc: u32,
        index: usize,
        exec: u64,
    ) -> Box<ExecutionError> {
        let (program, wave) = (self.program, &self.waves[index]);
        let instruction = program.instructions.get(pc as usize);
        let first = exec.trailing_zeros() as usize % wave.lanes;
        let lane = fault.lane().unwrap_or(first) as u32;
        let thread = match &fault {
            Fault::BarrierMissed { thread, .. } => *thread,
            _ => wave.index * wave.lanes as u32 + lane,
        };
        Box::new(ExecutionError {
            fault,
            instruction: instruction.map_or_else(String::new, |one| one.text.clone()),
            place: program.place(program.location(pc)),
            pc,
            workgroup: self.number,
            wave: wave.index,
            thread: thread_at(launch.block, thread),
        })
    }
}

#[inline(always)]
fn execute(
    core: &mut Core<'_>,
    instruction: &crate::Instruction,
    checks_waits: bool,
) -> Result<(), Box<Fault>> {
    if checks_waits
        && !core.wave.outstanding.is_empty()
        && let Some(fault) = core.not_waited(instruction)
    {
        return Err(Box::new(fault));
    }
    match &instruction.special {
        None => (instruction.run)(core, instruction),
        Some(special) => core.run_special(instruction, special),
    }
}

/// Sets scalar registers as the command processor does, in the order that the guide of LLVM's AMDGPU back end gives.
fn set_scalars(wave: &mut Wave, kernel: &Kernel, number: [u32; 3], [arguments, packet]: [u64; 2]) {
    let mut next = 0;
    let mut put = |wave: &mut Wave, words: &[u32]| {
        for word in words {
            wave.scalars[next & 127] = *word;
            next += 1;
        }
    };
    let pair = |address: u64| [address as u32, (address >> 32) as u32];
    for (name, words) in [
        ("user_sgpr_private_segment_buffer", &[0; 4][..]),
        ("user_sgpr_dispatch_ptr", &pair(packet)),
        ("user_sgpr_queue_ptr", &[0; 2]),
        ("user_sgpr_kernarg_segment_ptr", &pair(arguments)),
        ("user_sgpr_dispatch_id", &[0; 2]),
        ("user_sgpr_flat_scratch_init", &[0; 2]),
        ("user_sgpr_private_segment_size", &[0]),
    ] {
        if kernel.directive(name) == 1 {
            put(wave, words);
        }
    }
    let mut next = kernel.directive("user_sgpr_count") as usize;
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        if kernel.directive(&format!("system_sgpr_workgroup_id_{name}")) == 1 {
            wave.scalars[next & 127] = number[axis];
            next += 1;
        }
    }
    // The offset of the wave's private memory, which is empty here.
    wave.scalars[next & 127] = 0;
    // RDNA 4 has the numbers of the workgroup in registers of the trap handler.
    let ttmp = |number: u16| usize::from(TTMP + number);
    wave.scalars[ttmp(9)] = number[0];
    wave.scalars[ttmp(7)] = number[1] | number[2] << 16;
}
