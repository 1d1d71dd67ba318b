//! The layer on the recording double: every handle is given back once, in the right order, on every way out.

use super::recording::Recording;
use super::selftest::selftest;
use super::*;

type Result<T> = std::result::Result<T, DriverError>;

/// Gives the self-test's kernels something to do.
fn define_selftest_kernels(recording: &Recording) {
    let saxpy = |memory: &mut recording::HostMemory, _: &Launch, arguments: &[u64]| {
        let factor = f32::from_bits(arguments[0] as u32);
        let count = arguments[3] as usize;
        let x = memory.floats(arguments[1], count).unwrap();
        let y = memory.floats(arguments[2], count).unwrap();
        let sum: Vec<f32> = x
            .iter()
            .zip(y)
            .map(|(x, y)| factor.mul_add(*x, y))
            .collect();
        memory.set_floats(arguments[2], &sum).unwrap();
    };
    recording.define_kernel("saxpy", saxpy);
    recording.define_kernel("saxpy_overlapping", saxpy);
    recording.define_kernel("sum_table", |memory, _, arguments| {
        let (pointer, table) = arguments.split_last().unwrap();
        let numbers = table
            .iter()
            .flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        let sum = numbers.map(f32::from_bits).sum();
        memory.set_floats(*pointer, &[sum]).unwrap();
    });
    recording.define_kernel("reverse", |memory, launch, arguments| {
        let words = arguments[2] as usize;
        let x = memory
            .floats(arguments[0], words * launch.grid[0] as usize)
            .unwrap();
        let y: Vec<f32> = x
            .chunks(words)
            .flat_map(|part| part.iter().rev())
            .copied()
            .collect();
        memory.set_floats(arguments[1], &y).unwrap();
    });
}

fn kernel(driver: &Driver, name: &str) -> Result<Kernel> {
    driver
        .compile(&Source::new("test.cu", "saxpy"))?
        .kernel(name)
}

#[test]
fn the_selftest_passes_on_the_double() {
    let (driver, recording) = Recording::open();
    define_selftest_kernels(&recording);
    recording.set_gemm_costs(&[3.0, 1.0, 2.0]);
    let report = selftest(&driver, |_| {}).unwrap();
    assert!(report.passed(), "{:#?}", report.trials);
    drop(driver);
    recording.assert_clean();
}

#[test]
fn the_selftest_notices_wrong_results() {
    let (driver, recording) = Recording::open();
    // Without its kernels the double computes nothing.
    let report = selftest(&driver, |_| {}).unwrap();
    let failed = |name: &str| {
        report
            .trials
            .iter()
            .any(|trial| trial.name == name && !trial.passed)
    };
    assert!(failed("a launch computes what the host does"));
    assert!(failed("an argument by value arrives whole"));
    drop(driver);
    recording.assert_clean();
}

#[test]
fn whatever_fails_everything_is_given_back() {
    // The name of every call that can fail, each failing at its first, second, ... use.
    let calls = [
        "memory",
        "compile",
        "allocate",
        "allocate_pinned",
        "copy_to_device",
        "copy_to_host",
        "create_stream",
        "synchronize",
        "wait",
        "create_event",
        "record",
        "load_module",
        "function",
        "attributes",
        "launch",
        "begin_capture",
        "end_capture",
        "contents",
        "instantiate",
        "update",
        "launch_graph",
        "gemm_candidates",
        "gemm",
    ];
    for call in calls {
        for successes in 0..6 {
            let (driver, recording) = Recording::open();
            define_selftest_kernels(&recording);
            recording.set_gemm_costs(&[2.0, 1.0]);
            recording.fail(call, successes, "CUDA_ERROR_UNKNOWN");
            let outcome = scenario(&driver);
            // A failure while giving back has nobody to return to; it is noted.
            let noticed = outcome.is_err() || !driver.take_failures().is_empty();
            let failed = recording.count(call) > successes;
            assert_eq!(noticed, failed, "{call} after {successes}: {outcome:?}");
            drop(driver);
            assert_eq!(
                recording.problems(),
                Vec::<String>::new(),
                "{call} after {successes}"
            );
            assert_eq!(
                recording.alive(),
                Vec::<String>::new(),
                "{call} after {successes}"
            );
        }
    }
}

