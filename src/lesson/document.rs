//! The documents of a course's files, as serde reads them and the JSON Schema describes them.
//!
//! Steps of all kinds share one flat structure: an enum with a `kind` tag would make serde lose the line of an error
//! inside it. The table in `kinds` says which keys belong to which kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::kinds::Kind;
use super::path::LearningPath;
use tinyllama_base::named;
use tinyllama_profile::commands::Tool;

/// Version of the format. A file with another number is refused.
pub const FORMAT: u32 = 1;

/// workshop.yaml
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkshopDocument {
    /// Version of this format: 1
    pub format: u32,
    /// Name of the course
    pub title: String,
    /// Version of the course
    pub version: String,
    /// Summary of the course, a paragraph of Markdown
    pub summary: String,
    /// Sessions in teaching order
    pub sessions: Vec<SessionDocument>,
    /// Parts of the course that can be taken instead of the whole
    #[serde(default)]
    pub paths: Vec<LearningPath>,
}

/// One sitting; its lessons lie in the folder with the name of its id
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SessionDocument")]
pub struct SessionDocument {
    /// Lower-case letters, digits and hyphens; also the folder's name
    pub id: String,
    pub title: String,
    /// Planned minutes; the lessons' minutes have to fit into them
    pub minutes: u32,
    /// Skills that a learner has afterwards
    pub objectives: Vec<String>,
    /// Ids of the lessons, in teaching order
    #[serde(default)]
    pub lessons: Vec<String>,
    /// Lessons that are announced but not written yet
    #[serde(default)]
    pub planned: Vec<PlannedDocument>,
}

/// A lesson without a file
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedDocument {
    pub id: String,
    pub title: String,
    pub minutes: u32,
}

named! {
    /// Difficulty of a lesson
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
    )]
    #[serde(rename_all = "lowercase")]
    pub enum Level {
        Beginner = "beginner",
        Intermediate = "intermediate",
        Advanced = "advanced",
    }
}

/// One lesson
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LessonDocument {
    /// Id from workshop.yaml; also the file's name
    pub id: String,
    pub title: String,
    /// Planned minutes
    pub minutes: u32,
    pub level: Level,
    /// Lessons that a learner has to finish before this one opens
    #[serde(default)]
    pub requires: Vec<String>,
    /// Skills that a learner has afterwards
    pub objectives: Vec<String>,
    pub steps: Vec<StepDocument>,
}

/// One step of a lesson
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepDocument {
    /// Lower-case letters, digits and hyphens; a run step's id names its run
    pub id: String,
    pub kind: Kind,
    pub title: String,
    /// Markdown; `{{ step.metric }}` stands for the measured value of a run
    pub text: String,
    /// predict: the quantity to predict, as `run.metric` or `run.metric / run.metric`
    pub measure: Option<String>,
    /// run, profile, investigate: the target to train
    pub target: Option<String>,
    /// run, profile, command, investigate: flags of the command, as one line
    pub flags: Option<String>,
    /// run, command: whether the learner has to change the flags to pass
    pub editable: Option<bool>,
    /// run: whether the class competes for the fastest correct step
    pub contest: Option<bool>,
    /// run, command, investigate: id of the recording to show if there is no GPU
    pub recording: Option<String>,
    /// run, command: true if only a GPU can show the effect; without one the recording is played
    pub on_gpu: Option<bool>,
    /// command: its name, such as `calibrate`
    pub command: Option<String>,
    /// command: the parts of its document that are shown, such as `8 of rows by -ms: name, ms`; all of it if not given
    pub shows: Option<Vec<String>>,
    /// investigate: possible causes; exactly one is guilty
    pub suspects: Option<Vec<Suspect>>,
    /// investigate: possible measurements; each costs one
    pub measurements: Option<Vec<MeasurementDocument>>,
    /// compare: the runs, baseline first
    pub runs: Option<Vec<String>>,
    /// compare: the metrics shown
    pub metrics: Option<Vec<String>>,
    /// profile: the profiler
    pub tool: Option<Tool>,
    /// profile: the task, in the words of `profile TOOL --kind`; the default if not given
    pub task: Option<String>,
    /// quiz: the choices; exactly one is correct, and every wrong one has a reason
    pub choices: Option<Vec<ChoiceDocument>>,
    /// quiz: a number instead of choices
    pub number: Option<NumberDocument>,
    /// kernel: exercise of the workbench
    pub exercise: Option<String>,
    /// quiz: the command step whose document contains the right answer
    pub of: Option<String>,
    /// run, command, investigate, compare, profile: conditions on the results
    #[serde(default)]
    pub checks: Vec<CheckDocument>,
    /// True if the step may be left out when time is short; its minutes are counted separately
    pub optional: Option<bool>,
    /// Hints, shown one after the other on request
    #[serde(default)]
    pub hints: Vec<Hint>,
    /// The inputs of a learner who does everything right
    pub golden: Option<GoldenDocument>,
}

