//! Times a learner's kernel on a GPU, in turns with other kernels that do the same work.

use anyhow::{Result, anyhow, bail};
use serde::Serialize;

use super::gpu::{NamedKernels, compile, launch, place, written};
use tinyllama_base::statistics::{Finding as Difference, Interval, Series, ratio_in_rounds};
use tinyllama_engine::device::driver::{
    AlgorithmSelection, DeviceBuffer, DeviceKernel, Driver, DriverError, GemmOperands, GemmPlan,
    GemmPrecision, GemmSpec, LaunchArgument, LaunchSettings, Stream,
};
use tinyllama_engine::targets::v4::{ArgumentSource, time_alone};
use tinyllama_workbench::check::compare;
use tinyllama_workbench::exercise::{Exercise, NamedSizes};
use tinyllama_workbench::file::KernelFile;
use tinyllama_workbench::problem::{KernelArgument, PreparedCase};

/// Rounds in which the kernels take turns, and least device time of a turn in ms.
const ROUNDS: usize = 9;
const TURN_MS: f64 = 5.0;
const MOST_PASSES: u32 = 10_000;

/// Number of the vendor's product algorithms that are timed, and the memory in bytes that they may use.
const CANDIDATES: usize = 8;
const WORKSPACE: usize = 32 << 20;

/// Smallest relative difference of times that matters.
const MARGIN: f64 = 0.02;

/// Smallest relative difference that counts as seen. Two copies of one file differed by less, because their code lies
/// at different addresses.
const SEEN: f64 = 0.01;
const CONFIDENCE: f64 = 0.95;

/// A kernel's times, and their comparison with the learner's kernel.
#[derive(Clone, Debug, Serialize)]
pub struct TimedKernel {
    pub what: String,
    /// Median of the rounds.
    pub milliseconds: f64,
    pub gigabytes_per_s: f64,
    pub gigaflops_per_s: f64,
    /// Least time that this device's ceilings allow, divided by the measured time.
    pub of_ceiling: Option<f64>,
    /// The learner's time divided by this kernel's, with its interval; `None` for the learner's own kernel.
    pub ratio: Option<Interval>,
    pub finding: Option<Difference>,
    /// `None` if a library does not report them.
    pub registers: Option<u32>,
    pub spilled_bytes: Option<usize>,
}

/// Times and remarks on them.
#[derive(Debug)]
pub struct BenchReport {
    pub timed: Vec<TimedKernel>,
    pub notes: Vec<String>,
}

/// One of the kernels that take turns.
enum Racer<'a> {
    File(NamedKernels<'a>),
    /// A kernel of V4, with arrays that the exercise does not have.
    Own {
        kernel: DeviceKernel,
        shape: LaunchSettings,
        arguments: Vec<LaunchArgument<'static>>,
        /// The arrays to which the arguments point.
        _arrays: Vec<DeviceBuffer>,
    },
    Product(GemmPlan, GemmOperands),
}

impl Racer<'_> {
    /// Puts `passes` runs into `stream`.
    fn go(
        &self,
        passes: u32,
        stream: &Stream,
        placed: &[DeviceBuffer],
        problem: &PreparedCase<'_>,
    ) -> Result<(), DriverError> {
        (0..passes).try_for_each(|_| match self {
            Racer::File(compiled) => launch(stream, compiled, placed, problem),
            Racer::Own {
                kernel,
                shape,
                arguments,
                ..
            } => {
                // SAFETY: the arguments match the kernel's signature for the exercise's sizes; all buffers outlive the
                // stream's work.
                unsafe { stream.launch(kernel, shape, arguments) }
            }
            // SAFETY: the operands are the exercise's matrices, in the sizes for which the plan was made.
            Racer::Product(plan, operands) => unsafe { plan.run(stream, operands) },
        })
    }

    fn kernels(&self) -> Vec<&DeviceKernel> {
        match self {
            Racer::File(compiled) => compiled.iter().map(|(_, kernel)| kernel).collect(),
            Racer::Own { kernel, .. } => vec![kernel],
            Racer::Product(..) => vec![],
        }
    }
}

