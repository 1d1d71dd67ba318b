//! Records one workgroup of a case, so that a reader can step through it and back.

use anyhow::Result;
use tinyllama_machine::{
    ExecutionError, History, Lds, Memory, Observer, Program, Space, Step, Summary, Wave,
};

use super::super::exercise::Exercise;
use super::super::file::KernelFile;
use super::super::finding::{FindingKind, KernelFinding};
use super::super::judge::own_line;
use super::super::problem::PreparedCase;
use super::super::reference::Reference;
use super::listing::Listing;
use super::{execute, prepare_memory, program};
use crate::compiled::compiler::Compiler;

/// Most bytes of changes that a trace keeps.
const LIMIT: usize = 128 << 20;

/// A recorded workgroup.
#[derive(Debug)]
pub struct Trace {
    pub program: Program,
    pub file: KernelFile,
    /// The counts of the whole case.
    pub listing: Listing,
    pub history: History,
    /// The buffers at the end, which give addresses their names.
    pub memory: Memory,
    /// The fault that ended the execution in this workgroup.
    pub stopped: Option<Box<ExecutionError>>,
    pub start: TracePlace,
}

/// One lane of one wave, at one of its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracePlace {
    /// Number of the launch in the case, from 0.
    pub launch: usize,
    pub workgroup: [u32; 3],
    pub wave: u32,
    pub lane: usize,
    /// Number of the wave's step, from 0.
    pub step: usize,
}

/// Compiles `file`, executes a case and records a workgroup. With a finding it takes the finding's case, and the
/// workgroup and the instruction that made the mistake. Returns the fault if the file is wrong.
///
/// # Errors
/// Fails if the compiler cannot be started, or the emulator does not know an instruction.
pub fn trace(
    compiler: &Compiler,
    exercise: &Exercise,
    file: KernelFile,
    architecture: &str,
    finding: Option<&KernelFinding>,
) -> Result<Result<Trace, KernelFinding>> {
    let program = match program(compiler, exercise, &file, architecture)? {
        Ok(program) => program,
        Err(finding) => return Ok(Err(finding)),
    };
    let lanes = program.wave_size as u32;
    let prepare = |sizes| PreparedCase::new(exercise, sizes, lanes);
    let mut problem = prepare(exercise.cases.first().unwrap_or(&exercise.bench))?;
    if let Some(wanted) = finding.and_then(|finding| finding.case.as_ref()) {
        for sizes in &exercise.cases {
            let case = prepare(sizes)?;
            if case.describe() == *wanted {
                problem = case;
                break;
            }
        }
    }
    let blocks = problem.launches.iter().map(|launch| launch.block);
    let element = finding.and_then(|finding| finding.access.element.as_ref());
    let mut search = Search {
        finding,
        blocks: blocks.collect(),
        address: element.map_or(0, |(_, index)| 4 * index),
        ..Search::default()
    };
    let (memory, buffers) = prepare_memory(&problem);
    let mut named = problem.buffers.iter().zip(buffers);
    let is_named = |name: &str| element.is_some_and(|element| element.0 == name);
    if let Some((_, id)) = named.find(|(buffer, _)| is_named(&buffer.argument.name)) {
        search.address += memory.address(id);
    }
    let mut seen = (Summary::default(), search);
    let executed = execute(&program, &problem, &mut seen)?;
    let (summary, search) = seen;
    let start = match &executed.error {
        // The emulator met a fault itself, so the trace ends with it.
        Some(error) => TracePlace {
            launch: search.begun.saturating_sub(1),
            workgroup: error.workgroup,
            wave: error.wave,
            lane: error.fault.lane().unwrap_or(0),
            step: usize::MAX,
        },
        None => search.best.map_or(TracePlace::default(), |best| best.1),
    };
    let reference = Reference::compile(compiler, exercise)?;
    let findings = executed.findings(&problem, reference)?;
    let listing = Listing::new(&program, &problem, &summary, findings);
    let history = History::new(start.workgroup).launch(start.launch);
    let mut history = history.limited(LIMIT);
    let executed = execute(&program, &problem, &mut history)?;
    Ok(Ok(Trace {
        program,
        file,
        listing,
        history,
        memory: executed.memory,
        stopped: executed.error,
        start,
    }))
}

/// Finds the step that a finding is about. It is a step of the finding's line, best by its thread, then on its element,
/// then of its kind. The first one of equals is taken.
#[derive(Default)]
struct Search<'a> {
    finding: Option<&'a KernelFinding>,
    /// Address of the finding's element. Local memory is taken for one array from address 0.
    address: u64,
    /// Threads of a workgroup for each launch.
    blocks: Vec<[u32; 3]>,
    /// Number of launches that have begun.
    begun: usize,
    /// Number of steps that each wave of the present workgroup has made.
    steps: Vec<usize>,
    best: Option<([bool; 3], TracePlace)>,
}

impl Search<'_> {
    /// Returns the lane of the finding's thread, if the step's wave has it and it is on.
    fn lane_of_thread(&self, step: &Step<'_>, launch: usize) -> Option<usize> {
        let [workgroup, [x, y, z]] = self.finding?.access.thread?;
        let [width, height, _] = *self.blocks.get(launch)?;
        let thread = (x + width * (y + height * z)) as usize;
        let (wave, lane) = (thread / step.wave.lanes, thread % step.wave.lanes);
        let is_here = workgroup == step.workgroup && wave == step.wave.index as usize;
        (is_here && step.exec >> lane & 1 == 1).then_some(lane)
    }
}

