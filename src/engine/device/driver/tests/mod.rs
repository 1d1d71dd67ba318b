//! Tests the layer on the stand-in for HIP: on every way out, every handle is freed once and in the right order.

pub mod stand_in;
mod user_space;

use super::handle::WorkCounts;
use super::*;
use crate::device::driver;
use stand_in::on;

const SAXPY: &str = include_str!("../../selftest/kernels.cu");

/// Each piece of work takes a millisecond.
const CLOCK: (&str, &str) = ("HIP_STAND_IN_CLOCK", "1");

fn saxpy(driver: &Driver) -> DeviceKernel {
    let module = driver.compile(&SourceCode::new("saxpy.cu", SAXPY)).unwrap();
    module.kernel("saxpy").unwrap()
}

#[test]
fn the_fastest_algorithm_is_taken_and_one_that_does_not_run_is_passed_over() {
    // The library refuses its first choice when it runs for the first time.
    let refused = ("HIP_STAND_IN_FAIL", "hipblasLtMatmul#1=7");
    on("gfx90a", &[CLOCK, refused], |stand_in| {
        let driver = stand_in.open();
        let stream = driver.stream(1024).unwrap();
        let spec = GemmSpec::new(4, 4, 4, GemmPrecision::F32);
        let measured = AlgorithmSelection::Measured { candidates: 3 };
        let plan = |selection| driver.plan_gemm(&stream, spec, selection).unwrap();
        // The other algorithm splits its sum, which needs two kernels.
        let second = plan(measured);
        assert_eq!(second.contents.kernels, 2);
        assert_eq!(second.measured_microseconds, Some(2000.0));
        let first = plan(measured);
        assert_eq!(first.contents.kernels, 1);
        assert_eq!(first.measured_microseconds, Some(1000.0));
        assert_eq!(
            plan(AlgorithmSelection::Heuristic).measured_microseconds,
            None
        );

        let narrow = driver.stream(64).unwrap();
        let operands = {
            let [a, b, d] = spec.bytes().map(|bytes| driver.allocate(bytes).unwrap());
            let address = |buffer: &DeviceBuffer| buffer.address();
            GemmOperands {
                alpha: 1.0,
                a: address(&a),
                b: address(&b),
                beta: 0.0,
                c: address(&d),
                d: address(&d),
            }
        };
        // SAFETY: refused before anything is read.
        let error = unsafe { second.run(&narrow, &operands) }.unwrap_err();
        insta::assert_snapshot!(error, @"a gemm that needs 128 bytes of workspace in a stream with 64");

        let rounded = GemmSpec::new(4, 4, 4, GemmPrecision::Tf32);
        assert!(!driver.multiplies(&rounded).unwrap() && driver.multiplies(&spec).unwrap());
        let error = driver.plan_gemm(&stream, rounded, measured).err().unwrap();
        let (library, gemm) = ("hipBLASLt 1.0.0".into(), "tf32 4x4x4 (a b)".into());
        assert_eq!(error, DriverError::NoAlgorithm { library, gemm });
    });
}

/// Zeros would be faster to multiply than a model's numbers.
#[test]
fn algorithms_are_timed_on_numbers_that_are_none_of_them_zero() {
    on("gfx90a", &[], |stand_in| {
        let driver = stand_in.open();
        let stream = driver.stream(0).unwrap();
        for count in [1, 3, 1_000_001] {
            let buffer = driver.allocate(2 * count).unwrap();
            tuning::fill_operands(&stream, &buffer).unwrap();
            let halves: Vec<u16> = stream.download(buffer.as_slice(), count).unwrap();
            let numbers = halves.iter().map(|bits| u32::from(*bits) << 16);
            let numbers: Vec<f32> = numbers.map(f32::from_bits).collect();
            assert!(numbers.iter().all(|it| (0.5..1.0).contains(&it.abs())));
            assert!(count < 9 || numbers.iter().any(|it| *it > 0.7));
            assert!(count < 9 || numbers.iter().any(|it| *it < -0.7));
        }
    });
}

#[test]
fn a_capture_refuses_what_cannot_be_captured() {
    on("gfx90a", &[], |stand_in| {
        let driver = stand_in.open();
        let stream = driver.stream(0).unwrap();
        let x = driver.allocate(64).unwrap();
        let spec = GemmSpec::new(2, 2, 2, GemmPrecision::F32);
        type Trial<'a> = Box<dyn Fn() -> Result<()> + 'a>;
        let trials: Vec<(&str, Trial<'_>)> = vec![
            ("waiting", Box::new(|| stream.synchronize())),
            (
                "pageable",
                Box::new(|| stream.upload(x.as_slice(), &[1.0_f32])),
            ),
            (
                "pageable",
                Box::new(|| stream.download::<f32>(x.as_slice(), 1).map(|_| ())),
            ),
            (
                "algorithm",
                Box::new(|| {
                    driver
                        .plan_gemm(&stream, spec, AlgorithmSelection::Heuristic)
                        .map(|_| ())
                }),
            ),
            (
                "a capture",
                // SAFETY: nothing is captured.
                Box::new(|| unsafe { stream.capture(|| Ok(())) }.map(|_: Graph| ())),
            ),
        ];
        for (reason, trial) in &trials {
            // SAFETY: the capture fails, so there is no graph.
            let error = unsafe { stream.capture(trial) }.err().unwrap().to_string();
            assert!(error.contains(reason), "{reason}: {error}");
            assert!(!stream.is_capturing());
            trial().unwrap_or_else(|error| panic!("{reason} after the capture: {error}"));
        }
        assert_eq!(driver.take_failures(), []);
    });
}

