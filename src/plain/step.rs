//! One step: said, answered, checked.

use std::io::{BufRead, Write};
use std::sync::Arc;

use super::dialogue::{Dialogue, Then};
use super::show::Page;
use crate::lesson::quiz::{Answer, Quiz};
use crate::lesson::{StepKind, live};
use crate::session::progress::progress;
use crate::session::state::Status;
use crate::tutor::outcome::Shown;
use crate::tutor::{TutorError, say};

impl<I: BufRead, O: Write> Dialogue<I, O> {
    /// Turns to the step that is open and says it.
    pub(super) fn say_step(&mut self) -> Result<(), TutorError> {
        let course = Arc::clone(&self.course);
        let Some((lesson, step)) = self.current(&course) else {
            return self.say("Everything that is open is done. `outline` lists it.");
        };
        let state = match self.progress()?.status {
            Status::Done => ", done",
            Status::Skipped(_) => ", skipped",
            Status::Open => "",
        };
        self.with(|session| session.enter(lesson, step))?;
        let place = lesson.steps.iter().position(|other| other.id == step.id);
        let minutes = self.state(|state| say::minutes(&progress(state, lesson), lesson.minutes))?;
        self.say(&format!(
            "\n== {}. Step {} of {}: {}{state} ({minutes})\n",
            lesson.title,
            place.map_or(1, |index| index + 1),
            lesson.steps.len(),
            step.title
        ))?;
        let text = live::fill(&step.text, &lesson.id, &self.measured()?);
        self.say(&Page::new(&self.options).markdown(&text))?;
        let asked = self.what_is_asked(&step.kind)?;
        self.say(&format!("\n{asked}"))
    }

    fn what_is_asked(&self, kind: &StepKind) -> Result<String, TutorError> {
        let progress = self.progress()?;
        Ok(match kind {
            StepKind::Read => "Enter goes on.".into(),
            StepKind::Predict { measure } => {
                say::guess(measure, Some(&progress), &self.measured()?)
                    .unwrap_or_else(|| "Type your guess, a number.".into())
            }
            StepKind::Quiz(Quiz::Choices(choices)) => {
                let choices = ('a'..).zip(choices);
                let lines = choices.map(|(letter, choice)| format!("{letter}) {}\n", choice.text));
                lines.chain(["Type a letter.".into()]).collect()
            }
            StepKind::Quiz(Quiz::Number(number)) if number.unit.is_empty() => {
                "Type a number.".into()
            }
            StepKind::Quiz(Quiz::Number(number)) => format!("Type a number, in {}.", number.unit),
            StepKind::Run { target, flags, .. } => {
                let flags = shlex::try_join(flags.iter().map(String::as_str)).unwrap_or_default();
                let then = match progress.status {
                    Status::Done => "goes on; `run` runs it again",
                    _ => "starts it",
                };
                let offer = self.offer();
                format!(
                    "Run: tinyllama-tutor run {target} {flags}\nEnter {then}; `run` with flags changes them.{offer}"
                )
            }
            StepKind::Compare { .. } => self.comparison(kind)?,
            StepKind::Profile { .. } => self.profile_command(kind),
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
        let course = Arc::clone(&self.course);
        let Some((_, step)) = self.current(&course) else {
            return Ok(Then::Stay);
        };
        match step.kind {
            _ if self.progress()?.status != Status::Open => self.go_on(),
            StepKind::Run { .. } => {
                self.run(None)?;
                Ok(Then::Stay)
            }
            StepKind::Predict { .. } | StepKind::Quiz(_) | StepKind::Reflect => {
                self.stay("This step waits for your answer; `hint` helps, `skip` goes on without.")
            }
            StepKind::Compare { .. } => {
                self.check()?;
                self.go_on()
            }
            StepKind::Profile { .. } | StepKind::Kernel { .. } => {
                self.stay("This step is not done; `skip` goes on without it.")
            }
            StepKind::Read => self.go_on(),
        }
    }

    /// Text that is no command.
    pub(super) fn answer(&mut self, text: &str) -> Result<Then, TutorError> {
        let course = Arc::clone(&self.course);
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current(&course)) else {
            return Ok(Then::Stay);
        };
        let words = match &step.kind {
            StepKind::Predict { measure } => match say::number(text) {
                Some(value) => {
                    self.with(|session| session.predict(at, value))?;
                    let progress = self.progress()?;
                    say::guess(measure, Some(&progress), &self.measured()?).unwrap_or_default()
                }
                None => format!("`{text}` is no number."),
            },
            StepKind::Quiz(quiz) => match understand(quiz, text) {
                Some(answer) => {
                    let marked = self.with(|session| session.answer(at, quiz, answer))?;
                    match marked.flatten() {
                        Some(marked) if marked.correct => {
                            format!("Right. {}", marked.because.trim())
                        }
                        Some(_) if matches!(quiz, Quiz::Number(_)) => {
                            "Not so. Try again, or ask for a hint.".into()
                        }
                        Some(marked) => format!("Not so. {}", marked.because.trim()),
                        None => "That is none of the choices.".into(),
                    }
                }
                None if matches!(quiz, Quiz::Number(_)) => "Type a number.".into(),
                None => "Type the letter of a choice.".into(),
            },
            StepKind::Reflect => {
                self.with(|session| session.reflect(at, text))?;
                "Kept for your report.".into()
            }
            _ => format!("`{text}` is not understood; `help` lists what is."),
        };
        self.stay(&words)
    }

    pub(super) fn hint(&mut self) -> Result<(), TutorError> {
        let course = Arc::clone(&self.course);
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current(&course)) else {
            return Ok(());
        };
        let hint = self.with(|session| session.next_hint(at, step))?;
        match hint.flatten() {
            Some(hint) => self.say(&format!(
                "Hint {} of {}: {}",
                hint.number,
                hint.of,
                hint.text.trim()
            )),
            None => self.say("There are no more hints for now."),
        }
    }

    pub(super) fn check(&mut self) -> Result<(), TutorError> {
        let course = Arc::clone(&self.course);
        let Some((lesson, step)) = self.current(&course) else {
            return Ok(());
        };
        let outcomes = self.with(|session| session.check(&course, lesson, step))?;
        for (check, outcome) in step.checks.iter().zip(outcomes.unwrap_or_default()) {
            let shown = Shown::new(check, &outcome);
            self.say(&format!(
                "{}: {}. {}",
                shown.check,
                shown.words(),
                shown.text
            ))?;
        }
        self.say(match self.progress()?.status {
            Status::Done => "This step is done. Enter goes on.",
            _ => "This step is not done yet.",
        })
    }
}

/// A letter, or a number counted from 1, for a choice; a number for a number.
fn understand(quiz: &Quiz, text: &str) -> Option<Answer> {
    let Quiz::Choices(choices) = quiz else {
        return say::number(text).map(Answer::Number);
    };
    let mut letters = text.trim_end_matches([')', '.']).chars();
    let letter = letters.next()?.to_ascii_lowercase();
    let index = match letter.to_digit(10) {
        Some(digit) => digit.checked_sub(1)?,
        None => u32::from(letter).checked_sub(u32::from('a'))?,
    };
    let index = usize::try_from(index).ok()?;
    (letters.next().is_none() && index < choices.len()).then_some(Answer::Choice(index))
}
