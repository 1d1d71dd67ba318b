//! The references of exercises about performance.

use super::{PreparedCase, ReferenceOutputs, matmul, number};

fn rows(x: &[f64], width: usize) -> impl Iterator<Item = &[f64]> {
    x.chunks(width.max(1))
}

fn largest(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |most, x| x.abs().max(most))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns exp(score - m) over their sum for each score. Returns nothing if the scores are empty.
fn softmax(scores: &[f64]) -> impl Iterator<Item = f64> {
    let m = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = scores.iter().map(|score| (score - m).exp()).sum();
    scores.iter().map(move |score| (score - m).exp() / sum)
}

pub(super) fn largest_of_rows(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let x = problem.floats("x");
    let all = rows(&x, problem.extent("width")).map(largest);
    vec![("largest", all.collect())]
}

pub(super) fn without_mean(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let (mut x, columns) = (problem.floats("x"), problem.extent("columns").max(1));
    for column in 0..columns {
        let own = || (column..x.len()).step_by(columns);
        let mean = own().map(|at| x[at]).sum::<f64>() / own().count() as f64;
        own()
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|at| x[at] -= mean);
    }
    vec![("out", x)]
}

pub(super) fn counts(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let mut counts = vec![0.0; problem.extent("bins")];
    for token in problem.indices("tokens") {
        counts[token] += 1.0;
    }
    vec![("counts", counts)]
}

pub(super) fn running_sums(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let x: Vec<f64> = problem.indices("x").iter().map(|x| *x as f64).collect();
    let sums = |row: &[f64]| {
        let sums = row.iter().scan(0.0, |sum, x| {
            *sum += x;
            Some(*sum)
        });
        sums.collect::<Vec<_>>()
    };
    let all = rows(&x, problem.extent("width")).flat_map(sums);
    vec![("out", all.collect())]
}

pub(super) fn masked_softmax(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let (scores, visible) = (problem.floats("scores"), problem.indices("visible"));
    let masked = |(row, seen): (&[f64], &usize)| {
        let hidden = std::iter::repeat_n(0.0, row.len() - seen);
        softmax(&row[..*seen]).chain(hidden).collect::<Vec<_>>()
    };
    let all = rows(&scores, problem.extent("keys")).zip(&visible);
    vec![("p", all.flat_map(masked).collect())]
}

pub(super) fn weighted_means(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let [scores, values] = ["scores", "values"].map(|name| problem.floats(name));
    let rows = problem.extent("rows");
    let mean = |row: usize| {
        let of_row: Vec<f64> = scores
            .iter()
            .skip(row)
            .step_by(rows.max(1))
            .copied()
            .collect();
        let terms = softmax(&of_row).zip(&values);
        terms.map(|(weight, value)| weight * value).sum()
    };
    vec![("out", (0..rows).map(mean).collect())]
}

pub(super) fn top_k(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let logits = problem.floats("logits");
    let (mut values, mut places) = (vec![], vec![]);
    for row in rows(&logits, problem.extent("classes")) {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
        order.truncate(problem.extent("k"));
        values.extend(order.iter().map(|at| row[*at]));
        places.extend(order.iter().map(|at| *at as f64));
    }
    vec![("values", values), ("places", places)]
}

pub(super) fn quantised(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let x = problem.floats("x");
    let (mut packed, mut scales) = (vec![], vec![]);
    for row in rows(&x, problem.extent("width")) {
        let scale = largest(row) / 127.0;
        let step = |x: &f64| {
            if scale > 0.0 {
                (x / scale).round_ties_even()
            } else {
                0.0
            }
        };
        let bytes: Vec<u8> = row
            .iter()
            .map(|x| (step(x) as i8).cast_unsigned())
            .collect();
        let words = bytes.as_chunks::<4>().0.iter();
        packed.extend(words.map(|four| f64::from(i32::from_le_bytes(*four))));
        scales.push(scale);
    }
    vec![("packed", packed), ("scales", scales)]
}

pub(super) fn norms(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let (x, weight) = (problem.floats("x"), problem.floats("weight"));
    let y = tinyllama_kernel_catalog::rmsnorm::reference_forward(
        &x,
        &weight,
        number(problem, "epsilon"),
    );
    vec![("y", y)]
}

pub(super) fn swiglu_of_product(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let (x, w) = (problem.floats("x"), problem.floats("w"));
    let [width, k] = ["width", "k"].map(|name| problem.extent(name));
    let product = |row: &[f64], column: usize| -> f64 {
        row.iter()
            .enumerate()
            .map(|(q, x)| x * w[q * 2 * width + column])
            .sum()
    };
    let element = |row: &[f64], column: usize| {
        let gate = product(row, column);
        gate / (1.0 + (-gate).exp()) * product(row, width + column)
    };
    let all = rows(&x, k).flat_map(|row| (0..width).map(move |column| element(row, column)));
    vec![("out", all.collect())]
}

/// Returns the product, and the die of each tile: every die has tiles that follow each other, the first ones one more.
pub(super) fn product_on_dies(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let [rows, columns] = ["m", "n"].map(|name| problem.extent(name).div_ceil(16));
    let (tiles, dies) = (rows * columns, problem.extent("xcds").max(1));
    let share = |die: usize| tiles / dies + usize::from(die < tiles % dies);
    let die = (0..dies).flat_map(|die| std::iter::repeat_n(die as f64, share(die)));
    let mut outputs = matmul(problem);
    outputs.push(("die", die.collect()));
    outputs
}

pub(super) fn decode_attention(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let [q, keys, values] = ["q", "keys", "values"].map(|name| problem.floats(name));
    let [length, width] = ["length", "head_dim"].map(|name| problem.extent(name));
    let scale = number(problem, "scale");
    let mut out = vec![0.0; q.len()];
    for (head, target) in out.chunks_mut(width.max(1)).enumerate() {
        let of_head = head * length * width..(head + 1) * length * width;
        let q = &q[head * width..][..width];
        let scores: Vec<f64> = rows(&keys[of_head.clone()], width)
            .map(|key| dot(q, key) * scale)
            .collect();
        for (share, value) in softmax(&scores).zip(rows(&values[of_head], width)) {
            target
                .iter_mut()
                .zip(value)
                .for_each(|(sum, value)| *sum += share * value);
        }
    }
    vec![("out", out)]
}

pub(super) fn attention_backward(problem: &PreparedCase<'_>) -> ReferenceOutputs {
    let [q, k, v, out_gradient, lse, delta] =
        ["q", "k", "v", "out_gradient", "lse", "delta"].map(|name| problem.floats(name));
    let (tokens, width, scale) = (problem.extent("tokens"), 32, number(problem, "scale"));
    let [mut dq, mut dk, mut dv] = [(); 3].map(|()| vec![0.0; q.len()]);
    let row = |x: &[f64], at: usize| x[at * width..][..width].to_vec();
    let add = |to: &mut [f64], at: usize, factor: f64, x: Vec<f64>| {
        let to = to[at * width..][..width].iter_mut();
        to.zip(x).for_each(|(sum, x)| *sum += factor * x);
    };
    for query in 0..q.len() / width {
        for key in query - query % tokens..=query {
            let score = dot(&row(&q, query), &row(&k, key)) * scale;
            let p = (score - lse[query]).exp();
            let dp = dot(&row(&out_gradient, query), &row(&v, key));
            let ds = p * (dp - delta[query]) * scale;
            add(&mut dv, key, p, row(&out_gradient, query));
            add(&mut dk, key, ds, row(&q, query));
            add(&mut dq, query, ds, row(&k, key));
        }
    }
    vec![("dq", dq), ("dk", dk), ("dv", dv)]
}
