//! A rank: one of several processes that train one model, each on its own GPU with its share of every batch.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::platform::Platform;
use super::schedule::{Concurrency, Sums};
use super::trainer::ScheduleTrainer;
use crate::device::driver::{Communicator, Driver, GemmPrecision, UniqueId};
use crate::train::event::RankCheck;
use crate::train::{Batch, RankOptions, TrainingOptions, rank_batch};
use tinyllama_base::statistics::relative_difference;

/// The file in the meeting folder that holds the identifier by which ranks find each other.
const ID: &str = "id";

/// How long the others wait for the identifier. The first rank opens its device and loads the library before it creates it.
const MEETING_TIMEOUT: Duration = Duration::from_secs(120);

/// State of a rank's engine in addition to its trainer.
pub struct Ranks {
    pub options: RankOptions,
    /// The same device, for computing without the other ranks.
    pub platform: Platform,
    /// Options of the same run on one GPU with the whole batch.
    pub whole: TrainingOptions,
}

/// Describes how a schedule sums gradients under `options`.
pub fn sums(options: &RankOptions, precision: GemmPrecision) -> Sums {
    Sums {
        rank: options.rank,
        ranks: options.ranks,
        bucket: options.flags.bucket_bytes() / precision.element_bytes(),
        overlap: options.flags.overlap.is_on(),
    }
}

/// Joins the other ranks. The first rank passes the identifier to the others through a file.
///
/// # Errors
/// Errors of the library; a first rank that does not appear in time.
pub fn meet(driver: &Driver, options: &RankOptions) -> Result<Communicator> {
    let file = options.meeting.join(ID);
    let id = if options.rank == 0 {
        let id = driver.unique_id()?;
        let draft = options.meeting.join("id.new");
        let written = fs::write(&draft, id.bytes()).and_then(|()| fs::rename(&draft, &file));
        written.with_context(|| format!("cannot write {}", file.display()))?;
        id
    } else {
        let deadline = Instant::now() + MEETING_TIMEOUT;
        loop {
            let read = fs::read(&file).ok();
            if let Some(id) = read.and_then(|bytes| UniqueId::from_bytes(&bytes)) {
                break id;
            }
            if Instant::now() > deadline {
                bail!(
                    "the first rank did not write {} within {} s",
                    file.display(),
                    MEETING_TIMEOUT.as_secs()
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    Ok(driver.communicator(&id, options.rank, options.ranks)?)
}

impl Ranks {
    /// Compares gradients over all ranks with those that the first rank computes alone from the whole batch. All ranks
    /// have to call it; only the first gets a result.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn compare(
        &self,
        trainer: &mut ScheduleTrainer,
        batch: &Batch,
    ) -> Result<Option<RankCheck>> {
        let share = rank_batch(&self.options, batch);
        let (_, summed) = trainer.gradients(&share.tokens, &share.targets)?;
        let values = trainer.executor.weights()?;
        if self.options.rank != 0 {
            return Ok(None);
        }
        // One lane takes the least memory, since the trainer also stays on the device.
        let executor = self
            .platform
            .device_executor(&self.whole, Concurrency::NONE)?;
        let mut alone = ScheduleTrainer::resume(Box::new(executor), &values)?;
        let (_, whole) = alone.gradients(&batch.tokens, &batch.targets)?;
        let tolerance = match self.platform.precision(&self.whole)? {
            GemmPrecision::F32 => 1e-4,
            GemmPrecision::Tf32 => 5e-3,
            GemmPrecision::Bf16 => 3e-2,
        };
        let mut check = RankCheck {
            tolerance,
            ..RankCheck::default()
        };
        for ((name, ours), (_, theirs)) in summed.iter().zip(&whole) {
            let difference = relative_difference(ours, theirs);
            // A NaN counts as a difference.
            if difference > check.gradient_difference || !difference.is_finite() {
                check.gradient_difference = difference;
                check.worst_parameter = Some(name.clone());
            }
        }
        drop(alone);
        // The memory of the check does not count in the run's peak.
        self.platform.driver("--gpus")?.forget_peak();
        check.tensors = whole.len();
        check.passed = check.gradient_difference <= tolerance;
        Ok(Some(check))
    }
}
