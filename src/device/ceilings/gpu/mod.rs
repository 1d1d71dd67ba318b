//! The ceilings of a GPU, through the driver layer. Work on the device is timed by its own events, the host by its clock.

mod bench;
mod products;

use super::super::DeviceFacts;
use super::super::driver::{Driver, DriverError, Launch, Module, Precision, Source, Vendor};
use super::{
    ArithmeticUnit, BandwidthRates, ComputeRates, Latencies, Measured, MemoryLevel, size_in_words,
};
use bench::Bench;

type Result<T> = std::result::Result<T, DriverError>;

const KERNELS: &str = include_str!("kernels.cu");
const THREADS: u32 = 256;
const CHAINS: u32 = 8;
/// Multiply-adds of a chain in one pass.
const ROUNDS: u32 = 256;
/// Bytes a block copies: four times 16 bytes a thread.
pub(super) const CHUNK: usize = THREADS as usize * 64;

/// How much is measured.
pub(super) struct Effort {
    /// Repeats of a measurement.
    pub repeats: usize,
    /// Device time a repeat should at least half take, in ms: long against the clock's steps and the cost of a launch.
    pub repeat_ms: f64,
    /// Bytes of scratch memory for the matrix library.
    pub workspace: usize,
    /// Sides of the square matrices to multiply; the first that fits memory and time is taken.
    pub sides: &'static [usize],
    /// Algorithms of the matrix library to choose from.
    pub candidates: usize,
    /// Seconds for that choice, for each precision.
    pub selection_seconds: f64,
    /// Bytes of source and of target of a copy from memory.
    pub cold_bytes: usize,
    /// Empty kernels back to back.
    pub launches: usize,
    /// Waits for an empty kernel.
    pub waits: usize,
}

pub(super) const FULL: Effort = Effort {
    repeats: 15,
    repeat_ms: 10.0,
    // What cuBLAS asks for on recent GPUs.
    workspace: 32 << 20,
    sides: &[8192, 4096, 2048],
    candidates: 4,
    selection_seconds: 4.0,
    cold_bytes: 1 << 30,
    launches: 1000,
    waits: 200,
};

