//! Figures of earlier runs, stored in a file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::MeasuredRun;
use crate::comparison::{RunOrder, differing_facts, peak_bytes};
use crate::store::write_json;
use tinyllama_base::untrusted;
use tinyllama_contract::event::Hello;

const VERSION: u32 = 1;

/// Figures that later runs are compared with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Baseline {
    pub version: u32,
    /// Seconds since 1970.
    pub saved: u64,
    /// Version of the program.
    pub program: String,
    /// Flags that all targets share.
    pub flags: Vec<String>,
    pub targets: Vec<BaselineTarget>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BaselineTarget {
    /// As on the command line: `v2:--graph-fusion=off`.
    pub entry: String,
    /// Facts of the first run: device, model, seed and all else that has to be equal.
    pub hello: Hello,
    pub runs: Vec<RunFigures>,
}

/// Figures of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Measured steps, in order.
    pub step_ms: Vec<f64>,
    pub batch_size: usize,
    pub launches: Option<f64>,
    pub peak_bytes: Option<f64>,
    pub final_loss: Option<f64>,
}

impl RunFigures {
    pub fn from_run(run: &MeasuredRun) -> Self {
        RunFigures {
            step_ms: run.steps.iter().map(|step| step.total_ms).collect(),
            batch_size: run.hello.config.batch_size,
            launches: run.summary.launches_per_step,
            peak_bytes: peak_bytes(run).map(|bytes| bytes as f64),
            final_loss: run.summary.final_loss,
        }
    }

    /// Samples a second of each measured step.
    pub(super) fn throughput_of_steps(&self) -> Vec<f64> {
        let batch = self.batch_size as f64;
        self.step_ms.iter().map(|ms| batch / (ms / 1e3)).collect()
    }
}

/// Why a baseline cannot be used.
#[derive(Debug, Error)]
pub enum BaselineError {
    #[error(
        "cannot read the baseline {path}: {why}; make one with `regress TARGET --baseline {path} --save`"
    )]
    Read { path: PathBuf, why: String },
    #[error(
        "{path} is a baseline of version {version}, and this program reads {VERSION}: save it again"
    )]
    Version { path: PathBuf, version: u32 },
    #[error("cannot write the baseline {path}: {why}")]
    Write { path: PathBuf, why: String },
    #[error(
        "{entry}: the baseline was made under other conditions ({differing}): its figures say nothing about \
         these runs. Run with the baseline's flags, or save a new one"
    )]
    OtherCircumstances { entry: String, differing: String },
}

impl Baseline {
    pub fn new(flags: Vec<String>, saved: u64) -> Self {
        Baseline {
            version: VERSION,
            saved,
            program: env!("CARGO_PKG_VERSION").to_string(),
            flags,
            targets: vec![],
        }
    }

    /// Adds the runs of a target. Without a run it adds nothing.
    pub fn add(&mut self, entry: String, runs: &[MeasuredRun]) {
        let Some(first) = runs.first() else { return };
        self.targets.push(BaselineTarget {
            entry,
            hello: first.hello.clone(),
            runs: runs.iter().map(RunFigures::from_run).collect(),
        });
    }

    pub fn target(&self, entry: &str) -> Option<&BaselineTarget> {
        self.targets.iter().find(|target| target.entry == entry)
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not a baseline, or has another version.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let cannot = |why: String| BaselineError::Read {
            path: path.to_path_buf(),
            why,
        };
        let text = untrusted::read_text(path, untrusted::MOST_BYTES)
            .map_err(|error| cannot(error.to_string()))?;
        let any: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| cannot(error.to_string()))?;
        match any.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version != u64::from(VERSION) => Err(BaselineError::Version {
                path: path.to_path_buf(),
                version: u32::try_from(version).unwrap_or(u32::MAX),
            }),
            _ => serde_json::from_str(&text).map_err(|error| cannot(error.to_string())),
        }
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// Fails with the file system's message and the path.
    pub fn write(&self, path: &Path) -> Result<(), BaselineError> {
        let written = write_json(path, self).map(drop);
        written.map_err(|error| BaselineError::Write {
            path: path.to_path_buf(),
            why: format!("{error:#}"),
        })
    }
}

impl BaselineTarget {
    /// Refuses runs that measure something else. A changed driver is allowed, because a baseline is there to judge it.
    ///
    /// # Errors
    /// Fails if device, model, seed or number type differ.
    pub fn check_circumstances(&self, today: &Hello) -> Result<(), BaselineError> {
        let mut then = self.hello.clone();
        then.driver.clone_from(&today.driver);
        let differing = differing_facts(&then, today, RunOrder::Apart);
        if differing.is_empty() {
            return Ok(());
        }
        Err(BaselineError::OtherCircumstances {
            entry: self.entry.clone(),
            differing: differing.join(", "),
        })
    }
}
