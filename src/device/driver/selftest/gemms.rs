//! Trials of the vendor's matrix library, against products computed on the host in f64.

use super::super::reference::{self, relative_difference};
use super::super::{
    Buffer, DriverError, GemmOperands, GemmPlan, GemmSpec, OutputType, Precision, Selection,
};
use super::{Attempt, Bench, Outcome, Result, expect, numbers};

/// Algorithms tried for each product.
const CANDIDATES: usize = 4;
/// Sides are multiples of this, in elements. Small on the tests' double, which multiplies on the host, unoptimised.
const UNIT: usize = if cfg!(test) { 1 } else { 8 };

pub(super) fn try_all(bench: &Bench<'_>, attempt: &mut Attempt<'_>) {
    let library = bench.driver.gemm_library();
    let there = library.is_ok();
    attempt("the matrix library".into(), library.map(Ok));
    if !there {
        return;
    }
    for precision in [Precision::F32, Precision::Tf32, Precision::Bf16] {
        for [transpose_a, transpose_b] in
            [[false, false], [false, true], [true, false], [true, true]]
        {
            let spec = transposed(
                GemmSpec::new(12 * UNIT, 20 * UNIT, 28 * UNIT, precision),
                transpose_a,
                transpose_b,
            );
            attempt(spec.to_string(), agrees(bench, spec, 1.0, 0.0, false));
        }
    }
    for (spec, alpha, beta, apart) in special_cases() {
        let name = match (beta, apart) {
            (0.0, _) => spec.to_string(),
            (_, false) => format!("{spec}, added in place"),
            (_, true) => format!("{spec}, added to another matrix"),
        };
        attempt(name, agrees(bench, spec, alpha, beta, apart));
    }
    attempt(
        "a captured product equals the same product called".into(),
        captured(bench),
    );
}

fn transposed(spec: GemmSpec, a: bool, b: bool) -> GemmSpec {
    let spec = if a { spec.transpose_a() } else { spec };
    if b { spec.transpose_b() } else { spec }
}

/// (product, alpha, beta, whether c and d are two matrices)
fn special_cases() -> Vec<(GemmSpec, f32, f32, bool)> {
    let odd = GemmSpec::new(7, 129, 33, Precision::F32);
    let odd_half = GemmSpec::new(7, 136, 40, Precision::Bf16).transpose_b();
    let (m, n, k) = (4 * UNIT, 6 * UNIT, 8 * UNIT);
    let batch = GemmSpec::new(m, n, k, Precision::Bf16)
        .transpose_b()
        .batched(3, m * k, n * k, m * n);
    let shared_b = GemmSpec::new(m, n, k, Precision::F32).batched(3, m * k, 0, m * n);
    // The middle third of a fused [q, k, v].
    let part = GemmSpec::new(64, 32, 128, Precision::F32).with_row_strides(128, 96, 96);
    let square = |precision| GemmSpec::new(16 * UNIT, 16 * UNIT, 16 * UNIT, precision);
    let half_out = |spec: GemmSpec| spec.with_output(OutputType::Bf16);
    vec![
        (odd, 1.0, 0.0, false),
        (odd_half, 1.0, 0.0, false),
        (batch, 0.5, 0.0, false),
        (shared_b, 1.0, 1.0, false),
        (part, 1.0, 0.0, false),
        (square(Precision::F32), 1.0, 1.0, false),
        (square(Precision::Bf16), 1.0, 1.0, true),
        (half_out(square(Precision::Bf16)), 1.0, 0.0, false),
        (half_out(square(Precision::Bf16)), 1.0, 1.0, true),
        (half_out(batch), 1.0, 0.0, false),
    ]
}

/// Elements before the first and after the last of `d`, which must stay as they are.
const MARGIN: usize = 64;

/// A product's operands on the device and on the host, as stored.
struct Operands {
    host_a: Vec<f32>,
    host_b: Vec<f32>,
    host_c: Vec<f32>,
    a: Buffer,
    b: Buffer,
    c: Buffer,
}

impl Operands {
    fn new(bench: &Bench<'_>, spec: &GemmSpec) -> Result<Self> {
        let [a, b, c] = spec.bytes();
        let input = spec.precision.element_bytes();
        let output = spec.output.element_bytes();
        let half_out = spec.output == OutputType::Bf16;
        let random = |seed, count: usize, half| -> Vec<f32> {
            let round = |number| {
                if half {
                    reference::stored(number, Precision::Bf16)
                } else {
                    number
                }
            };
            numbers(seed, count).into_iter().map(round).collect()
        };
        let half_in = spec.precision == Precision::Bf16;
        let host_a = random(11, a / input, half_in);
        let host_b = random(12, b / input, half_in);
        let host_c = random(13, c / output + 2 * MARGIN, half_out);
        Ok(Operands {
            a: bench.device(&host_a, half_in)?,
            b: bench.device(&host_b, half_in)?,
            c: bench.device(&host_c, half_out)?,
            host_a,
            host_b,
            host_c,
        })
    }
}