/// What fails becomes a note, and the rest is still measured.
pub(super) fn measure(
    facts: DeviceFacts,
    driver: &Driver,
    effort: &Effort,
    progress: &mut dyn FnMut(&str),
) -> Measured {
    let mut measured = Measured::new(facts);
    progress("compiling the kernels to measure with");
    let prepared = Bench::open(driver, effort).and_then(|bench| {
        let source = Source::new("ceilings.cu", KERNELS)
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
    let mut notes = vec![];
    let mut note = |what: &str, error: DriverError| notes.push(format!("{what}: {error}"));

    // First, because it also brings the clocks up.
    progress("multiply-adds outside of matrix units");
    match multiply_adds(&bench, &module) {
        Ok(rates) => measured.compute.push(rates),
        Err(error) => note("f32 multiply-adds", error),
    }
    progress("launching and waiting");
    match launches(&bench, &module) {
        Ok(latencies) => measured.launch = Some(latencies),
        Err(error) => note("launches", error),
    }
    match waits(&bench, &module) {
        Ok(latencies) => measured.synchronise = Some(latencies),
        Err(error) => note("waiting", error),
    }
    progress("copies from memory and within the cache");
    for level in [MemoryLevel::Cold, MemoryLevel::Warm] {
        match copies(&bench, &module, level) {
            Ok(rates) => measured.bandwidth.push(rates),
            Err(error) => note("copies", error),
        }
    }
    for precision in [Precision::F32, Precision::Tf32, Precision::Bf16] {
        progress(&format!("matrix products in {precision}"));
        match products::measure(&bench, &module, precision) {
            Ok(rates) => measured.compute.push(rates),
            Err(error) => note(&format!("{precision} matrix products"), error),
        }
    }
    measured.notes.extend(notes);
    measured
}

/// Numbers in a chain of `multiply_add`, as its source declares them.
fn lanes(driver: &Driver) -> u32 {
    match driver.properties().vendor {
        Vendor::Nvidia => 1,
        Vendor::Amd => 2,
    }
}

fn multiply_adds(bench: &Bench<'_>, module: &Module) -> Result<ComputeRates> {
    let kernel = module.kernel("multiply_add")?;
    let properties = bench.driver.properties();
    let lanes = lanes(bench.driver);
    // Four times as many blocks as run at once, so that the last ones leave few units idle.
    let blocks = properties.compute_units * (properties.max_threads_per_unit / THREADS).max(1) * 4;
    let sink = bench.driver.allocate(size_of::<f32>())?;
    let passes = bench.sample(u32::MAX / ROUNDS, |passes| {
        let launch = Launch::linear(blocks, THREADS);
        let rounds = passes * ROUNDS;
        let arguments = [
            0.999_f32.into(),
            0.5_f32.into(),
            rounds.into(),
            sink.whole().into(),
        ];
        // SAFETY: as the kernel declares; `sample` waits for the stream before the buffer goes.
        unsafe { bench.stream.launch(&kernel, &launch, &arguments) }
    })?;
    let threads = f64::from(blocks) * f64::from(THREADS);
    let flops = 2.0 * threads * f64::from(ROUNDS * CHAINS * lanes);
    Ok(ComputeRates {
        dtype: "f32",
        unit: ArithmeticUnit::Vector,
        flops_per_s: passes.iter().map(|ms| flops / ms * 1e3).collect(),
        how: format!(
            "multiply-adds in registers, {blocks} blocks of {THREADS} threads with {} independent sums each",
            CHAINS * lanes
        ),
    })
}

fn copies(bench: &Bench<'_>, module: &Module, level: MemoryLevel) -> Result<BandwidthRates> {
    let kernel = module.kernel("copy")?;
    let cache = bench.driver.properties().l2_bytes;
    let bytes = match level {
        MemoryLevel::Cold => {
            // Both fit into half of what is free; a gigabyte exceeds the caches that drivers do not report, too.
            let most = bench.driver.device_memory()?.free / 4;
            let wanted = bench.effort.cold_bytes.max(8 * cache.unwrap_or(0));
            wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
        }
        // Source and target together are a quarter of it.
        MemoryLevel::Warm => cache.map_or(0, |cache| cache / 8),
    } / CHUNK
        * CHUNK;
    if level == MemoryLevel::Warm && cache.is_none() {
        return Err(DriverError::Invalid(
            "the size of the last cache is not reported, so nothing can be said to stay in it"
                .into(),
        ));
    }
    if bytes == 0 || (level == MemoryLevel::Cold && bytes < 2 * cache.unwrap_or(0)) {
        return Err(DriverError::Invalid(format!(
            "{} cannot be told from its cache with buffers of {}",
            bench.driver.properties().name,
            size_in_words(bytes as u64)
        )));
    }
    let from = bench.driver.allocate(bytes)?;
    let to = bench.driver.allocate(bytes)?;
    bench.fill_random(module, from.whole(), false)?;
    let chunks = (bytes / CHUNK) as u32;
    let passes = bench.sample(i32::MAX as u32 / chunks, |passes| {
        let launch = Launch::linear(chunks * passes, THREADS);
        let arguments = [from.whole().into(), to.whole().into(), chunks.into()];
        // SAFETY: as the kernel declares; `sample` waits for the stream before the buffers go.
        unsafe { bench.stream.launch(&kernel, &launch, &arguments) }
    })?;
    let moved = 2 * bytes as u64;
    Ok(BandwidthRates {
        level,
        bytes_per_s: passes.iter().map(|ms| moved as f64 / ms * 1e3).collect(),
        working_set: moved,
        how: match level {
            MemoryLevel::Cold => format!("copy of {}", size_in_words(bytes as u64)),
            MemoryLevel::Warm => format!(
                "copy of {} again and again, with its target a quarter of the {} the driver reports as L2",
                size_in_words(bytes as u64),
                size_in_words(cache.unwrap_or(0) as u64)
            ),
        },
    })
}

fn launches(bench: &Bench<'_>, module: &Module) -> Result<Latencies> {
    let kernel = module.kernel("empty")?;
    let count = bench.effort.launches;
    let mut host = vec![];
    let mut device = vec![];
    // The first one is not counted: it brings the code to the device.
    for repeat in 0..=bench.effort.repeats {
        let mut handing_over = 0.0;
        let ms = bench.timed(|| {
            let start = std::time::Instant::now();
            for _ in 0..count {
                // SAFETY: the kernel takes nothing and touches nothing.
                unsafe {
                    bench
                        .stream
                        .launch(&kernel, &Launch::linear(1, THREADS), &[])?;
                }
            }
            handing_over = start.elapsed().as_secs_f64() * 1e6;
            Ok(())
        })?;
        if repeat > 0 {
            host.push(handing_over / count as f64);
            device.push(ms * 1e3 / count as f64);
        }
    }
    device.sort_by(f64::total_cmp);
    let between = device.get(device.len() / 2).copied().unwrap_or(f64::NAN);
    Ok(Latencies {
        microseconds: host,
        how: format!(
            "{count} empty kernels back to back, the host's time for each; the device passed one every {between:.2} us"
        ),
    })
}

fn waits(bench: &Bench<'_>, module: &Module) -> Result<Latencies> {
    let kernel = module.kernel("empty")?;
    let once = || {
        let start = std::time::Instant::now();
        // SAFETY: the kernel takes nothing and touches nothing.
        unsafe {
            bench
                .stream
                .launch(&kernel, &Launch::linear(1, THREADS), &[])?;
        }
        bench.stream.synchronize()?;
        Ok(start.elapsed().as_secs_f64() * 1e6)
    };
    once()?;
    Ok(Latencies {
        microseconds: (0..bench.effort.waits)
            .map(|_| once())
            .collect::<Result<_>>()?,
        how: "an empty kernel handed over and waited for".into(),
    })
}
