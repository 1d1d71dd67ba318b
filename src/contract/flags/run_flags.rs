//! Every flag of `run`.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, bail};
use clap::{ArgGroup, Args};

use crate::TrainingOptions;
use crate::bounds;
use crate::flags::{RankArgs, TrainingArgs, UsageError};
use crate::targets::Target;

/// How to train, and which reports to make.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("output").multiple(false), next_help_heading = "Report")]
pub struct RunFlags {
    #[command(flatten)]
    pub training: TrainingArgs,
    #[command(flatten)]
    pub ranks: RankArgs,
    /// v4: use your kernel instead of v4's own, as OPERATION=FILE; may be repeated (`workbench list` shows the
    /// operations)
    #[arg(long, value_name = "OPERATION=FILE", help_heading = "Optimizations")]
    pub kernel: Vec<OwnKernel>,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Print one JSON object per line while the run goes on
    #[arg(long, group = "output")]
    pub events: bool,
    /// Print one JSON document at the end
    #[arg(long, group = "output")]
    pub json: bool,
}

/// What a run reports besides its steps.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Report")]
pub struct ReportArgs {
    /// Show statistics of every layer's output before the first step
    #[arg(long)]
    pub diagnose: bool,
    /// Time every kernel in this many extra steps
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = bounds::PROFILED_STEPS)]
    pub profile_steps: usize,
    /// Write the profile pass as a Chrome trace, or a file .pftrace for Perfetto
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Count floating-point operations and bytes for every part of the model
    #[arg(long)]
    pub flops: bool,
    /// Let the trained model continue the text by this many bytes
    #[arg(long, value_name = "N", default_value_t = 0, requires = "data", value_parser = bounds::SAMPLE)]
    pub sample: usize,
}

/// A learner's kernel and the operation it carries out: `rmsnorm=my.hip`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnKernel {
    pub operation: String,
    pub file: PathBuf,
}

impl FromStr for OwnKernel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((operation, file)) if !operation.is_empty() && !file.is_empty() => Ok(OwnKernel {
                operation: operation.to_owned(),
                file: file.into(),
            }),
            _ => Err(format!(
                "`{text}` is not OPERATION=FILE, such as rmsnorm=rmsnorm.hip"
            )),
        }
    }
}

impl RunFlags {
    /// The options with which `target` trains under these flags.
    ///
    /// # Errors
    /// If flags contradict each other.
    pub fn options(&self, target: Target) -> Result<TrainingOptions> {
        let mut options = self.training.options(target)?;
        self.ranks.apply(&mut options)?;
        if self.ranks.batch_per_gpu.is_some() && self.training.batch_size.is_some() {
            bail!(UsageError(
                "--batch-size is that of all GPUs, --batch-per-gpu of each: give one of them"
                    .into()
            ));
        }
        if self.ranks.gpu_count().is_some() && !self.kernel.is_empty() {
            bail!(UsageError(
                "--kernel is tried on one GPU: leave out --gpus, or --kernel".into()
            ));
        }
        options.report = self.report.clone();
        if options.report.trace.is_some() {
            // A trace without a profile pass would be empty.
            options.report.profile_steps = options.report.profile_steps.max(1);
        }
        Ok(options)
    }
}
