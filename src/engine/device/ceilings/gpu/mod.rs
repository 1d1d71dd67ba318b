//! Measures the ceilings of a GPU through the driver layer. Device events time the device's work, the host's clock
//! times the host.

mod bench;
mod products;

use std::time::Instant;

use super::super::driver::{
    DeviceKernel, DeviceModule, Driver, DriverError, GemmPrecision, LaunchSettings, Result,
    SourceCode, Vendor,
};
use super::{
    BandwidthCeiling, ComputeCeiling, ComputeUnit, DeviceCeilings, Latency, Level, Sampled,
};
use bench::CeilingBench;
use tinyllama_base::device_facts::DeviceFacts;
use tinyllama_base::units::human_bytes;

const KERNELS: &str = include_str!("kernels.cu");
const THREADS: u32 = 256;
const CHAINS: u32 = 8;
/// Multiply-adds of a chain in one pass.
const ROUNDS: u32 = 256;
/// Bytes that a block copies: four times 16 bytes per thread.
pub(super) const CHUNK: usize = THREADS as usize * 64;

/// Extent of the measurements.
pub(super) struct GpuEffort {
    /// Repeats of a measurement.
    pub repeats: usize,
    /// A repeat should take at least half of this device time, in ms. It is long compared with the clock's steps and a launch.
    pub repeat_ms: f64,
    /// Bytes of scratch memory for the matrix library.
    pub workspace: usize,
    /// Sides of the square matrices to multiply. The first that fits into memory and time is used.
    pub sides: &'static [usize],
    /// Algorithms of the matrix library to choose from.
    pub candidates: usize,
    /// Seconds for choosing an algorithm, per precision.
    pub selection_seconds: f64,
    /// Bytes of source and of target of a copy from memory.
    pub cold_bytes: usize,
    /// Number of empty kernels launched back to back.
    pub launches: usize,
    /// Number of times the host waits for an empty kernel.
    pub waits: usize,
}

pub(super) const FULL: GpuEffort = GpuEffort {
    repeats: 15,
    repeat_ms: 10.0,
    // cuBLAS asks for this workspace on recent GPUs.
    workspace: 32 << 20,
    sides: &[8192, 4096, 2048],
    candidates: 4,
    selection_seconds: 4.0,
    cold_bytes: 1 << 30,
    launches: 1000,
    waits: 200,
};

/// Measures everything. A failed measurement becomes a note, and the others still run.
pub(super) fn measure(
    driver: &Driver,
    effort: &GpuEffort,
    progress: &mut dyn FnMut(&str),
) -> DeviceCeilings {
    let mut measured = DeviceCeilings::new(DeviceFacts::from(driver.properties()));
    progress("compiling the kernels to measure with");
    let prepared = CeilingBench::open(driver, effort).and_then(|bench| {
        let source = SourceCode::new("ceilings.cu", KERNELS)
            .define("TUTOR_THREADS", THREADS)
            .define("TUTOR_CHAINS", CHAINS);
        Ok((bench, driver.compile(&source)?))
    });
    let (bench, module) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            measured
                .notes
                .push(format!("nothing was measured: {error}"));
            return measured;
        }
    };
    // This measurement comes first, because it also raises the clocks.
    progress("multiply-adds outside of matrix units");
    let rates = multiply_adds(&bench, &module);
    let rates = or_note(&mut measured, "f32 multiply-adds", rates);
    measured.compute.extend(rates);
    progress("launching and waiting");
    measured.launch = or_note(&mut measured, "launches", launches(&bench, &module));
    measured.synchronise = or_note(&mut measured, "waiting", waits(&bench, &module));
    progress("copies from memory and within the cache");
    for level in [Level::Cold, Level::Warm] {
        let rates = or_note(&mut measured, "copies", copies(&bench, &module, level));
        measured.bandwidth.extend(rates);
    }
    for precision in [GemmPrecision::F32, GemmPrecision::Tf32, GemmPrecision::Bf16] {
        progress(&format!("matrix products in {precision}"));
        let rates = products::measure(&bench, &module, precision);
        let rates = or_note(
            &mut measured,
            &format!("{precision} matrix products"),
            rates,
        );
        measured.compute.extend(rates);
    }
    measured
}

/// Returns the measurement, or adds a note with the reason why it failed.
fn or_note<T>(measured: &mut DeviceCeilings, what: &str, found: Result<T>) -> Option<T> {
    found
        .map_err(|error| measured.notes.push(format!("{what}: {error}")))
        .ok()
}

/// Converts milliseconds per pass into `work` per second.
fn per_second(work: f64, passes: &[f64]) -> Result<Sampled> {
    sampled(passes.iter().map(|ms| work / ms * 1e3).collect())
}

fn sampled(repeats: Vec<f64>) -> Result<Sampled> {
    Sampled::from_repeats(&repeats)
        .ok_or_else(|| DriverError::Invalid("a time that is not a number above zero".into()))
}

/// Numbers per chain of `multiply_add`, as its source declares them.
fn lanes(driver: &Driver) -> u32 {
    match driver.properties().vendor {
        Vendor::Nvidia => 1,
        Vendor::Amd => 2,
    }
}