/// HIP answers with errors on a stream of a failed capture until that stream is destroyed.
#[test]
fn streams_and_events_go_on_after_a_capture_that_failed() {
    on("gfx90a", &[], |stand_in| {
        let driver = stand_in.open();
        let [stream, branch] = [driver.stream(0).unwrap(), driver.urgent_stream().unwrap()];
        let fork = driver.ordering_event().unwrap();
        let x = driver.allocate(64).unwrap();
        // SAFETY: the first capture leaves a branch unjoined and gives no graph; the memory outlives the second.
        let captured = |joined: bool| unsafe {
            stream.capture(|| {
                stream.record(&fork)?;
                branch.wait(&fork)?;
                branch.clear(x.as_slice())?;
                if joined {
                    branch.record(&fork)?;
                    stream.wait(&fork)?;
                }
                Ok::<_, DriverError>(())
            })
        };
        let error = captured(false).err().unwrap();
        assert_eq!(error.refusal(), ErrorClass::Capture, "{error}");
        for stream in [&stream, &branch] {
            assert!(!stream.is_capturing());
            stream.upload(x.as_slice(), &[2.0_f32; 16]).unwrap();
        }
        stream.record(&fork).unwrap();
        branch.wait(&fork).unwrap();
        let graph = captured(true).unwrap();
        // SAFETY: its one buffer is alive until the download below has waited.
        unsafe { graph.launch(&stream).unwrap() };
        assert_eq!(stream.download::<f32>(x.as_slice(), 16).unwrap(), [0.0; 16]);
        assert_eq!(driver.take_failures(), []);
    });
}

#[test]
fn a_matrix_library_without_kernels_for_the_gpu_gives_way_to_rocblas() {
    on("gfx942", &[("HIP_STAND_IN_LT", "empty")], |stand_in| {
        let driver = stand_in.open();
        assert_eq!(driver.gemm_library().unwrap(), "rocBLAS");
        let stream = driver.stream(1024).unwrap();
        let spec = GemmSpec::new(4, 4, 4, GemmPrecision::F32);
        driver
            .plan_gemm(&stream, spec, AlgorithmSelection::Heuristic)
            .unwrap();
    });
}

/// hipBLASLt also offers TF32 on RDNA 3, which lacks it.
#[test]
fn products_in_tf32_are_taken_only_where_the_gpu_has_them() {
    for (arch, has) in [("gfx942", true), ("gfx1100", false)] {
        on(arch, &[], |stand_in| {
            let driver = stand_in.open();
            let _stream = driver.stream(0).unwrap();
            let rounded = GemmSpec::new(32, 32, 32, GemmPrecision::Tf32);
            assert_eq!(driver.multiplies(&rounded).unwrap(), has);
        });
    }
}

#[test]
fn a_panic_while_capturing_ends_the_capture() {
    on("gfx90a", &[], |stand_in| {
        let driver = stand_in.open();
        let stream = driver.stream(0).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // SAFETY: the capture fails, so there is no graph.
            let graph: Result<Graph> = unsafe { stream.capture(|| panic!("on purpose")) };
            drop(graph);
        }));
        assert!(panicked.is_err());
        assert!(!stream.is_capturing());
        stream.synchronize().unwrap();
        assert_eq!(stand_in.count("hipStreamEndCapture"), 1);
    });
}

