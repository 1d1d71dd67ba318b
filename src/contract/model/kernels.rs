//! Sizes of this project's kernels in models.

use tinyllama_kernel_catalog::StepSizes;

use super::config::{ModelConfig, Preset};

/// Converts a config to the sizes that kernels use.
pub fn sizes(config: &ModelConfig) -> StepSizes {
    StepSizes {
        batch: config.batch_size,
        sequence: config.sequence_length,
        hidden: config.hidden,
        layers: config.layers,
        heads: config.heads,
        key_heads: config.kv_heads,
        ffn: config.ffn,
        vocabulary: config.vocabulary,
    }
}

/// The preset for pages that show only one size of each kernel.
pub const TYPICAL: Preset = Preset::Small;

/// The kernels' sizes for every preset.
pub fn preset_sizes() -> Vec<(String, StepSizes)> {
    let presets = Preset::ALL.into_iter();
    presets
        .map(|preset| (preset.to_string(), sizes(&preset.config())))
        .collect()
}

#[cfg(test)]
mod tests {
    use tinyllama_kernel_catalog::KERNELS;

    use super::*;

    #[test]
    fn costs_are_those_of_the_shapes() {
        let config = Preset::Small.config();
        let sizes = sizes(&config);
        let find = |kernel: &str, pass: &str| {
            let kernel = KERNELS.iter().find(|one| one.name == kernel).unwrap();
            let (pass, runs) = kernel
                .step_passes(&sizes)
                .find(|(one, _)| one.name == pass)
                .unwrap();
            (runs, (pass.cost)(&sizes))
        };
        // The kernel reads gate and up and writes one result: 3 arrays of 1024 x 2048 floats.
        assert_eq!(find("swiglu", "forward").1.bytes(), 3 * 1024 * 2048 * 4);
        assert_eq!(find("rmsnorm", "forward").0, 17);
        // The kernel reads value, gradient and two moments; it writes value and moments.
        let update = find("adamw", "update").1;
        assert_eq!(update.bytes(), config.parameters() * 7 * 4);
        assert!(find("flash_attention", "forward").1.intensity().unwrap() > 10.0);
    }
}
