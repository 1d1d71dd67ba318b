//! The content of a report: `session.json`, version 1. The other formats are renderings of it.
//!
//! A figure that was not reported is null or absent, never 0. `assets/report.schema.json` is the JSON Schema of these
//! types.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use tinyllama_analysis::parts::{PartSum, by_kind};
use tinyllama_base::NOT_REPORTED;
use tinyllama_contract::model::ModelConfig;
use tinyllama_contract::{Kernel, PartWork, Parts};
use tinyllama_lesson::Verdict;
use tinyllama_session::progress::PathProgress;

/// Version of the document. It increases if a reader of the old version would misread the new one.
pub const FORMAT: u32 = 1;

/// One learner's session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Version of this document: 1.
    pub format: u32,
    /// Version of the program that wrote it.
    pub program: String,
    /// UTC, RFC 3339.
    pub written: String,
    /// True if names of people and machines were removed.
    pub anonymous: bool,
    /// Null in an anonymous report.
    pub learner: Option<String>,
    pub course: Option<CourseName>,
    /// The learner's path. Null for the whole course.
    #[serde(default)]
    pub path: Option<PathProgress>,
    pub session: SessionFacts,
    pub devices: Vec<Device>,
    pub totals: Totals,
    pub lessons: Vec<LessonReport>,
    pub predictions: Vec<Prediction>,
    pub runs: Vec<RunReport>,
    /// The newest complete run of each debugging stage, in the order of the stages.
    pub stages: Vec<StageRow>,
    pub profiles: Vec<ProfileReport>,
    /// Attempts at kernels of the workbench, oldest first.
    #[serde(default)]
    pub kernels: Vec<KernelReport>,
    /// Facts that a reader should know before believing the figures.
    pub warnings: Vec<String>,
    pub chain: Chain,
}

impl Report {
    /// Every step that was begun, with its lesson.
    pub fn steps(&self) -> impl Iterator<Item = (&LessonReport, &StepReport)> {
        let lessons = self.lessons.iter();
        lessons.flat_map(|lesson| lesson.steps.iter().map(move |step| (lesson, step)))
    }
}

/// One attempt at a kernel: a check, or a timing on a GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelReport {
    pub exercise: String,
    pub time: String,
    /// SHA-256 of the file at that time.
    pub sha256: String,
    /// The verdict of a check. Null for a timing.
    pub passed: Option<bool>,
    /// Kinds of the mistakes that were found.
    pub findings: Vec<String>,
    /// The GPU of a timing. This and the figures below are null for a check.
    pub device: Option<String>,
    pub milliseconds: Option<f64>,
    pub gigabytes_per_s: Option<f64>,
    pub gigaflops_per_s: Option<f64>,
}

