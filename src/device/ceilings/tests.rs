//! On the driver layer's recording double, whose work takes a known time, and on the CPU.

use super::super::driver::recording::Recording;
use super::super::driver::{Driver, DriverError, Precision, Vendor};
use super::super::{Backend, DeviceError, DeviceFacts};
use super::*;

/// Small, and content with the millisecond the double takes for everything but products.
const SMALL: gpu::Effort = gpu::Effort {
    repeats: 3,
    repeat_ms: 1.0,
    workspace: 1 << 10,
    sides: &[8, 4],
    candidates: 2,
    selection_seconds: 1.0,
    cold_bytes: 2 * gpu::CHUNK,
    launches: 10,
    waits: 5,
};

fn facts() -> DeviceFacts {
    DeviceFacts {
        backend: Backend::Cuda,
        name: "recording double".into(),
        arch: None,
        driver: None,
        memory: None,
    }
}

fn measure_on(driver: &Driver) -> Measured {
    gpu::measure(facts(), driver, &SMALL, &mut |_| {})
}

fn notes_of(measured: &Measured) -> String {
    measured.notes.join("\n")
}

fn near(values: &[f64], expected: f64) -> bool {
    values.len() == SMALL.repeats
        && values
            .iter()
            .all(|value| (value / expected - 1.0).abs() < 1e-3)
}

#[test]
fn rates_follow_from_the_time_the_device_took() {
    let (driver, recording) = Recording::open();
    recording.set_gemm_costs(&[2.0, 0.5]);
    let measured = measure_on(&driver);

    let cold = &measured.bandwidth[0];
    assert_eq!(cold.level, MemoryLevel::Cold);
    let copied = 2 * 2 * gpu::CHUNK;
    assert_eq!(cold.working_set, copied as u64);
    assert!(near(&cold.bytes_per_s, copied as f64 * 1e3), "{cold:?}");

    // 4 units of 2048 threads, four times over, each with 8 sums of 256 multiply-adds.
    let vector = &measured.compute[0];
    assert_eq!((vector.dtype, vector.unit), ("f32", ArithmeticUnit::Vector));
    let flops = 2.0 * (4 * 2048 * 4 * 8 * 256) as f64;
    assert!(near(&vector.flops_per_s, flops * 1e3), "{vector:?}");

    // The second algorithm is the faster one, and the larger side fits.
    let matrix: Vec<_> = measured.compute[1..].iter().collect();
    assert_eq!(
        matrix.iter().map(|rates| rates.dtype).collect::<Vec<_>>(),
        ["f32", "tf32", "bf16"]
    );
    for rates in matrix {
        assert_eq!(rates.unit, ArithmeticUnit::Matrix);
        assert!(near(&rates.flops_per_s, 2.0 * 512.0 / 0.5e-3), "{rates:?}");
        assert!(rates.how.starts_with("8 x 8 x 8"), "{}", rates.how);
    }

    let launch = measured.launch.as_ref().unwrap();
    assert!(launch.how.contains("every 1000.00 us"), "{}", launch.how);
    let synchronise = measured.synchronise.as_ref().unwrap();
    assert_eq!(synchronise.microseconds.len(), SMALL.waits);
    for latency in launch.microseconds.iter().chain(&synchronise.microseconds) {
        assert!(latency.is_finite() && *latency > 0.0);
    }
    // The double reports no cache.
    assert_eq!(measured.bandwidth.len(), 1);
    assert!(notes_of(&measured).contains("last cache is not reported"));

    drop(driver);
    recording.assert_clean();
}

#[test]
fn what_a_device_cannot_do_is_a_note_and_costs_nothing_else() {
    let (driver, recording) = Recording::open();
    recording.refuse_gemms(|spec| spec.precision == Precision::Tf32);
    let measured = measure_on(&driver);
    let dtypes: Vec<_> = measured.compute.iter().map(|rates| rates.dtype).collect();
    assert_eq!(dtypes, ["f32", "f32", "bf16"]);
    assert!(notes_of(&measured).contains("tf32 matrix products: "));
    drop(driver);
    recording.assert_clean();
}

