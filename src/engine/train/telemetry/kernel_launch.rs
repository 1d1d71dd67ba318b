//! One kernel launch of a profile pass.

use crate::model::Part;
use crate::model::work::Work;

/// A launch with its work and its times.
#[derive(Clone, Debug)]
pub struct KernelLaunch {
    /// Full name as the kernel reports it.
    pub kernel: &'static str,
    pub part: Part,
    /// The part of the model that contains `part`, if the engine knows it.
    pub within: Option<Part>,
    /// Operations that burn's fusion put into this launch; `None` without fusion.
    pub fused_operations: Option<usize>,
    /// Work the kernel has to do (FLOP and bytes), if the engine knows it.
    pub work: Option<Work>,
    /// Start and end in seconds since the pass began, on the device's clock; `None` without time stamps.
    pub device: Option<(f64, f64)>,
}
