//! Launches a kernel: arguments, workgroups, waves, barriers.

use crate::core::Core;
use crate::error::{ExecutionError, Fault, LaunchError};
use crate::lds::Lds;
use crate::memory::{BufferId, Memory};
use crate::observe::{Access, Observer, Step};
use crate::operand::{EXEC, Kind, Operand};
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
    /// Number of instructions after which the machine gives up a launch that does not end.
    pub budget: u64,
    /// True if two waves that use a word of LDS with no barrier between them end the launch.
    pub finds_races: bool,
    /// True if an instruction that uses a register before a wait for its load ends the launch.
    pub checks_waits: bool,
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
            budget: BUDGET,
            finds_races: true,
            checks_waits: true,
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
}

impl<'a> Machine<'a> {
    pub fn new(program: &'a Program, memory: Memory) -> Machine<'a> {
        Machine {
            program,
            memory,
            executed: 0,
        }
    }

    /// Executes every workgroup, one after the other.
    ///
    /// # Errors
    /// Fails if the launch does not fit the kernel. Also fails if an instruction does: memory that does not exist, a
    /// missing wait or barrier, or a kernel that does not end.
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
        let lds_bytes = kernel.lds_bytes + launch.dynamic_lds;
        if lds_bytes > 64 << 10 {
            return Err(wrong(format!(
                "{lds_bytes} bytes of LDS, and a workgroup has 65536"
            )));
        }
        let arguments = self.arguments(kernel, launch).map_err(wrong)?;
        let pointers = self
            .memory
            .prepare(arguments, packet(launch), &self.program.data);
        let budget = self.executed.saturating_add(launch.budget);
        let [width, height, depth] = launch.grid;
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    let mut group =
                        Workgroup::new(self.program, kernel, launch, [x, y, z], pointers);
                    group.run(self, launch, budget, observer)?;
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
            set_scalars(&mut wave, kernel, number, pointers);
            let first = index * lanes as u32;
            let active = (threads - first).min(lanes as u32);
            wave.set_mask(
                &Operand::new(Kind::Scalar, EXEC, 2),
                u64::MAX >> (64 - active),
            );
            let dimensions = kernel.directive("system_vgpr_workitem_id");
            for (lane, word) in wave.vector_mut(0).iter_mut().enumerate() {
                let thread = first + lane as u32;
                let [width, height, _] = launch.block;
                let (x, y, z) = (
                    thread % width,
                    thread / width % height,
                    thread / width / height,
                );
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
            lds: Lds::new(kernel.lds_bytes + launch.dynamic_lds, launch.finds_races),
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
        let mut access = Access::default();
        let mut waited = vec![];
        loop {
            for wave in &mut self.waves {
                let program = self.program;
                let mut turn = TURN;
                while wave.status == Status::Running && turn > 0 {
                    turn -= 1;
                    let pc = wave.pc;
                    let Some(instruction) = program.instructions.get(pc as usize) else {
                        let fault = Fault::BadJump(u64::from(pc) * 8);
                        return Err(located(program, fault, pc, self.number, wave.index).into());
                    };
                    let exec = wave.exec();
                    wave.pc += 1;
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
                        access: O::ACTIVE.then_some(&mut access),
                        waited: &mut waited,
                        steps: machine.executed,
                    };
                    let done = if machine.executed > budget {
                        Err(Box::new(Fault::Endless(launch.budget)))
                    } else {
                        execute(&mut core, instruction, launch.checks_waits)
                    };
                    if let Err(fault) = done {
                        return Err(located(program, *fault, pc, self.number, wave.index).into());
                    }
                    if O::ACTIVE {
                        observer.step(&Step {
                            program,
                            workgroup: self.number,
                            pc,
                            instruction,
                            exec,
                            access: &access,
                            waited: &waited,
                            wave,
                            lds: &self.lds,
                        });
                    }
                    waited.clear();
                }
            }
            if self.waves.iter().any(|wave| wave.status == Status::Running) {
                continue;
            }
            // A barrier waits for the waves that have not ended.
            let waiting = self
                .waves
                .iter_mut()
                .filter(|wave| wave.status == Status::AtBarrier);
            let mut released = 0;
            for wave in waiting {
                wave.status = Status::Running;
                wave.barriers += 1;
                released += 1;
            }
            if released == 0 {
                return Ok(());
            }
        }
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

fn located(
    program: &Program,
    fault: Fault,
    pc: u32,
    workgroup: [u32; 3],
    wave: u32,
) -> Box<ExecutionError> {
    let instruction = program.instructions.get(pc as usize);
    Box::new(ExecutionError {
        fault,
        instruction: instruction.map_or_else(String::new, |one| one.text.clone()),
        place: instruction.map_or_else(String::new, |one| program.place(one.location)),
        pc,
        workgroup,
        wave,
    })
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
}
