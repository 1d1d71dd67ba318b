//! A run, or a recording, told to the loop line by line, on a thread of its own.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use crate::run::{Control, Start, Told, supervise};
use crate::tui::{Desk, Message, RunId};
use crate::tutor::Ending;
use crate::tutor::prepare::Aside;

/// How long a child may take to end when the tutor does: a step on a slow machine, but not a compilation.
pub const GRACE: Duration = Duration::from_millis(1500);

/// `start` may take its time: recordings are unpacked by it.
pub fn drive(
    desk: Desk,
    id: RunId,
    control: Control,
    is_recording: bool,
    start: impl FnOnce() -> Result<(Start, Option<Aside>)> + Send + 'static,
) {
    thread::spawn(move || {
        let mut run = None;
        // While the tutor ends nobody listens any more, and the run ends in order all the same.
        let mut tell = |told| {
            if let Told::Started { run: name, .. } = &told {
                run = Some(name.clone());
            }
            desk.tell(Message::Run(id, told));
            Ok(())
        };
        // What prepares stands aside until the run is over.
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
