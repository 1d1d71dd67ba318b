//! Compares the stated costs with the operations that the references count.

use std::cell::Cell;

use super::*;
use crate::matmul::{self, Layout, MatmulShape};
use crate::{
    Cost, KERNELS, StepSizes, adamw, cross_entropy, flash_attention, rmsnorm, rope, swiglu,
    swiglu_naive,
};

thread_local! {
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// An f64 that counts its operations.
#[derive(Clone, Copy, Debug)]
struct Counted(f64);

fn counted(value: f64) -> Counted {
    OPERATIONS.set(OPERATIONS.get() + 1);
    Counted(value)
}

impl From<f64> for Counted {
    fn from(value: f64) -> Self {
        Counted(value)
    }
}

macro_rules! operator {
    ($name:ident, $method:ident, $sign:tt) => {
        impl $name for Counted {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                counted(self.0 $sign other.0)
            }
        }
    };
}

operator!(Add, add, +);
operator!(Sub, sub, -);
operator!(Mul, mul, *);
operator!(Div, div, /);

impl Neg for Counted {
    type Output = Self;

    fn neg(self) -> Self {
        counted(-self.0)
    }
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Counted {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for Counted {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.fold(Counted(0.0), |sum, value| sum + value)
    }
}

impl Scalar for Counted {
    fn exp(self) -> Self {
        counted(self.0.exp())
    }

    fn ln(self) -> Self {
        counted(self.0.ln())
    }

    fn sqrt(self) -> Self {
        counted(self.0.sqrt())
    }

