//! Flags that are handed on to the runs as they came: each run checks them as `run` itself does.

use std::ffi::OsString;

use anyhow::Result;
use clap::Args;

use crate::analysis::{Runner, Stop};
use crate::cli::training_args::UsageError;
use crate::run::folder;

/// What every run of a command has in common.
#[derive(Clone, Debug, Default, Args)]
pub struct RunFlags {
    /// tiny, small or medium
    #[arg(long, value_name = "PRESET", help_heading = "Model")]
    pub config: Option<String>,
    /// Width of the residual stream
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub hidden: Option<String>,
    /// Transformer blocks
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub layers: Option<String>,
    /// Query heads
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub heads: Option<String>,
    /// Key and value heads
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub kv_heads: Option<String>,
    /// Width of the feed-forward network
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub ffn: Option<String>,
    /// Size of the vocabulary
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub vocab: Option<String>,
    /// Counted steps of each run
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub num_steps: Option<String>,
    /// Steps before them that are not counted
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub warmup: Option<String>,
    /// Fixes initial weights and data
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub seed: Option<String>,
    /// Operands of matrix products: f32, bf16 or f16
    #[arg(long, value_name = "TYPE", help_heading = "Training")]
    pub dtype: Option<String>,
    /// auto, rocm, cuda, vulkan or cpu
    #[arg(long, value_name = "BACKEND", help_heading = "Device")]
    pub backend: Option<String>,
    /// Which device of the backend
    #[arg(long, value_name = "DEVICE", help_heading = "Device")]
    pub device: Option<String>,
    /// Words to put before every run, such as "srun --gres=gpu:1"
    #[arg(
        long,
        value_name = "WORDS",
        help_heading = "Device",
        env = "TINYLLAMA_LAUNCHER"
    )]
    pub launcher: Option<String>,
    /// Any other flags of `run`: `-- --learning-rate 1e-3`
    #[arg(last = true, value_name = "RUN FLAGS")]
    pub rest: Vec<OsString>,
}

/// The two sizes that a scan varies.
#[derive(Clone, Debug, Default, Args)]
pub struct SizeFlags {
    /// Tokens per sample
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub seq_len: Option<String>,
    /// Samples per step
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub batch_size: Option<String>,
}

/// How often and how surely.
#[derive(Clone, Debug, Args)]
pub struct MeasureFlags {
    /// Rounds; in each everything runs once, in turns
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub rounds: usize,
    /// Of intervals, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0)]
    pub confidence: f64,
}

impl RunFlags {
    /// As a run takes them.
    pub fn words(&self) -> Vec<OsString> {
        let given = [
            ("config", &self.config),
            ("hidden", &self.hidden),
            ("layers", &self.layers),
            ("heads", &self.heads),
            ("kv-heads", &self.kv_heads),
            ("ffn", &self.ffn),
            ("vocab", &self.vocab),
            ("num-steps", &self.num_steps),
            ("warmup", &self.warmup),
            ("seed", &self.seed),
            ("dtype", &self.dtype),
            ("backend", &self.backend),
            ("device", &self.device),
        ];
        let mut words = words(&given);
        words.extend(self.rest.iter().cloned());
        words
    }

    /// Starts runs of this program, through the launcher where one is given.
    ///
    /// # Errors
    /// When the launcher's words cannot be read, or there is no place for the runs' files.
    pub fn runner(&self, stop: Stop) -> Result<Runner> {
        let launcher = match &self.launcher {
            Some(words) => shlex::split(words).ok_or_else(|| {
                UsageError(format!(
                    "--launcher {words}: a quotation mark is not closed"
                ))
            })?,
            None => vec![],
        };
        Ok(Runner {
            launcher: launcher.into_iter().map(OsString::from).collect(),
            program: std::env::current_exe()?,
            root: folder::state_folder()?,
            stop,
        })
    }
}

impl SizeFlags {
    pub fn words(&self) -> Vec<OsString> {
        words(&[("seq-len", &self.seq_len), ("batch-size", &self.batch_size)])
    }
}

impl MeasureFlags {
    /// Two-sided, between 0.5 and 1.
    ///
    /// # Errors
    /// When nothing would run, or the confidence is none.
    pub fn checked(&self) -> Result<(usize, f64), UsageError> {
        if self.rounds == 0 {
            return Err(UsageError("--rounds is 0: nothing would run".into()));
        }
        if !(self.confidence > 50.0 && self.confidence < 100.0) {
            return Err(UsageError(format!(
                "--confidence {}: it lies between 50 and 100 per cent, such as 95",
                self.confidence
            )));
        }
        Ok((self.rounds, self.confidence / 100.0))
    }
}

/// How runs are timed unless flags say otherwise. Waiting once a step is the least a true step time needs; waiting after each
/// phase would slow the step down.
pub fn timed() -> Vec<OsString> {
    vec!["--sync=step".into(), "--repeatability=off".into()]
}

fn words(given: &[(&str, &Option<String>)]) -> Vec<OsString> {
    given
        .iter()
        .filter_map(|(flag, value)| Some(format!("--{flag}={}", value.as_ref()?).into()))
        .collect()
}
