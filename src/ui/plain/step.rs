//! One step: prints it, takes its answer, checks it.

use std::io::{BufRead, Write};

use super::dialogue::{Dialogue, NextStep};
use super::show::{WIDTH, joined, width};
use crate::plain::markdown;
use tinyllama_lesson::{Lesson, MarkedAnswer, Quiz, QuizAnswer, live};
use tinyllama_runs::Speed;
use tinyllama_session::progress::progress;
use tinyllama_session::{
    CheckResultText, CheckedKernel, HintStage, SessionState, StepRef, StepStatus, kernel,
};
use tinyllama_tutor_core::document::{Block, Given, Mark, MenuAction, PrimaryAction, StepContext};
use tinyllama_tutor_core::profile::ProfileView;
use tinyllama_tutor_core::request::{News, SessionRequest};
use tinyllama_tutor_core::{TutorError, TutorOptions, behavior, output, say};
use tinyllama_workbench::{Exercise, text};

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
        let at = StepRef::new(&lesson.id, &step.id);
        self.request(SessionRequest::Enter(at.clone()))?;
        self.request(SessionRequest::Read(at))?;
        let place = lesson.steps.iter().position(|other| other.id == step.id);
        let minutes = self.state(|state| say::minutes(&progress(state, lesson), lesson, state))?;
        self.print(&format!(
            "\n== {}. Step {} of {}: {}{state} ({minutes})\n",
            lesson.title,
            place.map_or(1, |index| index + 1),
            lesson.steps.len(),
            step.title
        ))?;
        let text = self.filled(&step.text, lesson)?;
        self.print(&markdown(&self.options, &text))?;
        let document = self.document()?;
        self.print(&format!("\n{document}"))
    }

    /// Returns a text with its figures filled in.
    pub(super) fn filled(&self, text: &str, lesson: &Lesson) -> Result<String, TutorError> {
        let measured = self.measured()?;
        Ok(live::fill(text, lesson, &measured))
    }

    /// Reads what the open step looks at.
    fn context<T>(
        &self,
        profile: &ProfileView,
        read: impl FnOnce(&StepContext) -> T,
    ) -> Result<Option<T>, TutorError> {
        let (Some(at), Some((lesson, step))) = (&self.at, self.current()) else {
            return Ok(None);
        };
        let (progress, measured) = (self.progress()?, self.measured()?);
        let workbench = self.options.location.workbench();
        let read = |state: &SessionState| {
            read(&StepContext {
                lesson,
                step,
                at,
                progress,
                state,
                measured: &measured,
                marked: None,
                flags: step.flags.clone(),
                profile,
                workbench: &workbench,
            })
        };
        self.state(read).map(Some)
    }

    /// Formats the blocks below the open step's text, and explains how to go on.
    fn document(&self) -> Result<String, TutorError> {
        let document = self.context(&self.profile(), |context| context.document())?;
        let Some((blocks, primary)) = document else {
            return Ok(String::new());
        };
        let starts = self.current().is_some_and(|(_, step)| step.job().is_some());
        let prompt = match &primary {
            PrimaryAction::Next if starts => "Enter goes on; `run` runs it again.",
            PrimaryAction::Next | PrimaryAction::Compare => "Enter goes on.",
            PrimaryAction::Choose { .. } => "Type a letter.",
            PrimaryAction::Ask(question) => &question.prompt,
            PrimaryAction::Start(_) => "Enter starts it; `run` with flags changes them.",
            PrimaryAction::Kernel => {
                "Enter writes it if it does not exist yet, and then checks it; no GPU is needed."
            }
            PrimaryAction::Profile => "Type `import` with the folder that the profiler wrote.",
        };
        let lines = self.lines(blocks).into_iter().chain([prompt.into()]);
        Ok(itertools::join(lines, "\n"))
    }

    fn lines(&self, blocks: Vec<Block>) -> Vec<String> {
        let lines = blocks.into_iter().flat_map(|block| match block {
            Block::Blank => Some(String::new()),
            Block::Code(text) => Some(joined(&text)),
            Block::Text(_, text) | Block::Verdict(_, text) | Block::Figures(text) => Some(text),
            Block::Markdown(text) => Some(markdown(&self.options, &text)),
            Block::Quote(_, text) => Some(indented(&text)),
            Block::Job(flags) => {
                let job = self.current().and_then(|(_, step)| step.job());
                job.map(|job| format!("Run: {}", joined(&job.line(&flags))))
            }
            Block::Offer => self.offer(),
            Block::Output(title, document, views) => Some(format!(
                "{title}\n{}",
                output::lines(&document, &views, width(WIDTH)).join("\n")
            )),
            Block::File(path) => Some(format!("Your file: {}", path.display())),
            Block::Menu(menu) => {
                let lines = ('a'..).zip(menu).map(|(letter, line)| {
                    let done = if line.mark == Mark::Done {
                        " (done)"
                    } else {
                        ""
                    };
                    let comment = match &*line.comment {
                        "" => String::new(),
                        text => format!("\n{}", indented(&markdown(&self.options, text))),
                    };
                    let text = markdown(&self.options, &line.text);
                    format!("{letter}) {text}{done}{comment}")
                });
                Some(itertools::join(lines, "\n"))
            }
            Block::News | Block::Flags | Block::RunPhase | Block::Sample => None,
        });
        lines.collect()
    }

    /// Handles Enter: does what the step waits for.
    pub(super) fn act(&mut self) -> Result<NextStep, TutorError> {
        if self.current().is_none() {
            return Ok(NextStep::Stay);
        }
        if self.progress()?.status != StepStatus::Open {
            return self.next_step();
        }
        let document = self.context(&ProfileView::default(), |context| context.document())?;
        match document.map_or(PrimaryAction::Next, |(_, primary)| primary) {
            PrimaryAction::Next => self.next_step(),
            PrimaryAction::Choose { .. } | PrimaryAction::Ask(_) => self.stay_with_text(
                "This step waits for your answer; `hint` helps, `skip` goes on without it.",
            ),
            PrimaryAction::Start(_) => {
                match self.plays_instead() {
                    true => self.play(Speed::SIXTEEN)?,
                    false => self.run(None)?,
                }
                self.say_output()
            }
            PrimaryAction::Compare => {
                self.check()?;
                self.next_step()
            }
            PrimaryAction::Kernel => {
                self.check()?;
                Ok(NextStep::Stay)
            }
            PrimaryAction::Profile => {
                self.stay_with_text("This step is not done; `skip` goes on without it.")
            }
        }
    }

    /// Prints the document of the command that has just run or was played.
    pub(super) fn say_output(&mut self) -> Result<NextStep, TutorError> {
        let document = self.context(&ProfileView::default(), |context| context.document())?;
        let mut blocks = document.map_or(Vec::new(), |(blocks, _)| blocks);
        blocks.retain(|block| matches!(block, Block::Output(..)));
        for line in self.lines(blocks) {
            self.print(&line)?;
        }
        Ok(NextStep::Stay)
    }

    /// Handles text that is no command.
    pub(super) fn answer(&mut self, text: &str) -> Result<NextStep, TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(NextStep::Stay);
        };
        let menu = self.context(&ProfileView::default(), |context| context.menu())?;
        let mut menu = menu.unwrap_or_default();
        let given = if menu.is_empty() {
            behavior(step).parse(text)
        } else {
            match place(text).filter(|place| *place < menu.len()) {
                None => Err("Type the letter of a line".into()),
                Some(place) => match menu.swap_remove(place).act {
                    MenuAction::Give(given) => Ok(given),
                    MenuAction::Run(_, flags) => {
                        let checked = self.start(&flags)?;
                        self.run_in_turns(step, checked, false)?;
                        return self.stay_at_document();
                    }
                },
            }
        };
        let given = match given {
            Ok(given) => given,
            Err(problem) => return self.stay_with_text(&format!("{problem}.")),
        };
        let is_text = matches!(given, Given::Text(_));
        match self.request(SessionRequest::Give(at, given))? {
            News::Marked(_, Some(marked)) if marked.correct && step.as_case().is_some() => {
                self.stay_at_document()
            }
            News::Marked(_, Some(marked)) => {
                self.stay_with_text(&markdown(&self.options, &verdict_text(&marked)))
            }
            News::Marked(_, None) => {
                self.stay_with_text("This question is about the output of a command: run it first.")
            }
            _ if is_text => self.stay_with_text("Saved for your report."),
            _ => self.stay_at_document(),
        }
    }

    fn stay_at_document(&mut self) -> Result<NextStep, TutorError> {
        let document = self.document()?;
        self.stay_with_text(&document)
    }

    pub(super) fn hint(&mut self) -> Result<(), TutorError> {
        let Some(at) = self.at.clone() else {
            return Ok(());
        };
        match self.request(SessionRequest::Hint(at))? {
            News::Hint {
                hint: Some(HintStage { number, of, text }),
                ..
            } => {
                let text = format!("Hint {number} of {of}: {}", text.trim());
                self.print(&markdown(&self.options, &text))
            }
            _ => self.print("There are no more hints for now."),
        }
    }

    pub(super) fn check(&mut self) -> Result<Vec<CheckResultText>, TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(Vec::new());
        };
        if let Some(kernel) = step.as_kernel() {
            self.check_kernel(kernel.exercise, at)?;
            return Ok(Vec::new());
        }
        let news = self.request(SessionRequest::Check(at))?;
        self.say_outcomes(news)
    }

    /// Prints the outcomes of the open step's checks, and returns them.
    pub(super) fn say_outcomes(&mut self, news: News) -> Result<Vec<CheckResultText>, TutorError> {
        let outcomes = match news {
            News::Checked { outcomes, .. } => outcomes,
            _ => Vec::new(),
        };
        for checked in &outcomes {
            let message = checked.text();
            let text = markdown(&self.options, &checked.text);
            self.print(&format!("{}: {message}. {text}", checked.name()))?;
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
                CheckedKernel::without_gpu(exercise, &path, &mut |_| {})
            }
            Err(error) => Err(error),
        };
        let tried = match tried {
            Ok(tried) => Box::new(tried),
            Err(error) => return self.print(&format!("{error:#}")),
        };
        self.request(SessionRequest::Tried(at, tried.clone()))?;
        self.print(&tried.lines().join("\n"))?;
        if tried.checked.passed {
            self.print(&text::after_pass(exercise, width(80)).join("\n"))?;
        }
        self.print(match tried.checked.passed {
            true => "\nThis step is done. Enter goes on.",
            false => "\nThis step is not done yet.",
        })
    }
}

