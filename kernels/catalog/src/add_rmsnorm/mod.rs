//! The residual connection and the RMSNorm behind it in one kernel, which learners write: `sum = x + residual`,
//! `y = rmsnorm(sum)`. Only the reference is here; no target launches such a kernel.
//!
//! Between two layers of a transformer the residual stream is read, added to, written, and read again by the next
//! norm. Done together the sum is still in registers when its squares are added up: two reads and two writes of
//! rows · width elements instead of three and two.
//!
//! Backward: x and residual get the same gradient, `rmsnorm`'s gradient plus the one that reaches `sum` along the
//! residual stream.

mod reference;

pub use reference::{reference_backward, reference_forward};
