//! Trials of modules, launches, events, copies and graphs.

use super::super::{Argument, Buffer, DriverError, Kernel, Launch, LaunchMode, Module, Source};
use super::{Attempt, Bench, Outcome, Result, expect, numbers, same_bits};

const KERNELS: &str = include_str!("kernels.cu");
/// Not a multiple of any block, so that the last one is partly idle. Few on the tests' double, whose kernels run on the
/// host, unoptimised.
const COUNT: usize = if cfg!(test) { 1003 } else { (1 << 20) + 3 };
const THREADS: u32 = 256;
const FACTOR: f32 = 1.0 / 1024.0;
/// Launches in a captured graph, and how often it is replayed.
const CAPTURED: usize = 10;
const REPLAYS: usize = if cfg!(test) { 5 } else { 1000 };

pub(super) fn try_all(bench: &Bench<'_>, attempt: &mut Attempt<'_>) {
    let source = Source::new("selftest.cu", KERNELS);
    let module = match bench.driver.compile(&source) {
        Ok(module) => module,
        Err(error) => {
            attempt("the kernels compile".into(), Err(error));
            return;
        }
    };
    let mut run = |name: &str, trial: fn(&Bench<'_>, &Module) -> Result<Outcome>| {
        attempt(name.into(), trial(bench, &module));
    };
    run("the kernels compile", compiled);
    run("an error in a source is shown with its line", broken_source);
    run("a launch computes what the host does", one_launch);
    run("an argument by value arrives whole", structure_argument);
    run("shared memory beyond the default", large_shared);
    run("a cooperative launch", cooperative);
    run("overlapping launches keep their order", overlapping);
    run("copies through pinned memory", pinned_copies);
    run("a replayed graph equals single launches", replayed_graph);
    run("a graph takes new parameters", updated_graph);
    run("a graph forks and joins two streams", forked_graph);
    run("a failed capture leaves nothing behind", failed_capture);
}

/// x and y on the device.
struct Vectors {
    x: Buffer,
    y: Buffer,
}

impl Bench<'_> {
    fn vectors(&self) -> Result<Vectors> {
        let vectors = Vectors {
            x: self.driver.allocate(COUNT * 4)?,
            y: self.driver.allocate(COUNT * 4)?,
        };
        self.stream.upload(vectors.x.whole(), &numbers(1, COUNT))?;
        self.fill(&vectors)?;
        Ok(vectors)
    }

    /// y as it is at the start.
    fn fill(&self, vectors: &Vectors) -> Result<()> {
        self.stream.upload(vectors.y.whole(), &numbers(2, COUNT))
    }

    fn saxpy(
        &self,
        kernel: &Kernel,
        factor: f32,
        vectors: &Vectors,
        mode: LaunchMode,
    ) -> Result<()> {
        let blocks = (COUNT as u32).div_ceil(THREADS);
        let launch = Launch::linear(blocks, THREADS).with_mode(mode);
        let arguments = [
            factor.into(),
            vectors.x.whole().into(),
            vectors.y.whole().into(),
            (COUNT as u32).into(),
        ];
        // SAFETY: as the kernel declares; every trial waits for the stream before its vectors go.
        unsafe { self.stream.launch(kernel, &launch, &arguments) }
    }

    fn result(&self, vectors: &Vectors) -> Result<Vec<f32>> {
        self.stream.download(vectors.y.whole(), COUNT)
    }

    /// y after `launches` single launches.
    fn launched(
        &self,
        kernel: &Kernel,
        factor: f32,
        vectors: &Vectors,
        launches: usize,
    ) -> Result<Vec<f32>> {
        self.fill(vectors)?;
        for _ in 0..launches {
            self.saxpy(kernel, factor, vectors, LaunchMode::Ordered)?;
        }
        self.result(vectors)
    }
}

fn compiled(_: &Bench<'_>, module: &Module) -> Result<Outcome> {
    let attributes = module.kernel("saxpy")?.attributes();
    let missing = module.kernel("no_such_kernel").is_err();
    Ok(expect(
        missing && attributes.max_threads >= THREADS && attributes.spilled_bytes == 0,
        format!(
            "saxpy takes {} registers; a kernel that is not there is {}refused",
            attributes.registers,
            if missing { "" } else { "not " }
        ),
    ))
}

