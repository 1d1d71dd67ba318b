//! Training flags that every command which starts a run shares.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use super::switches::{Switch, Switches};
use crate::BackendChoice;
use crate::bounds;
use crate::flags::{ReportArgs, UsageError};
use crate::model::{ConfigError, ModelConfig, Preset};
use crate::targets::Target;
use crate::{ElementType, Synchronize, TrainingOptions};

/// Default number of counted steps.
pub const USUAL_STEPS: usize = 20;

/// Type of the operands of matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    F32,
    Bf16,
    F16,
    /// bf16, or f16 if the device does not compute in bf16
    Half,
}

impl From<Dtype> for ElementType {
    fn from(dtype: Dtype) -> ElementType {
        match dtype {
            Dtype::F32 => ElementType::F32,
            Dtype::Bf16 | Dtype::Half => ElementType::Bf16,
            Dtype::F16 => ElementType::F16,
        }
    }
}

/// Device and numbers of a training run.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Training")]
pub struct TrainingArgs {
    /// Preset for the model's sizes; the flags below override single sizes
    #[arg(long, value_enum, default_value = "tiny", help_heading = "Model")]
    pub config: Preset,
    /// Width of the residual stream
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub hidden: Option<usize>,
    /// Transformer blocks
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub layers: Option<usize>,
    /// Query heads; the number must divide --hidden
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub heads: Option<usize>,
    /// Key and value heads; the number must divide --heads
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub kv_heads: Option<usize>,
    /// Width of the feed-forward network
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub ffn: Option<usize>,
    /// Tokens per sample
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub seq_len: Option<usize>,
    /// Samples per step
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub batch_size: Option<usize>,
    /// Size of the vocabulary
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub vocab: Option<usize>,

    /// Steps that count in the summary
    #[arg(long, value_name = "N", default_value_t = USUAL_STEPS, value_parser = bounds::STEPS)]
    pub num_steps: usize,
    /// Steps before the counted ones
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = bounds::WARMUP)]
    pub warmup: usize,
    /// AdamW's learning rate
    #[arg(long, value_name = "RATE", default_value_t = 3e-4, value_parser = bounds::LEARNING_RATE)]
    pub learning_rate: f64,
    /// Seed for initial weights and data
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Type of the operands of matrix products; parameters, optimizer and loss stay f32
    #[arg(long, value_enum, default_value = "f32")]
    pub dtype: Dtype,
    /// Train on the bytes of this text instead of random tokens
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub switches: Switches,
    #[command(flatten)]
    pub on: DeviceArgs,
}

/// The device, and which work on it a step waits for.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Device")]
pub struct DeviceArgs {
    /// Backend that executes the run
    #[arg(long, value_enum, default_value = "auto", env = "TINYLLAMA_BACKEND")]
    pub backend: BackendChoice,
    /// Device of the backend: its index, or part of a Vulkan adapter's name
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Work that a step waits for before it reads the clock (default: set by the target; phases for the versions, step
    /// with --graph on)
    #[arg(long, value_enum, value_name = "WHEN")]
    pub sync: Option<Synchronize>,
    /// Fail if two repeats of a step with the same seed differ in any bit
    #[arg(long)]
    pub deterministic: bool,
    /// Compare two repeats of a step at the end and report their difference
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "on")]
    pub repeatability: Switch,
}

impl TrainingArgs {
    /// The model's sizes, checked for consistency.
    pub fn model_config(&self) -> Result<ModelConfig, ConfigError> {
        self.resolve(self.config.config())
    }

    /// `preset` with the sizes from the flags, checked for consistency.
    pub fn resolve(&self, preset: ModelConfig) -> Result<ModelConfig, ConfigError> {
        let config = ModelConfig {
            vocabulary: self.vocab.unwrap_or(preset.vocabulary),
            hidden: self.hidden.unwrap_or(preset.hidden),
            layers: self.layers.unwrap_or(preset.layers),
            heads: self.heads.unwrap_or(preset.heads),
            kv_heads: self.kv_heads.unwrap_or(preset.kv_heads),
            ffn: self.ffn.unwrap_or(preset.ffn),
            sequence_length: self.seq_len.unwrap_or(preset.sequence_length),
            batch_size: self.batch_size.unwrap_or(preset.batch_size),
        };
        config.validate()?;
        Ok(config)
    }

    /// The options with which `target` trains under these flags. Profile pass, trace and sample are off.
    ///
    /// # Errors
    /// If flags contradict each other, or name a choice that this target does not have.
    pub fn options(&self, target: Target) -> Result<TrainingOptions> {
        let options = self.options_of_any(target)?;
        let refused = target.engine.check(target, self);
        refused.map_err(UsageError)?;
        Ok(options)
    }

    /// The same for one of several targets. It accepts flags that only another target understands.
    ///
    /// # Errors
    /// If flags contradict each other.
    pub fn options_of_any(&self, target: Target) -> Result<TrainingOptions> {
        let timing = match self.switches.fix {
            Some(fix) => fix.apply_to(target.recipe, target.timing).1,
            None => target.timing,
        };
        if self.on.deterministic && !self.on.repeatability.is_on() {
            bail!(UsageError(
                "--deterministic compares two repeats of a step, which --repeatability off leaves out: give one of them"
                    .into()
            ));
        }
        Ok(TrainingOptions {
            target,
            flags: self.clone(),
            report: ReportArgs::default(),
            recipe: self.switches.apply(target)?,
            config: self.model_config()?,
            synchronize: self.on.sync.unwrap_or(match self.switches.graph {
                // A graph is one piece, without times of its parts.
                Switch::On => Synchronize::Step,
                Switch::Off => timing,
            }),
            kernels: vec![],
            ranks: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::targets::{stage5, stage6, v1, v2, v3, v4};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        training: TrainingArgs,
    }

    #[test]
    fn switches_are_refused_where_they_mean_nothing() {
        let options = |target: Target, flag: &str| {
            let line = Line::try_parse_from(["tutor", flag]).unwrap();
            line.training.options(target)
        };
        for (target, flag, remedy) in [
            (v1::TARGET, "--gemm=vendor", "use v4"),
            (stage5::TARGET, "--gemm=vendor", "use v4"),
            (v2::TARGET, "--block=single", "v4's"),
            (v1::TARGET, "--ultra=off", "v4's"),
            (v3::TARGET, "--matmul-precision=f32", "v4's"),
            (v4::TARGET, "--graph=on", "--gemm cubek"),
        ] {
            let error = options(target, flag).unwrap_err();
            assert!(error.is::<UsageError>());
            let text = error.to_string();
            assert!(
                text.contains(flag.split('=').next().unwrap()) && text.contains(remedy),
                "{text}"
            );
        }
        for (target, flag) in [
            (v4::TARGET, "--gemm=vendor"),
            (v4::TARGET, "--gemm=cubek"),
            (v4::TARGET, "--block=single"),
            (v4::TARGET, "--ultra=off"),
            (v1::TARGET, "--graph=on"),
            (v3::TARGET, "--gemm=cubek"),
            (stage6::TARGET, "--gemm=auto"),
        ] {
            assert!(options(target, flag).is_ok(), "{target} {flag}");
        }
    }
}