fn multiply_adds(bench: &CeilingBench<'_>, module: &DeviceModule) -> Result<ComputeCeiling> {
    let kernel = module.kernel("multiply_add")?;
    let properties = bench.driver.properties();
    let lanes = lanes(bench.driver);
    // Starts four times as many blocks as run at once, so that the last ones leave few units idle.
    let blocks = properties.compute_units * (properties.max_threads_per_unit / THREADS).max(1) * 4;
    let sink = bench.driver.allocate(size_of::<f32>())?;
    let passes = bench.sample(u32::MAX / ROUNDS, |passes| {
        let launch = LaunchSettings::linear(blocks, THREADS);
        let rounds = passes * ROUNDS;
        let arguments = [
            0.999_f32.into(),
            0.5_f32.into(),
            rounds.into(),
            sink.as_slice().into(),
        ];
        // SAFETY: the arguments match the kernel's declaration; `sample` waits for the stream before the buffer is freed.
        unsafe { bench.stream.launch(&kernel, &launch, &arguments) }
    })?;
    let threads = f64::from(blocks) * f64::from(THREADS);
    let flops = 2.0 * threads * f64::from(ROUNDS * CHAINS * lanes);
    Ok(ComputeCeiling {
        dtype: "f32".into(),
        unit: ComputeUnit::Vector,
        flops_per_s: per_second(flops, &passes)?,
        how: format!(
            "multiply-adds in registers, {blocks} blocks of {THREADS} threads with {} independent sums each",
            CHAINS * lanes
        ),
    })
}

fn copies(
    bench: &CeilingBench<'_>,
    module: &DeviceModule,
    level: Level,
) -> Result<BandwidthCeiling> {
    let kernel = module.kernel("copy")?;
    let cache = bench.driver.properties().l2_bytes;
    let bytes = match level {
        Level::Cold => {
            // Both buffers together fit into half of the free memory. A gigabyte also exceeds caches that drivers do
            // not report.
            let most = bench.driver.device_memory()?.free / 4;
            let wanted = bench.effort.cold_bytes.max(8 * cache.unwrap_or(0));
            wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
        }
        // Source and target together are a quarter of the cache.
        Level::Warm => cache.map_or(0, |cache| cache / 8),
    } / CHUNK
        * CHUNK;
    if level == Level::Warm && cache.is_none() {
        return Err(DriverError::Invalid(
            "the size of the last cache is not reported, so nothing can be said to stay in it"
                .into(),
        ));
    }
    if bytes == 0 || (level == Level::Cold && bytes < 2 * cache.unwrap_or(0)) {
        return Err(DriverError::Invalid(format!(
            "{} cannot be distinguished from its cache with buffers of {}",
            bench.driver.properties().name,
            human_bytes(bytes as u64)
        )));
    }
    let from = bench.driver.allocate(bytes)?;
    let to = bench.driver.allocate(bytes)?;
    bench.fill_random(module, from.as_slice(), false)?;
    let chunks = (bytes / CHUNK) as u32;
    let passes = bench.sample(i32::MAX as u32 / chunks, |passes| {
        let launch = LaunchSettings::linear(chunks * passes, THREADS);
        let arguments = [from.as_slice().into(), to.as_slice().into(), chunks.into()];
        // SAFETY: the arguments match the kernel's declaration; `sample` waits for the stream before the buffers are freed.
        unsafe { bench.stream.launch(&kernel, &launch, &arguments) }
    })?;
    let moved = 2 * bytes as u64;
    Ok(BandwidthCeiling {
        level,
        bytes_per_s: per_second(moved as f64, &passes)?,
        working_set: moved,
        how: match level {
            Level::Cold => format!("copy of {}", human_bytes(bytes as u64)),
            Level::Warm => format!(
                "copy of {} again and again, with its target a quarter of the {} the driver reports as L2",
                human_bytes(bytes as u64),
                human_bytes(cache.unwrap_or(0) as u64)
            ),
        },
    })
}

/// Returns the host's microseconds per launch of an empty kernel.
fn time_launch(bench: &CeilingBench<'_>, kernel: &DeviceKernel, count: usize) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..count {
        let launch = LaunchSettings::linear(1, THREADS);
        // SAFETY: the kernel has no arguments and touches no memory.
        unsafe { bench.stream.launch(kernel, &launch, &[])? };
    }
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

fn launches(bench: &CeilingBench<'_>, module: &DeviceModule) -> Result<Latency> {
    let kernel = module.kernel("empty")?;
    let count = bench.effort.launches;
    let mut host = vec![];
    let mut device = vec![];
    // The first repeat does not count, because it loads the code onto the device.
    for repeat in 0..=bench.effort.repeats {
        let mut handing_over = 0.0;
        let ms = bench.timed(|| {
            handing_over = time_launch(bench, &kernel, count)?;
            Ok(())
        })?;
        if repeat > 0 {
            host.push(handing_over / count as f64);
            device.push(ms * 1e3 / count as f64);
        }
    }
    Ok(Latency {
        microseconds: sampled(host)?,
        how: format!(
            "{count} empty kernels back to back, the host's time for each; the device passed one every {:.2} us",
            sampled(device)?.median
        ),
    })
}

fn waits(bench: &CeilingBench<'_>, module: &DeviceModule) -> Result<Latency> {
    let kernel = module.kernel("empty")?;
    let once = || {
        let start = Instant::now();
        time_launch(bench, &kernel, 1)?;
        bench.stream.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e6)
    };
    once()?;
    let repeats = (0..bench.effort.waits).map(|_| once());
    Ok(Latency {
        microseconds: sampled(repeats.collect::<Result<_>>()?)?,
        how: "an empty kernel launched and waited for".into(),
    })
}
