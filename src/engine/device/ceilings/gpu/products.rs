//! Measures large matrix products by the vendor's library.

use super::super::super::driver::{
    AlgorithmSelection, DeviceModule, DriverError, GemmOperands, GemmPlan, GemmPrecision, GemmSpec,
    OutputType,
};
use super::super::{ComputeCeiling, ComputeUnit};
use super::{CeilingBench, Result, per_second};

/// Runs per candidate while the driver layer chooses: four rounds of twenty, and one or two that load the code.
const RUNS_OF_A_CANDIDATE: f64 = 82.0;

/// Measures the largest side that fits, with the best algorithm that the time allows to find.
pub(super) fn measure(
    bench: &CeilingBench<'_>,
    module: &DeviceModule,
    precision: GemmPrecision,
) -> Result<ComputeCeiling> {
    let free = bench.driver.device_memory()?.free;
    let mut last = None;
    for &side in bench.effort.sides {
        let spec = spec(side, precision);
        // Counts our operands and the ones for choosing the algorithm; the factor leaves the same again for other processes.
        let bytes: usize = spec.bytes().iter().sum();
        if bytes as u64 > free / 4 {
            continue;
        }
        match measure_one(bench, module, spec, side == smallest(bench))? {
            Some(rates) => return Ok(rates),
            None => last = Some(side),
        }
    }
    Err(DriverError::Invalid(match last {
        Some(side) => format!("only matrices smaller than {side} would finish in time"),
        None => "not enough free memory for the matrices".into(),
    }))
}

fn smallest(bench: &CeilingBench<'_>) -> usize {
    bench.effort.sides.iter().copied().min().unwrap_or(0)
}

/// Both operands have the summed index innermost, like a layer's input and its weight.
fn spec(side: usize, precision: GemmPrecision) -> GemmSpec {
    let spec = GemmSpec::new(side, side, side, precision).transpose_b();
    match precision {
        GemmPrecision::Bf16 => spec.with_output(OutputType::Bf16),
        GemmPrecision::F32 | GemmPrecision::Tf32 => spec,
    }
}

/// Returns `None` if the time does not suffice to choose between two algorithms. With `settle` it takes the library's
/// favourite.
fn measure_one(
    bench: &CeilingBench<'_>,
    module: &DeviceModule,
    spec: GemmSpec,
    settle: bool,
) -> Result<Option<ComputeCeiling>> {
    let driver = bench.driver;
    let favourite = driver.plan_gemm(&bench.stream, spec, AlgorithmSelection::Heuristic)?;
    let [a, b, d] = spec.bytes();
    let [a, b, d] = [
        driver.allocate(a)?,
        driver.allocate(b)?,
        driver.allocate(d)?,
    ];
    let halves = spec.precision == GemmPrecision::Bf16;
    bench.fill_random(module, a.as_slice(), halves)?;
    bench.fill_random(module, b.as_slice(), halves)?;
    let operands = GemmOperands::product(a.address(), b.address(), d.address());
    // SAFETY: the buffers have the product's sizes, and `timed` waits before they are freed.
    let multiply = |plan: &GemmPlan, runs: u32| unsafe {
        (0..runs).try_for_each(|_| plan.run(&bench.stream, &operands))
    };
    let ms = bench.timed(|| multiply(&favourite, 1))?;
    let affordable = bench.effort.selection_seconds * 1e3 / (ms * RUNS_OF_A_CANDIDATE);
    let candidates = bench.effort.candidates.min(affordable as usize);
    if candidates < 2 && !settle {
        return Ok(None);
    }
    let (plan, chosen) = if candidates < 2 {
        (
            favourite,
            "the library's own choice of algorithm".to_string(),
        )
    } else {
        let selection = AlgorithmSelection::Measured { candidates };
        let plan = driver.plan_gemm(&bench.stream, spec, selection)?;
        (
            plan,
            format!("the fastest of up to {candidates} algorithms"),
        )
    };
    let passes = bench.sample(u32::MAX, |passes| multiply(&plan, passes))?;
    Ok(Some(ComputeCeiling {
        dtype: spec.precision.to_string(),
        unit: ComputeUnit::Matrix,
        flops_per_s: per_second(spec.flops() as f64, &passes)?,
        how: format!(
            "{0} x {0} x {0} by {1}, {chosen}, random operands",
            spec.m,
            driver.gemm_library()?
        ),
    }))
}
