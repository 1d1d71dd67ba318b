//! Doing a step for a learner: its golden path, really run.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::analysis::Measurements;
use crate::lesson::quiz::Answer;
use crate::lesson::{Step, StepKind};
use crate::run::{Line, RunChild, RunCommand};
use crate::session::event::{Event, RunExit, StepRef};
use crate::session::order::{Action, SolvedRun};
use crate::session::place::host_name;
use crate::session::runs::figures;
use crate::train::event::{Body, Step as TrainStep};

/// Carries out what the step asks for and returns it as an order. A run step is trained on this machine; `progress` is
/// called with each of its steps.
///
/// # Errors
/// When a run cannot be started or does not end well.
pub fn solve(at: StepRef, step: &Step, progress: &mut dyn FnMut(&TrainStep)) -> Result<Action> {
    let golden = &step.golden;
    let mut run = None;
    let events = match &step.kind {
        StepKind::Read | StepKind::Compare { .. } => vec![],
        // What a profiler or a kernel's author leaves behind cannot be made up; the step is marked as solved all the same.
        StepKind::Profile { .. } | StepKind::Kernel { .. } => vec![],
        StepKind::Predict { .. } => golden
            .number
            .map(|value| Event::Predicted {
                at: at.clone(),
                value,
            })
            .into_iter()
            .collect(),
        StepKind::Quiz(quiz) => quiz
            .solution()
            .map(|answer| Event::Answered {
                at: at.clone(),
                answer: match answer {
                    Answer::Choice(index) => index as f64,
                    Answer::Number(value) => value,
                },
                correct: true,
            })
            .into_iter()
            .collect(),
        StepKind::Reflect => golden
            .text
            .iter()
            .map(|text| Event::Reflected {
                at: at.clone(),
                text: text.trim().into(),
            })
            .collect(),
        StepKind::Run { target, flags, .. } => {
            let flags = golden.flags.as_ref().unwrap_or(flags);
            let (made, events) = train(&at, target, flags, progress)?;
            run = Some(made);
            events
        }
    };
    Ok(Action::Solve { at, events, run })
}

/// Trains in a folder of its own; what came of it travels within the order, so that the learner owns the files.
fn train(
    at: &StepRef,
    target: &str,
    flags: &[String],
    progress: &mut dyn FnMut(&TrainStep),
) -> Result<(SolvedRun, Vec<Event>)> {
    let folder = tempfile::tempdir().context("no folder for the run")?;
    let command = RunCommand::local(target.into(), flags.iter().map(OsString::from).collect())?;
    let words = command.words();
    let mut child = RunChild::start(&command, folder.path())?;
    while let Some(line) = child.next_line()? {
        if let Line::Event(event) = line
            && let Body::Step(step) = &event.body
        {
            progress(step);
        }
    }
    let ended = child.wait()?;
    if !ended.status.success() {
        bail!("the run ended with {}:\n{}", ended.status, ended.stderr);
    }
    let path = ended.folder.path();
    let id = path
        .file_name()
        .and_then(|name| name.to_str())
        .context("the run's folder has no name")?
        .to_string();
    let stream = fs::read_to_string(path.join("events.jsonl")).context("the run left no events")?;
    let measured = Measurements::read(stream.as_bytes())?;
    let events = vec![
        Event::RunStarted {
            run: id.clone(),
            at: Some(at.clone()),
            target: target.into(),
            command: words
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            host: host_name(),
        },
        Event::RunFinished {
            run: id.clone(),
            exit: RunExit::Status(0),
            values: figures(&measured),
        },
    ];
    Ok((SolvedRun { id, stream }, events))
}
