//! Checks a kernel without a GPU: every case of its exercise as machine code of AMD GPUs, with waves of 64 and 32 lanes.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use anyhow::Result;
use itertools::Itertools;
use serde::Serialize;

use super::amd::{self, Compiled, Tuning};
use super::costs::{self, KernelCosts, Spent};
use super::exercise::{ErrorLimits, Exercise, NamedSizes};
use super::file::KernelFile;
use super::finding::{FindingKind, KernelFinding};
use super::judge::{self, Built, CaseResult};
use super::picture::AccessPicture;
use super::problem::PreparedCase;
use super::reference::Reference;
use crate::compiled::compiler::Compiler;

pub use super::compare::compare;
pub use super::picture::WavePictures;

/// Wave sizes of CDNA and RDNA. NVIDIA's warps have 32 lanes as well.
pub const WAVES: [u32; 2] = [64, 32];

/// The architectures that a check compiles for unless others are asked for: one of each wave size.
pub const ARCHITECTURES: [&str; 2] = ["gfx942", "gfx1100"];

/// Number of cases with sizes that are drawn anew for each check.
const DRAWN: usize = 2;

/// Interval of reports of progress.
const REPORT: Duration = Duration::from_millis(250);

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ExerciseCheck {
    pub exercise: String,
    pub passed: bool,
    /// Number of cases that ran, over all architectures.
    pub cases: usize,
    pub findings: Vec<KernelFinding>,
    pub warnings: Vec<KernelFinding>,
    /// What draws the sizes that are not in the exercise. `None` if nothing was drawn.
    pub seed: Option<u64>,
    /// The drawn cases.
    pub drawn: Vec<String>,
    /// Pictures of the first case, for each wave size.
    pub pictures: Vec<WavePictures>,
    /// What the first case costs. `None` if the kernel did not run to its end.
    pub costs: Option<KernelCosts>,
    /// What a GPU's compiler makes of the file.
    #[serde(skip)]
    pub compiled: Compiled,
}

/// What a check compiles for and which sizes it adds.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    pub architectures: Vec<String>,
    /// Draws the added sizes. `None` draws others each time.
    pub seed: Option<u64>,
    /// Also says what the kernel costs.
    pub counts: bool,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions::of(&ARCHITECTURES)
    }
}

impl CheckOptions {
    pub fn of<T: AsRef<str>>(architectures: &[T]) -> CheckOptions {
        let architectures = architectures.iter();
        CheckOptions {
            architectures: architectures.map(|one| one.as_ref().to_owned()).collect(),
            seed: None,
            counts: false,
        }
    }

    /// Takes the usual architectures with these wave sizes.
    pub fn of_waves(waves: &[u32]) -> CheckOptions {
        let usual = WAVES.iter().zip(ARCHITECTURES);
        let chosen = usual.filter(|(wave, _)| waves.contains(wave));
        CheckOptions::of(&chosen.map(|(_, one)| one).collect::<Vec<_>>())
    }
}

/// What a check is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckProgress {
    Compiling,
    /// Number of workgroups that are done, and of all.
    Executing {
        done: u64,
        all: u64,
    },
}

impl CheckProgress {
    /// Formats one sentence.
    pub fn text(self) -> String {
        match self {
            CheckProgress::Compiling => "The kernel is being compiled.".into(),
            CheckProgress::Executing { done, all } => {
                format!("The kernel is being executed: {done} of {all} workgroups are done.")
            }
        }
    }
}

/// What a case gave, and its wrong elements.
type JobResult = (CaseResult, Vec<KernelFinding>);

/// One case on one architecture.
struct CaseJob<'a> {
    built: &'a Built,
    problem: PreparedCase<'a>,
    /// Index of the architecture, and of the case.
    turn: usize,
    index: usize,
}