fn broken_source(bench: &Bench<'_>, _: &Module) -> Result<Outcome> {
    let source = Source::new(
        "broken.cu",
        "// first line\nextern \"C\" __global__ void f() { syntax error }\n",
    );
    Ok(match bench.driver.compile(&source) {
        Err(DriverError::Compile { log, .. }) => {
            let first = log.lines().next().unwrap_or_default().to_owned();
            expect(log.contains("broken.cu"), first)
        }
        Err(error) => Err(error.to_string()),
        Ok(_) => Err("it compiled".into()),
    })
}

fn one_launch(bench: &Bench<'_>, module: &Module) -> Result<Outcome> {
    let vectors = bench.vectors()?;
    let kernel = module.kernel("saxpy")?;
    bench.saxpy(&kernel, FACTOR, &vectors, LaunchMode::Ordered)?;
    let (start, end) = (bench.driver.timed_event()?, bench.driver.timed_event()?);
    bench.fill(&vectors)?;
    bench.stream.record(&start)?;
    bench.saxpy(&kernel, FACTOR, &vectors, LaunchMode::Ordered)?;
    bench.stream.record(&end)?;
    let found = bench.result(&vectors)?;
    let milliseconds = end.milliseconds_since(&start)?;
    let fused = |(x, y): (f32, f32)| FACTOR.mul_add(x, y);
    let expected: Vec<f32> = numbers(1, COUNT)
        .into_iter()
        .zip(numbers(2, COUNT))
        .map(fused)
        .collect();
    Ok(expect(
        same_bits(&found, &expected) && milliseconds > 0.0 && milliseconds.is_finite(),
        format!("{COUNT} numbers in {:.1} us", milliseconds * 1000.0),
    ))
}

fn structure_argument(bench: &Bench<'_>, module: &Module) -> Result<Outcome> {
    let kernel = module.kernel("sum_table")?;
    let table: Vec<f32> = (0..64_u8).map(f32::from).collect();
    let sum = bench.driver.allocate(4)?;
    let arguments = [Argument::structure(&table), sum.whole().into()];
    // SAFETY: as the kernel declares; the download waits.
    unsafe {
        bench
            .stream
            .launch(&kernel, &Launch::linear(1, 1), &arguments)?
    };
    let found: Vec<f32> = bench.stream.download(sum.whole(), 1)?;
    Ok(expect(
        found == [2016.0],
        format!("0 + 1 + ... + 63 = {}", found[0]),
    ))
}

fn large_shared(bench: &Bench<'_>, module: &Module) -> Result<Outcome> {
    let kernel = module.kernel("reverse")?;
    let most = bench.driver.properties().shared_per_block_most;
    let words = most / 4;
    kernel.allow_shared(most)?;
    let refused = kernel.allow_shared(most + 1).is_err();
    let x = numbers(3, words);
    let [from, to] = [bench.driver.allocate(most)?, bench.driver.allocate(most)?];
    bench.stream.upload(from.whole(), &x)?;
    let launch = Launch::linear(1, THREADS).with_shared(most as u32);
    let arguments = [
        from.whole().into(),
        to.whole().into(),
        (words as u32).into(),
    ];
    // SAFETY: as the kernel declares; the download waits.
    unsafe { bench.stream.launch(&kernel, &launch, &arguments)? };
    let found: Vec<f32> = bench.stream.download(to.whole(), words)?;
    let expected: Vec<f32> = x.into_iter().rev().collect();
    let occupancy = kernel.occupancy(THREADS, most)?;
    Ok(expect(
        same_bits(&found, &expected) && refused && occupancy >= 1,
        format!("{most} bytes in a block, {occupancy} block a compute unit"),
    ))
}

fn cooperative(bench: &Bench<'_>, module: &Module) -> Result<Outcome> {
    if !bench.driver.properties().cooperative {
        return Ok(Ok("not on this device".into()));
    }
    let kernel = module.kernel("reverse")?;
    let x = numbers(4, 512);
    let [from, to] = [bench.driver.allocate(2048)?, bench.driver.allocate(2048)?];
    bench.stream.upload(from.whole(), &x)?;
    let launch = Launch::linear(2, 64)
        .with_shared(1024)
        .with_mode(LaunchMode::Cooperative);
    let arguments = [from.whole().into(), to.whole().into(), 256_u32.into()];
    // SAFETY: as the kernel declares; the download waits.
    unsafe { bench.stream.launch(&kernel, &launch, &arguments)? };
    let found: Vec<f32> = bench.stream.download(to.whole(), 512)?;
    let expected: Vec<f32> = x
        .chunks(256)
        .flat_map(|part| part.iter().rev())
        .copied()
        .collect();
    Ok(expect(same_bits(&found, &expected), "two blocks".into()))
}

