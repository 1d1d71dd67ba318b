//! Tests on the CPU and on the stand-in for HIP, where every piece of work takes a millisecond.

use super::super::driver::tests::stand_in::{StandIn, on};
use super::*;

/// A small extent of measurement, with repeats of a millisecond.
const SMALL: gpu::GpuEffort = gpu::GpuEffort {
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

/// A device with one compute unit, an unreported cache size and no tf32.
const SETTINGS: [(&str, &str); 4] = [
    ("HIP_STAND_IN_CLOCK", "1"),
    ("HIP_STAND_IN_UNITS", "1"),
    ("HIP_STAND_IN_L2", "0"),
    ("HIP_STAND_IN_CHECK", "none"),
];

fn measured_on(stand_in: &StandIn, effort: &gpu::GpuEffort) -> DeviceCeilings {
    let driver = stand_in.open();
    let measured = gpu::measure(&driver, effort, &mut |_| {});
    assert_eq!(driver.memory_use().allocated, 0);
    measured
}

fn notes_of(measured: &DeviceCeilings) -> String {
    measured.notes.join("\n")
}

fn is_near(rate: &Sampled, expected: f64) -> bool {
    rate.repeats == SMALL.repeats
        && [rate.median, rate.p10, rate.p90]
            .iter()
            .all(|value| (value / expected - 1.0).abs() < 1e-3)
}

#[test]
fn rates_follow_from_the_time_the_device_took() {
    on("gfx90a", &SETTINGS, |stand_in| {
        let measured = measured_on(stand_in, &SMALL);
        assert_eq!(measured.facts.arch.as_deref(), Some("gfx90a"));

        let cold = &measured.bandwidth[0];
        assert_eq!(cold.level, Level::Cold);
        let copied = 2 * 2 * gpu::CHUNK;
        assert_eq!(cold.working_set, copied as u64);
        assert!(is_near(&cold.bytes_per_s, copied as f64 * 1e3), "{cold:?}");

        // One unit of 2048 threads, four times, each thread with 16 sums of 256 multiply-adds.
        let vector = &measured.compute[0];
        assert_eq!(
            (&vector.dtype[..], vector.unit),
            ("f32", ComputeUnit::Vector)
        );
        let flops = 2.0 * (2048 * 4 * 16 * 256) as f64;
        assert!(is_near(&vector.flops_per_s, flops * 1e3), "{vector:?}");

        // The library's other algorithm needs two kernels, and the larger side fits.
        let matrix = &measured.compute[1..];
        let dtypes: Vec<_> = matrix.iter().map(|rates| &rates.dtype[..]).collect();
        assert_eq!(dtypes, ["f32", "bf16"]);
        for rates in matrix {
            assert_eq!(rates.unit, ComputeUnit::Matrix);
            assert!(is_near(&rates.flops_per_s, 2.0 * 512.0 * 1e3), "{rates:?}");
        }
        let how: Vec<_> = matrix.iter().map(|rates| &rates.how).collect();
        insta::assert_snapshot!(how[0], @"8 x 8 x 8 by hipBLASLt 1.0.0, the fastest of up to 2 algorithms, random operands");
        assert_eq!(how[0], how[1]);

        let launch = measured.launch.as_ref().unwrap();
        assert!(launch.how.contains("every 1000.00 us"), "{}", launch.how);
        let synchronise = measured.synchronise.as_ref().unwrap();
        assert_eq!(synchronise.microseconds.repeats, SMALL.waits);
        for latency in [launch, synchronise] {
            let median = latency.microseconds.median;
            assert!(median.is_finite() && median > 0.0);
        }
        // A missing feature becomes a note and affects nothing else.
        assert_eq!(measured.bandwidth.len(), 1);
        let notes = notes_of(&measured);
        insta::assert_snapshot!(notes, @"
        copies: the size of the last cache is not reported, so nothing can be said to stay in it
        tf32 matrix products: hipBLASLt 1.0.0 has no algorithm for tf32 8x8x8 (a bT)
        ");
    });
}

#[test]
fn slow_products_are_measured_smaller() {
    on("gfx90a", &SETTINGS, |stand_in| {
        // 82 runs of each of two candidates would take longer than the limit.
        let effort = gpu::GpuEffort {
            selection_seconds: 0.15,
            ..SMALL
        };
        let measured = measured_on(stand_in, &effort);
        assert_eq!(measured.compute.len(), 3);
        for rates in &measured.compute[1..] {
            assert!(rates.how.starts_with("4 x 4 x 4"), "{}", rates.how);
            assert!(rates.how.contains("own choice"), "{}", rates.how);
        }
    });
}

#[test]
fn a_failure_anywhere_leaves_nothing_behind() {
    // The call fails at its first and at a later use.
    for failing in [
        "hipStreamCreateWithFlags#1=1",
        "hipEventCreateWithFlags#1=1",
        "hipEventCreateWithFlags#5=1",
        "hiprtcCompileProgram=6",
        "hipModuleLoadData=1",
        "hipModuleGetFunction#2=1",
        "hipMalloc#1=2",
        "hipMalloc#4=2",
        "hipModuleLaunchKernel#1=719",
        "hipModuleLaunchKernel#40=719",
        "hipEventRecord#7=1",
        "hipStreamSynchronize#9=719",
        "hipEventElapsedTime#2=1",
        "hipblasLtMatmulAlgoGetHeuristic#1=6",
        "hipblasLtMatmul#1=6",
        "hipblasLtMatmul#30=6",
        "hipMemGetInfo#1=1",
    ] {
        let settings = [&SETTINGS[..], &[("HIP_STAND_IN_FAIL", failing)]].concat();
        on("gfx90a", &settings, |stand_in| {
            let measured = measured_on(stand_in, &SMALL);
            let notes = notes_of(&measured);
            let told = ["hipError", "HIPRTC_ERROR", "HIPBLAS_STATUS"]
                .iter()
                .any(|name| notes.contains(name));
            // Choosing an algorithm skips one that fails.
            let whole = measured.compute.len() == 3 && measured.launch.is_some();
            assert!(told || whole, "{measured:?}");
            let nothing = notes.starts_with("nothing was measured");
            assert_eq!(measured.is_empty(), nothing, "{measured:?}");
            let needed = ["hipStreamCreate", "hiprtc", "hipModuleLoad"];
            let needed = needed.iter().any(|call| failing.starts_with(call));
            assert!(nothing || !needed, "{measured:?}");
        });
    }
}

#[test]
fn the_cpu_is_plausible() {
    let effort = cpu::CpuEffort {
        repeats: 21,
        repeat_seconds: 0.005,
        largest_side: 256,
        cold_bytes: 32 << 20,
    };
    let measured = cpu::measure(cpu_facts(), &effort, &mut |_| {});
    // The size is not checked: on a machine with other load any figure is possible.
    let plausible = |rate: &Sampled| {
        assert_eq!(rate.repeats, effort.repeats);
        assert!(rate.p10 > 0.0 && rate.p90.is_finite());
    };
    assert_eq!(measured.compute.len(), 1);
    plausible(&measured.compute[0].flops_per_s);
    let [cold, warm] = &measured.bandwidth[..] else {
        panic!("{:?}", measured.bandwidth);
    };
    assert_eq!((cold.level, warm.level), (Level::Cold, Level::Warm));
    assert!(warm.working_set < cold.working_set);
    plausible(&cold.bytes_per_s);
    plausible(&warm.bytes_per_s);
    assert!(measured.launch.is_none() && measured.synchronise.is_none());
    assert!(notes_of(&measured).contains("launches"));
}