fn indented(text: &str) -> String {
    itertools::join(text.lines().map(|line| format!("   {line}")), "\n")
}

/// The verdict on an answer with its reason, in Markdown.
pub(super) fn verdict_text(marked: &MarkedAnswer) -> String {
    let verdict = if marked.correct { "Right." } else { "Not so." };
    format!("{verdict} {}", marked.because)
}

/// The choices in this order, a line each.
pub(super) fn choices(quiz: &Quiz, order: &[usize], options: &TutorOptions) -> String {
    let Quiz::Choices(choices) = quiz else {
        return String::new();
    };
    let ordered = order.iter().filter_map(|index| choices.get(*index));
    let lines = ('a'..).zip(ordered);
    let lines =
        lines.map(|(letter, choice)| format!("{letter}) {}", markdown(options, &choice.text)));
    itertools::join(lines, "\n")
}

/// An answer to a quiz with its choices in this order: a letter or a number from 1 for a choice, else the number itself.
pub(super) fn parse_answer(quiz: &Quiz, order: &[usize], text: &str) -> Option<QuizAnswer> {
    match quiz {
        Quiz::Choices(_) => Some(QuizAnswer::Choice(*order.get(place(text)?)?)),
        Quiz::Number(_) => say::figure(text).ok().map(QuizAnswer::Number),
    }
}

/// Returns the index, from 0, for a letter or a number from 1.
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
