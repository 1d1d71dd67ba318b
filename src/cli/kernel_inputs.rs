//! What the analysis commands need to know of this build's kernels.

use tinyllama_kernels::tunables::TUNABLES;

use super::tune::Tunable;
use crate::analysis::roofline::KernelWork;
use crate::model::{ModelConfig, kernel_cost};

/// What one run of each kernel's passes computes and moves in a model.
pub fn works(config: &ModelConfig) -> Vec<KernelWork> {
    kernel_cost::of(config)
        .into_iter()
        .map(|counted| KernelWork {
            kernel: counted.kernel.to_string(),
            pass: counted.pass.to_string(),
            flops: counted.cost.flops as f64,
            bytes: counted.cost.bytes() as f64,
        })
        .collect()
}

/// Kernels with a block size that a target of the course runs; the naive one is there to be slow.
pub fn tunables() -> Vec<Tunable<'static>> {
    TUNABLES
        .iter()
        .filter(|tunable| tunable.kernel != "swiglu_naive")
        .map(|tunable| Tunable {
            kernel: tunable.kernel,
            sizes: tunable.sizes,
        })
        .collect()
}
