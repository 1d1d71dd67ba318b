//! Trials of modules, launches, events, streams and graphs.

use super::reference::same_bits;
use super::{DeviceFinding, Result, TrialBench, TrialOutcome, Trials, expect, numbers};
use crate::device::driver::{
    DeviceBuffer, DeviceKernel, DeviceModule, DriverError, LaunchArgument, LaunchMode,
    LaunchSettings, SourceCode,
};

const KERNELS: &str = include_str!("kernels.cu");
const THREADS: u32 = 256;
const FACTOR: f32 = 1.0 / 1024.0;
/// Launches in a captured graph.
const CAPTURED: usize = 10;

type TrialFunction = fn(&TrialBench<'_>, &DeviceModule) -> Result<TrialOutcome>;

/// The trials by topic.
const TRIALS: [(&str, &str, TrialFunction); 11] = [
    ("modules", "kernels compile", compiled),
    ("modules", "an error is shown with its line", broken_source),
    ("launches", "numbers are those of the host", one_launch),
    ("launches", "an argument by value arrives whole", by_value),
    ("launches", "shared memory beyond the default", large_shared),
    ("launches", "overlapping ones keep their order", overlapping),
    ("events", "time between two", time_between_events),
    ("streams", "one waits for another", waiting_stream),
    ("graphs", "replays equal single launches", replayed_graph),
    ("graphs", "two branches fork and join", forked_graph),
    ("graphs", "a failed capture leaves nothing", failed_capture),
];

pub fn run_all<F: FnMut(&DeviceFinding)>(bench: &TrialBench<'_>, trials: &mut Trials<F>) {
    let module = match bench
        .driver
        .compile(&SourceCode::new("selftest.cu", KERNELS))
    {
        Ok(module) => module,
        Err(error) => return trials.add("modules", "kernels compile", Err(error)),
    };
    for (topic, name, trial) in TRIALS {
        trials.add(topic, name, trial(bench, &module));
    }
}

/// The vectors x and y on the device.
struct Vectors {
    x: DeviceBuffer,
    y: DeviceBuffer,
}

impl TrialBench<'_> {
    fn vectors(&self) -> Result<Vectors> {
        Ok(Vectors {
            x: self.place(&numbers(1, self.effort.count))?,
            y: self.place(&numbers(2, self.effort.count))?,
        })
    }

    /// Sets y to its initial values.
    fn fill(&self, vectors: &Vectors) -> Result<()> {
        let y = numbers(2, self.effort.count);
        self.stream.upload(vectors.y.as_slice(), &y)
    }

    fn saxpy(&self, kernel: &DeviceKernel, vectors: &Vectors, mode: LaunchMode) -> Result<()> {
        let count = self.effort.count as u32;
        let launch = LaunchSettings::linear(count.div_ceil(THREADS), THREADS).with_mode(mode);
        let arguments = [
            FACTOR.into(),
            vectors.x.as_slice().into(),
            vectors.y.as_slice().into(),
            count.into(),
        ];
        // SAFETY: the arguments match the kernel's declaration; every trial waits for the stream before its vectors are freed.
        unsafe { self.stream.launch(kernel, &launch, &arguments) }
    }

    fn times(&self, launches: usize, kernel: &DeviceKernel, vectors: &Vectors) -> Result<()> {
        (0..launches).try_for_each(|_| self.saxpy(kernel, vectors, LaunchMode::Ordered))
    }

    /// Returns y after `launches` single launches.
    fn launched(
        &self,
        kernel: &DeviceKernel,
        vectors: &Vectors,
        launches: usize,
    ) -> Result<Vec<f32>> {
        self.fill(vectors)?;
        self.times(launches, kernel, vectors)?;
        self.read(&vectors.y)
    }

    /// Returns y after `launches` launches, computed on the host.
    fn expected(&self, launches: usize) -> Vec<f32> {
        let mut y = numbers(2, self.effort.count);
        for (x, y) in numbers(1, self.effort.count).into_iter().zip(&mut y) {
            for _ in 0..launches {
                *y = FACTOR.mul_add(x, *y);
            }
        }
        y
    }
}

fn compiled(_: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    let attributes = module.kernel("saxpy")?.attributes;
    let missing = module.kernel("no_such_kernel").is_err();
    expect(
        missing && attributes.max_threads >= THREADS && attributes.spilled_bytes == 0,
        format!(
            "saxpy takes {} registers; a kernel that is not there is {}refused",
            attributes.registers,
            if missing { "" } else { "not " }
        ),
    )
}