fn overlapping(bench: &Bench<'_>, module: &Module) -> Result<Outcome> {
    let vectors = bench.vectors()?;
    let expected = bench.launched(&module.kernel("saxpy")?, FACTOR, &vectors, CAPTURED)?;
    let kernel = module.kernel("saxpy_overlapping")?;
    let timed = |mode: LaunchMode| -> Result<(Vec<f32>, f32)> {
        // SAFETY: kernel and vectors outlive the graph, which is launched here only.
        let graph = unsafe {
            bench.stream.capture(|| {
                (0..CAPTURED).try_for_each(|_| bench.saxpy(&kernel, FACTOR, &vectors, mode))
            })?
        };
        let (start, end) = (bench.driver.timed_event()?, bench.driver.timed_event()?);
        unsafe { graph.launch(&bench.stream)? };
        bench.fill(&vectors)?;
        bench.stream.record(&start)?;
        unsafe { graph.launch(&bench.stream)? };
        bench.stream.record(&end)?;
        let found = bench.result(&vectors)?;
        Ok((
            found,
            end.milliseconds_since(&start)? * 1000.0 / CAPTURED as f32,
        ))
    };
    let (ordered, ordered_us) = timed(LaunchMode::Ordered)?;
    let (overlapped, overlapped_us) = timed(LaunchMode::Overlapping)?;
    let real = if bench.driver.properties().overlapping {
        ""
    } else {
        " (in order on this device)"
    };
    Ok(expect(
        same_bits(&ordered, &expected) && same_bits(&overlapped, &expected),
        format!("{ordered_us:.2} us a launch in order, {overlapped_us:.2} us overlapping{real}"),
    ))
}

fn pinned_copies(bench: &Bench<'_>, _: &Module) -> Result<Outcome> {
    let mut from = bench.driver.allocate_pinned::<f32>(1000)?;
    let to = bench.driver.allocate_pinned::<f32>(1000)?;
    let [first, second] = [bench.driver.allocate(4000)?, bench.driver.allocate(4000)?];
    let x = numbers(5, 1000);
    from.write(&x)?;
    // SAFETY: we wait below, before anything goes.
    unsafe {
        bench.stream.fill(second.whole(), 7.0)?;
        bench.stream.upload_pinned(first.whole(), &from)?;
        bench.stream.copy(second.whole(), first.slice(0, 2000)?)?;
        bench.stream.clear(second.slice(0, 400)?)?;
        bench.stream.download_pinned(&to, second.whole())?;
    }
    bench.stream.synchronize()?;
    let found = to.read();
    let expected: Vec<f32> = (0..1000)
        .zip(x)
        .map(|(place, x)| match place {
            0..100 => 0.0,
            100..500 => x,
            _ => 7.0,
        })
        .collect();
    Ok(expect(
        same_bits(&found, &expected),
        "up, across, cleared, filled and down".into(),
    ))
}

fn replayed_graph(bench: &Bench<'_>, module: &Module) -> Result<Outcome> {
    let vectors = bench.vectors()?;
    let kernel = module.kernel("saxpy")?;
    let launches = CAPTURED * REPLAYS;
    let expected = bench.launched(&kernel, FACTOR, &vectors, launches)?;
    bench.fill(&vectors)?;
    // SAFETY: kernel and vectors outlive the graph.
    let graph = unsafe {
        bench.stream.capture(|| {
            (0..CAPTURED)
                .try_for_each(|_| bench.saxpy(&kernel, FACTOR, &vectors, LaunchMode::Ordered))
        })?
    };
    let untouched = same_bits(&bench.result(&vectors)?, &numbers(2, COUNT));
    let before = bench.driver.work();
    for _ in 0..REPLAYS {
        // SAFETY: as above.
        unsafe { graph.launch(&bench.stream)? };
    }
    let found = bench.result(&vectors)?;
    let work = bench.driver.work().since(&before);
    let kernels = graph.contents().kernels;
    Ok(expect(
        same_bits(&found, &expected)
            && untouched
            && kernels == CAPTURED
            && work.graphs == REPLAYS as u64
            && work.kernels == 0,
        format!(
            "{kernels} kernels captured, {} replays against {launches} launches: the same bits",
            work.graphs
        ),
    ))
}

