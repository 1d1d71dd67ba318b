//! The flags of a run over several GPUs.

use anyhow::{Result, bail};
use clap::Args;

use super::switches::Switch;
use crate::BackendChoice;
use crate::flags::UsageError;
use crate::targets::{Target, v4};
use crate::{Gemm, Options};

const MEBI: f64 = (1 << 20) as f64;

/// More processes than this are a slip of the keyboard.
const MOST: usize = 1024;

/// How a batch is shared by GPUs, and when their gradients are summed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Several GPUs")]
pub struct RankArgs {
    /// v4: train on this many GPUs, one process each, with a share of every batch; --batch-size stays that of all together
    #[arg(long, value_name = "N")]
    pub gpus: Option<usize>,
    /// Samples per step of each GPU, in place of --batch-size
    #[arg(long, value_name = "N", requires = "gpus")]
    pub batch_per_gpu: Option<usize>,
    /// Sum gradients over the GPUs while the backward pass goes on; off: after it
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "on")]
    pub overlap: Switch,
    /// MiB of gradients that are summed at once, at least
    #[arg(long, value_name = "MIB", default_value_t = 16.0)]
    pub bucket_mb: f64,
    /// Compare gradients over all GPUs with one GPU's before the first step
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "on")]
    pub check_ranks: Switch,
}

impl RankArgs {
    /// GPUs, where there is more than one.
    pub fn several(&self) -> Option<usize> {
        self.gpus.filter(|gpus| *gpus > 1)
    }

    pub fn bucket_bytes(&self) -> usize {
        (self.bucket_mb * MEBI) as usize
    }

    /// `options` with the whole batch, checked for what ranks need.
    ///
    /// # Errors
    /// What makes no sense together.
    pub fn over(&self, target: Target, mut options: Options) -> Result<Options> {
        let Some(gpus) = self.gpus else {
            return Ok(options);
        };
        let refuse = |why: String| bail!(UsageError(why));
        if gpus == 0 || gpus > MOST {
            return refuse(format!(
                "--gpus {gpus}: at least one GPU has to train, and at most {MOST}"
            ));
        }
        if !(self.bucket_mb.is_finite() && self.bucket_mb > 0.0) {
            return refuse(format!(
                "--bucket-mb {} has to be a positive number",
                self.bucket_mb
            ));
        }
        if let Some(each) = self.batch_per_gpu {
            options.config.batch_size = each.saturating_mul(gpus);
            options.config.validate()?;
        }
        let batch = options.config.batch_size;
        if !batch.is_multiple_of(gpus) {
            return refuse(format!(
                "--gpus {gpus}: a batch of {batch} cannot be shared equally; take a --batch-size that is a multiple of {gpus}, or --batch-per-gpu"
            ));
        }
        if gpus == 1 {
            return Ok(options);
        }
        if target != v4::TARGET {
            return refuse(format!("--gpus {gpus} is v4's: {target} trains on one GPU"));
        }
        if matches!(options.backend, BackendChoice::Cpu | BackendChoice::Vulkan)
            || options.gemm == Gemm::Cubek
        {
            return refuse(format!(
                "--gpus {gpus} goes through CUDA or HIP: take --backend cuda or rocm, and leave out --gemm cubek"
            ));
        }
        if options.device.is_some() {
            return refuse(format!(
                "--gpus {gpus} takes the first {gpus} devices: choose them with CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES in place of --device"
            ));
        }
        Ok(options)
    }
}
