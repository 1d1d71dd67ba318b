//! The course's files as they are written: what serde reads and the JSON Schema describes.
//!
//! A step is one flat structure whatever its kind: an enum with a `kind` tag would make serde lose the line of an error
//! inside it. Which keys go with which kind is the table in `kinds`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profiler::commands::Tool;
use tinyllama_base::named;

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
    /// What the course is, in a paragraph of Markdown
    pub summary: String,
    /// In the order they are taught
    pub sessions: Vec<Session>,
}

/// One sitting; its lessons lie in the folder named like its id
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SessionDocument")]
pub struct Session {
    /// Lower-case letters, digits and hyphens; also the folder's name
    pub id: String,
    pub title: String,
    /// Planned length; the lessons' minutes have to fit in it
    pub minutes: u32,
    /// What a learner can do afterwards
    pub objectives: Vec<String>,
    /// Ids of the lessons, in the order they are taught
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
    /// How much a lesson asks for
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
    /// As workshop.yaml names it; also the file's name
    pub id: String,
    pub title: String,
    /// Planned length
    pub minutes: u32,
    pub level: Level,
    /// Lessons that have to be done before this one opens
    #[serde(default)]
    pub requires: Vec<String>,
    /// What a learner can do afterwards
    pub objectives: Vec<String>,
    pub steps: Vec<StepDocument>,
}

named! {
    /// What a step is
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Kind {
        /// Markdown to read
        Read = "read",
        /// A number to guess before it is measured
        Predict = "predict",
        /// A training run
        Run = "run",
        /// A command of the tutor, whose document is checked and asked about
        Command = "command",
        /// A program with a mistake: suspected, convicted, fixed
        Investigate = "investigate",
        /// Runs side by side
        Compare = "compare",
        /// A profiler's command, run here or elsewhere
        Profile = "profile",
        /// A question with one right answer
        Quiz = "quiz",
        /// A kernel to write
        Kernel = "kernel",
        /// A question without one
        Reflect = "reflect",
    }
}

/// One step of a lesson
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepDocument {
    /// Lower-case letters, digits and hyphens; a run step's id names its run
    pub id: String,
    pub kind: Kind,
    pub title: String,
    /// Markdown; `{{ step.metric }}` stands for the value a run measured
    pub text: String,
    /// predict: what is guessed, as `run.metric` or `run.metric / run.metric`
    pub measure: Option<String>,
    /// run, profile: what to train
    pub target: Option<String>,
    /// run, profile, command, investigate: flags of the command, as one line
    pub flags: Option<String>,
    /// run, command: the learner has to change the flags to pass
    pub editable: Option<bool>,
    /// run: the fastest correct step of the class is looked for here
    pub contest: Option<bool>,
    /// run, command, investigate: id of what was recorded where there is no GPU
    pub recording: Option<String>,
    /// command: which one, such as `calibrate`
    pub command: Option<String>,
    /// investigate: what may be to blame; exactly one is guilty
    pub suspects: Option<Vec<Suspect>>,
    /// investigate: what can be measured; each costs one measurement
    pub measurements: Option<Vec<MeasurementDocument>>,
    /// compare: the runs, baseline first
    pub runs: Option<Vec<String>>,
    /// compare: the metrics shown
    pub metrics: Option<Vec<String>>,
    /// profile: which profiler
    pub tool: Option<Tool>,
    /// profile: what it is asked for, in the words of `profile TOOL --kind`; the usual if not given
    pub task: Option<String>,
    /// quiz: the choices; exactly one is correct and every wrong one has a reason
    pub choices: Option<Vec<ChoiceDocument>>,
    /// quiz: a number instead of choices
    pub number: Option<NumberDocument>,
    /// kernel: exercise of the workbench
    pub exercise: Option<String>,
    /// quiz: the command step whose document decides what is right
    pub of: Option<String>,
    /// run, compare, profile: what has to be true
    #[serde(default)]
    pub checks: Vec<CheckDocument>,
    /// May be left out when time is short; its minutes are counted apart
    pub optional: Option<bool>,
    /// Shown one after the other when asked for
    #[serde(default)]
    pub hints: Vec<Hint>,
    /// What a learner who does everything right enters here
    pub golden: Option<GoldenDocument>,
}

/// One choice of a quiz
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChoiceDocument {
    pub text: String,
    /// The right one; with `when` on others, the right one where none of those holds
    #[serde(default)]
    pub correct: bool,
    /// It is the right one where this holds of a command's document, such as `rows[name=v1].step_ms >= 40`
    pub when: Option<String>,
    /// Why it is right or wrong
    pub because: String,
}

/// A number as an answer
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberDocument {
    pub answer: Option<f64>,
    /// Where a command's document has the answer, instead of `answer`
    pub read: Option<String>,
    /// Largest accepted difference, as a share of the answer; 0 for an exact number
    #[serde(default)]
    pub tolerance: f64,
    /// Shown behind the field
    #[serde(default)]
    pub unit: String,
    /// How one gets there
    pub because: String,
    /// Wrong numbers that are easily come by, each with its reason
    #[serde(default)]
    pub mistakes: Vec<Mistake>,
}

/// A wrong number
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MistakeDocument")]
pub struct Mistake {
    pub value: f64,
    /// The thought that leads to it, and what is wrong with it
    pub because: String,
}

/// What may be to blame for a symptom
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SuspectDocument")]
pub struct Suspect {
    pub id: String,
    pub text: String,
    /// Name of the fix, as `run --fix` takes it
    pub fix: String,
    #[serde(default)]
    pub guilty: bool,
    /// Id of the recorded run with this fix
    pub recording: Option<String>,
    /// Told after its fix was run: what that showed
    pub because: String,
}

/// Something that can be measured of a program with a mistake
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasurementDocument {
    pub id: String,
    pub text: String,
    /// Flags besides the step's own
    #[serde(default)]
    pub flags: String,
    /// Id of the recorded run that shows it
    pub recording: Option<String>,
    /// Told after it was taken: where to look, in Markdown with live values of the step's run
    pub shows: String,
    /// Whether it tells the guilty one from the others
    #[serde(default)]
    pub convicts: bool,
}

/// What has to be true of runs
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckDocument {
    pub id: String,
    /// `run.metric`, `run.metric.p90` or `run.metric / run.metric`; command: where in its document the figure stands
    pub measure: String,
    pub at_least: Option<f64>,
    pub at_most: Option<f64>,
    /// command: what has to stand there, as a text
    pub is: Option<String>,
    /// Between 0.5 and 1; 0.95 where a spread is known and nothing is written
    pub confidence: Option<f64>,
    /// False for an effect that this machine may not show: missing it holds nobody up
    pub required: Option<bool>,
    /// Only a GPU can show it: nothing is asked of a run on a CPU
    pub on_gpu: Option<bool>,
    /// Said when it is met
    pub passed: String,
    /// Said when it is missed: what that means and what to do
    pub not_yet: String,
}

/// Help, one stage
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HintDocument")]
pub struct Hint {
    pub text: String,
    /// Only offered after this check of the step was not met
    pub after: Option<String>,
}

/// The right input of a step
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldenDocument {
    /// predict: a sensible guess
    pub number: Option<f64>,
    /// run, command: flags that pass
    pub flags: Option<String>,
    /// reflect: an answer
    pub text: Option<String>,
    /// profile: file that can be imported instead
    pub import: Option<String>,
}
