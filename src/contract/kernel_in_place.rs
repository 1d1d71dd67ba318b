//! A learner's kernel that a run takes in place of the target's own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Grid, block, and bytes of local memory.
pub type LaunchShape = ([u32; 3], [u32; 3], u32);

/// Computes a launch from named sizes.
type LaunchShapeOf = Arc<dyn Fn(&[(&str, usize)]) -> anyhow::Result<LaunchShape> + Send + Sync>;

/// Arrays by name. Each element is stored as its bits.
pub type Arrays = BTreeMap<&'static str, Vec<u32>>;

/// Executes a kernel on named arrays, with named sizes and optionally one changed number. Returns the arrays that the
/// kernel writes.
type HostKernel = Arc<
    dyn Fn(&[(&str, usize)], Option<(&str, f32)>, Arrays) -> anyhow::Result<Arrays> + Send + Sync,
>;

/// A custom kernel that replaces one of the target's kernels.
#[derive(Clone)]
pub struct KernelInPlace {
    /// The exercise that it is written for.
    pub operation: String,
    /// Name of the target's kernel.
    pub replaces: String,
    pub entry: String,
    pub file: PathBuf,
    /// HIP C++ source that nvrtc also accepts.
    pub source: String,
    pub shape: LaunchShapeOf,
    /// Executes the kernel without a GPU.
    pub on_host: HostKernel,
}

impl fmt::Debug for KernelInPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KernelInPlace")
            .field(&self.operation)
            .finish()
    }
}
