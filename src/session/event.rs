//! The events of a session: one record per line of `events.jsonl`.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

pub use tinyllama_lesson::StepRef;
use tinyllama_lesson::{LearningPath, Verdict};
pub use tinyllama_runs::RunExit;

/// Version of the records. A reader upgrades older ones and refuses newer ones.
pub const FORMAT: u32 = 1;

/// The content of one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Number counted from 1. It gives the order of events, even if the clock is wrong.
    pub n: u64,
    /// UTC, RFC 3339. It is for people: a clock may be set back, so nothing is computed from it.
    pub time: String,
    pub event: SessionEvent,
}

impl Record {
    /// Reads a record. An event that only a newer program knows becomes [`SessionEvent::Unknown`].
    pub(super) fn read(text: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct RecordEnvelope {
            n: u64,
            time: String,
            event: BTreeMap<String, IgnoredAny>,
        }
        serde_json::from_str(text).or_else(|error| match serde_json::from_str(text) {
            Ok(RecordEnvelope { n, time, event })
                if !event
                    .keys()
                    .any(|kind| SessionEvent::VARIANTS.contains(&&**kind)) =>
            {
                Ok(Self {
                    n,
                    time,
                    event: SessionEvent::Unknown,
                })
            }
            _ => Err(error),
        })
    }
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SessionEvent {
    /// First record of every log.
    Created {
        format: u32,
        version: String,
        learner: String,
        host: String,
        /// A unique id. It tells apart two sessions that begin in the same second on machines of the same name.
        #[serde(default)]
        session: String,
    },
    Opened {
        version: String,
        host: String,
        pid: u32,
        course: String,
        course_version: String,
    },
    StepEntered {
        at: StepRef,
    },
    /// Seconds of attention, by a monotonic clock.
    TimeSpent {
        at: StepRef,
        seconds: f64,
    },
    Predicted {
        at: StepRef,
        value: f64,
    },
    RunStarted {
        run: String,
        at: Option<StepRef>,
        target: String,
        command: Vec<String>,
        host: String,
    },
    /// `values` holds the figures of the summary by metric name; what was not reported is absent.
    RunFinished {
        run: String,
        exit: RunExit,
        values: BTreeMap<String, f64>,
    },
    Checked {
        at: StepRef,
        check: String,
        verdict: Verdict,
        value: Option<f64>,
    },
    Answered {
        at: StepRef,
        #[serde(flatten)]
        given: AnswerGiven,
    },
    /// An earlier question was asked again.
    Recalled {
        at: StepRef,
        #[serde(flatten)]
        given: AnswerGiven,
    },
    /// Names the suspect in an investigation.
    Suspected {
        at: StepRef,
        suspect: String,
    },
    HintShown {
        at: StepRef,
        hint: u32,
    },
    Reflected {
        at: StepRef,
        text: String,
    },
    StepDone {
        at: StepRef,
    },
    StepSkipped {
        at: StepRef,
        note: String,
    },
    Unlocked {
        lesson: String,
        /// Further lessons of the same order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<String>,
        by: String,
    },
    /// The learner opened a lesson before those that it requires.
    OpenedEarly {
        lesson: String,
    },
    Reset {
        backup: String,
        scope: Scope,
        by: String,
    },
    Restored {
        backup: String,
        by: String,
    },
    Message {
        from: String,
        text: String,
    },
    /// A remark about the session itself, such as a repair.
    Note {
        text: String,
    },
    /// The run was recorded on another machine, `machine`, and only played here.
    Recorded {
        run: String,
        machine: String,
    },
    /// SHA-256 of the event stream at the end of the run.
    Sealed {
        run: String,
        sha256: String,
    },
    /// An instructor did this step for the learner.
    Solved {
        at: StepRef,
        by: String,
    },
    /// A learner's kernel was checked; outside the course if `at` is `None`. `findings` holds their kinds.
    KernelChecked {
        at: Option<StepRef>,
        exercise: String,
        passed: bool,
        findings: Vec<String>,
        sha256: String,
        /// The file, if it passed, so that others can check it again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A learner's kernel was timed on a GPU.
    KernelTimed {
        exercise: String,
        #[serde(flatten)]
        timed: KernelTime,
        sha256: String,
    },
    /// The instructor pins the class to this lesson; `None` lifts the pin.
    Pinned {
        lesson: Option<String>,
        by: String,
    },
    /// Sets the learner's path, or the whole course if it is `None`. `by` is the instructor, if one chose it.
    PathChosen {
        path: Option<LearningPath>,
        by: Option<String>,
    },
    /// An instructor's order with all its events in one record. So it takes effect completely and only once, even if
    /// a process is killed in between.
    Ordered {
        order: String,
        events: Vec<SessionEvent>,
    },
    /// An event of a newer program. It stays in the log and is otherwise ignored.
    #[serde(skip)]
    #[strum(serialize = "")]
    Unknown,
}

impl SessionEvent {
    /// What an instructor's order came to; any other event is itself.
    pub fn ordered(&self) -> &SessionEvent {
        match self {
            SessionEvent::Ordered { events, .. } => events.last().unwrap_or(self),
            other => other,
        }
    }

    /// What it is in an instructor's order. `None` if no order may contain it.
    pub fn order_part(&self) -> Option<OrderPart> {
        match self {
            SessionEvent::Reset { .. }
            | SessionEvent::Restored { .. }
            | SessionEvent::Unlocked { .. }
            | SessionEvent::Message { .. }
            | SessionEvent::Solved { .. } => Some(OrderPart::Decision),
            SessionEvent::Predicted { .. }
            | SessionEvent::Answered { .. }
            | SessionEvent::Suspected { .. }
            | SessionEvent::Reflected { .. }
            | SessionEvent::RunStarted { .. }
            | SessionEvent::RunFinished { .. }
            | SessionEvent::Sealed { .. } => Some(OrderPart::StepWork),
            SessionEvent::Created { .. }
            | SessionEvent::Opened { .. }
            | SessionEvent::StepEntered { .. }
            | SessionEvent::TimeSpent { .. }
            | SessionEvent::Checked { .. }
            | SessionEvent::Recalled { .. }
            | SessionEvent::HintShown { .. }
            | SessionEvent::StepDone { .. }
            | SessionEvent::StepSkipped { .. }
            | SessionEvent::OpenedEarly { .. }
            | SessionEvent::Note { .. }
            | SessionEvent::Recorded { .. }
            | SessionEvent::KernelChecked { .. }
            | SessionEvent::KernelTimed { .. }
            | SessionEvent::Pinned { .. }
            | SessionEvent::PathChosen { .. }
            | SessionEvent::Ordered { .. }
            | SessionEvent::Unknown => None,
        }
    }

    /// The step that it is about.
    pub fn step(&self) -> Option<&StepRef> {
        match self {
            SessionEvent::StepEntered { at }
            | SessionEvent::TimeSpent { at, .. }
            | SessionEvent::Predicted { at, .. }
            | SessionEvent::Checked { at, .. }
            | SessionEvent::Answered { at, .. }
            | SessionEvent::Recalled { at, .. }
            | SessionEvent::Suspected { at, .. }
            | SessionEvent::HintShown { at, .. }
            | SessionEvent::Reflected { at, .. }
            | SessionEvent::StepDone { at }
            | SessionEvent::StepSkipped { at, .. }
            | SessionEvent::Solved { at, .. } => Some(at),
            SessionEvent::RunStarted { at, .. } | SessionEvent::KernelChecked { at, .. } => {
                at.as_ref()
            }
            SessionEvent::Created { .. }
            | SessionEvent::Opened { .. }
            | SessionEvent::RunFinished { .. }
            | SessionEvent::Unlocked { .. }
            | SessionEvent::OpenedEarly { .. }
            | SessionEvent::Reset { .. }
            | SessionEvent::Restored { .. }
            | SessionEvent::Message { .. }
            | SessionEvent::Note { .. }
            | SessionEvent::Recorded { .. }
            | SessionEvent::Sealed { .. }
            | SessionEvent::KernelTimed { .. }
            | SessionEvent::Pinned { .. }
            | SessionEvent::PathChosen { .. }
            | SessionEvent::Ordered { .. }
            | SessionEvent::Unknown => None,
        }
    }

    /// Returns whether it is about a kernel outside any step, as the command line tries one.
    pub fn is_of_command_line(&self) -> bool {
        matches!(
            self,
            SessionEvent::KernelChecked { at: None, .. } | SessionEvent::KernelTimed { .. }
        )
    }
}

/// What an event is in an instructor's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderPart {
    /// The order consists of it, or ends with it.
    Decision,
    /// Part of a step that the order does for a learner.
    StepWork,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerGiven {
    /// A number, or the index of a choice.
    pub answer: f64,
    pub correct: bool,
}

/// Measurements of a kernel on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelTime {
    pub device: String,
    pub milliseconds: f64,
    pub gigabytes_per_s: f64,
    pub gigaflops_per_s: f64,
}

/// The extent of a reset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Step(StepRef),
    /// One lesson, or the lessons of a session.
    Lessons(Vec<String>),
    /// The steps that belong to a stage.
    Steps(Vec<StepRef>),
    All,
}

impl Scope {
    pub fn covers(&self, lesson: &str, step: &str) -> bool {
        match self {
            Scope::Step(at) => at.lesson == lesson && at.step == step,
            Scope::Lessons(lessons) => lessons.iter().any(|id| id == lesson),
            Scope::Steps(steps) => steps
                .iter()
                .any(|at| at.lesson == lesson && at.step == step),
            Scope::All => true,
        }
    }
}