#[test]
fn captured_work_is_counted_apart_from_launches() {
    on("gfx90a", &[], |stand_in| {
        let driver = stand_in.open();
        let [stream, branch] = [driver.stream(0).unwrap(), driver.stream(0).unwrap()];
        let [fork, join] = [(); 2].map(|()| driver.ordering_event().unwrap());
        let x = driver.allocate(64).unwrap();
        stream.upload(x.as_slice(), &[1.0_f32; 16]).unwrap();
        let saxpy = saxpy(&driver);
        let arguments = [
            1.0_f32.into(),
            x.as_slice().into(),
            x.as_slice().into(),
            16_u32.into(),
        ];
        let doubled = |stream: &Stream| {
            // SAFETY: the arguments match the kernel's declaration; everything outlives the graph.
            unsafe { stream.launch(&saxpy, &LaunchSettings::linear(1, 16), &arguments) }
        };
        let before = driver.work();
        // SAFETY: everything outlives the graph.
        unsafe {
            let graph: Graph = stream
                .capture(|| -> Result<()> {
                    stream.record(&fork)?;
                    branch.wait(&fork)?;
                    assert!(branch.is_capturing());
                    doubled(&branch)?;
                    branch.record(&join)?;
                    stream.wait(&join)?;
                    doubled(&stream)
                })
                .unwrap();
            assert!(!branch.is_capturing());
            for _ in 0..3 {
                graph.launch(&stream).unwrap();
            }
        }
        stream.synchronize().unwrap();
        doubled(&branch).unwrap();
        branch.synchronize().unwrap();
        let expected = WorkCounts {
            kernels: before.kernels + 1,
            graphs: before.graphs + 3,
            captured: before.captured + 2,
            ..before
        };
        assert_eq!(driver.work(), expected);
        assert_eq!(expected.host_launches() - before.host_launches(), 4);
        // The kernels double the numbers seven times in all.
        assert_eq!(
            stream.download::<f32>(x.as_slice(), 16).unwrap(),
            [128.0; 16]
        );
        assert_eq!(stand_in.count("hipGraphLaunch"), 3);
    });
}

#[test]
fn a_full_device_says_how_much_was_asked_for() {
    on("gfx90a", &[("HIP_STAND_IN_MEMORY", "2")], |stand_in| {
        let driver = stand_in.open();
        let held = driver.allocate(3 << 19).unwrap();
        let error = driver.allocate(1 << 20).err().unwrap();
        assert_eq!(error.refusal(), ErrorClass::OutOfMemory);
        assert!(error.to_string().contains("1048576 bytes"), "{error}");
        assert_eq!(driver.memory_use().allocated, 3 << 19);
        drop(held);
        let memory = driver.memory_use();
        assert_eq!((memory.allocated, memory.peak), (0, 3 << 19));
    });
}

#[test]
fn ranges_past_the_end_are_refused() {
    on("gfx90a", &[], |stand_in| {
        let driver = stand_in.open();
        let stream = driver.stream(0).unwrap();
        let x = driver.allocate(64).unwrap();
        let half = x.slice(32, 32).unwrap();
        let mut pinned = driver.allocate_pinned::<f32>(4).unwrap();
        assert!(x.slice(60, 8).is_err());
        assert!(x.slice(usize::MAX, 8).is_err());
        assert!(half.slice(16, 32).is_err());
        assert!(stream.upload(half, &[0.0_f32; 9]).is_err());
        assert!(stream.download::<f32>(x.as_slice(), 17).is_err());
        assert!(pinned.write(&[0.0; 5]).is_err());
        let short = x.slice(0, 12).unwrap();
        // SAFETY: the call is refused.
        unsafe {
            assert!(stream.upload_pinned(short, &pinned).is_err());
        }
        stream.upload(x.as_slice(), &[1.5_f32; 16]).unwrap();
        let last = x.slice(60, 4).unwrap();
        assert_eq!(stream.download::<f32>(last, 1).unwrap(), [1.5]);
    });
}

#[test]
fn a_module_is_compiled_once_for_its_text_options_and_compiler() {
    on("gfx90a", &[], |stand_in| {
        let folder = tempfile::tempdir().unwrap();
        let compiled = |source: &SourceCode| {
            let before = stand_in.count("hiprtcCompileProgram");
            let cache = ModuleCache::new(folder.path());
            stand_in.open_with(Some(cache)).compile(source).unwrap();
            stand_in.count("hiprtcCompileProgram") - before
        };
        let source = |name: &str, kernel: &str| {
            SourceCode::new(
                name,
                format!("extern \"C\" __global__ void {kernel}() {{}}"),
            )
        };
        let first = source("a.cu", "f");
        assert_eq!(compiled(&first), 1);
        assert_eq!(compiled(&first), 0);
        for changed in [
            source("a.cu", "g"),
            source("b.cu", "f"),
            first.clone().define("BLOCK", 128),
            first.clone().define("BLOCK", 256),
        ] {
            assert_eq!(compiled(&changed), 1, "{changed:?}");
            assert_eq!(compiled(&changed), 0, "{changed:?}");
        }
        let driver = stand_in.open();
        let request = compile::CompileRequest::new(&first, driver.properties());
        assert_ne!(
            request.key("hiprtc of HIP 6.3.0"),
            request.key("hiprtc of HIP 6.4.0")
        );
        let damaged = folder.path().join(request.key("hiprtc of HIP 6.4.0"));
        assert!(damaged.exists());
        std::fs::write(damaged, b"not code").unwrap();
        assert_eq!(compiled(&first), 1, "a damaged file is compiled anew");
    });
}