/// One choice of a quiz
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChoiceDocument {
    pub text: String,
    /// True if it is right; if others have `when`, it is right if none of their conditions holds
    #[serde(default)]
    pub correct: bool,
    /// The choice is right if this holds for a command's document, such as `rows[name=v1].step_ms >= 40`
    pub when: Option<String>,
    /// Explanation why it is right or wrong
    pub because: String,
}

/// A numeric answer
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberDocument {
    pub answer: Option<f64>,
    /// Path of the answer in a command's document, instead of `answer`
    pub read: Option<String>,
    /// Largest accepted difference, as a share of the answer
    #[serde(default)]
    pub tolerance: f64,
    /// True if a rounded answer is wrong; the question says so, with the word "exact"
    #[serde(default)]
    pub exact: bool,
    /// Shown to the right of the field
    #[serde(default)]
    pub unit: String,
    /// Explanation of the way to the answer
    pub because: String,
    /// Wrong numbers from typical mistakes, each with an explanation
    #[serde(default)]
    pub mistakes: Vec<Mistake>,
    /// The same question with other figures, for when it is asked again
    pub again: Option<AgainDocument>,
}

/// A question about a number with other figures
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgainDocument {
    /// The question, instead of the step's text
    pub text: String,
    pub answer: f64,
    /// Explanation of the way to the answer
    pub because: String,
}

/// A wrong number
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MistakeDocument")]
pub struct Mistake {
    pub value: f64,
    /// The reasoning that leads to it, and the mistake in it
    pub because: String,
}

/// A possible cause of a symptom
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SuspectDocument")]
pub struct Suspect {
    pub id: String,
    pub text: String,
    /// Name of the fix for `run --fix`
    pub fix: String,
    #[serde(default)]
    pub guilty: bool,
    /// Id of the recorded run with this fix
    pub recording: Option<String>,
    /// Text after its fix was run: what the result shows
    pub because: String,
}

/// A possible measurement of a program with a mistake
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasurementDocument {
    pub id: String,
    pub text: String,
    /// Additional flags to the step's own
    #[serde(default)]
    pub flags: String,
    /// Id of the recorded run that shows it
    pub recording: Option<String>,
    /// Text after the measurement: what it showed, in Markdown with live values of runs at this step
    pub shows: String,
    /// Answers to a question about it; the reason of the right one is how to read the measurement
    #[serde(default)]
    pub choices: Vec<ChoiceDocument>,
    /// True if it is needed to tell the guilty suspect from the others
    #[serde(default)]
    pub convicts: bool,
}

/// A condition on the results of runs
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckDocument {
    pub id: String,
    /// `run.metric`, `run.metric.p90` or `run.metric / run.metric`; command: path of the figure in its document
    pub measure: String,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    /// command: the text that has to stand at this path
    pub is: Option<String>,
    /// Between 0.5 and 1; the default is 0.95 if a spread is known
    pub confidence: Option<f64>,
    /// False for an effect that this machine may not show; a missed check then does not keep the step open
    pub required: Option<bool>,
    /// True if only a GPU can show the effect; runs on a CPU are then not checked
    pub on_gpu: Option<bool>,
    /// Text after the check passed
    pub passed: String,
    /// Text after the check was missed: its meaning, and what to do
    pub not_yet: String,
}

/// One hint
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HintDocument")]
pub struct Hint {
    pub text: String,
    /// Id of a check; the hint is only offered after this check was missed
    pub after: Option<String>,
}

/// The right inputs of a step
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldenDocument {
    /// predict: a reasonable prediction
    pub number: Option<f64>,
    /// run, command: flags with which the checks pass
    pub flags: Option<String>,
    /// reflect: an answer
    pub text: Option<String>,
    /// profile: file to import instead
    pub import: Option<String>,
}
