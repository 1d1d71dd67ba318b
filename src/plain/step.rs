//! One step: said, answered, checked.

use std::io::{BufRead, Write};

use super::dialogue::{Dialogue, Then};
use super::show::Page;
use crate::lesson::quiz::{Answer, Quiz};
use crate::lesson::{StepKind, live};
use crate::session::progress::progress;
use crate::session::state::Status;
use crate::tutor::outcome::Shown;
use crate::tutor::{TutorError, say};

impl<I: BufRead, O: Write> Dialogue<'_, I, O> {
    /// Turns to the step that is open and says it.
    pub(super) fn say_step(&mut self) -> Result<(), TutorError> {
        let Some((lesson, step)) = self.current() else {
            return self.say("Everything that is open is done. `outline` lists it.");
        };
        let (lesson, step) = (lesson.clone(), step.clone());
        let status = self.progress()?.status;
        self.with(|session| session.enter(&lesson, &step))?;
        let runs = self.measured()?;
        let number = lesson
            .steps
            .iter()
            .position(|other| other.id == step.id)
            .map_or(1, |index| index + 1);
        let minutes = self.with(|session| Ok(progress(session.state(), &lesson)))?;
        let minutes = minutes.map_or(String::new(), |done| say::minutes(&done, lesson.minutes));
        let state = match status {
            Status::Done => ", done",
            Status::Skipped(_) => ", skipped",
            Status::Open => "",
        };
        self.say(&format!(
            "\n== {}. Step {number} of {}: {}{state} ({minutes})\n",
            lesson.title,
            lesson.steps.len(),
            step.title
        ))?;
        let page = Page::new(&self.options);
        let text = page.markdown(&live::fill(&step.text, &lesson.id, &runs));
        self.say(&text)?;
        let asked = self.what_is_asked(&step.kind)?;
        self.say(&format!("\n{asked}"))
    }

    fn what_is_asked(&mut self, kind: &StepKind) -> Result<String, TutorError> {
        let progress = self.progress()?;
        let is_done = progress.status == Status::Done;
        Ok(match kind {
            StepKind::Read => "Enter goes on.".into(),
            StepKind::Predict { measure } => {
                let runs = self.measured()?;
                say::guess(measure, Some(&progress), &runs)
                    .unwrap_or_else(|| "Type your guess, a number.".into())
            }
            StepKind::Quiz(Quiz::Choices(choices)) => {
                let mut text = String::new();
                for (letter, choice) in ('a'..).zip(choices) {
                    text.push_str(&format!("{letter}) {}\n", choice.text));
                }
                text.push_str("Type a letter.");
                text
            }
            StepKind::Quiz(Quiz::Number(number)) => {
                let unit = if number.unit.is_empty() {
                    String::new()
                } else {
                    format!(", in {}", number.unit)
                };
                format!("Type a number{unit}.")
            }
            StepKind::Run { target, .. } => {
                let flags = self.flags();
                let flags = shlex::try_join(flags.iter().map(String::as_str)).unwrap_or_default();
                let then = if is_done {
                    "goes on; `run` runs it again"
                } else {
                    "starts it"
                };
                let offer = self.offer();
                format!(
                    "Run: tinyllama-tutor run {target} {flags}\nEnter {then}; `run` with flags changes them.{offer}"
                )
            }
            StepKind::Compare { .. } => self.comparison(kind)?,
            StepKind::Profile { .. } => self.profile_command()?,
            StepKind::Kernel { file } => {
                let path = self.options.place.workbench().join(file);
                format!("File: {}. `check` when it is ready.", path.display())
            }
            StepKind::Reflect => match progress.reflection.filter(|text| !text.is_empty()) {
                Some(text) => format!("You wrote: {text}\nType it anew, or Enter goes on."),
                None => "Type your answer in one line.".into(),
            },
        })
    }

    /// Enter: what the step waits for.
    pub(super) fn act(&mut self) -> Result<Then, TutorError> {
        let Some((_, step)) = self.current() else {
            return Ok(Then::Stay);
        };
        let kind = step.kind.clone();
        let is_done = self.progress()?.status != Status::Open;
        match kind {
            StepKind::Run { .. } if !is_done => {
                self.run(None)?;
                Ok(Then::Stay)
            }
            StepKind::Predict { .. } | StepKind::Quiz(_) | StepKind::Reflect if !is_done => {
                self.say("This step waits for your answer; `hint` helps, `skip` goes on without.")?;
                Ok(Then::Stay)
            }
            StepKind::Compare { .. } if !is_done => {
                self.check()?;
                self.go_on()
            }
            StepKind::Profile { .. } | StepKind::Kernel { .. } if !is_done => {
                self.say("This step is not done; `skip` goes on without it.")?;
                Ok(Then::Stay)
            }
            _ => self.go_on(),
        }
    }

    /// Text that is no command.
    pub(super) fn answer(&mut self, text: &str) -> Result<Then, TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(Then::Stay);
        };
        match step.kind.clone() {
            StepKind::Predict { measure } => match say::number(text) {
                Some(value) => {
                    self.with(|session| session.predict(at, value))?;
                    let progress = self.progress()?;
                    let runs = self.measured()?;
                    let words = say::guess(&measure, Some(&progress), &runs).unwrap_or_default();
                    self.say(&words)?;
                }
                None => self.say(&format!("`{text}` is no number."))?,
            },
            StepKind::Quiz(quiz) => self.answer_quiz(&quiz, text)?,
            StepKind::Reflect => {
                self.with(|session| session.reflect(at, text))?;
                self.say("Kept for your report.")?;
            }
            _ => self.say(&format!(
                "`{text}` is not understood; `help` lists what is."
            ))?,
        }
        Ok(Then::Stay)
    }

    fn answer_quiz(&mut self, quiz: &Quiz, text: &str) -> Result<(), TutorError> {
        let Some(at) = self.at.clone() else {
            return Ok(());
        };
        let Some(answer) = understand(quiz, text) else {
            return self.say(match quiz {
                Quiz::Choices(_) => "Type the letter of a choice.",
                Quiz::Number(_) => "Type a number.",
            });
        };
        let marked = self
            .with(|session| {
                let marked = session.answer(at, quiz, answer)?;
                Ok(marked.map(|marked| (marked.correct, marked.because.to_string())))
            })?
            .flatten();
        let is_number = matches!(quiz, Quiz::Number(_));
        match marked {
            Some((true, because)) => self.say(&format!("Right. {}", because.trim())),
            Some((false, _)) if is_number => self.say("Not so. Try again, or ask for a hint."),
            Some((false, because)) => self.say(&format!("Not so. {}", because.trim())),
            None => self.say("That is none of the choices."),
        }
    }

    pub(super) fn hint(&mut self) -> Result<(), TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(());
        };
        let step = step.clone();
        let hint = self.with(|session| {
            let hint = session.next_hint(at, &step)?;
            Ok(hint
                .map(|hint| format!("Hint {} of {}: {}", hint.number, hint.of, hint.text.trim())))
        })?;
        match hint.flatten() {
            Some(text) => self.say(&text),
            None => self.say("There are no more hints for now."),
        }
    }

    pub(super) fn check(&mut self) -> Result<(), TutorError> {
        let Some((lesson, step)) = self.current() else {
            return Ok(());
        };
        let (lesson, step, course) = (lesson.clone(), step.clone(), self.course.clone());
        let outcomes = self.with(|session| session.check(&course, &lesson, &step))?;
        for (check, outcome) in step.checks.iter().zip(outcomes.unwrap_or_default()) {
            let shown = Shown::new(check, &outcome);
            self.say(&format!(
                "{}: {}. {}",
                shown.check,
                shown.verdict(),
                shown.text
            ))?;
        }
        if self.progress()?.status == Status::Done {
            self.say("This step is done. Enter goes on.")
        } else {
            self.say("This step is not done yet.")
        }
    }
}

/// A letter, or a number counted from 1, for a choice; a number for a number.
fn understand(quiz: &Quiz, text: &str) -> Option<Answer> {
    match quiz {
        Quiz::Number(_) => say::number(text).map(Answer::Number),
        Quiz::Choices(choices) => {
            let mut letters = text.trim_end_matches([')', '.']).chars();
            let letter = letters.next()?.to_ascii_lowercase();
            if letters.next().is_some() {
                return None;
            }
            let index = match letter.to_digit(10) {
                Some(digit) => usize::try_from(digit).ok()?.checked_sub(1)?,
                None => usize::try_from(u32::from(letter).checked_sub(u32::from('a'))?).ok()?,
            };
            (index < choices.len()).then_some(Answer::Choice(index))
        }
    }
}
