//! Drives a run or a recording on a separate thread and sends its lines to the event loop.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::run::{Control, Start, Told, supervise};
use crate::tui::{Desk, Message, RunId};
use crate::tutor::Ending;
use crate::tutor::prepare::Aside;

/// Time that a child gets to end when the tutor ends. A step on a slow machine fits into it, a compilation does not.
pub const GRACE: Duration = Duration::from_millis(1500);

/// Runs `start` on the new thread, because it may be slow: it unpacks recordings.
pub fn drive(
    desk: Desk,
    id: RunId,
    control: Control,
    is_recording: bool,
    start: impl FnOnce() -> Result<(Start, Option<Aside>)> + Send + 'static,
) {
    thread::spawn(move || {
        let mut run = None;
        // While the tutor ends, no one receives these messages. The run still ends in order.
        let mut tell = |told| {
            if let Told::Started { run: name, .. } = &told {
                run = Some(name.clone());
            }
            desk.tell(Message::Run(id, told));
            Ok(())
        };
        // The guard pauses background compilation until the run is over.
        let ended =
            start().and_then(|(start, _aside)| supervise(&start, desk.root(), &control, &mut tell));
        let ending = match ended {
            Ok(ended) => {
                let ending = Ending::of(&ended);
                desk.runs.add(ended.run);
                ending
            }
            Err(error) => Ending::not_started(&error, is_recording),
        };
        desk.tell(Message::RunEnded { id, run, ending });
    });
}
