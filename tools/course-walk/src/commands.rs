//! Walks command steps and investigations: measurements, suspects, and the effect of each fix.

use std::time::Instant;

use anyhow::{Result, anyhow};

use crate::flags::shrinking;
use crate::training::failure;
use crate::visit::Visit;
use crate::walk::LessonWalker;
use tinyllama_contract::flags::{merged, parse_flags};
use tinyllama_lesson::case::ANSWERS;
use tinyllama_lesson::command::AcceptedFlags;
use tinyllama_lesson::kinds::command::CommandStep;
use tinyllama_lesson::{Case, CaseMove, LessonCommand, QuizAnswer, Verdict};
use tinyllama_runs::recording::documents;
use tinyllama_runs::{EndedRun, RunStart};
use tinyllama_session::{Standing, StepRef, StepStatus};

/// Flags that select the device.
const DEVICE: [&str; 2] = ["--backend", "--device"];

impl LessonWalker<'_> {
    pub fn command(&mut self, visit: &mut Visit, step: &CommandStep) -> Result<Option<String>> {
        let CommandStep {
            command, expects, ..
        } = step;
        let command = *command;
        let (lesson, step) = (visit.lesson, visit.step);
        if step.editable {
            self.timed(visit, |walk, at| walk.command_run(at, command, &step.flags))?;
            self.refuse_unchanged(visit)?;
        }
        let golden = step.golden_flags();
        let ended = self.timed(visit, |walk, at| walk.command_run(at, command, golden))?;
        if !ended.exit.is_success() {
            // A learner without the device plays this recording.
            let recorded = step.recording.as_deref().and_then(documents::find);
            let Some(document) = recorded else {
                visit.problem("flags", failure(&ended));
                return Ok(None);
            };
            visit
                .notes
                .push(format!("{}; its recording was played", failure(&ended)));
            let start = RunStart::Recording(document.tape());
            let played = self.supervise_step(visit.step_ref(), command.name, &start)?;
            self.session
                .mark_recording(&played.run.id(), &document.origin())?;
        }
        let checked = self.session.check(self.course, lesson, step)?;
        for (index, (expect, checked)) in expects.iter().zip(&checked).enumerate() {
            visit.judge(index, checked, checked.required, ("measure", "the command"));
            if checked.verdict == Verdict::Passed
                && expect.is.is_none()
                && expect.accepts(f64::MAX)
                && expect.accepts(0.0)
            {
                let location = format!("checks/{index}/measure");
                visit.problem(&location, "no number could miss this bound");
            }
        }
        Ok(None)
    }

    pub(crate) fn command_run(
        &mut self,
        at: StepRef,
        command: LessonCommand,
        flags: &[String],
    ) -> Result<EndedRun> {
        let given = parse_flags(&self.options.flags);
        let given = given.iter().filter(|flag| match command.takes {
            AcceptedFlags::All => true,
            AcceptedFlags::Device => DEVICE.contains(&flag.name()),
            AcceptedFlags::None => false,
        });
        let small = match (self.options.fast, command.takes) {
            (true, AcceptedFlags::All) => shrinking(),
            _ => Vec::new(),
        };
        let given = given.flat_map(|flag| flag.args().to_vec());
        // The lesson's own sizes stay, because its text is about them.
        let own = flags.iter().cloned();
        let flags = merged(small.into_iter().chain(own).chain(given));
        let folder = self.session.location.folder.to_string_lossy().into_owned();
        let argv = command
            .args(&flags, &folder)
            .map_err(|message| anyhow!(message))?;
        let start = RunStart::Command {
            argv: self.options.launcher.command(argv),
            is_local: true,
        };
        self.supervise_step(at, command.name, &start)
    }

    /// Checks that every measurement can be taken, that no wrong suspect's fix solves the case, and that the
    /// guilty one's does.
    pub fn investigate(&mut self, visit: &mut Visit, case: &Case) -> Result<Option<String>> {
        for index in 0..case.measurements.len() {
            self.deed(visit, case, CaseMove::Measure(index))?;
            for (c, choice) in case.measurements[index].choices.iter().enumerate() {
                let answer = QuizAnswer::Choice(index * ANSWERS + c);
                let marked =
                    self.session
                        .answer(visit.step_ref(), self.course, visit.step, answer)?;
                if marked.is_none_or(|marked| marked.correct != choice.correct) {
                    let location = format!("measurements/{index}/choices/{c}");
                    visit.problem(&location, "this answer is not marked as the lesson says");
                }
            }
        }
        let (wrong, guilty): (Vec<usize>, Vec<usize>) =
            (0..case.suspects.len()).partition(|index| !case.suspects[*index].guilty);
        for index in wrong.into_iter().chain(guilty) {
            let suspect = &case.suspects[index];
            self.session
                .suspect(visit.step_ref(), visit.step, &suspect.id)?;
            self.deed(visit, case, CaseMove::Fix(index))?;
            self.session.check(self.course, visit.lesson, visit.step)?;
            let state = self.session.state();
            let progress = state.progress(&visit.step_ref());
            let solved = Standing::from_progress(case, &progress, state).is_solved(case);
            if solved != suspect.guilty {
                let message = match suspect.guilty {
                    true => "the guilty one was named and fixed, and the case is not solved",
                    false => "the fix of a wrong suspect solves the case",
                };
                visit.problem("suspects", message);
            }
            if !suspect.guilty && progress.status == StepStatus::Done {
                visit.problem("suspects", "a wrong fix completes the step");
            }
        }
        let checked = self.run_in_turns(visit)?;
        for (index, checked) in checked.iter().enumerate() {
            let needed = checked.required && !self.options.fast;
            visit.judge(index, checked, needed, ("measure", "a fixed case"));
        }
        Ok(None)
    }

    fn deed(&mut self, visit: &mut Visit, case: &Case, case_move: CaseMove) -> Result<()> {
        let started = Instant::now();
        let flags = case.flags_of(case_move).unwrap_or_default();
        let ended = self.start(visit.step_ref(), &case.target, &flags)?;
        visit.seconds += started.elapsed().as_secs_f64();
        if !ended.exit.is_success() {
            visit.problem("flags", failure(&ended));
        }
        Ok(())
    }
}
