//! The debugging scenario on this device: the figures of each stage, and whether its effect shows here.

mod effects;

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

pub use effects::{StageEffect, effects};

use super::comparison::{Comparison, ComparisonRow, Side, total_series};
use super::relative::{RelativeTime, USUAL_MARGIN};
use super::store::{device_file, write_json};
use super::workshop::{FIGURES, StageClaims};
use tinyllama_base::statistics::Series;
use tinyllama_contract::model::ModelConfig;

/// Notes on the workshop's column.
pub const WORKSHOP_NOTES: [&str; 2] = [
    "Workshop: as its debugging guide prints it, for an MI325X; its stage files were never published, so those figures cannot be repeated.",
    "Its 5.5x comes from kernels without a backward pass; stage 6 here shows what that means.",
];

/// A stage in the table.
#[derive(Clone, Debug, Serialize)]
pub struct StageResult {
    #[serde(flatten)]
    pub row: ComparisonRow,
    /// The fault of this stage.
    pub issue: String,
    pub workshop: StageClaims,
    /// Time over that of the stage before. Null for the first stage, and if the stage before did not run.
    pub relative_to_before: Option<RelativeTime>,
}

/// Builds rows for the stages that ran, in order. The baseline is the comparison's first row.
pub fn rows(comparison: &Comparison, stages: &[Side], confidence: f64) -> Vec<StageResult> {
    let series = |target: &str| -> Vec<Series> {
        let stage = stages.iter().find(|stage| stage.name == target);
        stage.map_or(vec![], |stage| total_series(&stage.runs))
    };
    let with_stage = |row: &ComparisonRow| {
        let all = &FIGURES.stages;
        let place = all.iter().position(|stage| stage.target == row.name)?;
        // The baseline is not a stage, so the first stage has none before it.
        let before = (place > 1).then(|| series(&all[place - 1].target));
        Some(StageResult {
            row: row.clone(),
            issue: all[place].issue.clone(),
            workshop: all[place].workshop.clone(),
            relative_to_before: before.and_then(|before| {
                RelativeTime::from_rounds(&series(&row.name), &before, confidence, USUAL_MARGIN)
            }),
        })
    };
    comparison.rows.iter().filter_map(with_stage).collect()
}

const VERSION: u32 = 1;

/// The effects found on one device. Lessons read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageFindings {
    pub version: u32,
    pub backend: String,
    pub device: String,
    pub driver: Option<String>,
    /// Seconds since 1970.
    pub found: u64,
    /// Version of the program.
    pub program: String,
    pub config: ModelConfig,
    pub rounds: usize,
    pub confidence: f64,
    pub effects: Vec<StageEffect>,
}

impl StageFindings {
    /// Judges runs that took turns. Returns `None` without a run.
    pub fn from_stages(stages: &[Side], confidence: f64, found: u64) -> Option<Self> {
        let first = &stages.iter().find(|stage| !stage.runs.is_empty())?.runs;
        let hello = &first.first()?.hello;
        Some(StageFindings {
            version: VERSION,
            backend: hello.backend.clone(),
            device: hello.device.clone(),
            driver: hello.driver.clone(),
            found,
            program: env!("CARGO_PKG_VERSION").into(),
            config: hello.config,
            rounds: first.len(),
            confidence,
            effects: effects(stages, confidence),
        })
    }

    /// Stores the findings of this device below the state folder `root` and returns their path.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn save(&self, root: &Path) -> Result<PathBuf> {
        let path = device_file(root, "stages", &self.backend, &self.device);
        write_json(&path, self)
    }
}
