//! Runs the learner's file on a GPU, through hiprtc or nvrtc, and compares the results with the reference.

use anyhow::Result;

use tinyllama_engine::device::driver::{
    DeviceBuffer, DeviceKernel, Driver, DriverError, LaunchArgument, LaunchSettings, SourceCode,
    Stream,
};
use tinyllama_workbench::check::{ExerciseCheck, compare};
use tinyllama_workbench::exercise::Exercise;
use tinyllama_workbench::file::KernelFile;
use tinyllama_workbench::finding::{FindingKind, KernelFinding};
use tinyllama_workbench::judge::KernelOutput;
use tinyllama_workbench::problem::{KernelArgument, PreparedCase};
use tinyllama_workbench::reference::Expected;

use crate::reference::GpuReference;

const PRELUDE: &str = include_str!("gpu.h");

/// Elements after each buffer that a kernel must not write, and their bit pattern.
const GUARD: usize = 64;
const GUARD_BITS: u32 = 0x7fc0_beef;

/// A file's kernels on a device, with their names.
pub(super) type NamedKernels<'a> = Vec<(&'a str, DeviceKernel)>;

/// Checks `file` on the device of `driver` with every case of the exercise.
///
/// # Errors
/// Fails if the device fails for a reason that is not the kernel's fault.
pub fn check(driver: &Driver, exercise: &Exercise, file: &KernelFile) -> Result<ExerciseCheck> {
    let mut checked = ExerciseCheck {
        exercise: exercise.name.clone(),
        ..ExerciseCheck::default()
    };
    if let Some(refused) = file.refused() {
        checked.findings.push(refused);
        return Ok(checked);
    }
    let reference = GpuReference::compile(driver, exercise)?;
    let compiled = match compile(driver, exercise, file) {
        Ok(compiled) => compiled,
        Err(error) => {
            checked.findings.push(refusal(error)?);
            return Ok(checked);
        }
    };
    let stream = driver.stream(0)?;
    let wave = driver.properties().plane_size;
    for sizes in &exercise.cases {
        let problem = PreparedCase::new(exercise, sizes, wave)?;
        checked.cases += 1;
        match run_case(driver, &stream, &compiled, &problem, &reference) {
            Ok(findings) => checked.add_all(findings, wave, &problem),
            Err(error) => {
                let finding = refusal(error.downcast()?)?;
                // After a kernel has caused a fault, this process gets no more answers from the device.
                checked.add_all(vec![finding], wave, &problem);
                break;
            }
        }
    }
    checked.passed = checked.findings.is_empty();
    Ok(checked)
}

pub(super) fn compile<'a>(
    driver: &Driver,
    exercise: &'a Exercise,
    file: &KernelFile,
) -> Result<NamedKernels<'a>, DriverError> {
    let module = driver.compile(&SourceCode::new(
        tinyllama_workbench::source::SOURCE,
        source(file),
    ))?;
    let entries = exercise.launches.iter().map(|launch| launch.entry.as_str());
    let kernels = entries.map(|entry| Ok((entry, module.kernel(entry)?)));
    kernels.collect()
}

/// Returns the file as run-time compilers take it. They have HIP's header built in, or do not know it.
pub fn source(file: &KernelFile) -> String {
    let include = |line: &str| line.trim_start().starts_with("#include");
    let lines = file.text.lines();
    let text = itertools::join(
        lines.map(|line| if include(line) { "" } else { line }),
        "\n",
    );
    let name = tinyllama_workbench::source::SOURCE;
    format!("{PRELUDE}\n#line 1 \"{name}\"\n{text}\n")
}

/// Turns a driver's error into a finding about the kernel. Errors that are not the kernel's fault are returned as errors.
fn refusal(error: DriverError) -> Result<KernelFinding> {
    use tinyllama_engine::device::driver::ErrorClass;
    match &error {
        DriverError::Compile { log, .. } => {
            let line = log.lines().find_map(|line| {
                let (_, rest) = line.split_once(tinyllama_workbench::source::SOURCE)?;
                rest.trim_start_matches([':', '('])
                    .split(|c: char| !c.is_ascii_digit())
                    .next()?
                    .parse()
                    .ok()
            });
            let message = log
                .lines()
                .find(|line| line.contains("error"))
                .unwrap_or(log);
            Ok(KernelFinding::new(FindingKind::Compile, line, message))
        }
        DriverError::Call { name, .. } if error.refusal() == ErrorClass::Fault => {
            Ok(KernelFinding::new(
                FindingKind::OutOfBounds,
                None,
                format!(
                    "the GPU ended the kernel ({name}): it reached memory that is not its own; `workbench check` without a GPU shows where"
                ),
            ))
        }
        DriverError::Call { name, .. } if name.to_ascii_uppercase().contains("NOTFOUND") => {
            Ok(KernelFinding::new(
                FindingKind::Compile,
                None,
                "the file has no extern \"C\" kernel with the name that the exercise needs"
                    .to_owned(),
            ))
        }
        _ => Err(error.into()),
    }
}

