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
    Case, CommandOutputs, Expect, Golden, MarkedAnswer, Quiz, QuizAnswer, RunName, Step,
    StepDocument,
};
use crate::session::verify::{LessonWalker, Visit};
use crate::session::{SessionEvent, SessionState, StepProgress, StepRef};
use crate::tui::Action;
use crate::tutor::Job;
use crate::tutor::document::{
    Block, Editable, Figures, Given, MenuAction, MenuLine, PrimaryAction, StepContext, Tone,
};
use tinyllama_base::named;

/// Keys of every step.
pub(super) const COMMON: [&str; 6] = ["id", "kind", "title", "text", "optional", "hints"];

/// Why the walk skipped a step, if it did.
type Walked = anyhow::Result<Option<String>>;

/// What a kind of step is, as data.
pub(crate) struct Facts {
    /// Keys that the kind needs besides those of every step.
    pub needs: &'static [&'static str],
    /// Keys that the kind may have.
    pub may: &'static [&'static str],
    /// The key of its golden path; empty if it has none.
    pub golden: &'static str,
    /// Keys in the command bar, with what they do.
    pub actions: &'static [(Action, &'static str)],
    /// What the learner edits.
    pub edits: Option<Editable>,
    /// What its figures show.
    pub figures: Option<Figures>,
}

/// What a kind of step does. Every kind needs the methods without a default.
pub(crate) trait StepBehavior {
    /// Reads the keys of the kind. `None` if a problem was reported, or if a needed key is missing.
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self>
    where
        Self: Sized;

    /// Minutes for doing it, and how many word_count are read besides the step's text.
    fn minutes(&self, step: &Step) -> (f64, f64);

    /// Whether the learner did what is asked, whatever the checks say.
    fn is_done(&self, progress: &StepProgress, state: &SessionState) -> bool;

    /// What it says below its text, and what Enter does as long as it is not done.
    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction);

    /// Takes the step as `lessons verify` does: every wrong way, then the right one.
    fn walk(&self, walk: &mut LessonWalker, visit: &mut Visit) -> Walked;

    /// What the golden path records, if it needs no run. An instructor who solves the step records the same.
    fn solution(&self, _at: StepRef, _golden: &Golden) -> Option<SessionEvent> {
        None
    }

    /// Checks what only the whole course can tell. `at` is the path to the step in its file.
    fn validate(&self, _check: &mut LessonCheck, _at: &str, _index: usize) {}

    /// What the step starts.
    fn job(&self, _step: &Step) -> Option<Job> {
        None
    }

    /// What has to be true of a command's document.
    fn expects(&self) -> &[Expect] {
        &[]
    }

    /// Hints of a step that has none of its own.
    fn hints(&self) -> &[String] {
        &[]
    }

    /// Steps whose runs or documents it is about.
    fn looks_back(&self) -> Vec<&RunName> {
        Vec::new()
    }

    /// Understands what the learner typed, or says what is wrong with it.
    fn parse(&self, text: &str) -> Result<Given, String> {
        Err(format!("`{text}` is not understood; `help` lists what is"))
    }

    /// Marks an answer. `None` if it is no answer to this step, or if what is right is not known yet.
    fn mark(&self, _answer: QuizAnswer, _outputs: &dyn CommandOutputs) -> Option<MarkedAnswer> {
        None
    }

    /// An answer in word_count.
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

        /// What a step asks for. Only this file matches on it.
        #[derive(Clone, Debug)]
        pub(crate) enum StepKind { $($kind($type),)+ }

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

    /// What the step starts.
    pub fn job(&self) -> Option<Job> {
        self.behavior().job(self)
    }

    /// Flags with which the step passes.
    pub fn golden_flags(&self) -> &[String] {
        self.golden.flags.as_deref().unwrap_or(&self.flags)
    }

    /// What has to be true of the document of the step's command.
    pub fn expects(&self) -> &[Expect] {
        self.behavior().expects()
    }

    /// Whether checks and texts can name figures of the step's runs.
    pub fn is_measured(&self) -> bool {
        matches!(self.job(), Some(Job::Run(_)))
    }
}

impl StepDocument {
    /// The keys written in the file, as far as they depend on the kind.
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
