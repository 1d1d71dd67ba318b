//! Trials of the vendor's matrix library, compared with products computed on the host in f64.

use half::bf16;

use super::reference::multiply;
use super::{DeviceFinding, Result, TrialBench, TrialOutcome, Trials, expect, numbers};
use crate::device::driver::{
    AlgorithmSelection, DeviceBuffer, DriverError, GemmOperands, GemmPrecision, GemmSpec,
    OutputType,
};
use tinyllama_base::statistics::relative_difference;

/// Algorithms tried for each product.
const SELECTION: AlgorithmSelection = AlgorithmSelection::Measured { candidates: 4 };

/// Elements before the first and after the last of `d`, which must not change.
const MARGIN: usize = 64;

/// A product, and the matrix that is added to it.
#[derive(Clone, Copy)]
struct ProductCase {
    spec: GemmSpec,
    alpha: f32,
    beta: f32,
    /// True if `c` and `d` are two matrices.
    apart: bool,
}

pub fn run_all<F: FnMut(&DeviceFinding)>(bench: &TrialBench<'_>, trials: &mut Trials<F>) {
    let library = bench.driver.gemm_library();
    let there = library.is_ok();
    trials.add("products", "the library", library.map(TrialOutcome::Passed));
    if !there {
        return;
    }
    for case in cases(bench.effort.unit) {
        let name = match (case.beta, case.apart) {
            (0.0, _) => case.spec.to_string(),
            (_, false) => format!("{}, added in place", case.spec),
            (_, true) => format!("{}, added to another matrix", case.spec),
        };
        let outcome = match agrees(bench, &case) {
            // Most AMD GPUs lack TF32. That is a result, and no failure of this layer.
            Err(DriverError::NoAlgorithm { .. }) if case.spec.precision == GemmPrecision::Tf32 => {
                Ok(TrialOutcome::Unsupported)
            }
            other => other,
        };
        trials.add("products", name, outcome);
    }
    let name = "a captured product equals the same product called";
    trials.add("products", name, captured(bench));
}

/// A product without an addition.
fn plain(spec: GemmSpec) -> ProductCase {
    ProductCase {
        spec,
        alpha: 1.0,
        beta: 0.0,
        apart: false,
    }
}

/// Returns cases whose sides are multiples of `unit`, except for intentionally odd ones.
fn cases(unit: usize) -> Vec<ProductCase> {
    let added = |spec, apart| ProductCase {
        beta: 1.0,
        apart,
        ..plain(spec)
    };
    let half_out = |spec: GemmSpec| spec.with_output(OutputType::Bf16);
    let mut cases = vec![];
    for precision in [GemmPrecision::F32, GemmPrecision::Tf32, GemmPrecision::Bf16] {
        let spec = GemmSpec::new(12 * unit, 20 * unit, 28 * unit, precision);
        cases.extend(
            [
                spec,
                spec.transpose_b(),
                spec.transpose_a(),
                spec.transpose_a().transpose_b(),
            ]
            .map(plain),
        );
    }
    let (m, n, k) = (4 * unit, 6 * unit, 8 * unit);
    let batch = GemmSpec::new(m, n, k, GemmPrecision::Bf16)
        .transpose_b()
        .batched(3, m * k, n * k, m * n);
    let shared_b = GemmSpec::new(m, n, k, GemmPrecision::F32).batched(3, m * k, 0, m * n);
    // The middle third of a fused [q, k, v].
    let mut part = GemmSpec::new(64, 32, 128, GemmPrecision::F32);
    (part.b.row_stride, part.d.row_stride) = (96, 96);
    let square = |precision| GemmSpec::new(16 * unit, 16 * unit, 16 * unit, precision);
    cases.extend([
        plain(GemmSpec::new(7, 129, 33, GemmPrecision::F32)),
        plain(GemmSpec::new(7, 136, 40, GemmPrecision::Bf16).transpose_b()),
        ProductCase {
            alpha: 0.5,
            ..plain(batch)
        },
        added(shared_b, false),
        plain(part),
        added(square(GemmPrecision::F32), false),
        added(square(GemmPrecision::Bf16), true),
        plain(half_out(square(GemmPrecision::Bf16))),
        added(half_out(square(GemmPrecision::Bf16)), true),
        plain(half_out(batch)),
    ]);
    cases
}

/// A matrix on the device, and its initial numbers.
struct TestMatrix {
    numbers: Vec<f32>,
    place: DeviceBuffer,
    element: OutputType,
}

impl TestMatrix {
    /// Creates random numbers, rounded to the stored type.
    fn random(
        bench: &TrialBench<'_>,
        seed: u64,
        count: usize,
        element: OutputType,
    ) -> Result<Self> {
        let numbers = numbers(seed, count);
        let halves: Vec<u16> = numbers
            .iter()
            .map(|number| bf16::from_f32(*number).to_bits())
            .collect();
        Ok(match element {
            OutputType::F32 => TestMatrix {
                place: bench.place(&numbers)?,
                numbers,
                element,
            },
            OutputType::Bf16 => TestMatrix {
                place: bench.place(&halves)?,
                numbers: halves.into_iter().map(value).collect(),
                element,
            },
        })
    }

    /// Returns the current content.
    fn read(&self, bench: &TrialBench<'_>) -> Result<Vec<f64>> {
        let numbers = match self.element {
            OutputType::F32 => bench.read(&self.place)?,
            OutputType::Bf16 => {
                let halves: Vec<u16> = bench.read(&self.place)?;
                halves.into_iter().map(value).collect()
            }
        };
        Ok(numbers.into_iter().map(f64::from).collect())
    }
}