pub(super) fn place(
    driver: &Driver,
    stream: &Stream,
    problem: &PreparedCase<'_>,
) -> Result<Vec<DeviceBuffer>> {
    let mut buffers = vec![];
    for buffer in &problem.buffers {
        let memory = driver.allocate((buffer.elements + GUARD) * 4)?;
        // No kernel has written it yet: a NaN.
        let mut words = buffer
            .bits
            .clone()
            .unwrap_or_else(|| vec![u32::MAX; buffer.elements]);
        words.resize(buffer.elements + GUARD, GUARD_BITS);
        stream.upload(memory.as_slice(), &words)?;
        buffers.push(memory);
    }
    stream.synchronize()?;
    Ok(buffers)
}

pub(super) fn launch(
    stream: &Stream,
    compiled: &[(&str, DeviceKernel)],
    placed: &[DeviceBuffer],
    problem: &PreparedCase<'_>,
) -> Result<(), DriverError> {
    for planned in &problem.launches {
        let mut kernels = compiled.iter();
        let Some((_, kernel)) = kernels.find(|(entry, _)| *entry == planned.entry) else {
            return Err(DriverError::Invalid(format!("no kernel {}", planned.entry)));
        };
        let arguments: Vec<LaunchArgument<'_>> = planned
            .arguments
            .iter()
            .map(|passed| match passed {
                KernelArgument::Buffer(index) => placed[*index].address().into(),
                KernelArgument::Word(bits) => (*bits).into(),
            })
            .collect();
        let shape = LaunchSettings::new(planned.grid, planned.block).with_shared(planned.shared);
        // SAFETY: the arguments match the exercise's signature. The buffers outlive the stream's work, for which the
        // callers wait. The stand-in checks first what the learner's code does with them; here the driver stops a
        // faulty kernel.
        unsafe { stream.launch(kernel, &shape, &arguments)? };
    }
    Ok(())
}

fn run_case(
    driver: &Driver,
    stream: &Stream,
    compiled: &[(&str, DeviceKernel)],
    problem: &PreparedCase<'_>,
    reference: &GpuReference,
) -> Result<Vec<KernelFinding>> {
    let placed = place(driver, stream, problem)?;
    launch(stream, compiled, &placed, problem)?;
    stream.synchronize()?;
    let expected = reference.results(driver, stream, problem)?;
    results(stream, &placed, problem, &expected)
}

/// Reads the first `elements` of an array on the device.
pub(super) fn written(
    stream: &Stream,
    memory: &DeviceBuffer,
    elements: usize,
) -> Result<KernelOutput, DriverError> {
    stream.download(memory.as_slice(), elements).map(output)
}

/// A GPU does not report which thread wrote. An element that still has its first value was written by no thread.
fn output(words: Vec<u32>) -> KernelOutput {
    let lines = words.iter().map(|bits| u32::from(*bits != u32::MAX));
    KernelOutput {
        lines: lines.collect(),
        words,
    }
}

/// Compares the buffers on the device with the expected results and returns what is wrong.
pub(super) fn results(
    stream: &Stream,
    placed: &[DeviceBuffer],
    problem: &PreparedCase<'_>,
    expected: &Expected<'_>,
) -> Result<Vec<KernelFinding>> {
    let mut findings = vec![];
    for (buffer, memory) in problem.buffers.iter().zip(placed) {
        let name = &buffer.argument.name;
        let mut words: Vec<u32> = stream.download(memory.as_slice(), buffer.elements + GUARD)?;
        let guard = words.split_off(buffer.elements);
        if let Some(at) = guard.iter().position(|bits| *bits != GUARD_BITS) {
            let index = buffer.elements + at;
            let message = format!(
                "a thread writes {name}[{index}] of {} elements; `workbench check` without a GPU shows which",
                buffer.elements
            );
            findings.push(KernelFinding::new(FindingKind::OutOfBounds, None, message));
        }
        let Some((_, expected)) = expected.iter().find(|(known, _)| known == name) else {
            continue;
        };
        let found = compare(problem.exercise, name, &output(words), expected);
        findings.extend(found.map(|finding| KernelFinding {
            line: None,
            ..finding
        }));
    }
    Ok(findings)
}
