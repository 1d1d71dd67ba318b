//! Chooses the fastest of a library's algorithms by running them.

use super::gemm::GemmPlan;
use super::gemm_spec::{GemmOperands, GemmSpec};
use super::matrices::LibraryProduct;
use super::{DeviceBuffer, Driver, DriverError, Graph, GraphContents, Result, Stream};

/// Runs of a candidate per measurement. They are captured, because a small multiplication is shorter than the call that
/// starts it.
const RUNS: usize = 20;
/// Measurements per candidate; the shortest counts.
const ROUNDS: usize = 3;
/// Number of values that scratch operands repeat.
const MOST_NUMBERS: usize = 1 << 19;

/// Returns the fastest of `candidates`, which are in the library's order. A single candidate is not measured.
pub(super) fn choose(
    driver: &Driver,
    stream: &Stream,
    spec: GemmSpec,
    candidates: Vec<LibraryProduct>,
) -> Result<GemmPlan> {
    let mut refusal = DriverError::NoAlgorithm {
        library: driver.gemm_library()?,
        gemm: spec.to_string(),
    };
    if candidates.is_empty() {
        return Err(refusal);
    }
    let scratch = |bytes| -> Result<DeviceBuffer> {
        let buffer = driver.allocate(bytes)?;
        fill_operands(stream, &buffer)?;
        Ok(buffer)
    };
    let [a, b, d] = spec.bytes();
    let [a, b, d] = [scratch(a)?, scratch(b)?, scratch(d)?];
    let operands = GemmOperands {
        beta: f32::from(u8::from(spec.adds)),
        ..GemmOperands::product(a.address(), b.address(), d.address())
    };
    let measured = candidates.len() > 1;
    let mut best: Option<(f32, GemmPlan)> = None;
    for product in candidates {
        let mut plan = GemmPlan::untried(driver, spec, product);
        // A library may offer algorithms that it then refuses to run; the next one may work.
        match time(driver, stream, &plan, &operands, measured) {
            Ok((microseconds, contents)) => {
                if best.as_ref().is_none_or(|(least, _)| microseconds < *least) {
                    plan.contents = contents;
                    plan.measured_microseconds = measured.then_some(microseconds);
                    best = Some((microseconds, plan));
                }
            }
            Err(error) => refusal = error,
        }
    }
    stream.synchronize()?;
    best.map(|(_, plan)| plan).ok_or(refusal)
}

/// Fills a buffer with numbers of either sign between 1/2 and 1, in bf16; two adjacent ones also form such an f32. With
/// zeros a device needs less power and clocks higher, so other algorithms would win than with a model's numbers.
pub(super) fn fill_operands(stream: &Stream, buffer: &DeviceBuffer) -> Result<()> {
    let bytes = buffer.as_slice().bytes();
    let mut bits = 1u32;
    let numbers = (0..MOST_NUMBERS.min(bytes / 2)).map(|_| {
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        (bits >> 16) as u16 & 0x807f | 0x3f00
    });
    let numbers: Vec<u16> = numbers.collect();
    let mut filled = size_of_val(&*numbers);
    stream.upload(buffer.slice(0, filled)?, &numbers)?;
    while filled > 0 && filled < bytes {
        let more = filled.min(bytes - filled);
        // SAFETY: the buffer outlives the stream's work, because `choose` waits for it.
        unsafe { stream.copy(buffer.slice(filled, more)?, buffer.slice(0, more)?)? };
        filled += more;
    }
    Ok(())
}

/// Returns the microseconds of one run (0 unless `measured`) and the contents of a run.
fn time(
    driver: &Driver,
    stream: &Stream,
    gemm: &GemmPlan,
    operands: &GemmOperands,
    measured: bool,
) -> Result<(f32, GraphContents)> {
    // Once before capturing: libraries load a kernel at its first use, which a capture does not allow.
    // SAFETY: the operands belong to `choose`, which waits for the stream before it frees them.
    unsafe { gemm.run(stream, operands)? };
    stream.synchronize()?;
    let capture = |runs: usize| -> Result<Graph> {
        // SAFETY: as above.
        unsafe { stream.capture(|| (0..runs).try_for_each(|_| gemm.run(stream, operands))) }
    };
    let contents = capture(1)?.contents;
    if !measured {
        return Ok((0.0, contents));
    }
    let graph = capture(RUNS)?;
    // SAFETY: as above.
    let launch = || unsafe { graph.launch(stream) };
    let timer = driver.timer()?;
    // The first round warms the caches.
    timer.time(stream, launch)?;
    let least = timer.shortest(stream, ROUNDS, launch)? as f32;
    Ok((least * 1000.0 / RUNS as f32, contents))
}
