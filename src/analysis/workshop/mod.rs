//! What the original workshop's documents state, as figures of the workshop: never mixed with what is measured here.

pub mod scaling;

use serde::Serialize;

use super::comparison::Row;
use super::metric::Unit;
use super::relative::factor;

/// A row of the workshop's comparison of its four versions.
pub struct Claim {
    pub what: &'static str,
    /// Versions 1 to 4, as printed there.
    pub claimed: [&'static str; 4],
    /// Where in the workshop's documents.
    pub source: &'static str,
    /// The same of a run here; none where it is not reported, or where the documents do not say enough to measure it.
    measured: fn(&Row) -> Option<f64>,
    unit: Unit,
}

impl Claim {
    fn show(&self, value: f64) -> String {
        if self.what == SPEEDUP {
            format!("{}x", factor(value))
        } else {
            self.unit.show(value)
        }
    }
}

const SPEEDUP: &str = "speed-up";

/// The comparison matrix of the technical appendices, and the figures elsewhere that contradict it.
pub const CLAIMS: [Claim; 12] = [
    Claim {
        what: "forward pass",
        claimed: ["100.0 ms", "62.5 ms", "33.3 ms", "20.0 ms"],
        source: "A.1.1",
        measured: |row| row.phases.forward_ms,
        unit: Unit::Milliseconds,
    },
    Claim {
        what: "attention block",
        claimed: ["45.0 ms", "25.2 ms", "13.5 ms", "8.0 ms"],
        source: "A.1.1",
        measured: |row| part_ms(row, "attention"),
        unit: Unit::Milliseconds,
    },
    Claim {
        what: "feed-forward block",
        claimed: ["35.0 ms", "22.7 ms", "12.2 ms", "7.0 ms"],
        source: "A.1.1",
        measured: |row| part_ms(row, "ffn"),
        unit: Unit::Milliseconds,
    },
    Claim {
        what: "normalisation",
        claimed: ["15.0 ms", "10.5 ms", "5.8 ms", "3.5 ms"],
        source: "A.1.1",
        measured: |row| part_ms(row, "norm"),
        unit: Unit::Milliseconds,
    },
    Claim {
        what: "residual connections",
        claimed: ["5.0 ms", "4.1 ms", "1.8 ms", "1.5 ms"],
        source: "A.1.1",
        measured: |_| None,
        unit: Unit::Milliseconds,
    },
    Claim {
        what: "memory in all",
        claimed: ["4119.2 MB", "1549.2 MB", "780.2 MB", "396.2 MB"],
        source: "A.1.2",
        measured: memory,
        unit: Unit::Bytes,
    },
    Claim {
        what: "memory in all",
        claimed: ["522.3 MB", "", "282 MB", ""],
        source: "V3 debugging guide",
        measured: memory,
        unit: Unit::Bytes,
    },
    Claim {
        what: "kernels a forward pass",
        claimed: ["68", "28", "16", "4"],
        source: "A.1.3",
        measured: |row| row.forward_launches,
        unit: Unit::Count("launches"),
    },
    Claim {
        what: SPEEDUP,
        claimed: ["1.0x", "1.6x", "3.0x", "5.0x"],
        source: "A.1.1, forward",
        measured: speedup,
        unit: Unit::One,
    },
    Claim {
        what: SPEEDUP,
        claimed: ["1.0x", "1.6x", "2.2x", "2.8x"],
        source: "overview",
        measured: speedup,
        unit: Unit::One,
    },
    Claim {
        what: SPEEDUP,
        claimed: ["1.0x", "", "5.5x", ""],
        source: "V3 debugging guide",
        measured: speedup,
        unit: Unit::One,
    },
    Claim {
        what: "samples/s",
        claimed: ["372.9", "", "2065", ""],
        source: "V3 debugging guide",
        measured: |row| row.samples_per_s,
        unit: Unit::One,
    },
];

/// What stands beside the table, for the claims must not be read as facts.
pub const NOTES: [&str; 4] = [
    "Workshop: as printed in the original's documents, on an AMD GPU of theirs. Measured: on this machine, now, with the flags of this comparison.",
    "The documents contradict each other: version 1 is given with 4119 MB and with 522 MB, version 3 with speed-ups of 2.2, 3.0 and 5.5.",
    "The original's versions 3 and 4 compute a gradient for 1 of 74 parameters; their speed is that of not training. Every version here trains.",
    "Speed-up here is of the whole training step. Parts are device times of the forward pass; residual sums are inside attention and feed-forward.",
];

/// A claim beside what was measured for one version.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confronted {
    pub what: String,
    pub version: String,
    pub workshop: String,
    pub source: &'static str,
    /// Null where it was not reported here.
    pub measured: Option<f64>,
    #[serde(skip)]
    pub measured_text: String,
}

/// Every claim about the versions among `rows`, claim by claim.
pub fn confront(rows: &[Row]) -> Vec<Confronted> {
    let mut confronted = Vec::new();
    for claim in &CLAIMS {
        for row in rows {
            let Some(version) = version(&row.target) else {
                continue;
            };
            let workshop = claim.claimed[version];
            if workshop.is_empty() {
                continue;
            }
            let measured = (claim.measured)(row).filter(|value| value.is_finite());
            confronted.push(Confronted {
                what: claim.what.into(),
                version: row.name.clone(),
                workshop: workshop.into(),
                source: claim.source,
                measured,
                measured_text: measured.map_or("not reported".into(), |value| claim.show(value)),
            });
        }
    }
    confronted
}

/// `v1` is the first of four.
fn version(target: &str) -> Option<usize> {
    ["v1", "v2", "v3", "v4"]
        .iter()
        .position(|name| *name == target)
}

fn part_ms(row: &Row, kind: &str) -> Option<f64> {
    row.parts.iter().find(|part| part.part == kind)?.device_ms
}

fn memory(row: &Row) -> Option<f64> {
    row.peak_bytes_reserved
        .or(row.peak_bytes_in_use)
        .map(|bytes| bytes as f64)
}

fn speedup(row: &Row) -> Option<f64> {
    match &row.relative_time {
        Some(time) => Some(1.0 / time.ratio),
        // The row everything is compared with.
        None => (row.target == "v1").then_some(1.0),
    }
}