fn broken_source(bench: &TrialBench<'_>, _: &DeviceModule) -> Result<TrialOutcome> {
    let source = SourceCode::new(
        "broken.cu",
        "// first line\nextern \"C\" __global__ void f() { syntax error }\n",
    );
    match bench.driver.compile(&source) {
        Err(DriverError::Compile { log, .. }) => {
            let first = log.lines().next().unwrap_or_default().to_owned();
            expect(log.contains("broken.cu") && log.contains('2'), first)
        }
        Err(other) => Err(other),
        Ok(_) => expect(false, "it compiled".into()),
    }
}

fn one_launch(bench: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    let found = bench.launched(&module.kernel("saxpy")?, &bench.vectors()?, 1)?;
    expect(
        same_bits(&found, &bench.expected(1)),
        format!("{} numbers", found.len()),
    )
}

fn by_value(bench: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    let kernel = module.kernel("sum_table")?;
    let table: Vec<f32> = (0..64_u8).map(f32::from).collect();
    let sum = bench.driver.allocate(4)?;
    let arguments = [LaunchArgument::structure(&table), sum.as_slice().into()];
    let launch = LaunchSettings::linear(1, 1);
    // SAFETY: the arguments match the kernel's declaration; reading waits.
    unsafe { bench.stream.launch(&kernel, &launch, &arguments)? };
    let found: Vec<f32> = bench.read(&sum)?;
    expect(found == [2016.0], format!("0 + 1 + ... + 63 = {found:?}"))
}

fn large_shared(bench: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    let kernel = module.kernel("reverse")?;
    let most = bench.driver.properties().shared_per_block_most;
    kernel.allow_shared(most)?;
    let refused = kernel.allow_shared(most + 1).is_err();
    let mut x = numbers(3, most / 4);
    let (from, to) = (bench.place(&x)?, bench.driver.allocate(most)?);
    let launch = LaunchSettings::linear(1, THREADS).with_shared(most as u32);
    let (from, into, words) = (from.as_slice(), to.as_slice(), x.len() as u32);
    let arguments = [from.into(), into.into(), words.into()];
    // SAFETY: the arguments match the kernel's declaration; reading waits.
    unsafe { bench.stream.launch(&kernel, &launch, &arguments)? };
    x.reverse();
    let right = same_bits(&bench.read(&to)?, &x);
    expect(right && refused, format!("{most} bytes in a block"))
}

fn overlapping(bench: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    let kernel = module.kernel("saxpy_overlapping")?;
    let vectors = bench.vectors()?;
    let expected = bench.expected(CAPTURED);
    let timed = |mode: LaunchMode| -> Result<(Vec<f32>, f64)> {
        // SAFETY: kernel and vectors outlive the graph, which is launched only here.
        let graph = unsafe {
            bench
                .stream
                .capture(|| (0..CAPTURED).try_for_each(|_| bench.saxpy(&kernel, &vectors, mode)))?
        };
        // SAFETY: as above.
        let launch = || unsafe { graph.launch(&bench.stream) };
        // The first launch loads the code.
        launch()?;
        bench.fill(&vectors)?;
        let ms = bench.driver.timer()?.time(&bench.stream, launch)?;
        Ok((bench.read(&vectors.y)?, ms * 1e3 / CAPTURED as f64))
    };
    let (ordered, ordered_us) = timed(LaunchMode::Ordered)?;
    let (overlapped, overlapped_us) = timed(LaunchMode::Overlapping)?;
    let right = same_bits(&ordered, &expected) && same_bits(&overlapped, &expected);
    if right && !bench.driver.properties().overlapping {
        return Ok(TrialOutcome::Unsupported);
    }
    expect(
        right,
        format!("{ordered_us:.2} us a launch in order, {overlapped_us:.2} us overlapping"),
    )
}

fn time_between_events(bench: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    let kernel = module.kernel("saxpy")?;
    let vectors = bench.vectors()?;
    let launch = || bench.times(CAPTURED, &kernel, &vectors);
    let milliseconds = bench.driver.timer()?.time(&bench.stream, launch)?;
    expect(
        milliseconds > 0.0 && milliseconds.is_finite(),
        format!("{CAPTURED} launches in {:.1} us", milliseconds * 1000.0),
    )
}

