//! A learner's actions at a step and their consequences: the same for the full screen, the plain dialogue and
//! scripts.

use std::time::Duration;

use serde::Serialize;

use crate::{
    AnswerGiven, CheckResult, CheckedKernel, MeasuredRuns, Session, SessionError, SessionEvent,
    StepRef, StepStatus, is_complete,
};
use tinyllama_lesson::quiz::TRIES;
use tinyllama_lesson::{
    Check, Course, Expect, LearningPath, Lesson, MarkedAnswer, Quiz, QuizAnswer, Step, Undecided,
    Verdict,
};

/// A longer pause is a break; only this much of it counts as attention.
pub const LONGEST_LOOK: Duration = Duration::from_secs(120);

/// A hint: "2 of 3".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintStage {
    pub number: usize,
    /// Number of hints on offer now. A missed check can add more.
    pub of: usize,
    pub text: String,
}

/// A check's verdict with its text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckResultText {
    /// Id of the check.
    #[serde(rename = "id")]
    pub check: String,
    pub required: bool,
    pub verdict: Verdict,
    /// The measured value, or the value in the document.
    pub value: Option<f64>,
    #[serde(skip)]
    pub text: String,
    /// True if it is undecided and rounds in turns may decide it.
    #[serde(skip)]
    pub is_worth_rounds: bool,
}

impl CheckResultText {
    /// The check's name for people: its id without hyphens.
    pub fn name(&self) -> String {
        self.check.replace('-', " ")
    }

    /// A text such as `passed`, or `not yet (not required here)`.
    pub fn text(&self) -> String {
        let name = self.verdict.name();
        if self.required || self.verdict == Verdict::Passed {
            name.to_string()
        } else {
            format!("{name} (not required here)")
        }
    }
}

/// Evaluates every check of a step on the runs and documents so far.
fn evaluate(step: &Step, measured: &MeasuredRuns) -> Vec<CheckResultText> {
    let of_run = |check: &Check| {
        let outcome = check.evaluate(measured);
        CheckResultText {
            check: check.id.clone(),
            required: check.required,
            verdict: outcome.verdict,
            value: outcome.value,
            text: outcome.explain(check),
            is_worth_rounds: matches!(
                outcome.undecided,
                Some(Undecided::Spread { .. } | Undecided::TooLittle(_) | Undecided::OneRunEach)
            ),
        }
    };
    let of_document = |expect: &Expect| {
        let found = expect.evaluate(measured);
        CheckResultText {
            check: expect.id.clone(),
            required: expect.required,
            verdict: found.verdict,
            value: found.value,
            text: expect.explain(&found),
            is_worth_rounds: false,
        }
    };
    let runs = step.checks.iter().map(of_run);
    runs.chain(step.expects().iter().map(of_document)).collect()
}

impl Session {
    /// Enters a step that is shown as a whole, so that its text counts as read.
    pub fn enter(&mut self, lesson: &Lesson, step: &Step) -> Result<(), SessionError> {
        self.turn_to(lesson, step)?;
        self.read(lesson, step)
    }

    /// Enters a step.
    pub fn turn_to(&mut self, lesson: &Lesson, step: &Step) -> Result<(), SessionError> {
        let at = StepRef::new(&lesson.id, &step.id);
        self.record(SessionEvent::StepEntered { at })
    }

    /// Notes that the learner has seen the end of the text. This completes a step without another task.
    pub fn read(&mut self, lesson: &Lesson, step: &Step) -> Result<(), SessionError> {
        match step.as_read() {
            Some(_) => self.complete(StepRef::new(&lesson.id, &step.id)),
            None => Ok(()),
        }
    }

    /// Adds seconds of attention to a step, measured with a monotonic clock.
    pub fn spend(&mut self, at: StepRef, seconds: f64) -> Result<(), SessionError> {
        self.record(SessionEvent::TimeSpent { at, seconds })
    }

    /// Records a prediction. A later prediction does not replace the first one.
    pub fn predict(&mut self, at: StepRef, value: f64) -> Result<(), SessionError> {
        if self.state().progress(&at).prediction.is_none() {
            self.record(SessionEvent::Predicted {
                at: at.clone(),
                value,
            })?;
        }
        self.complete(at)
    }

    /// Marks an answer and records it. A right one completes the step. A wrong one gets an explanation, or else a
    /// hint; after [`TRIES`] wrong numbers it also gets the way to the right one. Returns `None` if it is no answer
    /// to this quiz, or if the right answer depends on a command that has not run yet.
    pub fn answer(
        &mut self,
        at: StepRef,
        course: &Course,
        step: &Step,
        answer: QuizAnswer,
    ) -> Result<Option<MarkedAnswer>, SessionError> {
        let outputs = match step.looks_back().is_empty() {
            true => MeasuredRuns::default(),
            false => self.measured(course)?,
        };
        let Some(mut marked) = step.mark(answer, &outputs) else {
            return Ok(None);
        };
        self.record(SessionEvent::Answered {
            at: at.clone(),
            given: AnswerGiven {
                answer: answer.as_number(),
                correct: marked.correct,
            },
        })?;
        if marked.correct {
            self.complete_if(at, step)?;
        } else if let Some(Quiz::Number(number)) = step.as_quiz() {
            let wrong = self.state().progress(&at).answers;
            let wrong = wrong.iter().filter(|given| !given.correct).count();
            if marked.because.is_empty() {
                marked.because = self.help(at, step)?;
            }
            if wrong >= TRIES {
                let way = number.because.trim();
                marked.because = format!("{}\n\nThe way to the answer: {way}", marked.because);
            }
        }
        Ok(Some(marked))
    }

