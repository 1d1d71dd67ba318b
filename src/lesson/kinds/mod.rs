//! What each kind of step consists of. A kind is one file here, its `mod` line, and one entry in the list below. Its file
//! has two items: `KEYS`, which are data, and an implementation of `StepContent`. How a learner does such a step is in
//! the tutor's `kinds`.

pub mod command;
pub mod compare;
pub(super) mod estimate;
mod investigate;
pub mod kernel;
mod kind;
pub mod predict;
pub mod profile;
mod quiz;
pub mod read;
pub mod reflect;
pub mod run;
mod step;

use self::estimate::{RUN_MINUTES, THOUGHT_MINUTES, word_count};
pub use self::kind::Kind;
pub use self::step::{Golden, Step};
use crate::step_reader::StepReader;
use crate::{
    Case, CommandOutputs, Expect, Job, MarkedAnswer, Quantity, Quiz, QuizAnswer, StepDocument,
    StepRef,
};

/// Keys of every step.
pub(crate) const COMMON: [&str; 6] = ["id", "kind", "title", "text", "optional", "hints"];

/// The keys of a kind of step in a lesson's file.
pub(crate) struct StepKeys {
    /// Keys that the kind needs besides those of every step.
    pub needs: &'static [&'static str],
    /// Keys that the kind may have.
    pub may: &'static [&'static str],
    /// The key of its golden path; empty if it has none.
    pub golden: &'static str,
}

impl StepKeys {
    pub const NONE: StepKeys = StepKeys {
        needs: &[],
        may: &[],
        golden: "",
    };
}

/// What a step needs of the course around it. Paths are below the step's own in its file.
pub(crate) enum Demand<'a> {
    /// No demand: the step is wrong by itself. Path and message.
    Fault(String, String),
    /// A run of this name before the step, which stands at this path.
    RunBefore(String, &'a StepRef),
    /// The output of a command before the step.
    OutputBefore(&'a StepRef),
    /// A run after the step that answers a prediction.
    RunAfter(&'a Quantity),
    /// A text that a learner reads after the step's own runs. Its live values exist by then.
    TextAfter(&'a str),
}

/// The content of a step. Every kind needs the methods without a default.
pub(crate) trait StepContent {
    /// Reads the keys of the kind. `None` if a problem was reported, or if a needed key is missing.
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self>
    where
        Self: Sized;

    /// Returns the minutes for doing it, and the number of words to read besides the step's text.
    fn minutes(&self, step: &Step) -> (f64, f64);

    /// Returns what the step needs of the course around it, and faults in what it says itself.
    fn demands(&self) -> Vec<Demand<'_>> {
        Vec::new()
    }

    /// Returns the job that the step starts.
    fn job(&self, _step: &Step) -> Option<Job> {
        None
    }

    /// Returns the conditions that a command's document has to meet.
    fn expects(&self) -> &[Expect] {
        &[]
    }

    /// Returns the kind's hints for a step that writes none.
    fn hints(&self) -> &[String] {
        &[]
    }

    /// Returns the steps whose runs or documents this step is about.
    fn looks_back(&self) -> Vec<&StepRef> {
        Vec::new()
    }

    /// Marks an answer. Returns `None` if it is no answer to this step, or if the right answer is not known yet.
    fn mark(&self, _answer: QuizAnswer, _outputs: &dyn CommandOutputs) -> Option<MarkedAnswer> {
        None
    }

    /// Formats an answer as text.
    fn answer_text(&self, answer: f64) -> String {
        answer.to_string()
    }
}

macro_rules! step_kinds {
    ($($kind:ident($as:ident: $module:ident, $type:ty),)+) => {
        /// The task of a step.
        #[derive(Clone, Debug)]
        pub enum StepKind { $($kind($type),)+ }

        impl Kind {
            pub(crate) fn keys(self) -> &'static StepKeys {
                match self { $(Kind::$kind => &$module::KEYS,)+ }
            }

            pub(crate) fn read(self, reader: &mut StepReader, step: &StepDocument) -> Option<StepKind> {
                Some(match self { $(Kind::$kind => StepKind::$kind(<$type>::read(reader, step)?),)+ })
            }
        }

        impl StepKind {
            pub(crate) fn content(&self) -> &dyn StepContent {
                match self { $(StepKind::$kind(kind) => kind,)+ }
            }
        }

        impl Step {
            pub fn kind(&self) -> Kind {
                match self.kind { $(StepKind::$kind(_) => Kind::$kind,)+ }
            }

            $(pub fn $as(&self) -> Option<&$type> {
                match &self.kind {
                    StepKind::$kind(kind) => Some(kind),
                    _ => None,
                }
            })+
        }
    };
}

step_kinds! {
    Read(as_read: read, read::ReadStep),
    Predict(as_predict: predict, predict::PredictStep),
    Run(as_run: run, run::RunStep),
    Command(as_command: command, command::CommandStep),
    Investigate(as_case: investigate, Case),
    Compare(as_compare: compare, compare::CompareStep),
    Profile(as_profile: profile, profile::ProfileStep),
    Quiz(as_quiz: quiz, Quiz),
    Kernel(as_kernel: kernel, kernel::KernelStep),
    Reflect(as_reflect: reflect, reflect::ReflectStep),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_golden_path_has_its_key() {
        for kind in Kind::ALL {
            let keys = kind.keys();
            let has_key = [keys.needs, keys.may].concat().contains(&"golden");
            assert_eq!(has_key, !keys.golden.is_empty(), "{kind}");
        }
    }
}
