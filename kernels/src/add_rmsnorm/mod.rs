//! The residual connection and the RMSNorm behind it in one kernel: `sum = x + residual`, `y = rmsnorm(sum)`.
//!
//! Between two layers of a transformer the residual stream is read, added to, written, and read again by the next
//! norm. Done together the sum is still in registers when its squares are added up: two reads and two writes of
//! rows · width elements instead of three and two.
//!
//! Backward: x and residual get the same gradient, `rmsnorm`'s gradient plus the one that reaches `sum` along the
//! residual stream. That is [`crate::rmsnorm`]'s backward kernel with that gradient passed in.

mod check;
mod kernels;
mod launch;
mod reference;

pub use check::check;
pub use kernels::add_rmsnorm_forward;
pub use launch::{Backward, Forward, backward, forward};
pub use reference::{reference_backward, reference_forward};

use crate::{
    Cost,
    rmsnorm::{self, Dtypes, Shape},
};

const KERNEL: &str = "add_rmsnorm";

/// What [`forward`] must move and compute.
pub fn forward_cost(shape: Shape, dtypes: Dtypes) -> Cost {
    let elements = (shape.rows * shape.width) as u64;
    let activations = elements * dtypes.activation.size() as u64;
    rmsnorm::forward_cost(shape, dtypes)
        + Cost {
            bytes_read: activations,
            bytes_written: activations,
            flops: elements,
        }
}

/// What [`backward`] must move and compute, without its workspace.
pub fn backward_cost(shape: Shape, dtypes: Dtypes) -> Cost {
    let elements = (shape.rows * shape.width) as u64;
    rmsnorm::backward_cost(shape, dtypes)
        + Cost {
            bytes_read: elements * dtypes.activation.size() as u64,
            bytes_written: 0,
            flops: elements,
        }
}
