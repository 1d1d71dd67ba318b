//! RMSNorm: every row divided by its root mean square, then scaled by a learned weight.
//!
//! `y = x · w · s` with `s = 1 / sqrt(mean(x²) + ε)` (Zhang and Sennrich, 2019). One row is one token.
//!
//! The work is all traffic: a row is read once, kept in registers while its squares are summed, and written once,
//! 2·rows·width elements in all. Written as separate operations (square, mean, add, root, divide, multiply) the same
//! result moves several times that, which is why this is the first kernel worth writing by hand.
//!
//! Backward, with `g = dy · w`: `dx = s·g - x·s³·mean(g·x)` and `dw = Σ_rows dy·x·s`. It reads x and dy and writes dx; `s`
//! is computed again because x is in registers anyway. The sum over rows is split over teams: each keeps its own
//! sum in registers over all its rows and writes it once, and a second, small kernel adds these partial rows in a
//! fixed order. No atomics, so a gradient has the same bits every time.

mod check;
mod kernels;
mod launch;
mod reference;

pub use check::check;
pub use kernels::{column_sums, rmsnorm_backward, rmsnorm_forward};
pub use launch::{Backward, Forward, RmsNormBlock, backward, forward, workspace_bytes};
pub use reference::{reference_backward, reference_forward};

pub(crate) use kernels::normalize;
pub(crate) use launch::check_shape;

use cubecl::ir::ElemType;

use crate::Cost;

const KERNEL: &str = "rmsnorm";

/// `rows` tokens of `width` features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    pub rows: usize,
    pub width: usize,
}

/// Element types: of x, y and their gradients, and of the weight and its gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dtypes {
    pub activation: ElemType,
    pub weight: ElemType,
}

/// What [`forward`] must move and compute.
pub fn forward_cost(shape: Shape, dtypes: Dtypes) -> Cost {
    let elements = (shape.rows * shape.width) as u64;
    let activations = elements * dtypes.activation.size() as u64;
    Cost {
        bytes_read: activations + (shape.width * dtypes.weight.size()) as u64,
        bytes_written: activations,
        // Square and add; times scale and weight. Mean, epsilon and inverse root once a row.
        flops: 4 * elements + 3 * shape.rows as u64,
    }
}

/// What [`backward`] must move and compute, without its workspace and without a passed gradient.
pub fn backward_cost(shape: Shape, dtypes: Dtypes) -> Cost {
    let elements = (shape.rows * shape.width) as u64;
    let activations = elements * dtypes.activation.size() as u64;
    let weight = (shape.width * dtypes.weight.size()) as u64;
    Cost {
        bytes_read: 2 * activations + weight,
        bytes_written: activations + weight,
        // g, two dot products, dx from three products and a difference, dw from two products and a sum.
        flops: 11 * elements + 8 * shape.rows as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::F32;

    #[test]
    fn the_forward_pass_moves_each_element_once() {
        let shape = Shape { rows: 8, width: 16 };
        let dtypes = Dtypes {
            activation: F32,
            weight: F32,
        };
        let cost = forward_cost(shape, dtypes);
        assert_eq!(cost.bytes_read, 4 * (8 * 16 + 16));
        assert_eq!(cost.bytes_written, 4 * 8 * 16);
    }
}
