//! What `roofline` and `tune` are told about this project's kernels.

use tinyllama_kernels::tunables::TUNABLES;

use super::tune::Tunable;
use crate::analysis::roofline::KernelWork;
use crate::model::{ModelConfig, kernel_cost};

/// One run of every pass of every kernel.
pub fn kernel_works(config: &ModelConfig) -> Vec<KernelWork> {
    kernel_cost::of(config)
        .into_iter()
        .map(|cost| KernelWork {
            kernel: cost.kernel.to_string(),
            pass: cost.pass.to_string(),
            flops: cost.cost.flops as f64,
            bytes: cost.cost.bytes() as f64,
        })
        .collect()
}

/// Every kernel with a block size.
pub fn tunables() -> Vec<Tunable<'static>> {
    TUNABLES
        .iter()
        .map(|tunable| Tunable {
            kernel: tunable.kernel,
            sizes: tunable.sizes,
        })
        .collect()
}
