//! The debugging scenario on this device: what each stage measures, and whether the effect it is about shows here.

mod effects;

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

pub use effects::{Effect, EffectId, Shows, effects};

use super::comparison::{Comparison, Row};
use super::relative::{RelativeTime, USUAL_MARGIN};
use super::runner::MeasuredRun;
use super::store::{device_file, read_json, write_json};
use crate::base::statistics::Series;
use crate::model::ModelConfig;

/// A stage as the workshop describes it. Nothing of this was measured here.
pub struct Stage {
    pub target: &'static str,
    /// What is wrong with it, for the summary at the end.
    pub issue: &'static str,
    pub workshop: Workshop,
}

/// The workshop's figures, as its guide prints them; empty where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Workshop {
    pub loss: &'static str,
    pub samples_per_s: &'static str,
    pub to_v1: &'static str,
    pub memory: &'static str,
}

/// What its stages are compared with.
pub const BASELINE: Stage = Stage {
    target: "v1",
    issue: "baseline",
    workshop: Workshop {
        loss: "",
        samples_per_s: "372.9",
        to_v1: "1x",
        memory: "522.3 MB",
    },
};

/// The stages in their order. The guide knows five; its stage files were never published.
pub const STAGES: [Stage; 6] = [
    stage(
        "stage1",
        "weights as layers come: the logits explode",
        ["942", "N/A", "N/A", "N/A"],
    ),
    stage(
        "stage2",
        "strided keys and values",
        ["7.0", "15", "0.04x", "~282 MB"],
    ),
    stage(
        "stage3",
        "parts read without waiting",
        ["7.0", "311", "0.83x", "~282 MB"],
    ),
    stage(
        "stage4",
        "naive SwiGLU kernel",
        ["7.0", "306", "0.82x", "~282 MB"],
    ),
    stage(
        "stage5",
        "library products, own kernels",
        ["7.0", "2065", "5.5x", "~282 MB"],
    ),
    stage("stage6", "no backward pass", ["", "", "", ""]),
];

const fn stage(target: &'static str, issue: &'static str, figures: [&'static str; 4]) -> Stage {
    let [loss, samples_per_s, to_v1, memory] = figures;
    Stage {
        target,
        issue,
        workshop: Workshop {
            loss,
            samples_per_s,
            to_v1,
            memory,
        },
    }
}

/// Said beside the workshop's column.
pub const WORKSHOP_NOTES: [&str; 2] = [
    "Workshop: as its debugging guide prints it, for an MI325X; its stage files were never published, so nobody can repeat those figures.",
    "Its 5.5x is that of kernels without a backward pass, which stage 6 here shows for what it is.",
];

/// A stage in the table.
#[derive(Clone, Debug, Serialize)]
pub struct StageRow {
    #[serde(flatten)]
    pub row: Row,
    pub issue: &'static str,
    pub workshop: Workshop,
    /// Time over that of the stage before; null for the first, and where that one did not run.
    pub relative_to_before: Option<RelativeTime>,
}

/// Everything about the stages that ran, in order; the baseline is the comparison's first row.
pub fn rows(
    comparison: &Comparison,
    runs: &[(String, Vec<MeasuredRun>)],
    confidence: f64,
) -> Vec<StageRow> {
    let series = |target: &str| -> Vec<Series> {
        runs.iter()
            .find(|(name, _)| name == target)
            .map(|(_, runs)| super::comparison::total_series(runs))
            .unwrap_or_default()
    };
    comparison
        .rows
        .iter()
        .filter_map(|row| {
            let stage = std::iter::once(&BASELINE)
                .chain(&STAGES)
                .find(|stage| stage.target == row.name)?;
            let place = STAGES.iter().position(|known| known.target == row.name);
            let before = place
                .and_then(|place| place.checked_sub(1))
                .map(|place| series(STAGES[place].target));
            Some(StageRow {
                row: row.clone(),
                issue: stage.issue,
                workshop: stage.workshop,
                relative_to_before: before.and_then(|before| {
                    RelativeTime::in_rounds(&series(&row.name), &before, confidence, USUAL_MARGIN)
                }),
            })
        })
        .collect()
}

const VERSION: u32 = 1;

/// What was found about the effects on one device, for lessons to read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
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
    pub effects: Vec<Effect>,
}

impl Findings {
    /// Of runs that took turns; none without a run.
    pub fn of(runs: &[(String, Vec<MeasuredRun>)], confidence: f64, found: u64) -> Option<Self> {
        let (_, first) = runs.iter().find(|(_, runs)| !runs.is_empty())?;
        let hello = &first.first()?.hello;
        Some(Findings {
            version: VERSION,
            backend: hello.backend.clone(),
            device: hello.device.clone(),
            driver: hello.driver.clone(),
            found,
            program: env!("CARGO_PKG_VERSION").into(),
            config: hello.config,
            rounds: first.len(),
            confidence,
            effects: effects(runs, confidence),
        })
    }

    pub fn effect(&self, id: EffectId) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.id == id)
    }

    fn path(root: &Path, backend: &str, device: &str) -> PathBuf {
        device_file(root, "stages", backend, device)
    }

    /// Keeps the findings of this device below the state folder `root`, and says where.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, root: &Path) -> Result<PathBuf> {
        let path = Self::path(root, &self.backend, &self.device);
        write_json(&path, self)?;
        Ok(path)
    }

    /// What was found on a device earlier; none when nothing was, or by a version that meant something else.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn load(root: &Path, backend: &str, device: &str) -> Result<Option<Self>> {
        let found: Option<Self> = read_json(&Self::path(root, backend, device))?;
        Ok(found.filter(|found| found.version == VERSION))
    }
}
