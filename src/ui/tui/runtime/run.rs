//! Drives a run or a recording on a separate thread and sends its lines to the event loop.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::tui::{Message, RunId, TaskContext};
use tinyllama_runs::{Control, RunStart, RunUpdate, supervise};
use tinyllama_tutor_core::RunEnding;
use tinyllama_tutor_core::prepare::PauseGuard;

/// Time that a child gets to end when the tutor ends. A step on a slow machine fits into it, a compilation does not.
pub const GRACE: Duration = Duration::from_millis(1500);

/// Runs `start` on the new thread, because it may be slow: it unpacks recordings.
pub fn drive(
    context: TaskContext,
    id: RunId,
    control: Control,
    is_recording: bool,
    start: impl FnOnce() -> Result<(RunStart, Option<PauseGuard>)> + Send + 'static,
) {
    thread::spawn(move || {
        let mut run = None;
        // While the tutor ends, no one receives these messages. The run still ends in order.
        let mut tell = |update| {
            if let RunUpdate::Started { run: name, .. } = &update {
                run = Some(name.clone());
            }
            context.send(Message::Run(id, update));
            Ok(())
        };
        // The guard pauses background compilation until the run is over.
        let ended = start()
            .and_then(|(start, _aside)| supervise(&start, context.root(), &control, &mut tell));
        let ending = match ended {
            Ok(ended) => {
                let ending = RunEnding::from_run(&ended);
                context.runs.add(ended.run);
                ending
            }
            Err(error) => RunEnding::not_started(&error, is_recording),
        };
        context.send(Message::RunEnded { id, run, ending });
    });
}
