//! Compares the kernels' forms on a CPU with their references, on awkward shapes.

use tinyllama_kernel_catalog::adamw::{Factors, Hyperparameters};
use tinyllama_kernel_catalog::check::{Random, relative_error};
use tinyllama_kernel_catalog::flash_attention::{AttentionShape, reference as attention_reference};
use tinyllama_kernel_catalog::matmul::{Layout, MatmulShape};
use tinyllama_kernel_catalog::rope::RopeShape;
use tinyllama_kernel_catalog::swiglu_naive::SwigluNaiveShape;
use tinyllama_kernel_catalog::{
    self as catalog, KernelDescriptor, adamw as adamw_catalog, cross_entropy as loss_catalog,
    rope as rope_catalog,
};

use super::OutputCheck;
use crate::adamw::host::HostParameters;
use crate::flash_attention::host::{HeadValues, SavedAttention};
use crate::host::matrix::{View, multiply_on_all_cores};
use crate::rmsnorm::host::{NormRows, SavedNorm};
use crate::swiglu_naive::host::NaiveOutput;
use crate::{adamw, cross_entropy, flash_attention, rope, swiglu, swiglu_naive};

/// The largest relative l2 distance that rounding explains: about a hundred times the error of one rounding in f32.
const TOLERANCE: f64 = 1e-5;

/// Base of the angles of [`rope`].
const THETA: f64 = 10_000.0;

/// Compares every pass of a kernel with its reference on new inputs. A kernel without a form on a CPU has no comparison.
pub fn check_on_cpu(kernel: &KernelDescriptor, seed: u64) -> Vec<OutputCheck> {
    let mut trial = HostTrial {
        kernel: kernel.name,
        random: Random::new(seed),
        case: String::new(),
        checks: Vec::new(),
    };
    match kernel.name {
        "rmsnorm" => rmsnorm(&mut trial),
        "rope" => rotation(&mut trial),
        "flash_attention" => attention(&mut trial),
        "swiglu" => activation(&mut trial),
        "swiglu_naive" => naive_activation(&mut trial),
        "cross_entropy" => loss(&mut trial),
        "adamw" => update(&mut trial),
        "matmul" => product(&mut trial),
        _ => {}
    }
    trial.checks
}

/// Draws inputs of one kernel and collects its comparisons.
struct HostTrial {
    kernel: &'static str,
    random: Random,
    /// The shape, as text.
    case: String,
    checks: Vec<OutputCheck>,
}

/// Inputs as the kernel and as the reference read them.
struct Input {
    f32: Vec<f32>,
    f64: Vec<f64>,
}

impl HostTrial {
    /// Draws `count` values within 1 of `center`.
    fn input_around(&mut self, center: f64, count: usize) -> Input {
        let drawn = self.random.uniforms(count).into_iter();
        let values: Vec<f32> = drawn.map(|value| (value + center) as f32).collect();
        Input {
            f64: values.iter().copied().map(f64::from).collect(),
            f32: values,
        }
    }

    fn input(&mut self, count: usize) -> Input {
        self.input_around(0.0, count)
    }

    fn compare(&mut self, output: &'static str, actual: &[f32], expected: &[f64]) {
        let actual: Vec<f64> = actual.iter().copied().map(f64::from).collect();
        self.checks.push(OutputCheck {
            kernel: self.kernel,
            output,
            case: self.case.clone(),
            error: relative_error(&actual, expected),
            tolerance: TOLERANCE,
        });
    }
}

/// Creates an output whose values a kernel has to write.
fn output(count: usize) -> Vec<f32> {
    vec![f32::NAN; count]
}

fn product(trial: &mut HostTrial) {
    for [m, n, k] in [[1, 1, 1], [7, 3, 5], [130, 257, 300]] {
        for transposed in [[false, false], [false, true], [true, false]] {
            trial.case = format!("{m}x{n}x{k}, transposed {transposed:?}");
            let [a, b] = [m * k, k * n].map(|count| trial.input(count));
            let sides = [[m, k], [k, n]];
            let layouts = [0, 1].map(|at| Layout::dense(sides[at], transposed[at]));
            let view = |values, layout: Layout| match View::rows(values, layout.stride) {
                view if layout.transposed => view.transposed(),
                view => view,
            };
            let (a_view, b_view) = (view(&a.f32, layouts[0]), view(&b.f32, layouts[1]));
            let mut y = output(m * n);
            multiply_on_all_cores([m, n, k], 1.0, a_view, b_view, &mut y, false);
            let shape = MatmulShape { m, n, k };
            let expected = catalog::matmul::reference([&a.f64, &b.f64], layouts, shape);
            trial.compare("y", &y, &expected);
        }
    }
}

