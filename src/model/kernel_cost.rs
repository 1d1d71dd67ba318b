//! What each of this project's kernels must move and compute in a training step of a config, in f32.

use tinyllama_kernels::{
    Cost, adamw, add_rmsnorm, cross_entropy, flash_attention, launch::F32, rmsnorm, rope, swiglu,
    swiglu_naive,
};

use super::config::ModelConfig;
use super::recipe::{Attention, Operations, Swiglu};
use super::target::Target;

/// One operation's forward or backward pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelCost {
    pub kernel: &'static str,
    pub pass: &'static str,
    /// How often a step of v3 runs it; 0 for kernels that v3 does without.
    pub runs_per_step: usize,
    /// Of one run.
    pub cost: Cost,
}

/// Every kernel's passes, counted from shapes.
pub fn of(config: &ModelConfig) -> Vec<KernelCost> {
    let (layers, rows) = (config.layers, config.tokens());
    let norms = 2 * layers + 1;
    let norm = rmsnorm::Shape {
        rows,
        width: config.hidden,
    };
    let norm_dtypes = rmsnorm::Dtypes {
        activation: F32,
        weight: F32,
    };
    let heads = rope::Shape {
        batch: config.batch_size,
        seq: config.sequence_length,
        heads: config.heads + 2 * config.kv_heads,
        turned: config.heads + config.kv_heads,
        head_dim: config.head_dim(),
        layout: rope::Layout::TokenMajor,
    };
    let attention = flash_attention::Shape::new(
        config.batch_size,
        config.sequence_length,
        config.heads,
        config.kv_heads,
        config.head_dim(),
    );
    let activation = swiglu::Shape {
        rows,
        hidden: config.ffn,
    };
    let naive = swiglu_naive::Shape {
        rows,
        width: config.hidden,
        hidden: config.ffn,
    };
    let logits = cross_entropy::Shape {
        rows,
        classes: config.vocabulary,
    };
    let logits_dtypes = cross_entropy::Dtypes {
        logits: F32,
        targets: F32,
    };
    let parameters = usize::try_from(config.parameters()).unwrap_or(usize::MAX);
    let entry = |kernel, pass, runs_per_step, cost| KernelCost {
        kernel,
        pass,
        runs_per_step,
        cost,
    };
    vec![
        entry(
            "rmsnorm",
            "forward",
            norms,
            rmsnorm::forward_cost(norm, norm_dtypes),
        ),
        entry(
            "rmsnorm",
            "backward",
            norms,
            rmsnorm::backward_cost(norm, norm_dtypes),
        ),
        entry(
            "add_rmsnorm",
            "forward",
            0,
            add_rmsnorm::forward_cost(norm, norm_dtypes),
        ),
        entry(
            "add_rmsnorm",
            "backward",
            0,
            add_rmsnorm::backward_cost(norm, norm_dtypes),
        ),
        entry("rope", "each way", 2 * layers, rope::cost(heads, F32)),
        entry(
            "flash_attention",
            "forward",
            layers,
            flash_attention::forward_cost(attention, F32),
        ),
        entry(
            "flash_attention",
            "backward",
            layers,
            flash_attention::backward_cost(attention, F32),
        ),
        entry(
            "swiglu",
            "forward",
            layers,
            swiglu::forward_cost(activation, F32),
        ),
        entry(
            "swiglu",
            "backward",
            layers,
            swiglu::backward_cost(activation, F32),
        ),
        entry(
            "swiglu_naive",
            "forward",
            0,
            swiglu_naive::forward_cost(naive, F32),
        ),
        entry(
            "cross_entropy",
            "both",
            1,
            cross_entropy::fused_cost(logits, logits_dtypes),
        ),
        entry(
            "adamw",
            "update",
            1,
            adamw::cost(
                parameters,
                0,
                adamw::Dtypes {
                    gradient: F32,
                    copy: F32,
                },
            ),
        ),
    ]
}

/// Targets that train with `kernel`. V4 is in no list: its schedule has kernels of its own.
pub fn targets_with(kernel: &str) -> Vec<Target> {
    Target::ALL
        .into_iter()
        .filter(|target| *target != Target::V4)
        .filter(|target| {
            let recipe = target.recipe();
            match kernel {
                "rmsnorm" | "cross_entropy" | "adamw" => recipe.operations == Operations::Kernels,
                "rope" | "flash_attention" => recipe.attention == Attention::Kernel,
                // The naive kernel has its backward pass from the other one.
                "swiglu" => recipe.swiglu != Swiglu::Library,
                "swiglu_naive" => recipe.swiglu == Swiglu::Naive,
                _ => false,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    #[test]
    fn every_kernel_is_named_with_the_targets_that_launch_it() {
        let v3 = |kernel: &str| targets_with(kernel).contains(&Target::V3);
        let names: Vec<&str> = tinyllama_kernels::CATALOG
            .iter()
            .map(|entry| entry.name)
            .filter(|name| !v3(name))
            .collect();
        assert_eq!(names, ["add_rmsnorm", "swiglu_naive"]);
        let naive = targets_with("swiglu_naive");
        assert_eq!(naive, &Target::STAGES[..4]);
    }

    #[test]
    fn costs_are_those_of_the_shapes() {
        let config = Preset::Small.config();
        let costs = of(&config);
        let find = |kernel, pass| {
            costs
                .iter()
                .find(|cost| cost.kernel == kernel && cost.pass == pass)
                .unwrap()
        };
        // gate and up are read, one result is written: 3 arrays of 1024 x 2048 floats.
        assert_eq!(find("swiglu", "forward").cost.bytes(), 3 * 1024 * 2048 * 4);
        assert_eq!(find("rmsnorm", "forward").runs_per_step, 17);
        // Value, gradient and two moments are read; value and moments are written.
        assert_eq!(
            find("adamw", "update").cost.bytes(),
            config.parameters() * 7 * 4
        );
        assert!(find("flash_attention", "forward").cost.intensity().unwrap() > 10.0);
    }
}