/// Checks `file` as a solution of `exercise`. `say` receives what it is doing.
///
/// # Errors
/// Fails if this machine cannot compile for AMD GPUs, for example with a
/// [`CompilerError`](crate::compiled::compiler::CompilerError), or the emulator does not know an instruction. Faults of
/// the kernel are findings, not errors.
pub fn check(
    exercise: &Exercise,
    file: &KernelFile,
    options: &CheckOptions,
    say: &mut dyn FnMut(CheckProgress),
) -> Result<ExerciseCheck> {
    say(CheckProgress::Compiling);
    let compiler = Compiler::find()?;
    let mut checked = ExerciseCheck {
        exercise: exercise.name.clone(),
        ..ExerciseCheck::default()
    };
    let mut all = vec![];
    let (reference, builds) = std::thread::scope(|scope| {
        let reference = scope.spawn(|| Reference::compile(&compiler, exercise));
        let builds = build_all(&compiler, exercise, file, &options.architectures);
        (joined(reference), builds)
    });
    let reference = reference?;
    for built in builds? {
        match built {
            Ok(built) => all.push(built),
            Err(findings) => {
                checked.findings = findings;
                return Ok(checked);
            }
        }
    }
    let first = all.first();
    checked.warnings = first.map_or(vec![], |built| built.warnings.clone());
    let random = || RandomState::new().build_hasher().finish() % 1_000_000;
    let seed = options.seed.unwrap_or_else(random);
    let drawn = PreparedCase::draw(exercise, seed, DRAWN);
    checked.seed = (!drawn.is_empty()).then_some(seed);
    let jobs = jobs(exercise, file, &all, &drawn, seed)?;
    let count = exercise.cases.len();
    let of_first = jobs.iter().filter(|job| job.turn == 0);
    checked.drawn = of_first
        .skip(count)
        .map(|job| job.problem.describe())
        .collect();
    let (results, counted) = std::thread::scope(|scope| {
        let is_counted = options.counts || exercise.limits.waves.is_some();
        let counted = is_counted.then(|| scope.spawn(|| count_costs(&compiler, exercise, file)));
        (run_all(&jobs, reference, say), counted.map(joined))
    });
    let (compiled, instructions) = counted.transpose()?.unwrap_or_default();
    checked.compiled = compiled;
    let ran = checked.add_cases(&jobs, results)?;
    if let Some(job) = jobs.first().filter(|_| ran && options.counts) {
        checked.costs = Some(KernelCosts::new(
            &checked.pictures,
            instructions,
            &job.problem,
        ));
    }
    if checked.findings.is_empty() {
        checked
            .findings
            .extend(too_few_waves(exercise, &checked.compiled));
    }
    checked.passed = checked.findings.is_empty();
    Ok(checked)
}

/// Compiles as for a GPU, and counts the instructions of the first case.
fn count_costs(
    compiler: &Compiler,
    exercise: &Exercise,
    file: &KernelFile,
) -> Result<(Compiled, Option<Spent>)> {
    let mut compiled = amd::compile(compiler, exercise, file, Tuning::default(), &|_| {})?;
    let sizes = exercise.cases.first().unwrap_or(&exercise.bench);
    // It has the name of a temporary folder.
    let counted = compiled.counted.take();
    let counted = counted.and_then(|assembly| costs::instructions(&assembly, exercise, sizes));
    Ok((compiled, counted))
}

/// Compiles for every architecture at once.
fn build_all(
    compiler: &Compiler,
    exercise: &Exercise,
    file: &KernelFile,
    architectures: &[String],
) -> Result<Vec<Result<Built, Vec<KernelFinding>>>> {
    std::thread::scope(|scope| {
        let builds: Vec<_> = architectures
            .iter()
            .map(|name| scope.spawn(move || judge::build(compiler, exercise, file, name)))
            .collect();
        builds.into_iter().map(joined).collect()
    })
}

/// Waits for a thread. A panic of it goes on here.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    let ended = thread.join();
    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Prepares every case, for every architecture.
fn jobs<'a>(
    exercise: &'a Exercise,
    file: &KernelFile,
    all: &'a [Built],
    drawn: &[NamedSizes],
    seed: u64,
) -> Result<Vec<CaseJob<'a>>> {
    let mut jobs = vec![];
    for (turn, built) in all.iter().enumerate() {
        let wave = u32::try_from(built.program.wave_size)?;
        // From the second architecture on, the numbers depend on the file, so that no file can contain the results.
        let salt = if turn == 0 { 0 } else { file.salt() };
        let fixed = exercise.cases.iter().map(|sizes| (sizes, salt));
        let drawn = drawn
            .iter()
            .map(|sizes| (sizes, salt ^ seed.wrapping_add(1)));
        for (index, (sizes, salt)) in fixed.chain(drawn).enumerate() {
            jobs.push(CaseJob {
                built,
                problem: PreparedCase::salted(exercise, sizes, wave, Some(salt))?,
                turn,
                index,
            });
        }
    }
    Ok(jobs)
}

