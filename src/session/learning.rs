//! What a learner does at a step, with its consequences: the same for the full screen, the plain dialogue and scripts.

use std::time::Duration;

use super::error::SessionError;
use super::event::{Event, StepRef};
use super::progress::is_complete;
use super::state::{CheckResult, Status};
use super::store::Session;
use crate::lesson::quiz::{Answer, Marked, Quiz};
use crate::lesson::{Course, Lesson, Outcome, Step, StepKind, Verdict};

/// A longer pause is a break, whatever the learner looks at: only this much of it counts as attention.
pub const LONGEST_LOOK: Duration = Duration::from_secs(120);

/// A hint: "2 of 3".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintStage {
    pub number: usize,
    /// On offer now; a check that is missed can add more.
    pub of: usize,
    pub text: String,
}

impl Session {
    /// Turns to a step. Reading is done once it was turned to.
    pub fn enter(&mut self, lesson: &Lesson, step: &Step) -> Result<(), SessionError> {
        let at = StepRef::new(&lesson.id, &step.id);
        self.record(Event::StepEntered { at: at.clone() })?;
        if matches!(step.kind, StepKind::Read) {
            return self.complete(at);
        }
        Ok(())
    }

    /// Adds attention a step got, by a clock that cannot be set.
    pub fn spend(&mut self, at: StepRef, seconds: f64) -> Result<(), SessionError> {
        self.record(Event::TimeSpent { at, seconds })
    }

    /// Notes a guess. A later guess does not replace one that was made before the measurement.
    pub fn predict(&mut self, at: StepRef, value: f64) -> Result<(), SessionError> {
        if self.state().progress(&at).prediction.is_none() {
            self.record(Event::Predicted {
                at: at.clone(),
                value,
            })?;
        }
        self.complete(at)
    }

    /// Marks an answer; a right one completes the step. None when it is no answer to this quiz.
    pub fn answer(
        &mut self,
        at: StepRef,
        quiz: &Quiz,
        answer: Answer,
    ) -> Result<Option<Marked>, SessionError> {
        let Some(marked) = quiz.mark(answer) else {
            return Ok(None);
        };
        self.record(Event::Answered {
            at: at.clone(),
            answer: answer.as_number(),
            correct: marked.correct,
        })?;
        if marked.correct {
            self.complete(at)?;
        }
        Ok(Some(marked))
    }

    /// Keeps a reflection; an empty one leaves the step open.
    pub fn reflect(&mut self, at: StepRef, text: &str) -> Result<(), SessionError> {
        self.record(Event::Reflected {
            at: at.clone(),
            text: text.trim().into(),
        })?;
        if text.trim().is_empty() {
            Ok(())
        } else {
            self.complete(at)
        }
    }

    /// Evaluates every check of a step on the runs so far, and completes the step when nothing is missing.
    pub fn check(
        &mut self,
        course: &Course,
        lesson: &Lesson,
        step: &Step,
    ) -> Result<Vec<Outcome>, SessionError> {
        let at = StepRef::new(&lesson.id, &step.id);
        let runs = self.measured(course)?;
        let outcomes: Vec<Outcome> = step
            .checks
            .iter()
            .map(|check| check.evaluate(&runs))
            .collect();
        let checked = step
            .checks
            .iter()
            .zip(&outcomes)
            .map(|(check, outcome)| Event::Checked {
                at: at.clone(),
                check: check.id.clone(),
                verdict: outcome.verdict,
                value: outcome.value,
            });
        self.record_all(checked.collect())?;
        if is_complete(step, &self.state().progress(&at), self.state()) {
            self.complete(at)?;
        }
        Ok(outcomes)
    }

    /// The next stage of help; none when there is no more.
    pub fn next_hint(
        &mut self,
        at: StepRef,
        step: &Step,
    ) -> Result<Option<HintStage>, SessionError> {
        let progress = self.state().progress(&at);
        let missed = |(check, result): (&String, &CheckResult)| {
            (result.verdict != Verdict::Passed).then(|| check.clone())
        };
        let failed: Vec<String> = progress.checks.iter().filter_map(missed).collect();
        let on_offer = step.hints_after(&failed);
        let next = on_offer
            .iter()
            .enumerate()
            .find(|(_, (place, _))| !progress.hints.contains(place));
        let Some((index, (place, hint))) = next else {
            return Ok(None);
        };
        self.record(Event::HintShown { at, hint: *place })?;
        Ok(Some(HintStage {
            number: index + 1,
            of: on_offer.len(),
            text: hint.text.clone(),
        }))
    }

    /// Leaves a step undone, with the learner's reason.
    pub fn skip(&mut self, at: StepRef, note: &str) -> Result<(), SessionError> {
        self.record(Event::StepSkipped {
            at,
            note: note.trim().into(),
        })
    }

    fn complete(&mut self, at: StepRef) -> Result<(), SessionError> {
        if self.state().progress(&at).status == Status::Done {
            Ok(())
        } else {
            self.record(Event::StepDone { at })
        }
    }
}
