//! Recordings as lines.

use std::io::{BufRead, Write};
use std::thread::sleep;
use std::time::Instant;

use super::dialogue::Dialogue;
use crate::lesson::StepKind;
use crate::recording::play::{Playhead, Speed};
use crate::recording::{Library, Recording, RecordingError};
use crate::run::folder::RunFolder;
use crate::session::event::RunExit;
use crate::tutor::finish::finish_run;
use crate::tutor::recordings::of_step;
use crate::tutor::{Ending, TutorError, gpu};

impl<I: BufRead, O: Write> Dialogue<'_, I, O> {
    /// What to say of a recording at a step that starts a run; nothing where there is a GPU, or no recording.
    pub(super) fn offer(&self) -> String {
        let found = self.recording();
        match found {
            Ok(Some((_, recording))) if !gpu::may_be_found(&self.options) => format!(
                "\nNo GPU was found on this machine; `recording` plays {} {} instead ({}).",
                recording.target,
                recording.config,
                recording.label()
            ),
            _ => String::new(),
        }
    }

    /// The recording of the step's run.
    fn recording(&self) -> Result<Option<(Library, Recording)>, RecordingError> {
        let library = Library::load(self.options.recordings.clone())?;
        let step = self.current().map(|(_, step)| step);
        let found = step.and_then(|step| of_step(&library, step, &self.flags()));
        let found = found.cloned();
        Ok(found.map(|recording| (library, recording)))
    }

    /// Plays the recording of the step's run.
    pub(super) fn play(&mut self, speed: Speed) -> Result<(), TutorError> {
        let target = match self.current().map(|(_, step)| &step.kind) {
            Some(StepKind::Run { target, .. }) => target.clone(),
            _ => return self.say("Recordings are played at a step that starts a run."),
        };
        let tape = self.recording().and_then(|found| {
            let Some((library, recording)) = found else {
                return Ok(None);
            };
            Ok(Some((library.stream(&recording)?, recording)))
        });
        match tape {
            Ok(None) => self.say("There is no recording of this run."),
            Err(error) => self.say(&format!("{error}. {}", error.remedy())),
            Ok(Some((lines, recording))) => {
                self.say(&recording.label())?;
                match self.keep_and_say(&target, &recording, &lines, speed)? {
                    Ok(()) => self.check(),
                    Err(error) => self.say(&Ending::not_played(&error).words),
                }
            }
        }
    }

    fn keep_and_say(
        &mut self,
        target: &str,
        recording: &Recording,
        lines: &[(f64, String)],
        speed: Speed,
    ) -> Result<anyhow::Result<()>, TutorError> {
        let folder = RunFolder::create(&self.options.place.folder, recording.words());
        let mut folder = match folder {
            Ok(folder) => folder,
            Err(error) => return Ok(Err(error)),
        };
        let (run, at) = (folder.id(), self.at.clone());
        let command = folder.record.command.clone();
        self.with(|session| {
            session.start_run(&run, at, target, command)?;
            session.mark_recording(&run, &recording.origin())
        })?;
        let begun = Instant::now();
        let head = Playhead::new(speed, begun.elapsed());
        let mut last = None;
        for (t, text) in lines {
            sleep(head.wait(*t, begun.elapsed()));
            match folder.keep(text.as_bytes()) {
                Ok(line) => self.say_line(&line, &mut last)?,
                Err(error) => return Ok(Err(error)),
            }
        }
        folder.record.exit = Some("exit status: 0".into());
        if let Err(error) = folder.save() {
            return Ok(Err(error));
        }
        self.with(|session| finish_run(session, &run, RunExit::Status(0)))?;
        Ok(Ok(()))
    }
}
