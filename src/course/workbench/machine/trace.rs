//! Records one workgroup of a case, so that a reader can step through it and back.

use anyhow::Result;
use tinyllama_machine::{
    ExecutionError, Fault, History, Lds, Memory, Observer, Program, Step, Summary, Wave,
};

use super::super::exercise::Exercise;
use super::super::file::KernelFile;
use super::super::finding::KernelFinding;
use super::super::problem::PreparedCase;
use super::listing::{Listing, own_line};
use super::{execute, program};
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

/// One lane of one wave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracePlace {
    /// Number of the launch in the case, from 0.
    pub launch: usize,
    pub workgroup: [u32; 3],
    pub wave: u32,
    pub lane: usize,
    /// The source line that a finding names.
    pub line: Option<u32>,
}

/// Compiles `file`, executes a case and records a workgroup. With a finding it takes the finding's case, and the
/// workgroup of the thread that made the mistake. Returns the fault if the file is wrong.
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
    let search = FirstExecution {
        line: finding.and_then(|finding| finding.line),
        thread: finding.and_then(|finding| finding.thread),
        blocks: blocks.collect(),
        begun: 0,
        found: None,
        by_thread: None,
    };
    let mut seen = (Summary::default(), search);
    let executed = execute(&program, &problem, &mut seen)?;
    let (summary, search) = seen;
    let start = match &executed.error {
        // The emulator met a fault itself, so the trace ends with it.
        Some(error) => TracePlace {
            launch: search.begun.saturating_sub(1),
            workgroup: error.workgroup,
            wave: error.wave,
            lane: match &error.fault {
                Fault::Unmapped { lane, .. } | Fault::OutOfBounds { lane, .. } => *lane,
                _ => 0,
            },
            line: None,
        },
        None => search.by_thread.or(search.found).unwrap_or_default(),
    };
    let listing = Listing::new(&program, &problem, &summary, executed.findings);
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

/// Finds where a source line is executed first: by the thread of the finding, and by any thread.
struct FirstExecution {
    line: Option<u32>,
    /// Workgroup and thread.
    thread: Option<[[u32; 3]; 2]>,
    /// Threads of a workgroup for each launch.
    blocks: Vec<[u32; 3]>,
    /// Number of launches that have begun.
    begun: usize,
    found: Option<TracePlace>,
    by_thread: Option<TracePlace>,
}

impl Observer for FirstExecution {
    fn begin(&mut self, _: &Program, workgroup: [u32; 3], _: &[Wave], _: &Lds) {
        self.begun += usize::from(workgroup == [0; 3]);
    }

    fn step(&mut self, step: &Step<'_>) {
        let is_wanted = || own_line(step.program, step.instruction.location) == self.line;
        if self.line.is_none() || self.by_thread.is_some() || step.exec == 0 || !is_wanted() {
            return;
        }
        let launch = self.begun.saturating_sub(1);
        let mut place = TracePlace {
            launch,
            workgroup: step.workgroup,
            wave: step.wave.index,
            lane: step.exec.trailing_zeros() as usize,
            line: self.line,
        };
        self.found.get_or_insert(place);
        let (Some([workgroup, [x, y, z]]), Some([width, height, _])) =
            (self.thread, self.blocks.get(launch))
        else {
            return;
        };
        let thread = (x + width * (y + height * z)) as usize;
        place.lane = thread % step.wave.lanes;
        let is_thread = workgroup == step.workgroup
            && thread / step.wave.lanes == step.wave.index as usize
            && step.exec >> place.lane & 1 == 1;
        if is_thread {
            self.by_thread = Some(place);
        }
    }
}