impl KernelReport {
    /// The result as text.
    pub fn outcome(&self) -> String {
        match (self.passed, self.milliseconds, self.gigabytes_per_s) {
            (Some(true), ..) => "passed".into(),
            (Some(false), ..) => self.findings.join(", "),
            (None, Some(ms), Some(rate)) => format!("{ms:.4} ms, {rate:.0} GB/s"),
            _ => NOT_REPORTED.into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CourseName {
    pub title: String,
    pub version: String,
}

/// Times, machines and versions of the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionFacts {
    /// Time of the first record, UTC.
    pub begun: String,
    /// Time of the last record, UTC.
    pub last: String,
    /// Versions of the program that wrote the session, oldest first.
    pub tutor_versions: Vec<String>,
    /// Machines that the tutor ran on. Empty in an anonymous report.
    pub hosts: Vec<String>,
    /// Notes of the session about itself, such as repairs.
    pub notes: Vec<String>,
    /// Lines of the log that were changed or damaged.
    pub damaged_lines: Vec<String>,
}

/// A device as the runs on it describe it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    pub name: String,
    pub arch: Option<String>,
    pub backend: String,
    /// Driver or runtime version. With the backend `rocm` it is that of ROCm. Null if the backend does not report it.
    pub driver: Option<String>,
    /// Bytes.
    pub memory: Option<u64>,
    /// True if only recordings come from it.
    pub recording: bool,
    pub runs: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Done or skipped.
    pub steps_finished: usize,
    pub steps: usize,
    /// Without a skipped step.
    pub lessons_finished: usize,
    pub lessons: usize,
    /// Time of attention, not wall-clock time.
    pub minutes: f64,
    /// Planned minutes of the lessons that were begun.
    pub planned_minutes: u32,
    pub attempts: u32,
    pub hints: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LessonReport {
    pub id: String,
    pub title: String,
    /// Title of the course's session. Null if the course no longer has the lesson.
    pub session: Option<String>,
    pub planned_minutes: Option<u32>,
    pub minutes: f64,
    pub finished: usize,
    pub of: usize,
    pub skipped: usize,
    pub attempts: u32,
    pub hints: usize,
    /// True if the learner opened it before the lessons that it requires.
    #[serde(default)]
    pub opened_early: bool,
    /// Steps that were begun.
    pub steps: Vec<StepReport>,
}

impl LessonReport {
    /// Returns whether every step is done or skipped.
    pub fn is_finished(&self) -> bool {
        self.of > 0 && self.finished == self.of
    }

    /// Returns whether every step is done.
    pub fn is_done(&self) -> bool {
        self.is_finished() && self.skipped == 0
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    pub id: String,
    pub title: String,
    /// `open`, `done`, `skipped` or `solved` (by an instructor).
    pub status: String,
    /// Why it was skipped, or who solved it.
    pub remark: Option<String>,
    pub minutes: f64,
    pub attempts: u32,
    /// Number of hints shown, then of hints available.
    pub hints: usize,
    pub hints_of: usize,
    pub answers: Vec<AnswerReport>,
    /// For a question that was answered: `first try`, `later`, or `not yet`.
    #[serde(default)]
    pub marked: Option<String>,
    #[serde(default)]
    pub case: Option<CaseReport>,
    #[serde(default)]
    pub command: Option<CommandReport>,
    pub checks: Vec<CheckReport>,
    pub reflection: Option<String>,
    pub runs: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerReport {
    /// A number, or the index of a choice, from 0.
    pub answer: f64,
    /// The answer in words.
    pub text: String,
    pub correct: bool,
}

/// An investigation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseReport {
    /// The suspects, oldest first, each with the runs made before.
    pub suspicions: Vec<String>,
    /// Number of measurements.
    pub measurements: usize,
    /// Fixes that were run, oldest first.
    pub fixes: Vec<String>,
    pub solved: bool,
}

/// The last output of a command of the tutor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandReport {
    /// Id of its run. The folder of this name has its files.
    pub run: String,
    /// The command line, quoted for a shell.
    pub command: String,
    /// The machine it was recorded on, if it did not run here.
    pub recording: Option<String>,
    /// The document. Null if its files are gone.
    pub document: Option<serde_json::Value>,
    /// SHA-256 of the document.
    pub sha256: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    pub id: String,
    /// `passed`, `not yet`, `inconclusive` or `not evaluated`.
    #[schemars(with = "String")]
    pub verdict: Verdict,
    /// True if a miss keeps the step open.
    pub required: bool,
    /// Number of misses.
    pub missed: u32,
    pub value: Option<f64>,
    /// The comparison in words: the measured value and its bounds.
    pub explanation: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    pub lesson: String,
    pub step: String,
    pub title: String,
    /// Formula from the course, such as `baseline.total_ms`.
    pub quantity: String,
    pub predicted: f64,
    pub predicted_text: String,
    /// Null while nothing was measured.
    pub measured: Option<f64>,
    pub measured_text: Option<String>,
    /// Recording of another machine that was measured. A guess is not judged by it.
    #[serde(default)]
    pub recording: Option<String>,
    /// predicted / measured. Null for a recording.
    pub ratio: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    pub id: String,
    pub lesson: Option<String>,
    pub step: Option<String>,
    pub target: String,
    /// Name of the fix in this run, if the target is a program with a mistake.
    #[serde(default)]
    pub fix: Option<String>,
    /// The exact command line, quoted for a shell.
    pub command: String,
    /// UTC.
    pub started: String,
    /// Null in an anonymous report.
    pub host: Option<String>,
    /// `0`, `exit status 1`, `signal 9`, `running` or `lost`.
    pub exit: String,
    /// True if it reached its planned end with exit status 0.
    pub complete: bool,
    /// The machine it was recorded on, if it was not made here.
    pub recording: Option<String>,
    /// Index in `devices`.
    pub device: Option<usize>,
    pub config: Option<ModelConfig>,
    pub dtype: Option<String>,
    pub seed: Option<u64>,
    pub warmup: Option<usize>,
    /// True if the clock was read only after the device had finished.
    pub synchronized: Option<bool>,
    /// By metric name, from the run's summary.
    pub figures: BTreeMap<String, f64>,
    pub step_time: Option<StepTime>,
    pub ratio: Option<Ratio>,
    pub samples: Samples,
    pub work: Option<Work>,
    /// Longest first, per step, from a separate profile pass.
    pub kernels: Vec<Kernel>,
    /// Error that the run reported.
    pub error: Option<String>,
    pub warnings: Vec<String>,
    /// SHA-256 of the event stream when the run ended.
    pub sha256: Option<String>,
}

/// Milliseconds of the measured steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTime {
    pub median: f64,
    pub p10: f64,
    pub p90: f64,
    /// (p90 - p10) / median.
    pub spread: f64,
    pub steps: usize,
}

/// How many times shorter the median step is than the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// Id of the baseline's run.
    pub baseline: String,
    /// Baseline's median over this run's. Above 1 is faster.
    pub speedup: f64,
    /// Null if too few steps were measured to know.
    pub interval: Option<RatioInterval>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioInterval {
    pub low: f64,
    pub high: f64,
    /// Two-sided, between 0 and 1.
    pub confidence: f64,
}

/// Raw values of the measured steps, in order. Empty if they were not reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    pub total_ms: Vec<f64>,
    pub forward_ms: Vec<f64>,
    pub backward_ms: Vec<f64>,
    pub optimizer_ms: Vec<f64>,
    /// Loss of every step, warm-up included. Null if it was not finite.
    pub loss: Vec<Option<f64>>,
}

