//! Computes the results of each exercise in f64, from the numbers that the kernel receives.

mod performance;

use tinyllama_kernel_catalog::{add_rmsnorm, cross_entropy, rmsnorm, swiglu};

use super::PreparedCase;

type ReferenceOutputs = Vec<(&'static str, Vec<f64>)>;
type Reference = fn(&PreparedCase<'_>) -> ReferenceOutputs;

/// By exercise, each one line.
const REFERENCES: &[(&str, Reference)] = &[
    ("elementwise", elementwise),
    ("grid-stride", silu),
    ("coalescing", add_bias),
    ("wave-sum", wave_sums),
    ("block-sum", row_sums),
    ("bank-conflicts", transpose),
    ("rmsnorm", rmsnorm_forward),
    ("add-rmsnorm", add_rmsnorm_both),
    ("rope", |problem| vec![("y", rotated(problem))]),
    ("swiglu", swiglu_forward),
    ("cross-entropy", cross_entropy_both),
    ("matmul", matmul),
    ("attention", attention),
    ("adamw", adamw),
    ("ported-reduction", performance::largest_of_rows),
    ("vector-loads", elementwise),
    ("rope-in-place", |problem| vec![("x", rotated(problem))]),
    ("swizzle", transpose),
    ("registers", performance::without_mean),
    ("histogram", performance::counts),
    ("prefix-sum", performance::running_sums),
    ("masked-softmax", performance::masked_softmax),
    ("top-k", performance::top_k),
    ("quantise", performance::quantised),
    ("persistent", performance::norms),
    ("double-buffer", matmul),
    ("matrix-lanes", matmul),
    ("fused-epilogue", performance::swiglu_of_product),
    ("decode-attention", performance::decode_attention),
    ("attention-backward", performance::attention_backward),
    ("online-softmax", performance::weighted_means),
    ("xcd-order", performance::product_on_dies),
];

/// Finds the reference of an exercise by its name.
pub fn find_reference(name: &str) -> Option<Reference> {
    let found = REFERENCES.iter().find(|(known, _)| *known == name);
    found.map(|(_, reference)| *reference)
}

fn number(problem: &PreparedCase<'_>, name: &str) -> f64 {
    // The kernel receives it in f32.
    f64::from(problem.number(name).unwrap_or(f64::NAN) as f32)
}

fn elementwise(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let a = number(problem, "a");
    let (x, y) = (problem.floats("x"), problem.floats("y"));
    vec![("out", x.iter().zip(&y).map(|(x, y)| a * x + y).collect())]
}

fn silu(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let x = problem.floats("x");
    vec![("out", x.iter().map(|x| x / (1.0 + (-x).exp())).collect())]
}

fn add_bias(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let (x, bias) = (problem.floats("x"), problem.floats("bias"));
    let out = x.iter().zip(bias.iter().cycle());
    vec![("out", out.map(|(x, bias)| x + bias).collect())]
}

fn sums(x: &[f64], length: usize) -> Vec<f64> {
    x.chunks(length.max(1))
        .map(|part| part.iter().sum())
        .collect()
}

fn wave_sums(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    vec![("sums", sums(&problem.floats("x"), problem.wave as usize))]
}

fn row_sums(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    vec![("sums", sums(&problem.floats("x"), problem.extent("width")))]
}

fn transpose(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let x = problem.floats("x");
    let [rows, columns] = ["rows", "columns"].map(|name| problem.extent(name));
    let places = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column));
    vec![("out", places.map(|place| x[place]).collect())]
}

/// Returns 1 / sqrt(mean(x²) + ε) of each row.
fn scales(x: &[f64], width: usize, epsilon: f64) -> Vec<f64> {
    let squares = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>() / width.max(1) as f64;
    let rows = x.chunks(width.max(1));
    rows.map(|row| 1.0 / (squares(row) + epsilon).sqrt())
        .collect()
}

fn rmsnorm_forward(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let (x, weight) = (problem.floats("x"), problem.floats("weight"));
    let epsilon = number(problem, "epsilon");
    let y = rmsnorm::reference_forward(&x, &weight, epsilon);
    vec![("y", y), ("scale", scales(&x, weight.len(), epsilon))]
}