/// Returns this project's kernel for the exercise if there is one, its name, and what it computes in addition.
fn reference_racer(
    driver: &Driver,
    stream: &Stream,
    problem: &PreparedCase<'_>,
    placed: &[DeviceBuffer],
) -> Result<Option<(String, Racer<'static>, Option<&'static str>)>> {
    let size = |name: &str| problem.extent(name);
    if problem.exercise.name == "matmul" {
        let spec = GemmSpec::new(size("m"), size("n"), size("k"), GemmPrecision::F32);
        let candidates = CANDIDATES;
        let plan = driver.plan_gemm(stream, spec, AlgorithmSelection::Measured { candidates })?;
        let [a, b, c] = placed else {
            return Ok(None);
        };
        let operands = GemmOperands::product(a.address(), b.address(), c.address());
        let library = driver.gemm_library()?;
        return Ok(Some((library, Racer::Product(plan, operands), None)));
    }
    let exercise = problem.exercise;
    let kernel = exercise.v4.as_ref().unwrap_or(&exercise.name);
    let Some(alone) = time_alone(kernel, &size, driver.properties()) else {
        return Ok(None);
    };
    let kernel = driver.compile(&alone.source)?.kernel(alone.entry)?;
    kernel.allow_shared(alone.launch.shared_bytes as usize)?;
    let (mut arguments, mut arrays) = (vec![], vec![]);
    for given in alone.arguments {
        arguments.push(match given {
            ArgumentSource::Value(value) => value,
            ArgumentSource::Array(numbers) => {
                let memory = driver.allocate(numbers.len() * 4)?;
                stream.upload(memory.as_slice(), &numbers)?;
                let address = memory.address();
                arrays.push(memory);
                address.into()
            }
            ArgumentSource::Named(name) => match problem.passed(name)? {
                KernelArgument::Buffer(index) => placed[index].address().into(),
                KernelArgument::Word(bits) => bits.into(),
            },
        });
    }
    stream.synchronize()?;
    let racer = Racer::Own {
        kernel,
        shape: alone.launch,
        arguments,
        _arrays: arrays,
    };
    Ok(Some(("v4's own".into(), racer, alone.remark)))
}

/// Rates that a device reaches.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRates {
    pub bytes_per_s: f64,
    pub flops_per_s: f64,
}

/// Times `files`, the learner's first, and this project's kernel for the exercise. All take turns in rounds.
///
/// # Errors
/// Fails if a file does not compile or the device fails.
pub fn bench(
    driver: &Driver,
    exercise: &Exercise,
    sizes: &NamedSizes,
    files: &[(String, KernelFile)],
    reached: Option<DeviceRates>,
) -> Result<BenchReport> {
    let wave = driver.properties().plane_size;
    // No file can contain the results for numbers that depend on the file.
    let salt = files.first().map_or(0, |(_, file)| file.salt());
    let problem = PreparedCase::salted(exercise, sizes, wave, Some(salt))?;
    let stream = driver.stream(WORKSPACE)?;
    let placed = place(driver, &stream, &problem)?;
    let (mut all, mut notes) = (vec![], vec![]);
    for (what, file) in files {
        let compiled =
            compile(driver, exercise, file).map_err(|error| anyhow!("{what}: {error}"))?;
        all.push((what.clone(), Racer::File(compiled)));
    }
    match reference_racer(driver, &stream, &problem, &placed) {
        Ok(Some((what, racer, remark))) => {
            all.push((what, racer));
            notes.extend(remark.map(str::to_owned));
        }
        Ok(None) => {}
        Err(error) => notes.push(format!("what v4 takes for it is left out: {error:#}")),
    }
    let times = time_in_turns(driver, &stream, &all, &placed, &problem)?;
    let solution = KernelFile {
        path: "solution.hip".into(),
        text: exercise.solution()?.to_owned(),
    };
    let solution = compile(driver, exercise, &solution)?;
    let other = PreparedCase::salted(exercise, sizes, wave, Some(!salt))?;
    for (what, racer) in &all {
        let Racer::File(timed) = racer else { continue };
        for (inputs, case) in [("the timed inputs", &problem), ("new inputs", &other)] {
            let wrong = is_wrong(driver, &stream, [timed, &solution], &placed, case)?;
            if let Some(wrong) = wrong {
                bail!(
                    "{what}: with {inputs} of the timed sizes, after many launches, {wrong} Every launch has to do all of the work"
                );
            }
        }
    }
    let timed = summarize(all, &times, problem.costs()?, reached)?;
    Ok(BenchReport { timed, notes })
}

