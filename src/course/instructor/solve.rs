//! Does a step for a learner with the step's golden answer and a real run.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::lesson::{Step, StepKind};
use crate::run::{Control, Launcher, Line, RunSpec, RunUpdate, stream_of, supervise};
use crate::session::{AnswerGiven, OrderAction, RunExit, SessionEvent, SolvedRun, StepRef};
use tinyllama_base::host_name;
use tinyllama_contract::{Body, Step as TrainStep};

/// Carries out the step and returns the result as an order. A run step is trained on this machine, and `progress` receives
/// each training step.
///
/// # Errors
/// Fails if a run cannot be started or fails.
pub fn solve(
    at: StepRef,
    step: &Step,
    progress: &mut dyn FnMut(&TrainStep),
) -> Result<OrderAction> {
    let golden = &step.golden;
    let here = at.clone();
    let event = match &step.kind {
        StepKind::Read | StepKind::Compare { .. } => None,
        // A profile or a kernel cannot be made up. The step is still marked as solved.
        StepKind::Profile { .. } | StepKind::Kernel { .. } => None,
        // The output of a command is about the learner's machine, so it cannot be made here.
        StepKind::Command { .. } => None,
        StepKind::Investigate(case) => case.guilty().map(|suspect| {
            let suspect = suspect.id.clone();
            SessionEvent::Suspected { at: here, suspect }
        }),
        StepKind::Predict { .. } => {
            let guess = |value| SessionEvent::Predicted { at: here, value };
            golden.number.map(guess)
        }
        StepKind::Quiz(quiz) => quiz.solution().map(|answer| SessionEvent::Answered {
            at: here,
            given: AnswerGiven {
                answer: answer.as_number(),
                correct: true,
            },
        }),
        StepKind::Reflect => golden.text.as_ref().map(|text| {
            let text = text.trim().into();
            SessionEvent::Reflected { at: here, text }
        }),
        StepKind::Run { target, flags, .. } => {
            let flags = golden.flags.as_ref().unwrap_or(flags);
            let (made, events) = train(&at, target, flags, progress)?;
            let run = Some(made);
            return Ok(OrderAction::Solve { at, events, run });
        }
    };
    let events = event.into_iter().collect();
    Ok(OrderAction::Solve {
        at,
        events,
        run: None,
    })
}

/// Trains in a temporary folder. The results travel within the order, so that the learner owns the files.
fn train(
    at: &StepRef,
    target: &str,
    flags: &[String],
    progress: &mut dyn FnMut(&TrainStep),
) -> Result<(SolvedRun, Vec<SessionEvent>)> {
    let folder = tempfile::tempdir().context("cannot create a folder for the run")?;
    let start = Launcher::local_program().run(&RunSpec::parse(target, flags)?);
    let mut command = Vec::new();
    let ended = supervise(&start, folder.path(), &Control::default(), &mut |update| {
        match update {
            RunUpdate::Started { command: argv, .. } => command = argv,
            RunUpdate::Line(Line::Event(event)) => {
                if let Body::Step(step) = &event.body {
                    progress(step);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    if !ended.exit.is_success() {
        bail!("the run ended with {}:\n{}", ended.exit, ended.stderr);
    }
    let stream = fs::read_to_string(stream_of(&ended.run.path));
    let stream = stream.context("the run left no events")?;
    let id = ended.run.id();
    let events = vec![
        SessionEvent::RunStarted {
            run: id.clone(),
            at: Some(at.clone()),
            target: target.into(),
            command,
            host: host_name(),
        },
        SessionEvent::RunFinished {
            run: id.clone(),
            exit: RunExit::Status(0),
            values: ended.run.figures(),
        },
        SessionEvent::Sealed {
            run: id.clone(),
            sha256: ended.run.sha256.clone(),
        },
    ];
    Ok((SolvedRun { id, stream }, events))
}