fn rmsnorm(trial: &mut HostTrial) {
    for (rows, width, epsilon) in [(1, 1, 0.5), (7, 3, 1e-5), (129, 96, 1e-5), (7, 777, 1e-5)] {
        trial.case = format!("{rows}x{width}");
        let [x, dy] = [(); 2].map(|()| trial.input(rows * width));
        let weight = trial.input(width);
        let norm = NormRows { width, epsilon };
        let (mut y, mut scale) = (output(rows * width), output(rows));
        norm.forward(&x.f32, &weight.f32, &mut y, &mut scale);
        let epsilon = f64::from(epsilon);
        let expected = catalog::rmsnorm::reference_forward(&x.f64, &weight.f64, epsilon);
        trial.compare("y", &y, &expected);
        let (mut dx, mut dw) = (output(rows * width), output(width));
        let per_partial = 5;
        let mut partials = output(rows.div_ceil(per_partial) * width);
        let saved = SavedNorm {
            y_gradient: &dy.f32,
            x: &x.f32,
            scale: &norm.scales(&x.f32),
            weight: &weight.f32,
        };
        norm.backward(saved, &mut dx, true, &mut partials, per_partial);
        norm.sum_partials(&partials, &mut dw);
        let (x, weight, dy) = (&x.f64, &weight.f64, &dy.f64);
        let expected = catalog::rmsnorm::reference_backward(x, weight, dy, epsilon);
        trial.compare("x_gradient", &dx, &expected.0);
        trial.compare("weight_gradient", &dw, &expected.1);
    }
}

/// Shapes that reveal mistakes: one position, fewer than a tile, more than one; own and shared key heads; odd widths.
fn attention_shapes() -> Vec<AttentionShape> {
    let shape = AttentionShape::new;
    vec![
        shape(1, 1, 6, 3, 8),
        shape(1, 7, 6, 3, 32),
        shape(1, 129, 6, 3, 64),
        shape(2, 33, 3, 3, 32),
        shape(3, 40, 4, 1, 16),
        shape(2, 19, 4, 2, 6),
    ]
}

fn sides(shape: AttentionShape) -> String {
    let [batch, seq, heads, key_heads, head_dim] = shape.sides();
    format!("{batch}x{seq} heads {heads}/{key_heads} dim {head_dim}")
}

fn rotation(trial: &mut HostTrial) {
    for shape in attention_shapes() {
        trial.case = sides(shape);
        let x = trial.input(shape.tokens() * shape.width());
        let table = rope_catalog::table(shape.seq, shape.head_dim, THETA);
        let shape = RopeShape::from_attention(shape);
        for (name, inverse) in [("turned", false), ("turned back", true)] {
            let mut turned = x.f32.clone();
            rope::host::turn(&mut turned, &table, shape, inverse);
            let expected = rope_catalog::reference(&x.f64, shape, THETA, inverse);
            trial.compare(name, &turned, &expected);
        }
    }
}

/// Returns columns of a fused projection `[tokens, width]` as `[tokens, columns]`.
fn columns<N: Copy>(fused: &[N], shape: AttentionShape, first: usize, heads: usize) -> Vec<N> {
    let range = first * shape.head_dim..(first + heads) * shape.head_dim;
    let rows = fused.chunks_exact(shape.width());
    rows.flat_map(|row| row[range.clone()].iter().copied())
        .collect()
}