fn add_rmsnorm_both(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let epsilon = number(problem, "epsilon");
    let weight = problem.floats("weight");
    let (x, residual) = (problem.floats("x"), problem.floats("residual"));
    let (sum, y) = add_rmsnorm::reference_forward(&x, &residual, &weight, epsilon);
    let gradients = ["sum_gradient", "y_gradient"].map(|name| problem.floats(name));
    let (x_gradient, weight_gradient) =
        add_rmsnorm::reference_backward(&sum, &weight, &gradients[0], &gradients[1], epsilon);
    let scale = scales(&sum, weight.len(), epsilon);
    vec![
        ("sum", sum),
        ("y", y),
        ("scale", scale),
        ("x_gradient", x_gradient),
        ("weight_gradient", weight_gradient),
    ]
}

fn rotated(problem: &PreparedCase<'_>) -> Vec<f64> {
    let (mut y, table) = (problem.floats("x"), problem.floats("table"));
    let [heads, width, sequence] =
        ["heads", "head_dim", "sequence"].map(|name| problem.extent(name));
    for (index, pair) in y.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let position = index * 2 / (heads * width).max(1) % sequence.max(1);
        let place = position * width + index * 2 % width.max(1);
        let ([a, b], [cosine, sine]) = (*pair, [table[place], table[place + 1]]);
        *pair = [a * cosine - b * sine, a * sine + b * cosine];
    }
    y
}

fn swiglu_forward(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let width = problem.extent("width").max(1);
    let gate_up = problem.floats("gate_up");
    let rows = gate_up.chunks(2 * width);
    let out = rows.flat_map(|row| swiglu::reference_forward(&row[..width], &row[width..]));
    vec![("out", out.collect())]
}

fn cross_entropy_both(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let (logits, targets) = (problem.floats("logits"), problem.indices("targets"));
    let classes = problem.extent("classes");
    let (losses, _) = cross_entropy::reference_forward(&logits, &targets, classes);
    let share = number(problem, "share");
    let gradient = cross_entropy::reference_backward(&logits, &targets, classes, share);
    vec![("losses", losses), ("gradient", gradient)]
}

fn matmul(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let (a, b) = (problem.floats("a"), problem.floats("b"));
    let [m, n, k] = ["m", "n", "k"].map(|name| problem.extent(name));
    let mut c = vec![0.0; m * n];
    for row in 0..m {
        for inner in 0..k {
            let factor = a[row * k + inner];
            for column in 0..n {
                c[row * n + column] += factor * b[inner * n + column];
            }
        }
    }
    vec![("c", c)]
}

fn attention(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let [q, k, v] = ["q", "k", "v"].map(|name| problem.floats(name));
    let [sequence, width] = ["sequence", "head_dim"].map(|name| problem.extent(name));
    let scale = number(problem, "scale");
    let mut out = vec![0.0; q.len()];
    for (row, target) in out.chunks_mut(width.max(1)).enumerate() {
        let (first, position) = (row - row % sequence, row % sequence);
        let dot = |key: usize| -> f64 {
            let pairs = q[row * width..][..width]
                .iter()
                .zip(&k[key * width..][..width]);
            pairs.map(|(q, k)| q * k).sum()
        };
        let scores: Vec<f64> = (first..=first + position)
            .map(|key| dot(key) * scale)
            .collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
        for (key, score) in (first..).zip(&scores) {
            let share = (score - largest).exp() / total;
            for (sum, value) in target.iter_mut().zip(&v[key * width..][..width]) {
                *sum += share * value;
            }
        }
    }
    vec![("out", out)]
}

fn adamw(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let f = problem.floats("factors");
    let [mut weights, gradients, mut first, mut second] =
        ["weights", "gradients", "first", "second"].map(|name| problem.floats(name));
    for (i, g) in gradients.iter().enumerate() {
        first[i] = f[0] * first[i] + f[1] * g;
        second[i] = f[2] * second[i] + f[3] * g * g;
        let direction = f[4] * first[i] / ((f[5] * second[i]).sqrt() + f[7]);
        weights[i] -= f[6] * weights[i] + direction;
    }
    vec![("weights", weights), ("first", first), ("second", second)]
}