impl Observer for Search<'_> {
    fn begin(&mut self, _: &Program, workgroup: [u32; 3], waves: &[Wave], _: &Lds) {
        self.begun += usize::from(workgroup == [0; 3]);
        self.steps = vec![0; waves.len()];
    }

    fn step(&mut self, step: &Step<'_>) {
        let made = &mut self.steps[step.wave.index as usize];
        *made += 1;
        let number = *made - 1;
        let Some(finding) = self.finding.filter(|finding| finding.line.is_some()) else {
            return;
        };
        if step.exec == 0 || own_line(step.program, step.instruction.location) != finding.line {
            return;
        }
        let launch = self.begun.saturating_sub(1);
        let by_thread = self.lane_of_thread(step, launch);
        let (space, elements) = (step.access.space, &step.access.elements);
        // An exchange between lanes has elements and no space. Their last number is 0 if the source is off.
        let exchange = finding.kind == FindingKind::Shuffle;
        let hits = |at: u64, bytes: u8| match exchange {
            true => bytes == 0,
            false => (at..at + u64::from(bytes)).contains(&self.address),
        };
        let of_lane = |lane: &u8| by_thread.is_none_or(|wanted| wanted == usize::from(*lane));
        let is_kind = match finding.kind {
            FindingKind::Barrier => step.instruction.name == "s_barrier",
            FindingKind::Shuffle => space.is_none() && !elements.is_empty(),
            FindingKind::BankConflict => space == Some(Space::Lds),
            FindingKind::Uncoalesced | FindingKind::Requests => space == Some(Space::Global),
            FindingKind::Wrong | FindingKind::Nan => {
                space == Some(Space::Global) && step.access.stores
            }
            _ => matches!(space, Some(Space::Global | Space::Lds)),
        };
        let mut hit = elements.iter();
        let hit = hit.find(|(lane, at, bytes)| is_kind && of_lane(lane) && hits(*at, *bytes));
        let rank = [by_thread.is_some(), hit.is_some(), is_kind];
        if self.best.as_ref().is_some_and(|best| best.0 >= rank) {
            return;
        }
        let first = step.exec.trailing_zeros() as usize;
        let place = TracePlace {
            launch,
            workgroup: step.workgroup,
            wave: step.wave.index,
            lane: by_thread
                .or(hit.map(|hit| usize::from(hit.0)))
                .unwrap_or(first),
            step: number,
        };
        self.best = Some((rank, place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{CheckOptions, check};
    use crate::find;
    use crate::machine::tests::compiler;

    /// An exercise, one of its wrong files, what the check finds first, and where the screen begins: the instruction,
    /// the workgroup's number along x, the wave and the lane.
    type Opened = (
        &'static str,
        &'static str,
        FindingKind,
        (&'static str, u32, u32, usize),
    );

    #[rustfmt::skip]
    const OPENED: [Opened; 7] = [
        ("block-sum", "wrong-barrier-in-branch.hip", FindingKind::Barrier, ("s_barrier", 0, 0, 0)),
        ("wave-sum", "wrong-early-return.hip", FindingKind::Shuffle, ("ds_bpermute_b32", 3, 3, 8)),
        ("elementwise", "wrong-same-elements.hip", FindingKind::Race, ("global_store_dword", 1, 0, 0)),
        ("swizzle", "wrong-or.hip", FindingKind::Race, ("ds_write_b32", 0, 0, 33)),
        ("histogram", "wrong-not-cleared.hip", FindingKind::Unwritten, ("ds_add_u32", 0, 0, 46)),
        ("matrix-lanes", "wrong-rows-and-columns-of-a.hip", FindingKind::Wrong, ("global_store_dword", 0, 0, 0)),
        ("bank-conflicts", "wrong-no-padding.hip", FindingKind::BankConflict, ("ds_read_b32", 0, 0, 0)),
    ];

    #[test]
    fn a_finding_of_the_check_opens_at_its_instruction_with_its_lane() {
        let Some(compiler) = compiler() else {
            return;
        };
        for (name, wrong, kind, expected) in OPENED {
            let exercise = find(name).unwrap();
            let text = exercise.file(wrong).unwrap().to_owned();
            let path = "kernel.hip".into();
            let file = KernelFile { path, text };
            let checked =
                check(exercise, &file, &CheckOptions::of_waves(&[64]), &mut |_| {}).unwrap();
            let finding = &checked.findings[0];
            assert_eq!(finding.kind, kind, "{name}");
            let traced = trace(&compiler, exercise, file, "gfx942", Some(finding));
            let traced = traced.unwrap().unwrap();
            let start = traced.start;
            let steps = traced.history.steps().iter();
            let mut steps = steps.filter(|step| step.wave == start.wave);
            let pc = steps.nth(start.step).unwrap().pc as usize;
            let instruction = &traced.program.instructions[pc];
            let line = own_line(&traced.program, instruction.location);
            assert_eq!(line, finding.line, "{name}");
            let opened = (
                &*instruction.name,
                start.workgroup[0],
                start.wave,
                start.lane,
            );
            assert_eq!(opened, expected, "{name}");
        }
    }
}