/// Returns `[tokens, heads, head_dim]` as `[batch, heads, head_dim, seq]`.
fn transposed(rows: &[f32], shape: AttentionShape, heads: usize) -> Vec<f32> {
    let [_, seq, _, _, width] = shape.sides();
    let mut values = output(rows.len());
    for (index, value) in rows.iter().enumerate() {
        let (feature, head, token) = (index % width, index / width % heads, index / width / heads);
        let (batch, position) = (token / seq, token % seq);
        values[((batch * heads + head) * width + feature) * seq + position] = *value;
    }
    values
}

fn attention(trial: &mut HostTrial) {
    for shape in attention_shapes() {
        let qkv = trial.input(shape.tokens() * shape.width());
        let upstream = trial.input(shape.query_elements());
        let (heads, keys) = (shape.heads, shape.key_heads);
        let parts = [(0, heads), (heads, keys), (heads + keys, keys)];
        let [query, key, value] = parts.map(|(at, count)| columns(&qkv.f64, shape, at, count));
        let expected = attention_reference::forward(shape, &query, &key, &value);
        let pulled = attention_reference::backward(shape, &query, &key, &value, &upstream.f64);
        let [_, k, v] = parts.map(|(at, count)| columns(&qkv.f32, shape, at, count));
        let (k, v) = (transposed(&k, shape, keys), transposed(&v, shape, keys));
        let fused = HeadValues::fused(&qkv.f32, shape);
        let across = [
            fused[0],
            HeadValues::transposed(&k, keys, shape),
            HeadValues::transposed(&v, keys, shape),
        ];
        for (layout, query_key_value) in [("fused", fused), ("transposed", across)] {
            trial.case = format!("{} {layout}", sides(shape));
            let mut out = output(shape.query_elements());
            let mut sums = output(shape.statistics());
            flash_attention::host::forward(shape, query_key_value, &mut out, &mut sums);
            trial.compare("output", &out, &expected.output);
            trial.compare("log_sum_exp", &sums, &expected.log_sum_exp);
            let saved = SavedAttention {
                query_key_value,
                output: &out,
                output_gradient: &upstream.f32,
                log_sum_exp: &sums,
            };
            let mut gradient = output(shape.tokens() * shape.width());
            flash_attention::host::backward(shape, &saved, &mut gradient);
            let [dq, dk, dv] = parts.map(|(at, count)| columns(&gradient, shape, at, count));
            trial.compare("query gradient", &dq, &pulled.query);
            trial.compare("key gradient", &dk, &pulled.key);
            trial.compare("value gradient", &dv, &pulled.value);
        }
    }
}

/// Puts two matrices with rows of `hidden` values side by side.
fn side_by_side<N: Copy>(gate: &[N], up: &[N], hidden: usize) -> Vec<N> {
    let rows = gate.chunks_exact(hidden).zip(up.chunks_exact(hidden));
    rows.flat_map(|(gate, up)| gate.iter().chain(up).copied())
        .collect()
}

fn activation(trial: &mut HostTrial) {
    for (rows, hidden) in [(1, 1), (7, 3), (129, 96), (7, 777)] {
        trial.case = format!("{rows}x{hidden}");
        let [gate, up, dy] = [(); 3].map(|()| trial.input_around(0.3, rows * hidden));
        let mut gate_up = side_by_side(&gate.f32, &up.f32, hidden);
        let mut y = output(rows * hidden);
        swiglu::host::forward(&gate_up, &mut y, hidden);
        let expected = catalog::swiglu::reference_forward(&gate.f64, &up.f64);
        trial.compare("y", &y, &expected);
        swiglu::host::backward(&mut gate_up, &dy.f32, hidden);
        let (gate, up) = catalog::swiglu::reference_backward(&gate.f64, &up.f64, &dy.f64);
        trial.compare("gradient", &gate_up, &side_by_side(&gate, &up, hidden));
    }
}