impl Bench<'_> {
    /// A buffer with these numbers, as bf16 where `half`.
    fn device(&self, numbers: &[f32], half: bool) -> Result<Buffer> {
        let buffer = self
            .driver
            .allocate(numbers.len() * if half { 2 } else { 4 })?;
        if half {
            let halves: Vec<u16> = numbers
                .iter()
                .map(|number| reference::to_bf16(*number))
                .collect();
            self.stream.upload(buffer.whole(), &halves)?;
        } else {
            self.stream.upload(buffer.whole(), numbers)?;
        }
        Ok(buffer)
    }

    fn host(&self, buffer: &Buffer, half: bool) -> Result<Vec<f64>> {
        if half {
            let halves: Vec<u16> = self.stream.download(buffer.whole(), buffer.bytes() / 2)?;
            return Ok(halves
                .into_iter()
                .map(|half| f64::from(reference::from_bf16(half)))
                .collect());
        }
        let numbers: Vec<f32> = self.stream.download(buffer.whole(), buffer.bytes() / 4)?;
        Ok(numbers.into_iter().map(f64::from).collect())
    }
}

/// Largest ‖a - b‖ / ‖b‖ allowed. Rounding an operand to 10 bits of mantissa (TF32) gives about 3e-4, storing bf16 about
/// 2e-3; sums of f32 stay within 1e-6.
fn tolerance(spec: &GemmSpec) -> f64 {
    match (spec.precision, spec.output) {
        (_, OutputType::Bf16) => 4e-3,
        (Precision::Tf32, _) => 1e-3,
        (Precision::F32 | Precision::Bf16, OutputType::F32) => 2e-6,
    }
}

/// Runs `spec` and compares with the host. `apart` writes to another matrix than it adds.
fn agrees(
    bench: &Bench<'_>,
    spec: GemmSpec,
    alpha: f32,
    beta: f32,
    apart: bool,
) -> Result<Outcome> {
    let plan = match bench.driver.plan_gemm(
        &bench.stream,
        spec,
        Selection::Measured {
            candidates: CANDIDATES,
        },
    ) {
        // TF32 is what most AMD GPUs do not have: an answer, and no failure of this layer.
        Err(DriverError::NoAlgorithm { .. }) if spec.precision == Precision::Tf32 => {
            return Ok(Ok("not on this device".into()));
        }
        other => other?,
    };
    let operands = Operands::new(bench, &spec)?;
    let half = spec.output == OutputType::Bf16;
    let d = if apart {
        bench.device(&operands.host_c, half)?
    } else {
        bench.device(&[0.0], false)?
    };
    let margin = MARGIN * spec.output.element_bytes();
    let c_address = operands.c.address().offset(margin);
    let addresses = GemmOperands {
        alpha,
        a: operands.a.address(),
        b: operands.b.address(),
        beta,
        c: c_address,
        d: if apart {
            d.address().offset(margin)
        } else {
            c_address
        },
    };
    // SAFETY: the buffers are as long as the product asks, and the download waits.
    unsafe { plan.run(&bench.stream, &addresses)? };
    let found = bench.host(if apart { &d } else { &operands.c }, half)?;
    let untouched_c = !apart
        || bench.host(&operands.c, half)?
            == operands
                .host_c
                .iter()
                .map(|c| f64::from(*c))
                .collect::<Vec<_>>();
    Ok(judge(
        &spec,
        &plan,
        &operands,
        alpha,
        beta,
        &found,
        untouched_c,
    ))
}

fn judge(
    spec: &GemmSpec,
    plan: &GemmPlan,
    operands: &Operands,
    alpha: f32,
    beta: f32,
    found: &[f64],
    untouched_c: bool,
) -> Outcome {
    let inner = MARGIN..operands.host_c.len() - MARGIN;
    let c = &operands.host_c[inner.clone()];
    let expected = reference::multiply(spec, alpha, &operands.host_a, &operands.host_b, beta, c)
        .ok_or("the reference does not fit the product")?;
    let difference = relative_difference(&found[inner.clone()], &expected);
    let outside = (0..found.len()).filter(|place| !inner.contains(place));
    let kept = outside
        .into_iter()
        .all(|place| found[place] == f64::from(operands.host_c[place]));
    let time = plan
        .measured_microseconds()
        .map(|time| format!(", {time:.2} us"))
        .unwrap_or_default();
    let kernels = plan.contents().kernels;
    expect(
        difference <= tolerance(spec) && kept && untouched_c && kernels >= 1,
        format!(
            "differs by {difference:.1e}{time}, {kernels} kernel{}{}{}",
            if kernels == 1 { "" } else { "s" },
            if kept {
                ""
            } else {
                "; wrote outside of its matrix"
            },
            if untouched_c {
                ""
            } else {
                "; changed the matrix it adds"
            },
        ),
    )
}

fn captured(bench: &Bench<'_>) -> Result<Outcome> {
    let spec = GemmSpec::new(32 * UNIT, 32 * UNIT, 32 * UNIT, Precision::F32).transpose_b();
    let plan = bench
        .driver
        .plan_gemm(&bench.stream, spec, Selection::Heuristic)?;
    let operands = Operands::new(bench, &spec)?;
    let addresses = GemmOperands {
        alpha: 1.0,
        a: operands.a.address(),
        b: operands.b.address(),
        beta: 0.0,
        c: operands.c.address(),
        d: operands.c.address(),
    };
    // SAFETY: the buffers are as long as the product asks, the downloads wait, and the graph goes before them.
    unsafe {
        plan.run(&bench.stream, &addresses)?;
        let called = bench.host(&operands.c, false)?;
        bench.stream.clear(operands.c.whole())?;
        let graph = bench
            .stream
            .capture(|| plan.run(&bench.stream, &addresses))?;
        graph.launch(&bench.stream)?;
        let replayed = bench.host(&operands.c, false)?;
        let elements = spec.m * spec.n;
        Ok(expect(
            called[..elements] == replayed[..elements]
                && called.iter().all(|number| number.is_finite()),
            format!("{} kernels in the graph", graph.contents().kernels),
        ))
    }
}
