//! The class report: `class.json`, version 1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the document.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassReport {
    /// Version of this document: 1.
    pub format: u32,
    /// Version of the program that wrote it.
    pub program: String,
    /// UTC, RFC 3339.
    pub written: String,
    pub learners: Vec<LearnerRow>,
    pub lessons: Vec<LessonRow>,
    /// The check that was missed most often comes first.
    pub checks: Vec<CheckRow>,
    /// The most common answer comes first.
    pub wrong_answers: Vec<WrongAnswerRow>,
    pub predictions: Vec<PredictionRow>,
    pub devices: Vec<DeviceRow>,
    /// Hand-ins that could not be read, and other notes.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LearnerRow {
    /// The name, or `learner 3` for an anonymous hand-in.
    pub name: String,
    /// Done or skipped.
    pub steps_finished: usize,
    pub steps_skipped: usize,
    pub steps: usize,
    pub lessons_finished: usize,
    pub minutes: f64,
    pub attempts: u32,
    pub hints: usize,
    pub runs: usize,
    /// UTC.
    pub last: String,
    pub device: Option<String>,
    /// True if the tutor writes such records. Null if nothing contradicts them and a part could not be checked.
    pub consistent: Option<bool>,
    /// Work that could not be checked, with reasons.
    #[serde(default)]
    pub unchecked: Vec<String>,
}

/// Middle and spread of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Middle {
    pub count: usize,
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LessonRow {
    pub id: String,
    pub title: String,
    pub planned_minutes: Option<u32>,
    pub begun: usize,
    pub finished: usize,
    /// Minutes of those who finished it.
    pub minutes: Option<Middle>,
    /// Hints and attempts of all who began it.
    pub hints: usize,
    pub attempts: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRow {
    pub lesson: String,
    pub step: String,
    pub check: String,
    /// Number of learners with a verdict.
    pub learners: usize,
    /// Number of learners who missed it at least once.
    pub missed_by: usize,
    /// Total number of misses.
    pub misses: u32,
    /// Number of learners who pass it now.
    pub passed: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WrongAnswerRow {
    pub lesson: String,
    pub step: String,
    pub title: String,
    pub answer: String,
    /// Number of learners who gave it.
    pub learners: usize,
    /// Number of learners who answered this question at all.
    pub of: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictionRow {
    pub lesson: String,
    pub step: String,
    pub title: String,
    /// predicted / measured.
    pub ratio: Middle,
}

/// One target in one size on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceRow {
    pub device: String,
    pub backend: String,
    pub target: String,
    /// The model's sizes, in short.
    pub model: String,
    pub dtype: String,
    pub recording: bool,
    pub learners: usize,
    /// Median step times of the learners in milliseconds. Each learner counts once, with the newest run.
    pub step_ms: Middle,
    /// Speed-ups compared with each learner's own baseline.
    pub speedup: Option<Middle>,
}