/// A bit of everything.
fn scenario(driver: &Driver) -> Result<()> {
    driver.device_memory()?;
    let stream = driver.stream(1024)?;
    let x = driver.allocate(64)?;
    let y = driver.allocate(64)?;
    let loss = driver.allocate_pinned::<f32>(1)?;
    stream.upload(x.whole(), &[1.0_f32; 16])?;
    let saxpy = kernel(driver, "saxpy")?;
    let done = driver.ordering_event()?;
    let spec = GemmSpec::new(2, 2, 2, Precision::F32);
    let plan = driver.plan_gemm(&stream, spec, Selection::Heuristic)?;
    let operands = GemmOperands {
        alpha: 1.0,
        a: x.address(),
        b: x.address(),
        beta: 0.0,
        c: y.address(),
        d: y.address(),
    };
    let arguments = [
        1.0_f32.into(),
        x.whole().into(),
        y.whole().into(),
        16_u32.into(),
    ];
    let work = || -> Result<()> {
        // SAFETY: the double checks addresses, and everything outlives the graph.
        unsafe {
            plan.run(&stream, &operands)?;
            stream.launch(&saxpy, &Launch::linear(1, 16), &arguments)?;
            stream.download_pinned(&loss, y.slice(0, 4)?)
        }
    };
    work()?;
    stream.record(&done)?;
    stream.wait(&done)?;
    // SAFETY: as above.
    unsafe {
        let mut graph = stream.capture(work)?;
        graph.update(&stream, work)?;
        graph.launch(&stream)?;
    }
    stream.synchronize()?;
    stream.download::<f32>(y.whole(), 16).map(|_| ())
}

#[test]
fn the_fastest_algorithm_is_taken_and_one_that_does_not_run_is_passed_over() {
    let (driver, recording) = Recording::open();
    let spec = GemmSpec::new(4, 4, 4, Precision::F32);
    let measured = Selection::Measured { candidates: 3 };
    recording.set_gemm_costs(&[3.0, 1.0, 2.0]);
    let microseconds = |driver: &Driver, stream: &Stream| {
        let plan = driver.plan_gemm(stream, spec, measured).unwrap();
        plan.measured_microseconds()
    };
    {
        let stream = driver.stream(1024).unwrap();
        assert_eq!(microseconds(&driver, &stream), Some(1000.0));

        // The first candidate's graph, then the second's eager run: 1 + 2 + 4 graphs of one candidate.
        recording.fail("gemm", 4, "CUBLAS_STATUS_NOT_SUPPORTED");
        assert_eq!(microseconds(&driver, &stream), Some(2000.0));

        let plan = driver
            .plan_gemm(&stream, spec, Selection::Heuristic)
            .unwrap();
        assert_eq!(plan.measured_microseconds(), None);

        recording.refuse_gemms(|spec| spec.precision == Precision::Tf32);
        let error = driver
            .plan_gemm(&stream, GemmSpec::new(4, 4, 4, Precision::Tf32), measured)
            .err()
            .unwrap();
        assert_eq!(
            error.to_string(),
            "host BLAS 1.0 has no algorithm for tf32 4x4x4 (a b)"
        );
    }
    drop(driver);
    recording.assert_clean();
}

