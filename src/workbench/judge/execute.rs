//! Executes one case of an exercise in the emulator.

use std::sync::atomic::AtomicU64;

use anyhow::Result;
use tinyllama_machine::{BufferId, Checks, Launch, LaunchError, LocalArray, Machine, Memory};

use super::build::Built;
use super::llvm_text::MOST_LDS;
use super::pictures::Pictures;
use super::words::{of_error, of_mistake, own_line, too_much_lds};
use super::{CaseResult, KernelOutput};
use crate::finding::{FindingKind, KernelFinding};
use crate::problem::{Planned, PreparedCase};

/// Most wave instructions of a case: eight times those of the slowest solution, and an endless loop is found in seconds.
pub const BUDGET: u64 = 4_000_000;

/// Executes the launches of `problem`. With `is_pictured` it also notes how wavefronts access memory. `progress` counts
/// workgroups that are done.
///
/// # Errors
/// Fails if the program does not fit the exercise.
pub fn execute(
    built: &Built,
    problem: &PreparedCase<'_>,
    is_pictured: bool,
    progress: &AtomicU64,
) -> Result<CaseResult> {
    let mut memory = Memory::new();
    let buffers: Vec<BufferId> = problem
        .buffers
        .iter()
        .map(|buffer| match &buffer.bits {
            Some(bits) => memory.add_words(&buffer.argument.name, bits),
            None => memory.add_unwritten(&buffer.argument.name, buffer.elements),
        })
        .collect();
    let mut machine = Machine::new(&built.program, memory);
    let mut pictures = Pictures::default();
    let mut result = CaseResult::default();
    let mut is_whole = true;
    for planned in &problem.launches {
        let mut launch = launch(built, planned, &buffers);
        launch.budget = BUDGET.saturating_sub(machine.executed);
        launch.progress = Some(progress);
        let lds: usize = launch.local_arrays.iter().map(|array| array.bytes).sum();
        if lds > MOST_LDS {
            result.findings.push(too_much_lds(lds));
            is_whole = false;
            break;
        }
        let done = match is_pictured {
            true => {
                pictures.begin_launch(planned.grid);
                machine.run(&launch, &mut pictures)
            }
            false => machine.run(&launch, &mut ()),
        };
        match done {
            Ok(()) => {}
            Err(LaunchError::Execution(error)) => {
                result.findings.push(of_error(&built.program, &error));
                is_whole = false;
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mistakes = machine.mistakes().iter();
    let mistakes = mistakes.map(|mistake| of_mistake(&built.program, mistake));
    result.findings.splice(0..0, mistakes);
    let inputs = problem.buffers.iter().zip(&buffers);
    let inputs = inputs.filter(|(buffer, _)| buffer.bits.is_some() && !buffer.argument.output);
    let changed = inputs
        .filter_map(|(buffer, id)| changed_input(built, &machine, &buffer.argument.name, *id));
    result.findings.extend(changed);
    result.barriers = pictures.most_barriers;
    let arrays_at = |pc: u32| arrays_of(built, kernel_at(built, pc));
    result.pictures = pictures.finish(&built.program, &machine.memory, arrays_at);
    if is_whole {
        let outputs = problem.buffers.iter().zip(&buffers);
        let outputs = outputs.filter(|(buffer, _)| buffer.argument.output);
        result.outputs = Some(
            outputs
                .map(|(buffer, id)| (buffer.argument.name.clone(), output(built, &machine, *id)))
                .collect(),
        );
    }
    Ok(result)
}

fn launch<'a>(built: &Built, planned: &Planned<'a>, buffers: &[BufferId]) -> Launch<'a> {
    let mut launch = planned.launch(buffers);
    launch.checks = Checks::Threads;
    launch.checks_waits = false;
    launch.local_arrays = arrays_of(built, planned.entry);
    let dynamic = built.arrays.get(planned.entry).and_then(|one| one.dynamic);
    if let Some(address) = dynamic {
        launch.local_arrays.push(LocalArray {
            name: String::new(),
            address,
            bytes: planned.shared as usize,
            element: 4,
        });
    }
    launch
}

fn arrays_of(built: &Built, kernel: &str) -> Vec<LocalArray> {
    let arrays = built.arrays.get(kernel);
    arrays.map_or(vec![], |arrays| arrays.fixed.clone())
}

/// Returns the kernel whose code comes last before an instruction.
fn kernel_at(built: &Built, pc: u32) -> &str {
    let before = built.program.kernels.iter().filter(|one| one.entry <= pc);
    before
        .max_by_key(|one| one.entry)
        .map_or("", |kernel| &kernel.name)
}

/// Returns the mistake if a kernel wrote to an array that it only gets to read.
fn changed_input(
    built: &Built,
    machine: &Machine<'_>,
    name: &str,
    id: BufferId,
) -> Option<KernelFinding> {
    let writer = |word: usize| Some((word, machine.memory.writer(id, word)?));
    let (word, pc) = (0..machine.memory.buffer(id).words().count()).find_map(writer)?;
    let line = own_line(&built.program, built.program.location(pc));
    let message = format!("writes to element {word} of `{name}`, which is only read");
    Some(KernelFinding::new(FindingKind::Wrong, line, message))
}

fn output(built: &Built, machine: &Machine<'_>, id: BufferId) -> KernelOutput {
    let words: Vec<u32> = machine.memory.buffer(id).words().collect();
    let line = |word: usize| {
        let pc = machine.memory.writer(id, word)?;
        // 0 would mean that no line wrote it. Some instruction did, even if the compiler names no line for it.
        Some(own_line(&built.program, built.program.location(pc)).unwrap_or(u32::MAX))
    };
    let lines = (0..words.len()).map(|word| line(word).unwrap_or(0));
    KernelOutput {
        lines: lines.collect(),
        words,
    }
}