fn naive_activation(trial: &mut HostTrial) {
    for (rows, width, hidden) in [(1, 1, 1), (7, 3, 5), (65, 96, 40)] {
        trial.case = format!("{rows}x{width}x{hidden}");
        let x = trial.input(rows * width);
        let [gate_weight, up_weight] = [(); 2].map(|()| trial.input(width * hidden));
        let [mut y, mut gate, mut up] = [(); 3].map(|()| output(rows * hidden));
        let out = NaiveOutput {
            y: &mut y,
            gate: &mut gate,
            up: &mut up,
        };
        let (weights, sizes) = ([&gate_weight.f32, &up_weight.f32], [width, hidden]);
        swiglu_naive::host::forward(&x.f32, weights[0], weights[1], out, sizes);
        let shape = SwigluNaiveShape {
            rows,
            width,
            hidden,
        };
        let (gate_weight, up_weight) = (&gate_weight.f64, &up_weight.f64);
        let expected =
            catalog::swiglu_naive::reference_forward(&x.f64, gate_weight, up_weight, shape);
        trial.compare("y", &y, &expected.y);
        trial.compare("gate", &gate, &expected.gate);
        trial.compare("up", &up, &expected.up);
        let dy = trial.input(rows * hidden);
        swiglu_naive::host::backward(&mut gate, &mut up, &dy.f32, hidden);
        let gradients = catalog::swiglu::reference_backward(&expected.gate, &expected.up, &dy.f64);
        trial.compare("gate gradient", &gate, &gradients.0);
        trial.compare("up gradient", &up, &gradients.1);
    }
}

fn loss(trial: &mut HostTrial) {
    for (rows, classes) in [(1, 2), (7, 3), (129, 96), (7, 1000)] {
        trial.case = format!("{rows}x{classes}");
        // Far from zero, so that an exponential without subtracting the maximum would overflow.
        let logits = trial.input_around(100.0, rows * classes);
        let targets: Vec<usize> = (0..rows)
            .map(|_| trial.random.integer_below(classes))
            .collect();
        let as_read: Vec<i32> = targets.iter().map(|target| *target as i32).collect();
        let share = 1.0 / rows as f32;
        let (mut losses, mut gradient) = (output(rows), output(rows * classes));
        cross_entropy::host::rows(&logits.f32, &as_read, &mut losses, &mut gradient, share);
        let (expected, _) = loss_catalog::reference_forward(&logits.f64, &targets, classes);
        trial.compare("losses", &losses, &expected);
        let mean = expected.iter().sum::<f64>() / rows as f64;
        trial.compare("mean loss", &[cross_entropy::host::mean(&losses)], &[mean]);
        let share = f64::from(share);
        let pulled = loss_catalog::reference_backward(&logits.f64, &targets, classes, share);
        trial.compare("gradient", &gradient, &pulled);
    }
}

fn update(trial: &mut HostTrial) {
    let hyper = Hyperparameters {
        learning_rate: 1e-2,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.1,
    };
    // More than one thread's share, and parameters of several lengths in one launch.
    let lengths = [1, 7, 40_000];
    trial.case = format!("{lengths:?}");
    let step = 3;
    let mut given: Vec<[Input; 4]> = Vec::new();
    for length in lengths {
        let [value, gradient, first] = [(); 3].map(|()| trial.input(length));
        given.push([value, gradient, first, trial.input_around(1.0, length)]);
    }
    let parameters = given
        .iter_mut()
        .map(|[value, gradient, first, second]| HostParameters {
            values: &mut value.f32,
            gradients: &gradient.f32,
            first_moments: &mut first.f32,
            second_moments: &mut second.f32,
        });
    adamw::host::step(parameters.collect(), &Factors::new(&hyper, step));
    for [value, gradient, first, second] in &mut given {
        let (values, moments) = (&mut value.f64, (&mut first.f64, &mut second.f64));
        let gradient = &gradient.f64;
        adamw_catalog::reference(values, moments.0, moments.1, gradient, &hyper, step);
        trial.compare("parameter", &value.f32, &value.f64);
        trial.compare("first moment", &first.f32, &first.f64);
        trial.compare("second moment", &second.f32, &second.f64);
    }
}

#[cfg(test)]
mod tests {
    use tinyllama_kernel_catalog::KERNELS;

    use super::*;

    #[test]
    fn every_kernel_agrees_with_its_reference_on_a_cpu() {
        for kernel in KERNELS {
            let checks = check_on_cpu(kernel, 5);
            assert!(!checks.is_empty(), "{} was not compared", kernel.name);
            for check in checks {
                assert!(check.passed(), "{check:?}");
            }
        }
    }
}