/// Returns the ms of a run of each racer, in each round.
fn time_in_turns(
    driver: &Driver,
    stream: &Stream,
    racers: &[(String, Racer<'_>)],
    placed: &[DeviceBuffer],
    problem: &PreparedCase<'_>,
) -> Result<Vec<Vec<f64>>> {
    let timer = driver.timer()?;
    // The first pass also compiles and warms up.
    let passes = racers.iter().map(|(_, racer)| {
        timer.passes(stream, TURN_MS, MOST_PASSES, |passes| {
            racer.go(passes, stream, placed, problem)
        })
    });
    let passes = passes.collect::<Result<Vec<_>, _>>()?;
    let mut times = vec![Vec::with_capacity(ROUNDS); racers.len()];
    for _ in 0..ROUNDS {
        for (((_, racer), passes), times) in racers.iter().zip(&passes).zip(&mut times) {
            let ms = timer.time(stream, || racer.go(*passes, stream, placed, problem))?;
            times.push(ms / f64::from(*passes));
        }
    }
    Ok(times)
}

/// Compares each racer's times with those of the first, which is the learner's. A run moves and computes `bytes` and
/// `flops`.
fn summarize(
    racers: Vec<(String, Racer<'_>)>,
    times: &[Vec<f64>],
    (bytes, flops): (f64, f64),
    reached: Option<DeviceRates>,
) -> Result<Vec<TimedKernel>> {
    let rounds = times.iter().map(|times| {
        let rounds = times.iter().map(|ms| Series::new(vec![*ms]));
        rounds.collect::<Result<Vec<_>, _>>()
    });
    let rounds = rounds.collect::<Result<Vec<_>, _>>()?;
    let mut timed = vec![];
    for (index, (what, racer)) in racers.into_iter().enumerate() {
        let ratio = (index > 0)
            .then(|| ratio_in_rounds(&rounds[0], &rounds[index], Series::median, CONFIDENCE).ok())
            .flatten();
        let seconds = Series::new(times[index].clone())?.median() / 1e3;
        let kernels = racer.kernels();
        let attributes = || kernels.iter().map(|kernel| kernel.attributes);
        timed.push(TimedKernel {
            what,
            milliseconds: seconds * 1e3,
            gigabytes_per_s: bytes / seconds / 1e9,
            gigaflops_per_s: flops / seconds / 1e9,
            of_ceiling: reached.map(|reached| {
                (bytes / reached.bytes_per_s).max(flops / reached.flops_per_s) / seconds
            }),
            finding: ratio.as_ref().map(seen_difference),
            ratio,
            registers: attributes().map(|one| one.registers).max(),
            spilled_bytes: attributes().map(|one| one.spilled_bytes).max(),
        });
    }
    Ok(timed)
}

/// The finding of a ratio of times. A difference that two copies of one file can have is none.
fn seen_difference(ratio: &Interval) -> Difference {
    match ratio.finding(MARGIN) {
        Difference::Faster | Difference::Slower if ratio.value.ln().abs() < SEEN => {
            Difference::NoDifference
        }
        finding => finding,
    }
}

/// Finds a timed kernel that is wrong: for these sizes, for numbers that it knows, or because it only computes in its first
/// launches. It gets the inputs of `case` over the old outputs, and the solution says what is right.
fn is_wrong(
    driver: &Driver,
    stream: &Stream,
    [timed, solution]: [&NamedKernels<'_>; 2],
    placed: &[DeviceBuffer],
    case: &PreparedCase<'_>,
) -> Result<Option<String>> {
    let fresh = place(driver, stream, case)?;
    launch(stream, solution, &fresh, case)?;
    for (buffer, memory) in case.buffers.iter().zip(placed) {
        if let Some(bits) = &buffer.bits {
            stream.upload(memory.as_slice(), bits)?;
        }
    }
    launch(stream, timed, placed, case)?;
    stream.synchronize()?;
    let arrays = case.buffers.iter().zip(fresh.iter().zip(placed));
    for (buffer, (fresh, timed)) in arrays.filter(|(buffer, _)| buffer.argument.output) {
        let kind = buffer.argument.kind;
        let right = written(stream, fresh, buffer.elements)?;
        let number = |bits: &u32| match kind.is_float() {
            true => f64::from(f32::from_bits(*bits)),
            false => f64::from(bits.cast_signed()),
        };
        let right: Vec<f64> = right.words.iter().map(number).collect();
        let found = written(stream, timed, buffer.elements)?;
        let found = compare(case.exercise, &buffer.argument.name, &found, &right);
        if let Some(found) = found {
            return Ok(Some(found.message));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::gpu::results;
    use super::*;
    use crate::reference::GpuReference;
    use crate::stand_in::on;
    use tinyllama_workbench::exercise::find;

    /// For each exercise with a kernel of this project: a case with whole vectors and a case without.
    const CASES: [(&str, &[usize]); 5] = [
        ("rmsnorm", &[0, 1]),
        ("swiglu", &[0, 1]),
        ("cross-entropy", &[0, 2]),
        ("adamw", &[0, 1]),
        ("matmul", &[0, 1]),
    ];

    #[test]
    fn this_projects_own_kernels_do_the_work_of_the_exercises() {
        on("gfx90a", &[], |stand_in| {
            let driver = stand_in.open();
            let stream = driver.stream(1 << 20).unwrap();
            for (name, cases) in CASES {
                let exercise = find(name).unwrap();
                let reference = GpuReference::compile(&driver, exercise).unwrap();
                for case in cases {
                    let problem = PreparedCase::new(exercise, &exercise.cases[*case], 64).unwrap();
                    let placed = place(&driver, &stream, &problem).unwrap();
                    let (_, racer, remark) = reference_racer(&driver, &stream, &problem, &placed)
                        .unwrap()
                        .unwrap_or_else(|| panic!("nothing for {name}"));
                    assert_eq!(remark, None, "{name}");
                    racer.go(1, &stream, &placed, &problem).unwrap();
                    stream.synchronize().unwrap();
                    let expected = reference.results(&driver, &stream, &problem).unwrap();
                    let found = results(&stream, &placed, &problem, &expected).unwrap();
                    assert_eq!(found, [], "{name}, {}", problem.describe());
                }
            }
        });
    }

    #[test]
    fn a_bench_refuses_a_kernel_that_computes_only_once() {
        let clock = ("HIP_STAND_IN_CLOCK", "1");
        on("gfx90a", &[clock], |stand_in| {
            let driver = stand_in.open();
            let exercise = find("elementwise").unwrap();
            let honest = exercise.solution().unwrap();
            let outputs = exercise.arguments.iter().filter(|one| one.output);
            let output = outputs.map(|one| one.name.clone()).next().unwrap();
            let kept = format!("if ({output}[i] == {output}[i]) return; {output}[i] =");
            let lazy = honest.replacen(&format!("{output}[i] ="), &kept, 1);
            assert_ne!(lazy, honest);
            for (text, refused) in [(honest, false), (&lazy, true)] {
                let file = KernelFile {
                    path: "kernel.hip".into(),
                    text: text.to_owned(),
                };
                let checked = super::super::gpu::check(&driver, exercise, &file).unwrap();
                assert!(checked.passed, "{:?}", checked.findings);
                let files = [("yours".to_owned(), file)];
                let benched = bench(&driver, exercise, &exercise.cases[0], &files, None);
                let error = benched.err().map(|error| error.to_string());
                assert_eq!(error.is_some(), refused, "{error:?}");
                let said = error.is_none_or(|error| error.contains("with new inputs"));
                assert!(said);
            }
        });
    }

    #[test]
    fn a_bench_has_a_row_for_each_and_says_where_one_does_more() {
        let clock = ("HIP_STAND_IN_CLOCK", "1");
        on("gfx90a", &[clock], |stand_in| {
            let driver = stand_in.open();
            for (name, own, remarks) in [
                ("swiglu", Some("v4's own"), 0),
                ("attention", Some("v4's own"), 1),
                ("matmul", Some("hipBLASLt"), 0),
                ("rope", None, 0),
            ] {
                let exercise = find(name).unwrap();
                let text = exercise.solution().unwrap().to_owned();
                let file = KernelFile {
                    path: "kernel.hip".into(),
                    text,
                };
                let files = [("yours".to_owned(), file)];
                let benched = bench(&driver, exercise, &exercise.cases[0], &files, None).unwrap();
                assert_eq!(benched.notes.len(), remarks, "{name}: {:?}", benched.notes);
                let (first, others) = benched.timed.split_first().unwrap();
                assert_eq!((&*first.what, &first.ratio), ("yours", &None));
                assert_eq!(others.len(), usize::from(own.is_some()), "{name}");
                for (other, own) in others.iter().zip(own) {
                    assert!(other.what.starts_with(own), "{name}: {}", other.what);
                    assert!(other.milliseconds > 0.0 && other.ratio.is_some(), "{name}");
                    assert_eq!(other.registers.is_some(), name != "matmul", "{name}");
                }
            }
        });
    }
}
