//! What each kind of step consists of. A kind is one file here, its `mod` line, and one entry in the list below. Its file
//! has two items: `KEYS`, which are data, and an implementation of [`StepContent`]. How a learner does such a step is in
//! the tutor's `kinds`.

pub mod command;
pub mod compare;
mod investigate;
pub mod kernel;
pub mod predict;
pub mod profile;
mod quiz;
pub mod read;
pub mod reflect;
pub mod run;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::estimate::{RUN_MINUTES, THOUGHT_MINUTES, word_count};
use super::step_reader::StepReader;
use super::validate::LessonCheck;
use crate::{
    Case, CommandOutputs, Expect, Job, Lesson, MarkedAnswer, Quiz, QuizAnswer, RunName, Step,
    StepDocument, live,
};
use tinyllama_base::named;

/// Keys of every step.
pub(super) const COMMON: [&str; 6] = ["id", "kind", "title", "text", "optional", "hints"];

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

/// The content of a step. Every kind needs the methods without a default.
pub(crate) trait StepContent {
    /// Reads the keys of the kind. `None` if a problem was reported, or if a needed key is missing.
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self>
    where
        Self: Sized;

    /// Returns the minutes for doing it, and the number of words to read besides the step's text.
    fn minutes(&self, step: &Step) -> (f64, f64);

    /// Validates what depends on the whole course. `at` is the path to the step in its file.
    fn validate(&self, _check: &mut LessonCheck, _at: &str, _index: usize) {}

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
    fn looks_back(&self) -> Vec<&RunName> {
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
    ($($(#[$about:meta])* $kind:ident($as:ident: $module:ident, $type:ty) = $name:literal,)+) => {
        named! {
            /// What a step is
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
            #[serde(rename_all = "lowercase")]
            pub enum Kind { $($(#[$about])* $kind = $name,)+ }
        }

        /// The task of a step.
        #[derive(Clone, Debug)]
        pub enum StepKind { $($kind($type),)+ }

        impl Kind {
            pub(crate) fn keys(self) -> &'static StepKeys {
                match self { $(Kind::$kind => &$module::KEYS,)+ }
            }

            pub(super) fn read(self, reader: &mut StepReader, step: &StepDocument) -> Option<StepKind> {
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
    /// Markdown to read
    Read(as_read: read, read::ReadStep) = "read",
    /// A number to guess before it is measured
    Predict(as_predict: predict, predict::PredictStep) = "predict",
    /// A training run
    Run(as_run: run, run::RunStep) = "run",
    /// A command of the tutor, whose document is checked and asked about
    Command(as_command: command, command::CommandStep) = "command",
    /// A program with a mistake: suspected, convicted, fixed
    Investigate(as_case: investigate, Case) = "investigate",
    /// Runs side by side
    Compare(as_compare: compare, compare::CompareStep) = "compare",
    /// A profiler's command, run here or elsewhere
    Profile(as_profile: profile, profile::ProfileStep) = "profile",
    /// A question with one right answer
    Quiz(as_quiz: quiz, Quiz) = "quiz",
    /// A kernel to write
    Kernel(as_kernel: kernel, kernel::KernelStep) = "kernel",
    /// A question without one
    Reflect(as_reflect: reflect, reflect::ReflectStep) = "reflect",
}

impl Step {
    pub(crate) fn content(&self) -> &dyn StepContent {
        self.kind.content()
    }

    /// Returns the steps whose runs or documents this step is about.
    pub fn looks_back(&self) -> Vec<&RunName> {
        self.content().looks_back()
    }

    /// Marks an answer. Returns `None` if it is no answer to this step, or if the right answer is not known yet.
    pub fn mark(&self, answer: QuizAnswer, outputs: &dyn CommandOutputs) -> Option<MarkedAnswer> {
        self.content().mark(answer, outputs)
    }

    /// Formats an answer as text.
    pub fn answer_text(&self, answer: f64) -> String {
        self.content().answer_text(answer)
    }

    /// Returns the job that the step starts.
    pub fn job(&self) -> Option<Job> {
        self.content().job(self)
    }

    /// Returns the flags with which the step passes.
    pub fn golden_flags(&self) -> &[String] {
        self.golden.flags.as_deref().unwrap_or(&self.flags)
    }

    /// Returns the conditions that the document of the command has to meet.
    pub fn expects(&self) -> &[Expect] {
        self.content().expects()
    }

    /// Returns all runs that the step names.
    pub fn named_runs(&self, lesson: &Lesson) -> Vec<RunName> {
        let checked = self.checks.iter().flat_map(|check| check.measure.runs());
        let looked_at = self.looks_back();
        let live = live::runs(&self.text, &lesson.id);
        checked.chain(looked_at).cloned().chain(live).collect()
    }

    /// Returns whether checks and texts can name figures from runs at this step.
    pub fn is_measured(&self) -> bool {
        matches!(self.job(), Some(Job::Run(_)))
    }
}

impl StepDocument {
    /// Returns the keys written in the file, as far as they depend on the kind.
    pub(super) fn present(&self) -> Vec<String> {
        let written = serde_json::to_value(self).unwrap_or_default();
        let keys = written.as_object().into_iter().flatten();
        let is_there = |key: &str, value: &Value| match key {
            "checks" => !self.checks.is_empty(),
            key => !COMMON.contains(&key) && !value.is_null(),
        };
        keys.filter(|(key, value)| is_there(key, value))
            .map(|(key, _)| key.clone())
            .collect()
    }
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