fn updated_graph(bench: &Bench<'_>, module: &Module) -> Result<Outcome> {
    let vectors = bench.vectors()?;
    let kernel = module.kernel("saxpy")?;
    let expected = bench.launched(&kernel, 3.0, &vectors, 2)?;
    let twice = |factor: f32| {
        (0..2).try_for_each(|_| bench.saxpy(&kernel, factor, &vectors, LaunchMode::Ordered))
    };
    // SAFETY: kernel and vectors outlive the graph, which is not running.
    let (updated, rebuilt) = unsafe {
        let mut graph = bench.stream.capture(|| twice(2.0))?;
        let updated = graph.update(&bench.stream, || twice(3.0))?;
        bench.fill(&vectors)?;
        graph.launch(&bench.stream)?;
        let found = bench.result(&vectors)?;
        if !same_bits(&found, &expected) {
            return Ok(Err(format!("{updated:?}, but with the old parameters")));
        }
        let other = graph.update(&bench.stream, || {
            bench.saxpy(&kernel, 1.0, &vectors, LaunchMode::Ordered)
        })?;
        (updated, (other, graph.contents().kernels))
    };
    Ok(expect(
        rebuilt == (super::super::Updated::Rebuilt, 1),
        format!("new numbers: {updated:?}; another shape: {:?}", rebuilt.0),
    ))
}

fn forked_graph(bench: &Bench<'_>, module: &Module) -> Result<Outcome> {
    let kernel = module.kernel("saxpy")?;
    let [left, right] = [bench.vectors()?, bench.vectors()?];
    let branch = Bench {
        driver: bench.driver,
        stream: bench.driver.stream(0)?,
    };
    let expected = bench.launched(&kernel, FACTOR, &left, 1)?;
    bench.fill(&left)?;
    let (fork, join) = (
        bench.driver.ordering_event()?,
        bench.driver.ordering_event()?,
    );
    // SAFETY: everything outlives the graph.
    let graph = unsafe {
        bench.stream.capture(|| -> Result<()> {
            bench.stream.record(&fork)?;
            branch.stream.wait(&fork)?;
            branch.saxpy(&kernel, FACTOR, &right, LaunchMode::Ordered)?;
            branch.stream.record(&join)?;
            bench.saxpy(&kernel, FACTOR, &left, LaunchMode::Ordered)?;
            bench.stream.wait(&join)
        })?
    };
    unsafe { graph.launch(&bench.stream)? };
    let same =
        same_bits(&bench.result(&left)?, &expected) && same_bits(&bench.result(&right)?, &expected);
    let free_again = !branch.stream.is_capturing();
    branch.stream.synchronize()?;
    Ok(expect(
        same && free_again && graph.contents().kernels == 2,
        format!("{} kernels on two branches", graph.contents().kernels),
    ))
}

fn failed_capture(bench: &Bench<'_>, module: &Module) -> Result<Outcome> {
    let vectors = bench.vectors()?;
    let kernel = module.kernel("saxpy")?;
    // SAFETY: no graph comes of it.
    let stopped = unsafe {
        bench.stream.capture(|| {
            bench.saxpy(&kernel, FACTOR, &vectors, LaunchMode::Ordered)?;
            Err(DriverError::Invalid("stopped on purpose".into()))
        })
    };
    // SAFETY: as above. A stream that joins a capture and is not joined again makes the driver refuse it.
    let branch = bench.driver.stream(0)?;
    let fork = bench.driver.ordering_event()?;
    let refused = unsafe {
        bench.stream.capture(|| -> Result<()> {
            bench.stream.record(&fork)?;
            branch.wait(&fork)?;
            branch.clear(vectors.y.whole())
        })
    };
    let expected = bench.launched(&kernel, FACTOR, &vectors, 1)?;
    let again = bench.launched(&kernel, FACTOR, &vectors, 1)?;
    let reason = match (&stopped, &refused) {
        (Err(first), Err(second)) => format!("{first}; {second}; the stream goes on"),
        _ => "a capture that should have failed did not".into(),
    };
    let own_reason =
        matches!(&stopped, Err(DriverError::Invalid(text)) if text == "stopped on purpose");
    Ok(expect(
        own_reason
            && refused.is_err()
            && same_bits(&expected, &again)
            && !bench.stream.is_capturing(),
        reason,
    ))
}
