//! Tests the driver layer on a device: the computed results, not only that calls return.

mod launches;
mod products;
mod reference;

use super::driver::{DeviceBuffer, Driver, DriverError, ErrorClass, Plain, Result, Stream};
use super::finding::{DeviceFinding, FindingStatus};
use reference::same_bits;

/// Extent of the trials.
#[derive(Clone, Copy, Debug)]
pub struct TrialEffort {
    /// Length of a vector. It is not a multiple of any block, so the last block is partly idle.
    count: usize,
    /// Replays of a graph.
    replays: usize,
    /// Sides of matrices are multiples of this, in elements.
    unit: usize,
}

impl TrialEffort {
    /// For a GPU; it takes seconds.
    pub const FULL: TrialEffort = TrialEffort {
        count: (1 << 20) + 3,
        replays: 1000,
        unit: 8,
    };
    /// For a device that is simulated on a CPU.
    pub const QUICK: TrialEffort = TrialEffort {
        count: 1003,
        replays: 5,
        unit: 1,
    };
}

/// Runs every trial. A failed trial does not stop the others, unless the device is lost.
///
/// `progress` gets each finding when its trial ends.
pub fn run(
    driver: &Driver,
    effort: TrialEffort,
    progress: impl FnMut(&DeviceFinding),
) -> Vec<DeviceFinding> {
    let before = driver.memory_use();
    let mut trials = Trials {
        findings: vec![],
        progress,
    };
    trials.add("probe", "the device", properties(driver));
    match driver.stream(WORKSPACE) {
        Ok(stream) => {
            let bench = TrialBench {
                driver,
                stream,
                effort,
            };
            trials.add("memory", "an allocation", allocation(&bench));
            trials.add("memory", "more than there is", too_much(&bench));
            trials.add("copies", "pageable memory", pageable_copies(&bench));
            trials.add("copies", "pinned memory", pinned_copies(&bench));
            launches::run_all(&bench, &mut trials);
            products::run_all(&bench, &mut trials);
        }
        Err(error) => trials.add("streams", "a stream", Err(error)),
    }
    let held = before.allocated + before.pinned;
    trials.add(
        "memory",
        "everything is given back",
        given_back(driver, held),
    );
    trials.findings
}

/// Bytes of scratch memory for the matrix library.
const WORKSPACE: usize = 32 << 20;

/// Driver, stream and extent of the trials.
struct TrialBench<'a> {
    driver: &'a Driver,
    stream: Stream,
    effort: TrialEffort,
}

/// Result of a trial that ran to its end, with a description.
enum TrialOutcome {
    Passed(String),
    Failed(String),
    /// The device lacks the feature, which is no failure.
    Unsupported,
}

/// Passes with `detail` if `condition` holds, otherwise fails with it.
fn expect(condition: bool, detail: String) -> Result<TrialOutcome> {
    Ok(match condition {
        true => TrialOutcome::Passed(detail),
        false => TrialOutcome::Failed(detail),
    })
}

struct Trials<F> {
    findings: Vec<DeviceFinding>,
    progress: F,
}

impl<F: FnMut(&DeviceFinding)> Trials<F> {
    fn add(&mut self, topic: &'static str, name: impl Into<String>, outcome: Result<TrialOutcome>) {
        let finding = match outcome {
            Ok(TrialOutcome::Passed(detail)) => DeviceFinding::ok(topic, name, detail),
            Ok(TrialOutcome::Unsupported) => DeviceFinding {
                status: FindingStatus::Absent,
                ..DeviceFinding::ok(topic, name, "this device does not have it")
            },
            Ok(TrialOutcome::Failed(detail)) => {
                let remedy = "The driver or one of its libraries computes another result than this program: update it, and report this with the output of `tinyllama-tutor doctor`.";
                DeviceFinding::ok(topic, name, detail).needs(FindingStatus::Broken, remedy)
            }
            Err(error) => {
                let status = match error {
                    DriverError::LibraryMissing { .. } => FindingStatus::Absent,
                    _ => FindingStatus::Broken,
                };
                DeviceFinding::ok(topic, name, error.to_string()).needs(status, error.remedy())
            }
        };
        (self.progress)(&finding);
        self.findings.push(finding);
    }
}

