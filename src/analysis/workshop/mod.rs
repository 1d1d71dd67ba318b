//! Figures that the original workshop's documents state. They are labelled as such and never mixed with measurements.

pub mod scaling;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::comparison::ComparisonRow;
use tinyllama_base::units::{or_not_reported, times};
use tinyllama_contract::targets::Target;
use tinyllama_runs::MetricUnit;

/// All stated figures. The file is part of the program, and a test checks its form.
pub static FIGURES: LazyLock<Figures> = LazyLock::new(|| {
    let text = include_str!("../../../assets/workshop-figures.yaml");
    serde_yaml::from_str(text).unwrap_or_default()
});

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    versions: Vec<Claim>,
    growth: ClaimedGrowth,
    /// The baseline, then the stages of the debugging scenario.
    pub stages: Vec<Stage>,
}

/// A row of the comparison of the four versions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    what: String,
    /// One text per version, empty if the documents have none.
    claimed: [String; 4],
    /// Place in the workshop's documents.
    source: String,
    figure: ClaimFigure,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimedGrowth {
    time_by_batch: BTreeMap<usize, [f64; 4]>,
    time_with_length: Vec<String>,
    memory_with_length: Vec<String>,
    v4_by_length: Vec<(usize, String)>,
}

/// A stage as the workshop describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    pub target: String,
    /// The fault of the stage, for the summary at the end.
    pub issue: String,
    pub workshop: StageClaims,
}

/// Figures that the guide states, each empty if it has none.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StageClaims {
    pub loss: String,
    pub samples_per_s: String,
    pub to_v1: String,
    pub memory: String,
}

/// The measured figure that a claim is compared with.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ClaimFigure {
    Forward,
    Attention,
    Ffn,
    Norm,
    Nothing,
    Memory,
    Launches,
    SpeedUp,
    SamplesPerS,
}

impl ClaimFigure {
    /// Returns `None` if the run does not report it.
    fn value_in(self, row: &ComparisonRow) -> Option<f64> {
        let part = |kind: &str| row.parts.iter().find(|part| part.part == kind)?.device_ms;
        match self {
            ClaimFigure::Forward => row.phases.forward_ms,
            ClaimFigure::Attention => part("attention"),
            ClaimFigure::Ffn => part("ffn"),
            ClaimFigure::Norm => part("norm"),
            ClaimFigure::Nothing => None,
            ClaimFigure::Memory => row.peak_bytes().map(|bytes| bytes as f64),
            ClaimFigure::Launches => row.forward_launches,
            ClaimFigure::SpeedUp => match &row.relative_time {
                Some(time) => Some(1.0 / time.ratio),
                // The row that all others are compared with.
                None => (row.target == "v1").then_some(1.0),
            },
            ClaimFigure::SamplesPerS => row.samples_per_s,
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            ClaimFigure::SpeedUp => times(value),
            ClaimFigure::Memory => MetricUnit::Bytes.show(value),
            ClaimFigure::Launches => MetricUnit::Count("launches").show(value),
            ClaimFigure::SamplesPerS => MetricUnit::One.show(value),
            _ => MetricUnit::Milliseconds.show(value),
        }
    }
}

/// Notes next to the table, because claims are not facts.
pub const NOTES: [&str; 4] = [
    "Workshop: as printed in the original's documents, on their AMD GPU. Measured: on this machine, now, with the flags of this comparison.",
    "The documents contradict each other: version 1 is given with 4119 MB and with 522 MB, version 3 with speed-ups of 2.2, 3.0 and 5.5.",
    "The original's versions 3 and 4 compute a gradient for 1 of 74 parameters; their speed is that of a program that does not train. Every version here trains.",
    "Speed-up here is of the whole training step. Parts are device times of the forward pass; residual sums are inside attention and feed-forward.",
];

/// A claim and the measurement of one version.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimComparison {
    pub what: String,
    pub version: String,
    pub workshop: String,
    pub source: String,
    /// Null if this machine did not report it.
    pub measured: Option<f64>,
    #[serde(skip)]
    pub measured_text: String,
}

/// Compares every claim with the versions among `rows`, claim by claim.
pub fn compare_with_claims(rows: &[ComparisonRow]) -> Vec<ClaimComparison> {
    let beside = |claim: &Claim, row: &ComparisonRow| {
        let workshop = claim.claimed.get(version(&row.target)?)?;
        let measured = claim.figure.value_in(row).filter(|value| value.is_finite());
        let text = measured.map(|value| claim.figure.show(value));
        (!workshop.is_empty()).then(|| ClaimComparison {
            what: claim.what.clone(),
            version: row.name.clone(),
            workshop: workshop.clone(),
            source: claim.source.clone(),
            measured,
            measured_text: or_not_reported(text),
        })
    };
    let claims = FIGURES.versions.iter();
    claims
        .flat_map(|claim| rows.iter().filter_map(move |row| beside(claim, row)))
        .collect()
}

/// Index among the versions: `v1` is 0. The documents have figures of the first four.
fn version(target: &str) -> Option<usize> {
    Target::versions().position(|version| version.name == target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_read_and_every_version_and_stage_has_some() {
        assert_eq!((FIGURES.versions.len(), FIGURES.stages.len()), (12, 7));
        assert_eq!(FIGURES.growth.time_by_batch[&8][3], 118.4);
        assert_eq!(FIGURES.growth.v4_by_length.len(), 3);
        for version in 0..4 {
            let claims = FIGURES.versions.iter();
            assert!(
                claims
                    .filter(|claim| !claim.claimed[version].is_empty())
                    .count()
                    > 5
            );
        }
    }
}