#[test]
fn slow_products_are_measured_smaller() {
    let (driver, recording) = Recording::open();
    // 82 runs of each of two candidates would take more than the second there is.
    recording.set_gemm_costs(&[7.0, 7.0]);
    let measured = measure_on(&driver);
    for rates in &measured.compute[1..] {
        assert!(rates.how.starts_with("4 x 4 x 4"), "{}", rates.how);
        assert!(rates.how.contains("own choice"), "{}", rates.how);
    }
    assert_eq!(measured.compute.len(), 4);
    drop(driver);
    recording.assert_clean();
}

#[test]
fn a_failure_anywhere_leaves_nothing_behind() {
    let (driver, counted) = Recording::open();
    measure_on(&driver);
    drop(driver);
    let calls = [
        "create_stream",
        "create_event",
        "compile",
        "load_module",
        "function",
        "allocate",
        "launch",
        "record",
        "synchronize",
        "elapsed",
        "gemm_candidates",
        "gemm",
        "memory",
    ];
    for call in calls {
        let made = counted.count(call);
        assert!(made > 0, "{call} is not asked for");
        for successes in [0, made / 2, made - 1] {
            let (driver, recording) = Recording::open();
            recording.fail(call, successes, "CUDA_ERROR_UNKNOWN");
            let measured = measure_on(&driver);
            let whole = measured.compute.len() == 4 && measured.launch.is_some();
            // The choice of an algorithm gets over one that fails, and a handle is given back without asking.
            assert!(
                notes_of(&measured).contains("CUDA_ERROR_UNKNOWN") || whole,
                "{call} after {successes}: {measured:?}"
            );
            drop(driver);
            recording.assert_clean();
        }
    }
    let (driver, recording) = Recording::open();
    recording.fail("compile", 0, "CUDA_ERROR_UNKNOWN");
    assert!(measure_on(&driver).is_empty());
    drop(driver);
    recording.assert_clean();
}

#[test]
fn a_missing_device_is_an_error_of_the_environment() {
    let vendor = Vendor::Nvidia;
    let error = DriverError::NoSuchDevice {
        vendor,
        index: usize::MAX,
        count: 2,
    };
    assert_eq!(
        open::device_error(Backend::Cuda, 0, "first", error),
        DeviceError::NoSuchDevice {
            backend: Backend::Cuda,
            wanted: "first".into(),
            present: vec!["0".into(), "1".into()],
        }
    );
    let error = DriverError::Invalid("too old".into());
    let found = open::device_error(Backend::Rocm, 1, "1", error);
    assert!(matches!(found, DeviceError::CannotOpen { index: 1, .. }));
}

#[test]
fn the_cpu_is_plausible() {
    let effort = cpu::Effort {
        repeats: 21,
        repeat_seconds: 0.005,
        largest_side: 256,
        cold_bytes: 32 << 20,
    };
    let measured = cpu::measure(facts(), &effort, &mut |_| {});
    // Not how large: a machine that does other work measures anything.
    let plausible = |values: &[f64]| {
        assert_eq!(values.len(), effort.repeats);
        assert!(values.iter().all(|value| value.is_finite() && *value > 0.0));
    };
    assert_eq!(measured.compute.len(), 1);
    plausible(&measured.compute[0].flops_per_s);
    let [cold, warm] = &measured.bandwidth[..] else {
        panic!("{:?}", measured.bandwidth);
    };
    assert_eq!(
        (cold.level, warm.level),
        (MemoryLevel::Cold, MemoryLevel::Warm)
    );
    assert!(warm.working_set < cold.working_set);
    plausible(&cold.bytes_per_s);
    plausible(&warm.bytes_per_s);
    assert!(measured.launch.is_none() && measured.synchronise.is_none());
    assert!(notes_of(&measured).contains("launches"));
}
