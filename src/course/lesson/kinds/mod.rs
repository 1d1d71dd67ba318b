//! The kinds of steps. A kind is one file here, its `mod` line, and one entry in the list below. Its file has two items:
//! `FACTS`, which are data, and an implementation of [`StepBehavior`].

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
use crate::lesson::{
    Case, CommandOutputs, Expect, Golden, Lesson, MarkedAnswer, Quiz, QuizAnswer, RunName, Step,
    StepDocument, live,
};
use crate::session::{SessionEvent, SessionState, StepProgress, StepRef};
use crate::tui::Action;
use crate::tutor::Job;
use crate::tutor::document::{
    Block, Editable, Figures, Given, MenuAction, MenuLine, PrimaryAction, StepContext, Tone,
};
use tinyllama_base::named;

/// Keys of every step.
pub(super) const COMMON: [&str; 6] = ["id", "kind", "title", "text", "optional", "hints"];

/// The properties of a step kind that are plain data.
pub(crate) struct Facts {
    /// Keys that the kind needs besides those of every step.
    pub needs: &'static [&'static str],
    /// Keys that the kind may have.
    pub may: &'static [&'static str],
    /// The key of its golden path; empty if it has none.
    pub golden: &'static str,
    /// Keys in the command bar, with their effects.
    pub actions: &'static [(Action, &'static str)],
    /// The part of the step that the learner can edit.
    pub edits: Option<Editable>,
    /// The content of its figures.
    pub figures: Option<Figures>,
}

impl Facts {
    pub const NONE: Facts = Facts {
        needs: &[],
        may: &[],
        golden: "",
        actions: &[],
        edits: None,
        figures: None,
    };
}

/// The behavior of a step kind. Every kind needs the methods without a default.
pub(crate) trait StepBehavior {
    /// Reads the keys of the kind. `None` if a problem was reported, or if a needed key is missing.
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self>
    where
        Self: Sized;

    /// Returns the minutes for doing it, and the number of words to read besides the step's text.
    fn minutes(&self, step: &Step) -> (f64, f64);

    /// Returns whether the learner did what the step asks. The checks do not change the answer.
    fn is_done(&self, progress: &StepProgress, state: &SessionState) -> bool;

    /// Returns the blocks below the step's text, and the effect of Enter until the step is done.
    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction);

    /// Returns the event that the golden path records, if it needs no run. An instructor who solves the step records
    /// the same.
    fn solution(&self, _at: StepRef, _golden: &Golden) -> Option<SessionEvent> {
        None
    }

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

    /// Parses the learner's input, or explains its fault.
    fn parse(&self, text: &str) -> Result<Given, String> {
        Err(format!("`{text}` is not understood; `help` lists what is"))
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

        /// The task of a step. Only this file and the walk in `tests/course-walk` match on it.
        #[derive(Clone, Debug)]
        pub enum StepKind { $($kind($type),)+ }

        impl Kind {
            pub(crate) fn facts(self) -> &'static Facts {
                match self { $(Kind::$kind => &$module::FACTS,)+ }
            }

            pub(super) fn read(self, reader: &mut StepReader, step: &StepDocument) -> Option<StepKind> {
                Some(match self { $(Kind::$kind => StepKind::$kind(<$type>::read(reader, step)?),)+ })
            }
        }

        impl StepKind {
            pub(crate) fn behavior(&self) -> &dyn StepBehavior {
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
    pub(crate) fn behavior(&self) -> &dyn StepBehavior {
        self.kind.behavior()
    }

    pub(crate) fn facts(&self) -> &'static Facts {
        self.kind().facts()
    }

    /// Returns the job that the step starts.
    pub fn job(&self) -> Option<Job> {
        self.behavior().job(self)
    }

    /// Returns the flags with which the step passes.
    pub fn golden_flags(&self) -> &[String] {
        self.golden.flags.as_deref().unwrap_or(&self.flags)
    }

    /// Returns the conditions that the document of the command has to meet.
    pub fn expects(&self) -> &[Expect] {
        self.behavior().expects()
    }

    /// Returns all runs that the step names.
    pub fn named_runs(&self, lesson: &Lesson) -> Vec<RunName> {
        let checked = self.checks.iter().flat_map(|check| check.measure.runs());
        let looked_at = self.behavior().looks_back();
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
    use crate::lesson::{Course, CourseSource};
    use crate::session::MeasuredRuns;
    use crate::tutor::profile::ProfileView;

    #[test]
    fn enter_asks_for_nothing_that_a_step_cannot_take() {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let (state, measured) = (SessionState::default(), MeasuredRuns::default());
        let profile = ProfileView::default();
        for (lesson, step) in course.steps() {
            let at = StepRef::new(&lesson.id, &step.id);
            let context = StepContext {
                lesson,
                step,
                at: &at,
                progress: StepProgress::default(),
                state: &state,
                measured: &measured,
                marked: None,
                flags: step.flags.clone(),
                profile: &profile,
                workbench: "kernels".as_ref(),
            };
            let (blocks, primary) = context.document();
            let is_sound = match primary {
                PrimaryAction::Next => step.behavior().is_done(&context.progress, &state),
                PrimaryAction::PaletteAction { .. } => !context.menu().is_empty(),
                PrimaryAction::Ask(_) => step.behavior().parse("1").is_ok(),
                PrimaryAction::Start(_) => {
                    let shows_job = blocks.iter().any(|block| matches!(block, Block::Job(_)));
                    step.job().is_some() && shows_job
                }
                PrimaryAction::Compare | PrimaryAction::Kernel | PrimaryAction::Profile => {
                    step.facts().figures.is_some()
                }
            };
            assert!(is_sound, "{at}");
        }
    }

    #[test]
    fn a_golden_path_has_its_key() {
        for kind in Kind::ALL {
            let facts = kind.facts();
            let has_key = [facts.needs, facts.may].concat().contains(&"golden");
            assert_eq!(has_key, !facts.golden.is_empty(), "{kind}");
        }
    }
}