    /// The question with its right answer filled in; `None` until the command with the answer has run.
    ///
    /// # Errors
    /// If the runs cannot be read.
    pub fn answerable(&self, course: &Course, quiz: &Quiz) -> Result<Option<Quiz>, SessionError> {
        if quiz.asked_step().is_none() {
            return Ok(Some(quiz.clone()));
        }
        Ok(quiz.resolved(&self.measured(course)?))
    }

    /// The next hint, or the last one again if all were given.
    fn help(&mut self, at: StepRef, step: &Step) -> Result<String, SessionError> {
        let text = match self.next_hint(at, step)? {
            Some(hint) => hint.text,
            None => step
                .hints
                .last()
                .map_or(String::new(), |hint| hint.text.clone()),
        };
        Ok(text.trim().to_string())
    }

    /// Names the suspect in an investigation.
    pub fn suspect(&mut self, at: StepRef, step: &Step, suspect: &str) -> Result<(), SessionError> {
        self.record(SessionEvent::Suspected {
            at: at.clone(),
            suspect: suspect.into(),
        })?;
        self.complete_if(at, step)
    }

    /// Completes a step if its task is done and its required checks have passed.
    pub fn complete_if(&mut self, at: StepRef, step: &Step) -> Result<(), SessionError> {
        if is_complete(step, &self.state().progress(&at), self.state()) {
            self.complete(at)?;
        }
        Ok(())
    }

    /// Records a reflection. An empty one leaves the step open.
    pub fn reflect(&mut self, at: StepRef, text: &str) -> Result<(), SessionError> {
        self.record(SessionEvent::Reflected {
            at: at.clone(),
            text: text.trim().into(),
        })?;
        if text.trim().is_empty() {
            Ok(())
        } else {
            self.complete(at)
        }
    }

    /// Evaluates every check of a step on the runs so far, and completes the step if nothing is missing.
    pub fn check(
        &mut self,
        course: &Course,
        lesson: &Lesson,
        step: &Step,
    ) -> Result<Vec<CheckResultText>, SessionError> {
        let at = StepRef::new(&lesson.id, &step.id);
        let checked = self.outcomes(course, step)?;
        let events = checked.iter().map(|checked| SessionEvent::Checked {
            at: at.clone(),
            check: checked.check.clone(),
            verdict: checked.verdict,
            value: checked.value,
        });
        self.record_all(events.collect())?;
        self.complete_if(at, step)?;
        Ok(checked)
    }

    /// Records the check of a kernel. If it passed, it completes the step.
    pub fn check_kernel(&mut self, at: StepRef, tried: &CheckedKernel) -> Result<(), SessionError> {
        self.record_kernel(tried.event(Some(at)))
    }

    /// Records what was done with a kernel. A check that passed at a step completes it.
    pub fn record_kernel(&mut self, event: SessionEvent) -> Result<(), SessionError> {
        let passed_at = match &event {
            SessionEvent::KernelChecked { at, passed, .. } => at.clone().filter(|_| *passed),
            _ => None,
        };
        self.record(event)?;
        passed_at.map_or(Ok(()), |at| self.complete(at))
    }

    /// Evaluates the checks of a step on the runs so far, without recording them.
    pub fn outcomes(
        &self,
        course: &Course,
        step: &Step,
    ) -> Result<Vec<CheckResultText>, SessionError> {
        Ok(evaluate(step, &self.measured(course)?))
    }

    /// The next hint; `None` if there are no more.
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
            .find(|(_, (location, _))| !progress.hints.contains(location));
        let Some((index, (location, hint))) = next else {
            return Ok(None);
        };
        self.record(SessionEvent::HintShown {
            at,
            hint: *location,
        })?;
        Ok(Some(HintStage {
            number: index + 1,
            of: on_offer.len(),
            text: hint.text.clone(),
        }))
    }

    /// Skips a step, with the learner's reason.
    pub fn skip(&mut self, at: StepRef, note: &str) -> Result<(), SessionError> {
        self.record(SessionEvent::StepSkipped {
            at,
            note: note.trim().into(),
        })
    }

    /// Skips all open steps of a lesson, with the learner's reason.
    pub fn skip_lesson(&mut self, lesson: &Lesson, note: &str) -> Result<(), SessionError> {
        let state = self.state();
        let steps = lesson.steps.iter();
        let steps = steps.filter(|step| state.asks(lesson, step));
        let steps = steps.map(|step| StepRef::new(&lesson.id, &step.id));
        let open = steps.filter(|at| state.progress(at).status == StepStatus::Open);
        let skipped = open.map(|at| SessionEvent::StepSkipped {
            at,
            note: note.trim().into(),
        });
        self.record_all(skipped.collect())
    }

    /// Opens a lesson before those that it requires.
    pub fn open_early(&mut self, lesson: &str) -> Result<(), SessionError> {
        let lesson = lesson.into();
        self.record(SessionEvent::OpenedEarly { lesson })
    }

    /// Takes a path, or the whole course if it is `None`.
    pub fn take_path(&mut self, path: Option<&LearningPath>) -> Result<(), SessionError> {
        let path = path.cloned();
        self.record(SessionEvent::PathChosen { path, by: None })
    }

    fn complete(&mut self, at: StepRef) -> Result<(), SessionError> {
        if self.state().progress(&at).status == StepStatus::Done {
            Ok(())
        } else {
            self.record(SessionEvent::StepDone { at })
        }
    }
}