/// Counted work of a step.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// How it was counted.
    pub source: String,
    pub flops_per_step: f64,
    pub bytes_per_step: f64,
    pub achieved_flops_per_s: Option<f64>,
    pub parts: Vec<PartWork>,
    /// Lines of the roofline. The first one of each kind counts. Empty if the device was not calibrated and has no data
    /// sheet.
    #[serde(default)]
    pub ceilings: Vec<CeilingLine>,
}

/// Attainable rate of arithmetic or memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ceiling")]
pub struct CeilingLine {
    pub kind: CeilingKind,
    pub label: String,
    /// FLOP/s for arithmetic, bytes/s for a bandwidth.
    pub value: f64,
    /// `measured` by `calibrate` on this device, or `data sheet`.
    pub source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CeilingKind {
    Arithmetic,
    Bandwidth,
}

impl Work {
    /// Adds up parts of the same kind over all layers.
    pub fn by_kind(&self) -> Vec<PartSum> {
        by_kind(&Parts {
            source: self.source.clone(),
            parts: self.parts.clone(),
            flops_per_step: self.flops_per_step,
            bytes_per_step: self.bytes_per_step,
            achieved_flops_per_s: self.achieved_flops_per_s,
        })
    }
}

/// A stage of the debugging scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRow {
    pub stage: String,
    pub run: String,
    pub first_loss: Option<f64>,
    pub final_loss: Option<f64>,
    pub step_ms: Option<f64>,
    pub forward_ms: Option<f64>,
    pub backward_ms: Option<f64>,
    pub peak_bytes: Option<f64>,
    pub with_gradient: Option<f64>,
    pub tensors: Option<f64>,
    /// Step time of the stage before over that of this stage.
    pub to_stage_before: Option<f64>,
    pub synchronized: Option<bool>,
}

/// Hot spots of a run by a vendor's profiler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileReport {
    pub run: String,
    /// Folder below the run's `profiles`.
    pub folder: String,
    pub hotspots: Vec<HotspotRow>,
    /// Time of all kernels in nanoseconds.
    pub total_ns: f64,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HotspotRow {
    pub kernel: String,
    pub part: Option<String>,
    pub calls: u64,
    pub total_ns: f64,
    /// Share of the time of all kernels.
    pub percent: f64,
}

/// The session's records. They make it possible to check the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    pub records: usize,
    /// Hash of the last line.
    pub last_hash: String,
    /// The unchanged lines of `events.jsonl`. Null in an anonymous report, because they contain names.
    pub lines: Option<Vec<String>>,
    /// The event stream of each run that has one, by the run's id. Null for one that is too large. The whole field is null
    /// in an anonymous report.
    #[serde(default)]
    pub streams: Option<BTreeMap<String, Option<String>>>,
}