impl TrialBench<'_> {
    /// Allocates device memory with these numbers.
    fn place<T: Plain>(&self, numbers: &[T]) -> Result<DeviceBuffer> {
        let buffer = self.driver.allocate(size_of_val(numbers))?;
        self.stream.upload(buffer.as_slice(), numbers)?;
        Ok(buffer)
    }

    /// Reads the numbers of a buffer.
    fn read<T: Plain>(&self, buffer: &DeviceBuffer) -> Result<Vec<T>> {
        self.stream
            .download(buffer.as_slice(), buffer.bytes() / size_of::<T>())
    }
}

fn properties(driver: &Driver) -> Result<TrialOutcome> {
    let known = driver.properties();
    expect(
        matches!(known.plane_size, 32 | 64)
            && known.compute_units > 0
            && known.max_threads_per_block >= known.plane_size
            && known.shared_per_block > 0
            && known.memory > 0,
        format!(
            "{}, {}, {}: {} compute units, {} threads together, {} KiB of shared memory a block, {} MiB",
            known.name,
            known.arch,
            known.driver,
            known.compute_units,
            known.plane_size,
            known.shared_per_block_most >> 10,
            known.memory >> 20
        ),
    )
}

fn allocation(bench: &TrialBench<'_>) -> Result<TrialOutcome> {
    const BYTES: usize = 1 << 20;
    let before = bench.driver.memory_use().allocated;
    let buffer = bench.driver.allocate(BYTES)?;
    let counted = bench.driver.memory_use().allocated - before == BYTES;
    let aligned = buffer.address().0.is_multiple_of(256);
    let memory = bench.driver.device_memory()?;
    expect(
        counted && aligned && buffer.slice(1, BYTES).is_err() && memory.free < memory.total,
        format!("{} of {} MiB free", memory.free >> 20, memory.total >> 20),
    )
}

fn too_much(bench: &TrialBench<'_>) -> Result<TrialOutcome> {
    let total = bench.driver.device_memory()?.total;
    let wanted = usize::try_from(total).unwrap_or(usize::MAX / 2) * 2;
    match bench.driver.allocate(wanted) {
        Err(error) => expect(
            error.refusal() == ErrorClass::OutOfMemory,
            error.to_string(),
        ),
        Ok(_) => expect(false, format!("{wanted} bytes were given")),
    }
}

fn pageable_copies(bench: &TrialBench<'_>) -> Result<TrialOutcome> {
    let x = numbers(1, bench.effort.count);
    let found: Vec<f32> = bench.read(&bench.place(&x)?)?;
    expect(
        same_bits(&found, &x),
        format!("{} numbers up and down", x.len()),
    )
}

fn pinned_copies(bench: &TrialBench<'_>) -> Result<TrialOutcome> {
    let mut from = bench.driver.allocate_pinned::<f32>(1000)?;
    let (first, second) = (bench.driver.allocate(4000)?, bench.place(&[7.0f32; 1000])?);
    let x = numbers(5, 1000);
    from.write(&x)?;
    // SAFETY: reading waits. After a failure, freeing the buffers waits.
    unsafe {
        bench.stream.upload_pinned(first.as_slice(), &from)?;
        bench
            .stream
            .copy(second.as_slice(), first.slice(0, 2000)?)?;
        bench.stream.clear(second.slice(0, 400)?)?;
    }
    let mut expected = vec![7.0; 1000];
    expected[100..500].copy_from_slice(&x[100..500]);
    expected[..100].fill(0.0);
    expect(
        same_bits(&bench.read(&second)?, &expected),
        "up, across, cleared and down".into(),
    )
}

fn given_back(driver: &Driver, held_before: usize) -> Result<TrialOutcome> {
    let now = driver.memory_use();
    let failures = driver.take_failures();
    let held = now.allocated + now.pinned;
    expect(
        held == held_before && failures.is_empty(),
        match failures.first() {
            Some(error) => format!("{} calls failed while giving back: {error}", failures.len()),
            None => format!(
                "{} bytes held, {} at most",
                held.abs_diff(held_before),
                now.peak
            ),
        },
    )
}

/// Returns numbers between -1 and 1 that are the same on every run: a linear congruential generator (Knuth's MMIX constants).
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}
