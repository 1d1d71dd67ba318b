//! The residual connection and the following RMSNorm in one kernel, which learners write: `sum = x + residual`, `y =
//! rmsnorm(sum)`. This module has only the reference, because no target launches such a kernel.
//!
//! Between two layers of a transformer, the residual stream is read, added to, written, and read again by the next
//! norm. In one kernel the sum is still in registers when its squares are added. That takes two reads and two writes of
//! rows · width elements instead of three and two.
//!
//! Backward: x and residual get the same gradient, which is `rmsnorm`'s gradient plus the one that reaches `sum` along
//! the residual stream.

mod reference;

pub use reference::{reference_backward, reference_forward};
