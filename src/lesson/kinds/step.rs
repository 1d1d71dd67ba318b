//! A step in the form that the program uses.

use super::estimate::{WORDS_PER_MINUTE, word_count};
use super::{StepContent, StepKind};
use crate::{Check, CommandOutputs, Expect, Hint, Job, MarkedAnswer, QuizAnswer, StepRef, text};

#[derive(Clone, Debug)]
pub struct Step {
    pub id: String,
    pub title: String,
    /// Markdown with live values.
    pub text: String,
    pub kind: StepKind,
    /// What the step trains or profiles.
    pub target: Option<String>,
    /// Flags of what the step starts, without a change by the learner.
    pub flags: Vec<String>,
    /// Id of a recording from a GPU that shows the topic of this step: a run, or the document of a command.
    pub recording: Option<String>,
    /// True if only a GPU can show the effect of this run.
    pub on_gpu: bool,
    /// May be left out when time is short.
    pub optional: bool,
    /// The learner has to change the flags.
    pub editable: bool,
    pub checks: Vec<Check>,
    pub hints: Vec<Hint>,
    pub golden: Golden,
    /// The same question with other figures.
    pub again: Option<Box<Step>>,
}

/// The inputs of a learner who does everything right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Golden {
    pub number: Option<f64>,
    pub flags: Option<Vec<String>>,
    pub text: Option<String>,
    pub import: Option<String>,
}

impl Step {
    pub(crate) fn content(&self) -> &dyn StepContent {
        self.kind.content()
    }

    /// Returns the steps whose runs or documents this step is about.
    pub fn looks_back(&self) -> Vec<&StepRef> {
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

    /// Returns all runs that the step of this lesson names.
    pub fn named_runs(&self, lesson: &str) -> Vec<StepRef> {
        let checked = self.checks.iter().flat_map(|check| check.measure.runs());
        let looked_at = self.looks_back();
        let live = text::runs(&self.text, lesson);
        checked.chain(looked_at).cloned().chain(live).collect()
    }

    /// Returns whether checks and texts can name figures from runs at this step.
    pub fn is_measured(&self) -> bool {
        matches!(self.job(), Some(Job::Run(_)))
    }

    /// Returns the step in the form in which an earlier question is asked again.
    pub fn asked_again(&self) -> &Step {
        self.again.as_deref().unwrap_or(self)
    }

    /// Minutes for reading everything, explanations included, and for doing the task. A run counts with its time on a
    /// laptop's CPU.
    pub fn estimated_minutes(&self) -> f64 {
        let (doing, reading) = self.content().minutes(self);
        let checks = self.checks.iter().map(|check| word_count(&check.passed));
        doing + (word_count(&self.text) + reading + checks.sum::<f64>()) / WORDS_PER_MINUTE
    }

    /// Ids of all checks, and whether each is required.
    pub fn checked(&self) -> impl Iterator<Item = (&str, bool)> {
        let checks = self.checks.iter();
        let checks = checks.map(|check| (check.id.as_str(), check.required));
        let expects = self.expects().iter();
        checks.chain(expects.map(|expect| (expect.id.as_str(), expect.required)))
    }

    /// The hints offered after the checks in `failed` were missed, with their numbers among all hints, from 1.
    pub fn hints_after(&self, failed: &[String]) -> Vec<(u32, &Hint)> {
        let on_offer = |hint: &&Hint| {
            hint.after
                .as_ref()
                .is_none_or(|check| failed.contains(check))
        };
        (1..)
            .zip(&self.hints)
            .filter(|(_, hint)| on_offer(hint))
            .collect()
    }
}
