//! What happens in a session: one record a line of `events.jsonl`.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use strum::VariantNames;

pub use crate::lesson::RunName as StepRef;
use crate::lesson::Verdict;
pub use crate::run::RunExit;

/// Version of the records. A reader upgrades older ones and refuses newer ones.
pub const FORMAT: u32 = 1;

/// One line's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Counted from 1; the order of events, whatever the clock says.
    pub n: u64,
    /// UTC, RFC 3339. For people: a clock may be set back, so nothing is computed from it.
    pub time: String,
    pub event: Event,
}

impl Record {
    /// Reads a record; an event of a kind that only a newer program knows is [`Event::Unknown`].
    pub(super) fn read(text: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Outside {
            n: u64,
            time: String,
            event: BTreeMap<String, IgnoredAny>,
        }
        serde_json::from_str(text).or_else(|error| match serde_json::from_str(text) {
            Ok(Outside { n, time, event })
                if !event.keys().any(|kind| Event::VARIANTS.contains(&&**kind)) =>
            {
                Ok(Self {
                    n,
                    time,
                    event: Event::Unknown,
                })
            }
            _ => Err(error),
        })
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// First record of every log.
    Created {
        format: u32,
        version: String,
        learner: String,
        host: String,
        /// Of no other session: two that begin in the same second on machines of the same name differ by it.
        #[serde(default)]
        session: String,
    },
    /// First record of a log that replaced a longer one.
    Compacted {
        format: u32,
        version: String,
        previous_hash: String,
        previous_records: u64,
        state: Box<serde_json::Value>,
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
    /// Seconds of attention, by a clock that cannot be set.
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
    /// Names who is to blame, in an investigation.
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
        by: String,
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
    /// Something about the session itself, such as a repair.
    Note {
        text: String,
    },
    /// The run was not made here: what it shows was recorded on `machine`.
    Recorded {
        run: String,
        machine: String,
    },
    /// SHA-256 of the run's event stream as it was when the run ended.
    Sealed {
        run: String,
        sha256: String,
    },
    /// An instructor did this step for the learner.
    Solved {
        at: StepRef,
        by: String,
    },
    /// A learner's kernel was checked: outside of the course where `at` is none. `findings` holds their kinds.
    KernelChecked {
        at: Option<StepRef>,
        exercise: String,
        passed: bool,
        findings: Vec<String>,
        sha256: String,
    },
    /// A learner's kernel was timed on a GPU.
    KernelTimed {
        exercise: String,
        #[serde(flatten)]
        timed: KernelTime,
        sha256: String,
    },
    /// The class is asked to work on this lesson; none sets it free.
    Pinned {
        lesson: Option<String>,
        by: String,
    },
    /// An instructor's order with all it does, in one record: it is taken whole and once, whatever is killed when.
    Ordered {
        order: String,
        events: Vec<Event>,
    },
    /// An event of a newer program, kept in the log and otherwise passed over.
    #[serde(skip)]
    #[strum(serialize = "")]
    Unknown,
}

impl Event {
    /// Whether an instructor's order may do this: what it sets aside, opens, says, and does of a step for a learner.
    pub fn may_be_ordered(&self) -> bool {
        matches!(
            self,
            Event::Reset { .. }
                | Event::Restored { .. }
                | Event::Unlocked { .. }
                | Event::Message { .. }
                | Event::Solved { .. }
                | Event::Predicted { .. }
                | Event::Answered { .. }
                | Event::Suspected { .. }
                | Event::Reflected { .. }
                | Event::RunStarted { .. }
                | Event::RunFinished { .. }
                | Event::Sealed { .. }
        )
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerGiven {
    /// A number, or the position of a choice.
    pub answer: f64,
    pub correct: bool,
}

/// What a kernel took on a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelTime {
    pub device: String,
    pub milliseconds: f64,
    pub gigabytes_per_s: f64,
    pub gigaflops_per_s: f64,
}

/// What a reset takes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Step(StepRef),
    /// A lesson, or the lessons of a session.
    Lessons(Vec<String>),
    /// What belongs to a stage.
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