#[test]
fn impossible_products_are_refused_before_the_library_is_asked() {
    let (driver, recording) = Recording::open();
    let stream = driver.stream(0).unwrap();
    let good = GemmSpec::new(4, 6, 8, Precision::F32);
    for (bad, reason) in [
        (GemmSpec::new(0, 6, 8, Precision::F32), "has an empty side"),
        (good.with_row_strides(7, 6, 6), "has rows that overlap"),
        (
            good.transpose_b().with_row_strides(8, 7, 6),
            "has rows that overlap",
        ),
        (good.with_row_strides(8, 6, 5), "has rows that overlap"),
        (good.batched(2, 32, 48, 0), "writes a batch to one place"),
        (
            good.with_output(OutputType::Bf16),
            "writes bf16 from f32 operands",
        ),
    ] {
        let error = driver
            .plan_gemm(&stream, bad, Selection::Heuristic)
            .err()
            .unwrap();
        assert!(error.to_string().ends_with(reason), "{error}");
    }
    assert_eq!(recording.count("gemm_candidates"), 0);
    assert_eq!(good.bytes(), [4 * 8 * 4, 8 * 6 * 4, 4 * 6 * 4]);
    assert_eq!(
        good.with_row_strides(10, 7, 9).bytes(),
        [(3 * 10 + 8) * 4, (7 * 7 + 6) * 4, (3 * 9 + 6) * 4]
    );
}

#[test]
fn a_capture_refuses_what_cannot_be_captured() {
    let (driver, recording) = Recording::open();
    {
        let stream = driver.stream(0).unwrap();
        let x = driver.allocate(64).unwrap();
        let spec = GemmSpec::new(2, 2, 2, Precision::F32);
        type Trial<'a> = Box<dyn Fn() -> Result<()> + 'a>;
        let trials: Vec<(&str, Trial<'_>)> = vec![
            ("waiting", Box::new(|| stream.synchronize())),
            (
                "pageable",
                Box::new(|| stream.upload(x.whole(), &[1.0_f32])),
            ),
            (
                "pageable",
                Box::new(|| stream.download::<f32>(x.whole(), 1).map(|_| ())),
            ),
            (
                "algorithm",
                Box::new(|| {
                    driver
                        .plan_gemm(&stream, spec, Selection::Heuristic)
                        .map(|_| ())
                }),
            ),
            (
                "a capture",
                Box::new(|| unsafe { stream.capture(|| Ok(())) }.map(|_: Graph| ())),
            ),
            (
                "OUT_OF|CAPTURE",
                Box::new(|| driver.allocate(64).map(|_| ())),
            ),
        ];
        for (reason, trial) in &trials {
            // SAFETY: no graph comes of it.
            let error = unsafe { stream.capture(trial) }.err().unwrap().to_string();
            let expected = reason.split('|').any(|part| error.contains(part));
            assert!(expected, "{reason}: {error}");
            assert!(!stream.is_capturing());
            trial().unwrap_or_else(|error| panic!("{reason} after the capture: {error}"));
        }
    }
    drop(driver);
    recording.assert_clean();
}

#[test]
fn a_panic_while_capturing_ends_the_capture() {
    let (driver, recording) = Recording::open();
    {
        let stream = driver.stream(0).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // SAFETY: no graph comes of it.
            let graph: Result<Graph> = unsafe { stream.capture(|| panic!("on purpose")) };
            drop(graph);
        }));
        assert!(panicked.is_err());
        assert!(!stream.is_capturing());
        stream.synchronize().unwrap();
    }
    drop(driver);
    recording.assert_clean();
}

#[test]
fn captured_work_is_counted_apart_from_launches() {
    let (driver, recording) = Recording::open();
    define_selftest_kernels(&recording);
    {
        let stream = driver.stream(0).unwrap();
        let branch = driver.stream(0).unwrap();
        let (fork, join) = (
            driver.ordering_event().unwrap(),
            driver.ordering_event().unwrap(),
        );
        let x = driver.allocate(64).unwrap();
        stream.upload(x.whole(), &[1.0_f32; 16]).unwrap();
        let saxpy = kernel(&driver, "saxpy").unwrap();
        let arguments = [
            1.0_f32.into(),
            x.whole().into(),
            x.whole().into(),
            16_u32.into(),
        ];
        let before = driver.work();
        // SAFETY: everything outlives the graph.
        unsafe {
            let graph: Graph = stream
                .capture(|| -> Result<()> {
                    stream.record(&fork)?;
                    branch.wait(&fork)?;
                    assert!(branch.is_capturing());
                    branch.launch(&saxpy, &Launch::linear(1, 16), &arguments)?;
                    branch.record(&join)?;
                    stream.wait(&join)?;
                    stream.launch(&saxpy, &Launch::linear(1, 16), &arguments)
                })
                .unwrap();
            assert!(!branch.is_capturing());
            for _ in 0..3 {
                graph.launch(&stream).unwrap();
            }
            branch
                .launch(&saxpy, &Launch::linear(1, 16), &arguments)
                .unwrap();
        }
        let work = driver.work().since(&before);
        let expected = WorkCounts {
            kernels: 1,
            graphs: 3,
            captured: 2,
            ..WorkCounts::default()
        };
        assert_eq!(work, expected);
        assert_eq!(work.host_launches(), 4);
        // Seven doublings in all.
        assert_eq!(stream.download::<f32>(x.whole(), 16).unwrap(), [128.0; 16]);
    }
    drop(driver);
    recording.assert_clean();
}