    fn larger(self, other: Self) -> Self {
        counted(self.0.max(other.0))
    }
}

fn values(count: usize) -> Vec<Counted> {
    (0..count)
        .map(|at| Counted(0.1 + (at % 17) as f64 / 17.0))
        .collect()
}

/// Returns the number of operations of `work`, and its result.
fn operations<T>(work: impl FnOnce() -> T) -> (u64, T) {
    OPERATIONS.set(0);
    let result = work();
    (OPERATIONS.get(), result)
}

/// Asserts that the stated operations differ from the real ones by at most `tolerance`, as a fraction.
fn assert_flops(stated: u64, done: u64, tolerance: f64) {
    let off = (stated as f64 / done as f64 - 1.0).abs();
    assert!(off <= tolerance, "stated {stated}, done {done}");
}

/// Asserts that the stated bytes are every input and every output once, in f32.
fn assert_bytes(stated: Cost, inputs: &[usize], outputs: &[usize]) {
    let bytes = |lengths: &[usize]| 4 * lengths.iter().sum::<usize>() as u64;
    assert_eq!(
        (stated.bytes_read, stated.bytes_written),
        (bytes(inputs), bytes(outputs))
    );
}

const SIZES: StepSizes = StepSizes {
    batch: 1,
    sequence: 5,
    hidden: 300,
    layers: 1,
    heads: 2,
    key_heads: 1,
    ffn: 50,
    vocabulary: 500,
};

fn stated(kernel: &str, pass: &str, sizes: StepSizes) -> Cost {
    let kernel = KERNELS.iter().find(|one| one.name == kernel).unwrap();
    let pass = kernel.passes.iter().find(|one| one.name == pass).unwrap();
    (pass.cost)(&sizes)
}

#[test]
fn the_norm_costs_what_its_reference_does() {
    let (x, weight, dy) = (values(1500), values(300), values(1500));
    let (done, y) = operations(|| rmsnorm::reference_forward(&x, &weight, 1e-5));
    let forward = stated("rmsnorm", "forward", SIZES);
    assert_flops(forward.flops, done, 0.005);
    assert_bytes(forward, &[x.len(), weight.len()], &[y.len()]);
    let (done, (dx, dw)) = operations(|| rmsnorm::reference_backward(&x, &weight, &dy, 1e-5));
    let backward = stated("rmsnorm", "backward", SIZES);
    assert_flops(backward.flops, done, 0.005);
    let read = [x.len(), weight.len(), dy.len()];
    assert_bytes(backward, &read, &[dx.len(), dw.len()]);
}

#[test]
fn the_product_costs_what_its_reference_does() {
    let (rows, depth, columns) = (SIZES.tokens(), SIZES.hidden, 2 * SIZES.ffn);
    let [x, weight, dy] = [rows * depth, depth * columns, rows * columns].map(values);
    for (pass, [a, b], [a_transposed, b_transposed], [m, n, k]) in [
        (
            "forward",
            [&x, &weight],
            [false, false],
            [rows, columns, depth],
        ),
        (
            "left",
            [&dy, &weight],
            [false, true],
            [rows, depth, columns],
        ),
        ("right", [&x, &dy], [true, false], [depth, columns, rows]),
    ] {
        let layouts = [
            Layout::dense([m, k], a_transposed),
            Layout::dense([k, n], b_transposed),
        ];
        let shape = MatmulShape { m, n, k };
        let (done, y) = operations(|| matmul::reference([a, b], layouts, shape));
        let cost = stated("matmul", pass, SIZES);
        assert_flops(cost.flops, done, 0.0);
        assert_bytes(cost, &[a.len(), b.len()], &[y.len()]);
    }
}

#[test]
fn the_activation_costs_what_its_reference_does() {
    let (gate, up, dy) = (values(250), values(250), values(250));
    let (done, y) = operations(|| swiglu::reference_forward(&gate, &up));
    let forward = stated("swiglu", "forward", SIZES);
    assert_flops(forward.flops, done, 0.0);
    assert_bytes(forward, &[gate.len(), up.len()], &[y.len()]);
    let (done, (dg, du)) = operations(|| swiglu::reference_backward(&gate, &up, &dy));
    let backward = stated("swiglu", "backward", SIZES);
    assert_flops(backward.flops, done, 0.0);
    let read = [gate.len(), up.len(), dy.len()];
    assert_bytes(backward, &read, &[dg.len(), du.len()]);

    let shape = swiglu_naive::SwigluNaiveShape {
        rows: 5,
        width: 300,
        hidden: 50,
    };
    let (x, gate, up) = (values(1500), values(15_000), values(15_000));
    let (done, outputs) = operations(|| swiglu_naive::reference_forward(&x, &gate, &up, shape));
    let naive = stated("swiglu_naive", "forward", SIZES);
    assert_flops(naive.flops, done, 0.0);
    let written = [outputs.gate.len(), outputs.up.len(), outputs.y.len()];
    assert_bytes(naive, &[x.len(), gate.len(), up.len()], &written);
}

#[test]
fn attention_costs_its_products_and_the_softmax_is_little_beside_them() {
    let sizes = StepSizes {
        batch: 2,
        sequence: 33,
        hidden: 256,
        heads: 4,
        key_heads: 2,
        ..SIZES
    };
    let shape = flash_attention::AttentionShape::new(2, 33, 4, 2, 64);
    let (queries, keys, rows) = (
        shape.query_elements(),
        shape.key_elements(),
        shape.statistics(),
    );
    let (q, k, v, dy) = (values(queries), values(keys), values(keys), values(queries));
    let (done, _) = operations(|| flash_attention::reference::forward(shape, &q, &k, &v));
    let forward = stated("flash_attention", "forward", sizes);
    assert!(forward.flops <= done);
    assert_flops(forward.flops, done, 0.05);
    assert_bytes(forward, &[queries, keys, keys], &[queries, rows]);
    let (done, _) = operations(|| flash_attention::reference::backward(shape, &q, &k, &v, &dy));
    let backward = stated("flash_attention", "backward", sizes);
    assert!(backward.flops <= done);
    assert_flops(backward.flops, done, 0.05);
    let read = [queries, keys, keys, queries, queries, rows];
    assert_bytes(backward, &read, &[queries, keys, keys]);
}

#[test]
fn rope_the_loss_and_the_update_cost_what_their_references_do() {
    let sizes = StepSizes {
        batch: 2,
        sequence: 3,
        hidden: 16,
        ..SIZES
    };
    let shape =
        rope::RopeShape::from_attention(crate::flash_attention::AttentionShape::new(2, 3, 2, 1, 8));
    let x = values(2 * 3 * 4 * 8);
    let (done, _) = operations(|| rope::reference(&x, shape, 1e4, false));
    let turned = 2 * 3 * 3 * 8;
    let way = stated("rope", "each way", sizes);
    assert_flops(way.flops, done, 0.0);
    assert_bytes(way, &[turned, 3 * 8], &[turned]);

    let (logits, targets) = (values(2500), [0, 7, 499, 3, 3]);
    let (done, _) = operations(|| cross_entropy::reference_forward(&logits, &targets, 500));
    // The gradient adds difference, exponential and product per element, and a sum per row.
    let both = stated("cross_entropy", "both", SIZES);
    assert_flops(both.flops, done + 3 * 2500 + 5, 0.0);
    assert_bytes(both, &[logits.len(), 5], &[logits.len(), 5]);

    let update = stated("adamw", "update", sizes);
    let elements = update.bytes_written as usize / 12;
    let hyper = adamw::Hyperparameters {
        learning_rate: 1e-3,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.01,
    };
    let (mut p, mut m) = (values(elements), values(elements));
    let (mut v, g) = (values(elements), values(elements));
    let (done, ()) = operations(|| adamw::reference(&mut p, &mut m, &mut v, &g, &hyper, 1));
    // The kernel multiplies by factors computed in advance, the reference divides.
    assert_flops(update.flops, done, 0.1);
    assert_bytes(update, &[4 * elements], &[3 * elements]);
}
