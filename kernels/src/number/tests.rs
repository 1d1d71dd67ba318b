//! The stated costs against what the references do when they are made to count.

use std::cell::Cell;

use super::*;
use crate::launch::F32;
use crate::{Cost, adamw, cross_entropy, flash_attention, rmsnorm, rope, swiglu, swiglu_naive};

thread_local! {
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// An f64 whose every operation is counted.
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

impl Number for Counted {
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

/// Operations of `work`, and what it returns.
fn operations<T>(work: impl FnOnce() -> T) -> (u64, T) {
    OPERATIONS.set(0);
    let result = work();
    (OPERATIONS.get(), result)
}

/// The stated operations lie within `tolerance` of those that were done, as a share.
fn assert_flops(stated: u64, done: u64, tolerance: f64) {
    let off = (stated as f64 / done as f64 - 1.0).abs();
    assert!(off <= tolerance, "stated {stated}, done {done}");
}

/// The stated bytes are every input and every output once, in f32.
fn assert_bytes(stated: Cost, inputs: &[usize], outputs: &[usize]) {
    let bytes = |lengths: &[usize]| 4 * lengths.iter().sum::<usize>() as u64;
    assert_eq!(
        (stated.bytes_read, stated.bytes_written),
        (bytes(inputs), bytes(outputs))
    );
}

#[test]
fn the_norm_costs_what_its_reference_does() {
    let shape = rmsnorm::Shape {
        rows: 5,
        width: 300,
    };
    let dtypes = rmsnorm::Dtypes {
        activation: F32,
        weight: F32,
    };
    let (x, weight, dy) = (values(1500), values(300), values(1500));
    let (done, y) = operations(|| rmsnorm::reference_forward(&x, &weight, 1e-5));
    let stated = rmsnorm::forward_cost(shape, dtypes);
    assert_flops(stated.flops, done, 0.005);
    assert_bytes(stated, &[x.len(), weight.len()], &[y.len()]);
    let (done, (dx, dw)) = operations(|| rmsnorm::reference_backward(&x, &weight, &dy, 1e-5));
    let stated = rmsnorm::backward_cost(shape, dtypes);
    assert_flops(stated.flops, done, 0.005);
    assert_bytes(
        stated,
        &[x.len(), weight.len(), dy.len()],
        &[dx.len(), dw.len()],
    );
}

#[test]
fn the_activation_costs_what_its_reference_does() {
    let shape = swiglu::Shape {
        rows: 4,
        hidden: 50,
    };
    let (gate, up, dy) = (values(200), values(200), values(200));
    let (done, y) = operations(|| swiglu::reference_forward(&gate, &up));
    let stated = swiglu::forward_cost(shape, F32);
    assert_flops(stated.flops, done, 0.0);
    assert_bytes(stated, &[gate.len(), up.len()], &[y.len()]);
    let (done, (dg, du)) = operations(|| swiglu::reference_backward(&gate, &up, &dy));
    let stated = swiglu::backward_cost(shape, F32);
    assert_flops(stated.flops, done, 0.0);
    assert_bytes(
        stated,
        &[gate.len(), up.len(), dy.len()],
        &[dg.len(), du.len()],
    );

    let shape = swiglu_naive::Shape {
        rows: 4,
        width: 60,
        hidden: 50,
    };
    let (x, gate, up) = (values(240), values(3000), values(3000));
    let (done, outputs) = operations(|| swiglu_naive::reference_forward(&x, &gate, &up, shape));
    let stated = swiglu_naive::forward_cost(shape, F32);
    assert_flops(stated.flops, done, 0.0);
    assert_eq!(outputs.y.len(), 200);
}

#[test]
fn attention_costs_its_products_and_the_softmax_is_little_beside_them() {
    let shape = flash_attention::Shape::new(2, 33, 4, 2, 64);
    let (queries, keys) = (shape.query_elements(), shape.key_elements());
    let (q, k, v, dy) = (values(queries), values(keys), values(keys), values(queries));
    let (done, _) = operations(|| flash_attention::reference::forward(shape, &q, &k, &v));
    let stated = flash_attention::forward_cost(shape, F32);
    assert!(stated.flops <= done);
    assert_flops(stated.flops, done, 0.05);
    let (done, _) = operations(|| flash_attention::reference::backward(shape, &q, &k, &v, &dy));
    let stated = flash_attention::backward_cost(shape, F32);
    assert!(stated.flops <= done);
    assert_flops(stated.flops, done, 0.05);
}

#[test]
fn rope_the_loss_and_the_update_cost_what_their_references_do() {
    let shape = rope::Shape {
        batch: 2,
        seq: 3,
        heads: 4,
        turned: 3,
        head_dim: 8,
        layout: rope::Layout::TokenMajor,
    };
    let x = values(2 * 3 * 4 * 8);
    let (done, _) = operations(|| rope::reference(&x, shape, 1e4, false));
    assert_flops(rope::cost(shape, F32).flops, done, 0.0);

    let shape = cross_entropy::Shape {
        rows: 3,
        classes: 500,
    };
    let dtypes = cross_entropy::Dtypes {
        logits: F32,
        targets: F32,
    };
    let (logits, targets) = (values(1500), [0, 7, 499]);
    let (done, _) = operations(|| cross_entropy::reference_forward(&logits, &targets, 500));
    assert_flops(cross_entropy::forward_cost(shape, dtypes).flops, done, 0.0);

    let elements = 40;
    let hyper = adamw::Hyperparameters {
        learning_rate: 1e-3,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.01,
    };
    let (mut p, mut m, mut v, g) = (
        values(elements),
        values(elements),
        values(elements),
        values(elements),
    );
    let (done, ()) = operations(|| adamw::reference(&mut p, &mut m, &mut v, &g, &hyper, 1));
    let dtypes = adamw::Dtypes {
        gradient: F32,
        copy: F32,
    };
    let stated = adamw::cost(elements, 0, dtypes);
    // The kernel multiplies with factors worked out beforehand where the reference divides.
    assert_flops(stated.flops, done, 0.1);
    assert_bytes(stated, &[4 * elements], &[3 * elements]);
}