#[test]
fn a_full_device_says_how_much_was_asked_for() {
    let (driver, _recording) = Recording::open();
    let held = driver.allocate(1 << 29).unwrap();
    let error = driver.allocate(1 << 30).err().unwrap();
    assert_eq!(error.refusal(), Refusal::OutOfMemory);
    assert!(error.to_string().contains("1073741824 bytes"), "{error}");
    assert_eq!(driver.memory_use().allocated, 1 << 29);
    drop(held);
    let memory = driver.memory_use();
    assert_eq!((memory.allocated, memory.peak), (0, 1 << 29));
}

#[test]
fn ranges_past_the_end_are_refused() {
    let (driver, recording) = Recording::open();
    let stream = driver.stream(0).unwrap();
    let x = driver.allocate(64).unwrap();
    let mut pinned = driver.allocate_pinned::<f32>(4).unwrap();
    assert!(x.slice(60, 8).is_err());
    assert!(x.slice(usize::MAX, 8).is_err());
    assert!(x.slice(32, 32).unwrap().slice(16, 32).is_err());
    assert!(
        stream
            .upload(x.slice(32, 32).unwrap(), &[0.0_f32; 9])
            .is_err()
    );
    assert!(stream.download::<f32>(x.whole(), 17).is_err());
    assert!(pinned.write(&[0.0; 5]).is_err());
    // SAFETY: refused, or done before anything goes.
    unsafe {
        assert!(
            stream
                .upload_pinned(x.slice(0, 12).unwrap(), &pinned)
                .is_err()
        );
        assert!(stream.fill(x.slice(0, 6).unwrap(), 1.0).is_err());
        stream.fill(x.whole(), 1.5).unwrap();
    }
    assert_eq!(
        stream.download::<f32>(x.slice(60, 4).unwrap(), 1).unwrap(),
        [1.5]
    );
    assert_eq!(recording.problems(), Vec::<String>::new());
}

#[test]
fn a_module_is_compiled_once_for_its_text_options_and_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let cache = || Some(ModuleCache::new(folder.path()));
    let compiled = |source: &Source| {
        let (driver, recording) = Recording::open_with_cache(cache());
        driver.compile(source).unwrap();
        drop(driver);
        recording.assert_clean();
        recording.count("compile")
    };
    let source = Source::new("a.cu", "text");
    assert_eq!(compiled(&source), 1);
    assert_eq!(compiled(&source), 0);
    for changed in [
        Source::new("a.cu", "other text"),
        Source::new("b.cu", "text"),
        source.clone().define("BLOCK", 128),
        source.clone().define("BLOCK", 256),
        source.clone().with_fast_math(),
        source.clone().with_own_instructions(),
    ] {
        assert_eq!(compiled(&changed), 1, "{changed:?}");
        assert_eq!(compiled(&changed), 0, "{changed:?}");
    }
    let request = compile::CompileRequest::new(&source, Recording::open().0.properties());
    assert_ne!(request.key("nvrtc 13.0"), request.key("nvrtc 13.1"));
    let damaged = folder.path().join(request.key("compiler 1"));
    std::fs::write(damaged, b"not code").unwrap();
    assert_eq!(compiled(&source), 1, "a damaged file is compiled anew");
}
