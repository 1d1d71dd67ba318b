//! One step: prints it, takes its answer, checks it.

use std::fmt::Write as _;
use std::io::{BufRead, Write};

use super::dialogue::{Dialogue, NextStep};
use crate::lesson::{Case, CaseMove, CommandOutputs, Quiz, QuizAnswer, Runs, Step, StepKind, live};
use crate::plain::markdown;
use crate::recording::label;
use crate::session::progress::progress;
use crate::session::{CheckResultText, CheckedKernel, StepRef, StepStatus, kernel};
use crate::tutor::{Job, TutorError, output, own_flags, say};
use crate::workbench::Exercise;

impl<I: BufRead, O: Write> Dialogue<'_, I, O> {
    /// Enters the open step and prints it.
    pub(super) fn say_step(&mut self) -> Result<(), TutorError> {
        let Some((lesson, step)) = self.current() else {
            return self.print("Everything that is open is done. `outline` lists it.");
        };
        let state = match self.progress()?.status {
            StepStatus::Done => ", done",
            StepStatus::Skipped(_) => ", skipped",
            StepStatus::Open if step.optional => ", may be left out",
            StepStatus::Open => "",
        };
        self.with_session(|session| session.enter(lesson, step))?;
        let place = lesson.steps.iter().position(|other| other.id == step.id);
        let minutes = self.state(|state| say::minutes(&progress(state, lesson), lesson.minutes))?;
        self.print(&format!(
            "\n== {}. Step {} of {}: {}{state} ({minutes})\n",
            lesson.title,
            place.map_or(1, |index| index + 1),
            lesson.steps.len(),
            step.title
        ))?;
        let text = self.filled(&step.text, &lesson.id)?;
        self.print(&markdown(&self.options, &text))?;
        let asked = self.what_is_asked(&step.kind)?;
        self.print(&format!("\n{asked}"))
    }

    /// A text with its figures filled in.
    fn filled(&self, text: &str, lesson: &str) -> Result<String, TutorError> {
        let measured = self.measured()?;
        Ok(live::fill(text, lesson, &measured, &measured))
    }

    /// The choices of the open question in the order for this learner.
    fn order(&self, quiz: &Quiz) -> Result<Vec<usize>, TutorError> {
        let at = self.at.clone().unwrap_or_else(|| StepRef::new("", ""));
        self.state(|state| quiz.order(&state.identity, &at))
    }

    /// The evidence of a case, and the list of actions.
    fn case(&self, case: &Case) -> Result<String, TutorError> {
        let standing = self.standing(case)?;
        let lesson = self.at.as_ref().map_or("", |at| &at.lesson);
        let mut text = String::new();
        for evidence in standing.evidence(case) {
            let measured = self.measured()?;
            let seen = measured.seen(evidence.run);
            let filled = live::fill(evidence.text, lesson, seen, seen);
            let _ = writeln!(text, "{}\n", markdown(&self.options, &filled));
        }
        let (count, missing) = (standing.measurements, standing.missing(case));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "Measurements taken: {count}. {missing}");
        for (letter, item) in ('a'..).zip(standing.menu(case)) {
            let done = if item.done { " (done)" } else { "" };
            let _ = writeln!(text, "{letter}) {}{done}", item.text);
        }
        let _ = write!(text, "Type a letter.{}", self.offer());
        Ok(text)
    }

    /// The output of this step's command.
    fn said(&self) -> Result<String, TutorError> {
        let Some(at) = &self.at else {
            return Ok(String::new());
        };
        let measured = self.measured()?;
        let document = measured.document(at);
        let lines = document.map(|document| output::lines(document, 78));
        let origin = measured.recorded(at).map(label);
        let origin = origin.map_or(String::new(), |origin| format!(" ({origin})"));
        Ok(lines.map_or(String::new(), |lines| {
            format!("It says{origin}:\n{}\n", lines.join("\n"))
        }))
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
                let order = self.order(&Quiz::Choices(choices.clone()))?;
                let ordered = order.iter().filter_map(|index| choices.get(*index));
                let ordered = ('a'..).zip(ordered);
                let given = progress.answers.iter().rfind(|given| given.correct);
                let right = given.and_then(|given| choices.get(given.answer as usize));
                let last = right.map_or("Type a letter.".into(), |choice| {
                    let because = markdown(&self.options, choice.because.trim());
                    format!("Right was: {} {because}", choice.text)
                });
                let lines = ordered.map(|(letter, choice)| format!("{letter}) {}\n", choice.text));
                lines.chain([last]).collect()
            }
            StepKind::Quiz(Quiz::NumberQuestion(number)) if number.unit.is_empty() => {
                "Type a number.".into()
            }
            StepKind::Quiz(Quiz::NumberQuestion(number)) => {
                format!("Type a number, in {}.", number.unit)
            }
            StepKind::Investigate(case) => self.case(case)?,
            StepKind::Run { .. } | StepKind::Command { .. } => {
                let step = self.current().map(|(_, step)| step);
                let line = step.and_then(|step| Some(Job::from_step(step)?.line(own_flags(step))));
                let said = self.said()?;
                let then = match progress.status {
                    StepStatus::Done => "goes on; `run` runs it again",
                    _ => "starts it",
                };
                let offer = self.offer();
                format!(
                    "{said}Run: {}\nEnter {then}; `run` with flags changes them.{offer}",
                    line.unwrap_or_default()
                )
            }
            StepKind::Compare { .. } => self.comparison(kind)?,
            StepKind::Profile { .. } => self.profile_command(kind),
            StepKind::Kernel { exercise } => {
                let path = self.options.location.workbench().join(exercise.file_name());
                let heads = exercise
                    .launches
                    .iter()
                    .map(|launch| exercise.signature(launch));
                format!(
                    "{}\n{}\n\nYour file: {}\nEnter writes it if it does not exist yet, and then checks it; no GPU is needed.",
                    exercise.text.trim_end(),
                    heads
                        .map(|head| format!("\n    {head}"))
                        .collect::<String>(),
                    path.display()
                )
            }
            StepKind::Reflect => match progress.reflection.filter(|text| !text.is_empty()) {
                Some(text) => format!("You wrote: {text}\nType it again, or press Enter to go on."),
                None => "Type your answer in one line.".into(),
            },
        })
    }

    /// Enter: does what the step waits for.
    pub(super) fn act(&mut self) -> Result<NextStep, TutorError> {
        let Some((_, step)) = self.current() else {
            return Ok(NextStep::Stay);
        };
        match step.kind {
            _ if self.progress()?.status != StepStatus::Open => self.next_step(),
            StepKind::Run { .. } => {
                self.run(None)?;
                Ok(NextStep::Stay)
            }
            StepKind::Command { .. } => {
                self.run(None)?;
                let said = self.said()?;
                self.stay_with_text(said.trim_end())
            }
            StepKind::Investigate(_) => {
                self.stay_with_text("This step waits for a letter from its list.")
            }
            StepKind::Predict { .. } | StepKind::Quiz(_) | StepKind::Reflect => self
                .stay_with_text(
                    "This step waits for your answer; `hint` helps, `skip` goes on without it.",
                ),
            StepKind::Compare { .. } => {
                self.check()?;
                self.next_step()
            }
            StepKind::Kernel { .. } => {
                self.check()?;
                Ok(NextStep::Stay)
            }
            StepKind::Profile { .. } => {
                self.stay_with_text("This step is not done; `skip` goes on without it.")
            }
            StepKind::Read => self.next_step(),
        }
    }

    /// Handles text that is no command.
    pub(super) fn answer(&mut self, text: &str) -> Result<NextStep, TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(NextStep::Stay);
        };
        let course = self.course;
        let message = match &step.kind {
            StepKind::Predict { measure } => match say::number(text) {
                Some(value) => {
                    self.with_session(|session| session.predict(at, value))?;
                    let progress = self.progress()?;
                    say::guess(measure, Some(&progress), &self.measured()?).unwrap_or_default()
                }
                None => format!("`{text}` is not a number."),
            },
            StepKind::Investigate(case) => return self.investigate(at, step, case, text),
            StepKind::Quiz(quiz) => match parse_answer(quiz, &self.order(quiz)?, text) {
                Some(answer) => {
                    let marked =
                        self.with_session(|session| session.answer(at, course, step, answer))?;
                    match marked.flatten() {
                        Some(marked) if marked.correct => format!("Right. {}", marked.because),
                        Some(marked) => format!("Not so. {}", marked.because),
                        None => {
                            "This question is about the output of a command: run it first.".into()
                        }
                    }
                }
                None if matches!(quiz, Quiz::NumberQuestion(_)) => "Type a number.".into(),
                None => "Type the letter of a choice.".into(),
            },
            StepKind::Reflect => {
                self.with_session(|session| session.reflect(at, text))?;
                "Saved for your report.".into()
            }
            _ => format!("`{text}` is not a command; `help` lists them."),
        };
        self.stay_with_text(&message)
    }

    /// Carries out the action that a letter of a case's list names.
    fn investigate(
        &mut self,
        at: StepRef,
        step: &Step,
        case: &Case,
        text: &str,
    ) -> Result<NextStep, TutorError> {
        let menu = self.standing(case)?.menu(case);
        let item = place(text).and_then(|place| menu.get(place));
        let Some(item) = item else {
            return self.stay_with_text("Type the letter of a line.");
        };
        match item.deed {
            CaseMove::Suspect(index) => {
                let id = case.suspects.get(index).map(|suspect| suspect.id.as_str());
                self.with_session(|session| session.suspect(at, step, id.unwrap_or_default()))?;
            }
            case_move => {
                let checked = self.start(&case.flags_of(case_move).unwrap_or_default())?;
                self.run_in_turns(step, checked, false)?;
            }
        }
        let update = self.case(case)?;
        self.stay_with_text(&update)
    }

    pub(super) fn hint(&mut self) -> Result<(), TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(());
        };
        let hint = self.with_session(|session| session.next_hint(at, step))?;
        match hint.flatten() {
            Some(hint) => self.print(&format!(
                "Hint {} of {}: {}",
                hint.number,
                hint.of,
                hint.text.trim()
            )),
            None => self.print("There are no more hints for now."),
        }
    }

    pub(super) fn check(&mut self) -> Result<Vec<CheckResultText>, TutorError> {
        let Some((lesson, step)) = self.current() else {
            return Ok(Vec::new());
        };
        if let (StepKind::Kernel { exercise }, Some(at)) = (&step.kind, self.at.clone()) {
            self.check_kernel(exercise, at)?;
            return Ok(Vec::new());
        }
        let course = self.course;
        let outcomes = self.with_session(|session| session.check(course, lesson, step))?;
        let outcomes = outcomes.unwrap_or_default();
        for checked in &outcomes {
            let message = checked.text();
            self.print(&format!("{}: {message}. {}", checked.check, checked.text))?;
        }
        self.print(match self.progress()?.status {
            StepStatus::Done => "This step is done. Enter goes on.",
            _ => "This step is not done yet.",
        })?;
        Ok(outcomes)
    }

    /// Checks the learner's kernel, or creates its file if it is missing.
    fn check_kernel(&mut self, exercise: &'static Exercise, at: StepRef) -> Result<(), TutorError> {
        let tried = match kernel::start_exercise(exercise, &self.options.location.workbench()) {
            Ok((path, true)) => {
                let path = path.display();
                return self.print(&format!(
                    "{path} is written. Open it in an editor, then Enter checks it."
                ));
            }
            Ok((path, false)) => {
                self.print("Checking ...")?;
                CheckedKernel::on_stand_in(exercise, &path)
            }
            Err(error) => Err(error),
        };
        let tried = match tried {
            Ok(tried) => tried,
            Err(error) => return self.print(&format!("{error:#}")),
        };
        self.with_session(|session| session.check_kernel(at, &tried))?;
        self.print(&tried.lines().join("\n"))?;
        self.print(match tried.checked.passed {
            true => "\nThis step is done. Enter goes on.",
            false => "\nThis step is not done yet.",
        })
    }
}

/// Parses an answer: a letter or a number from 1 for a choice, a number for a numeric question.
fn parse_answer(quiz: &Quiz, order: &[usize], text: &str) -> Option<QuizAnswer> {
    match quiz {
        Quiz::Choices(_) => Some(QuizAnswer::QuizChoice(*order.get(place(text)?)?)),
        Quiz::NumberQuestion(_) => say::number(text).map(QuizAnswer::NumberQuestion),
    }
}

/// The index, from 0, for a letter or a number from 1.
fn place(text: &str) -> Option<usize> {
    let mut letters = text.trim_end_matches([')', '.']).chars();
    let letter = letters.next()?.to_ascii_lowercase();
    let place = match letter.to_digit(10) {
        Some(digit) => digit.checked_sub(1)?,
        None => u32::from(letter).checked_sub(u32::from('a'))?,
    };
    letters
        .next()
        .is_none()
        .then_some(usize::try_from(place).ok()?)
}
