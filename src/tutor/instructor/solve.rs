//! Does a step for a learner with the step's golden answer and a real run.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::behavior;
use tinyllama_base::ScratchFolder;
use tinyllama_base::host_name;
use tinyllama_contract::flags::RunSpec;
use tinyllama_contract::{Body, Step as TrainStep};
use tinyllama_lesson::Step;
use tinyllama_runs::{Control, Launcher, Line, RunUpdate, stream_of, supervise};
use tinyllama_session::{OrderAction, RunExit, SessionEvent, SolvedRun, StepRef};

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
    if let (Some(_), Some(target)) = (step.as_run(), &step.target) {
        let (made, events) = train(&at, target, step.golden_flags(), progress)?;
        let run = Some(made);
        return Ok(OrderAction::Solve { at, events, run });
    }
    let event = behavior(step).solution(at.clone(), &step.golden);
    Ok(OrderAction::Solve {
        at,
        events: event.into_iter().collect(),
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
    let folder = ScratchFolder::new().context("cannot create a folder for the run")?;
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