/// Executes all jobs on all processors. A job that was left out, because an earlier one of its architecture did not end,
/// has no result.
fn run_all(
    jobs: &[CaseJob<'_>],
    reference: Reference<'_>,
    say: &mut dyn FnMut(CheckProgress),
) -> Vec<Option<Result<JobResult>>> {
    let groups = |job: &CaseJob<'_>| -> u64 {
        let launches = job.problem.launches.iter();
        let groups = launches.map(|one| {
            one.grid
                .iter()
                .map(|side| u64::from(*side))
                .product::<u64>()
        });
        groups.sum()
    };
    let all = jobs.iter().map(groups).sum();
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    // For each architecture, the first case that did not end.
    let turns = jobs.last().map_or(0, |job| job.turn + 1);
    let endless: Vec<AtomicUsize> = (0..turns).map(|_| AtomicUsize::new(usize::MAX)).collect();
    let mut results: Vec<Option<Result<JobResult>>> = jobs.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..processors.min(jobs.len()) {
            let (sender, next, done, endless) = (sender.clone(), &next, &done, &endless);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else {
                        break;
                    };
                    let first_endless = &endless[job.turn];
                    // The other cases would take as long.
                    if first_endless.load(Ordering::Relaxed) < job.index {
                        continue;
                    }
                    let result = judge::execute(job.built, &job.problem, job.index == 0, done);
                    if result.as_ref().is_ok_and(CaseResult::is_endless) {
                        first_endless.fetch_min(job.index, Ordering::Relaxed);
                    }
                    let result = result.and_then(|result| {
                        let wrong = wrong_results(&job.problem, &result, reference)?;
                        Ok((result, wrong))
                    });
                    // The receiver is gone only if this check is given up.
                    let _ = sender.send((at, result));
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(REPORT) {
                Ok((at, result)) => results[at] = Some(result),
                Err(RecvTimeoutError::Timeout) => {
                    let done = done.load(Ordering::Relaxed);
                    say(CheckProgress::Executing { done, all });
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    results
}

impl ExerciseCheck {
    /// Adds what the cases found, in their order, and returns whether the first one ended. After a case that did not end, the others of its architecture are left
    /// out, whether they ran or not.
    fn add_cases(
        &mut self,
        jobs: &[CaseJob<'_>],
        results: Vec<Option<Result<JobResult>>>,
    ) -> Result<bool> {
        let (mut ended, mut first_ran) = (None, false);
        for (job, result) in jobs.iter().zip(results) {
            if ended == Some(job.turn) {
                continue;
            }
            let Some(result) = result else {
                continue;
            };
            let (result, mut findings) = result?;
            self.cases += 1;
            let is_first = job.index == 0;
            first_ran |= is_first && job.turn == 0 && result.outputs.is_some();
            if is_first && result.outputs.is_some() {
                findings.extend(over_limits(&job.problem, &result)?);
            }
            if result.is_endless() {
                ended = Some(job.turn);
            }
            let wave = job.problem.wave;
            let all = result.findings.into_iter().chain(findings).collect();
            self.add_all(all, wave, &job.problem);
            if is_first {
                let pictures = result.pictures;
                self.pictures.push(WavePictures { wave, pictures });
            }
        }
        Ok(first_ran)
    }

    /// Kinds of the findings, each once.
    pub fn kinds(&self) -> Vec<String> {
        let kinds = self.findings.iter().map(|finding| finding.kind.name());
        kinds.unique().map(str::to_owned).collect()
    }

    /// Adds findings. A mistake is kept once, with the first case that showed it.
    pub fn add_all(&mut self, findings: Vec<KernelFinding>, wave: u32, problem: &PreparedCase<'_>) {
        for mut finding in findings {
            let known = self
                .findings
                .iter_mut()
                .find(|known| known.is_same_finding(&finding));
            match known {
                Some(known) if known.waves.contains(&wave) => {}
                Some(known) => known.waves.push(wave),
                None => {
                    finding.waves = vec![wave];
                    finding.case = Some(problem.describe());
                    self.findings.push(finding);
                }
            }
        }
    }
}

/// Finds wrong elements. There is one finding per output and line.
fn wrong_results(
    problem: &PreparedCase<'_>,
    answer: &CaseResult,
    reference: Reference<'_>,
) -> Result<Vec<KernelFinding>> {
    let Some(outputs) = &answer.outputs else {
        return Ok(vec![]);
    };
    let mut findings = vec![];
    for (name, expected) in reference.results(problem)? {
        if let Some(output) = outputs.get(name) {
            findings.extend(compare(problem.exercise, name, output, &expected));
        }
    }
    Ok(findings)
}

/// Finds counts of the first case that exceed the limits of the exercise.
fn over_limits(problem: &PreparedCase<'_>, answer: &CaseResult) -> Result<Vec<KernelFinding>> {
    let limits = &problem.exercise.limits;
    let pictures = &answer.pictures;
    let mut findings: Vec<KernelFinding> = pictures
        .iter()
        .filter_map(|one| over_limit(one, limits))
        .collect();
    for (array, most) in &limits.requests {
        let most = problem.size(most)?;
        let of_array = pictures
            .iter()
            .filter(|one| !one.local && one.array == *array);
        let counted: u64 = of_array.clone().map(|one| one.requests).sum();
        if counted > most as u64 {
            let line = of_array.max_by_key(|one| (one.requests, one.line));
            let line = line.map(|one| one.line);
            let message =
                format!("{array}: wavefronts access it {counted} times where {most} would do");
            findings.push(KernelFinding::new(FindingKind::Requests, line, message));
        }
    }
    if let Some(most) = &limits.barriers {
        let (most, counted) = (problem.size(most)?, answer.barriers);
        if counted > most as u64 {
            let message = format!("a workgroup waits at {counted} barriers where {most} would do");
            findings.push(KernelFinding::new(FindingKind::Barriers, None, message));
        }
    }
    Ok(findings)
}

/// Finds a right kernel that takes too many registers.
fn too_few_waves(exercise: &Exercise, compiled: &Compiled) -> Option<KernelFinding> {
    let fewest = exercise.limits.waves?;
    let kernels = compiled.kernels.iter();
    let of_kernel = kernels.filter(|one| one.architecture == "gfx942");
    let over = of_kernel.filter_map(|one| Some((one, one.waves_per_simd()?)));
    let mut over = over.filter(|(_, waves)| *waves < f64::from(fewest));
    over.next().map(|(one, waves)| {
        let vgprs = one.resources.vgprs;
        let message = format!(
            "{} takes {vgprs} vector registers on gfx942, where {waves:.0} wavefronts fit on a SIMD and {fewest} should",
            one.kernel
        );
        KernelFinding::new(FindingKind::Occupancy, None, message)
    })
}

/// Finds a load or store that needs more memory accesses than the exercise allows.
fn over_limit(picture: &AccessPicture, limits: &ErrorLimits) -> Option<KernelFinding> {
    let line = Some(picture.line);
    let what = picture.label();
    if picture.local {
        limits.conflicts.filter(|most| picture.degree > *most)?;
        let (degree, passes, groups) = (picture.degree, picture.passes, picture.groups);
        let message =
            format!("{what}: {degree}-way bank conflict, {passes} passes where {groups} would do");
        return Some(KernelFinding::new(FindingKind::BankConflict, line, message));
    }
    let most = limits.lines?;
    let [lines, fewest] = [picture.lines, picture.fewest].map(|many| picture.a_request(many));
    (lines > most * fewest).then(|| {
        let message = format!("{what}: a wavefront touches {lines:.0} cache lines of 128 bytes where {fewest:.0} would do");
        KernelFinding::new(FindingKind::Uncoalesced, line, message)
    })
}