/// The first stream computes, the second copies the result. Only the event makes the copy wait.
fn waiting_stream(bench: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    let kernel = module.kernel("saxpy")?;
    let vectors = bench.vectors()?;
    let copied = bench.driver.allocate(vectors.y.bytes())?;
    let second = bench.driver.stream(0)?;
    let done = bench.driver.ordering_event()?;
    bench.times(CAPTURED, &kernel, &vectors)?;
    bench.stream.record(&done)?;
    second.wait(&done)?;
    // SAFETY: downloading waits for the second stream, which waits for the first.
    unsafe { second.copy(copied.as_slice(), vectors.y.as_slice())? };
    let found: Vec<f32> = second.download(copied.as_slice(), bench.effort.count)?;
    expect(
        same_bits(&found, &bench.expected(CAPTURED)),
        format!("a copy behind {CAPTURED} launches"),
    )
}

fn replayed_graph(bench: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    let (vectors, replays) = (bench.vectors()?, bench.effort.replays);
    let kernel = module.kernel("saxpy")?;
    let expected = bench.launched(&kernel, &vectors, CAPTURED * replays)?;
    bench.fill(&vectors)?;
    // SAFETY: kernel and vectors outlive the graph.
    let graph = unsafe {
        bench
            .stream
            .capture(|| bench.times(CAPTURED, &kernel, &vectors))?
    };
    let untouched = same_bits(&bench.read(&vectors.y)?, &bench.expected(0));
    let before = bench.driver.work().host_launches();
    for _ in 0..replays {
        // SAFETY: as above.
        unsafe { graph.launch(&bench.stream)? };
    }
    let launches = bench.driver.work().host_launches() - before;
    let found = bench.read(&vectors.y)?;
    let kernels = graph.contents.kernels;
    expect(
        same_bits(&found, &expected)
            && untouched
            && kernels == CAPTURED
            && launches == replays as u64,
        format!("{kernels} kernels captured, {replays} replays"),
    )
}

fn forked_graph(bench: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    let kernel = module.kernel("saxpy")?;
    let [left, right] = [bench.vectors()?, bench.vectors()?];
    let branch = TrialBench {
        driver: bench.driver,
        stream: bench.driver.stream(0)?,
        effort: bench.effort,
    };
    let (fork, join) = (
        bench.driver.ordering_event()?,
        bench.driver.ordering_event()?,
    );
    // SAFETY: everything outlives the graph.
    let graph = unsafe {
        bench.stream.capture(|| -> Result<()> {
            bench.stream.record(&fork)?;
            branch.stream.wait(&fork)?;
            branch.times(1, &kernel, &right)?;
            branch.stream.record(&join)?;
            bench.times(1, &kernel, &left)?;
            bench.stream.wait(&join)
        })?
    };
    // SAFETY: as above.
    unsafe { graph.launch(&bench.stream)? };
    let expected = bench.expected(1);
    let same =
        same_bits(&bench.read(&left.y)?, &expected) && same_bits(&bench.read(&right.y)?, &expected);
    let kernels = graph.contents.kernels;
    expect(
        same && !branch.stream.is_capturing() && kernels == 2,
        format!("{kernels} kernels on two branches"),
    )
}

fn failed_capture(bench: &TrialBench<'_>, module: &DeviceModule) -> Result<TrialOutcome> {
    const REASON: &str = "stopped on purpose";
    let vectors = bench.vectors()?;
    let kernel = module.kernel("saxpy")?;
    // SAFETY: no graph comes of it.
    let stopped = unsafe {
        bench.stream.capture(|| {
            bench.times(1, &kernel, &vectors)?;
            Err(DriverError::Invalid(REASON.into()))
        })
    };
    // If a stream joins a capture and is not joined back, the driver refuses the capture.
    let branch = bench.driver.stream(0)?;
    let fork = bench.driver.ordering_event()?;
    let mut captured = false;
    // SAFETY: no graph comes of it either.
    let refused = unsafe {
        bench.stream.capture(|| -> Result<()> {
            bench.stream.record(&fork)?;
            branch.wait(&fork)?;
            branch.clear(vectors.y.as_slice())?;
            captured = true;
            Ok(())
        })
    };
    let found = bench.launched(&kernel, &vectors, 1)?;
    let goes_on = same_bits(&found, &bench.expected(1)) && !bench.stream.is_capturing();
    match (stopped, refused) {
        (Err(DriverError::Invalid(first)), Err(second)) => expect(
            first == REASON && captured && goes_on,
            format!("{first}; {second}; the stream goes on"),
        ),
        _ => expect(false, "a capture that should have failed did not".into()),
    }
}