/// Returns the value of a bf16.
fn value(bits: u16) -> f32 {
    bf16::from_bits(bits).to_f32()
}

/// The matrices of a product. `c` and `d` have a margin.
struct Matrices {
    a: TestMatrix,
    b: TestMatrix,
    c: TestMatrix,
    /// `None` if `d` is the same matrix as `c`.
    d: Option<TestMatrix>,
}

impl Matrices {
    fn random(bench: &TrialBench<'_>, case: &ProductCase) -> Result<Self> {
        let spec = &case.spec;
        let [a, b, d] = spec.bytes();
        let (element, size) = (spec.precision.stored(), spec.precision.element_bytes());
        let sum = |seed| {
            let count = d / spec.output.element_bytes() + 2 * MARGIN;
            TestMatrix::random(bench, seed, count, spec.output)
        };
        Ok(Matrices {
            a: TestMatrix::random(bench, 11, a / size, element)?,
            b: TestMatrix::random(bench, 12, b / size, element)?,
            c: sum(13)?,
            d: case.apart.then(|| sum(14)).transpose()?,
        })
    }

    /// Returns the matrix that is written.
    fn d(&self) -> &TestMatrix {
        self.d.as_ref().unwrap_or(&self.c)
    }

    fn operands(&self, case: &ProductCase) -> GemmOperands {
        let margin = MARGIN * case.spec.output.element_bytes();
        GemmOperands {
            alpha: case.alpha,
            a: self.a.place.address(),
            b: self.b.place.address(),
            beta: case.beta,
            c: self.c.place.address().offset(margin),
            d: self.d().place.address().offset(margin),
        }
    }
}

/// Returns the largest allowed ‖a - b‖ / ‖b‖. Rounding an operand to 10 bits of mantissa (TF32) gives about 3e-4,
/// storing bf16 about 2e-3; sums of f32 stay within 1e-6.
fn tolerance(spec: &GemmSpec) -> f64 {
    match (spec.precision, spec.output) {
        (_, OutputType::Bf16) => 4e-3,
        (GemmPrecision::Tf32, _) => 1e-3,
        (GemmPrecision::F32 | GemmPrecision::Bf16, OutputType::F32) => 2e-6,
    }
}

/// Runs a product and compares it with the host's.
fn agrees(bench: &TrialBench<'_>, case: &ProductCase) -> Result<TrialOutcome> {
    let spec = &case.spec;
    let plan = bench.driver.plan_gemm(&bench.stream, *spec, SELECTION)?;
    let matrices = Matrices::random(bench, case)?;
    // SAFETY: the buffers have the product's sizes, and reading waits.
    unsafe { plan.run(&bench.stream, &matrices.operands(case))? };
    let found = matrices.d().read(bench)?;
    let (c, before) = (&matrices.c.numbers, &matrices.d().numbers);
    let inner = MARGIN..c.len() - MARGIN;
    let (a, b) = (&matrices.a.numbers, &matrices.b.numbers);
    let Some(expected) = multiply(spec, case.alpha, a, b, case.beta, &c[inner.clone()]) else {
        return expect(false, "the reference does not fit the product".into());
    };
    let difference = relative_difference(&found[inner.clone()], &expected);
    let outside = |place: &usize| !inner.contains(place);
    let kept = (0..found.len())
        .filter(outside)
        .all(|place| found[place] == f64::from(before[place]));
    let unchanged = matrices.d.is_none()
        || matrices
            .c
            .read(bench)?
            .iter()
            .zip(c)
            .all(|(now, then)| *now == f64::from(*then));
    let time = plan
        .measured_microseconds
        .map(|time| format!(", {time:.2} us"))
        .unwrap_or_default();
    let wrote = match (kept, unchanged) {
        (false, _) => "; wrote outside of its matrix",
        (true, false) => "; changed the matrix it adds",
        (true, true) => "",
    };
    let launches = plan.contents.kernels;
    expect(
        difference <= tolerance(spec) && kept && unchanged && launches >= 1,
        format!("differs by {difference:.1e}{time}, launches: {launches}{wrote}"),
    )
}

fn captured(bench: &TrialBench<'_>) -> Result<TrialOutcome> {
    let side = 32 * bench.effort.unit;
    let case = plain(GemmSpec::new(side, side, side, GemmPrecision::F32).transpose_b());
    let plan = bench
        .driver
        .plan_gemm(&bench.stream, case.spec, AlgorithmSelection::Heuristic)?;
    let matrices = Matrices::random(bench, &case)?;
    let operands = matrices.operands(&case);
    // SAFETY: the buffers have the product's sizes, reading waits, and the graph is dropped before them.
    unsafe {
        plan.run(&bench.stream, &operands)?;
        let called = matrices.c.read(bench)?;
        bench.stream.clear(matrices.c.place.as_slice())?;
        let graph = bench
            .stream
            .capture(|| plan.run(&bench.stream, &operands))?;
        graph.launch(&bench.stream)?;
        let replayed = matrices.c.read(bench)?;
        let inner = MARGIN..called.len() - MARGIN;
        let same = called[inner.clone()] == replayed[inner];
        expect(
            same && called.iter().all(|number| number.is_finite()),
            format!("launches in the graph: {}", graph.contents.kernels),
        )
    }
}
