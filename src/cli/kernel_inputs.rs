//! Facts about this build's kernels for the analysis commands.

use tinyllama_kernel_catalog::{KERNELS, Role};

use tinyllama_analysis::roofline::KernelWork;
use tinyllama_engine::model::{ModelConfig, kernels};

/// Operations and bytes of one run of each kernel pass in a model.
pub fn works(config: &ModelConfig) -> Vec<KernelWork> {
    let sizes = kernels::sizes(config);
    // A step has products of many sizes, of which the descriptor names one.
    let kernels = KERNELS.iter().filter(|kernel| kernel.role != Role::Product);
    let passes = kernels.flat_map(|kernel| {
        kernel
            .step_passes(&sizes)
            .map(|(pass, _)| (kernel.name, pass))
    });
    passes
        .map(|(kernel, pass)| {
            let cost = (pass.cost)(&sizes);
            KernelWork {
                kernel: kernel.to_string(),
                pass: pass.name.to_string(),
                flops: cost.flops as f64,
                bytes: cost.bytes() as f64,
            }
        })
        .collect()
}
