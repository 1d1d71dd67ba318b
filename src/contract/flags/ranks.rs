//! Flags for a run on several GPUs.

use anyhow::{Result, bail};
use clap::Args;

use super::switches::Switch;
use crate::BackendChoice;
use crate::bounds;
use crate::flags::UsageError;
use crate::targets::v4;
use crate::{Gemm, TrainingOptions};

const MEBI: f64 = (1 << 20) as f64;

/// How GPUs share a batch, and when their gradients are summed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Several GPUs")]
pub struct RankArgs {
    /// v4: train on this many GPUs with one process each; every GPU gets a share of the batch, and --batch-size is
    /// the total
    #[arg(long, value_name = "N", value_parser = bounds::GPUS)]
    pub gpus: Option<usize>,
    /// Samples per step on each GPU, instead of --batch-size
    #[arg(long, value_name = "N", requires = "gpus", value_parser = bounds::BATCH)]
    pub batch_per_gpu: Option<usize>,
    /// Sum gradients over the GPUs during the backward pass; off: after it
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "on")]
    pub overlap: Switch,
    /// Minimum MiB of gradients in one sum
    #[arg(long, value_name = "MIB", default_value = "16", value_parser = bounds::BUCKET)]
    pub bucket_mb: f64,
    /// Compare gradients over all GPUs with those of one GPU before the first step
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "on")]
    pub check_ranks: Switch,
}

impl RankArgs {
    /// The number of GPUs if there are several.
    pub fn gpu_count(&self) -> Option<usize> {
        self.gpus.filter(|gpus| *gpus > 1)
    }

    pub fn bucket_bytes(&self) -> usize {
        (self.bucket_mb * MEBI) as usize
    }

    /// Sets the whole batch in `options`, and checks the requirements of ranks.
    ///
    /// # Errors
    /// If flags contradict each other.
    pub fn apply(&self, options: &mut TrainingOptions) -> Result<()> {
        let Some(gpus) = self.gpus else {
            return Ok(());
        };
        let refuse = |why: String| bail!(UsageError(why));
        if let Some(each) = self.batch_per_gpu {
            options.config.batch_size = each.saturating_mul(gpus);
            options.config.validate()?;
        }
        let batch = options.config.batch_size;
        if !batch.is_multiple_of(gpus) {
            return refuse(format!(
                "--gpus {gpus}: a batch of {batch} cannot be shared equally; use a --batch-size that is a multiple of {gpus}, or --batch-per-gpu"
            ));
        }
        if gpus == 1 {
            return Ok(());
        }
        let target = options.target;
        if target != v4::TARGET {
            return refuse(format!("--gpus {gpus} is v4's: {target} trains on one GPU"));
        }
        let on = &options.flags.on;
        if matches!(on.backend, BackendChoice::Cpu | BackendChoice::Vulkan)
            || options.flags.switches.gemm == Gemm::Cubek
        {
            return refuse(format!(
                "--gpus {gpus} goes through CUDA or HIP: use --backend cuda or rocm, and leave out --gemm cubek"
            ));
        }
        if on.device.is_some() {
            return refuse(format!(
                "--gpus {gpus} takes the first {gpus} devices: choose them with CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES in place of --device"
            ));
        }
        Ok(())
    }
}
