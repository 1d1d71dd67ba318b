//! Runs, recordings, comparisons and profiles as lines.

use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::dialogue::Dialogue;
use crate::analysis::metric::Statistic;
use crate::lesson::{Course, Runs, StepKind};
use crate::profiler::read::import;
use crate::recording::{Library, Recording, RecordingError};
use crate::run::play::Speed;
use crate::run::{Control, Line, RunSpec, Start, Told, supervise};
use crate::train::event::Body;
use crate::tutor::profile::{folder_for, note_profile, prepare, tables};
use crate::tutor::recordings::of_step;
use crate::tutor::{Ending, TutorError, gpu, say};

/// Between two lines about steps: a screen reader reads them all.
const BETWEEN_STEPS: Duration = Duration::from_secs(2);

impl<I: BufRead, O: Write> Dialogue<I, O> {
    /// Starts the step's run, with other flags if some are given.
    pub(super) fn run(&mut self, flags: Option<Vec<String>>) -> Result<(), TutorError> {
        let course = Arc::clone(&self.course);
        let Some((target, own)) = self.step_run(&course) else {
            return self.say("This step starts no run.");
        };
        let spec = RunSpec::parse(target, flags.as_deref().unwrap_or(own));
        let start = spec.map(|spec| self.options.launcher.run(&spec));
        self.see(target, start.map_err(Into::into), None, Speed::Real)
    }

    /// Plays the recording of the step's run.
    pub(super) fn play(&mut self, speed: Speed) -> Result<(), TutorError> {
        let course = Arc::clone(&self.course);
        let Some((target, _)) = self.step_run(&course) else {
            return self.say("Recordings are played at a step that starts a run.");
        };
        let found = self.recording().and_then(|found| match found {
            Some((library, recording)) => Ok(Some((library.tape(&recording)?, recording))),
            None => Ok(None),
        });
        match found {
            Ok(None) => self.say("There is no recording of this run."),
            Err(error) => self.say(&format!("{error}. {}", error.remedy())),
            Ok(Some((tape, recording))) => {
                self.say(&recording.label())?;
                let origin = recording.origin();
                self.see(target, Ok(Start::Recording(tape)), Some(&origin), speed)
            }
        }
    }

    /// Target and flags of a step that starts a run.
    fn step_run<'c>(&self, course: &'c Course) -> Option<(&'c str, &'c [String])> {
        match &self.current(course)?.1.kind {
            StepKind::Run { target, flags, .. } => Some((target, flags)),
            _ => None,
        }
    }

    /// Sees a run to its end and checks the step where it ended well.
    fn see(
        &mut self,
        target: &str,
        start: anyhow::Result<Start>,
        origin: Option<&str>,
        speed: Speed,
    ) -> Result<(), TutorError> {
        let control = self.processes.control();
        control.set_speed(speed);
        let ended = start.and_then(|start| self.tell(target, &start, origin, &control));
        let ending = match ended {
            Ok(ending) => ending,
            Err(error) => match error.downcast::<TutorError>() {
                Ok(error) => return Err(error),
                Err(error) => Ending::not_started(&error, origin.is_some()),
            },
        };
        self.say(&ending.words)?;
        if let Some(remedy) = &ending.remedy {
            self.say(remedy)?;
        }
        if ending.is_success() {
            return self.check();
        }
        match ending.stderr.is_empty() {
            true => Ok(()),
            false => self.say(&format!("Its last lines:\n{}", ending.stderr)),
        }
    }

    fn tell(
        &mut self,
        target: &str,
        start: &Start,
        origin: Option<&str>,
        control: &Control,
    ) -> anyhow::Result<Ending> {
        let (root, at) = (self.options.place.folder.clone(), self.at.clone());
        let mut said = None;
        let ended = supervise(start, &root, control, &mut |told| {
            match told {
                Told::Started { run, command } => {
                    self.with(|session| {
                        session.start_run(&run, at.clone(), target, command)?;
                        origin.map_or(Ok(()), |origin| session.mark_recording(&run, origin))
                    })?;
                }
                Told::Line(line) => self.say_line(&line, &mut said)?,
                Told::Clock { .. } => {}
            }
            Ok(())
        })?;
        let ending = Ending::of(&ended);
        let run = ended.run.id();
        self.with(|session| {
            session.runs().add(ended.run);
            session.run_ended(&run, ended.exit)
        })?;
        Ok(ending)
    }

    fn say_line(&mut self, line: &Line, said: &mut Option<Instant>) -> Result<(), TutorError> {
        let Line::Event(event) = line else {
            return Ok(());
        };
        if matches!(event.body, Body::Step(_)) {
            if said.is_some_and(|said| said.elapsed() < BETWEEN_STEPS) {
                return Ok(());
            }
            *said = Some(Instant::now());
        }
        say::event(event).map_or(Ok(()), |words| self.say(&words))
    }

    /// What to say of a recording at a step that starts a run; nothing where there is a GPU, or no recording.
    pub(super) fn offer(&self) -> String {
        match self.recording() {
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
        let found = self.current(&self.course).and_then(|(_, step)| {
            let (_, flags) = self.step_run(&self.course)?;
            of_step(&library, step, flags).cloned()
        });
        Ok(found.map(|recording| (library, recording)))
    }

    /// The runs of a comparison, a metric a line.
    pub(super) fn comparison(&self, kind: &StepKind) -> Result<String, TutorError> {
        let StepKind::Compare { runs, metrics } = kind else {
            return Ok(String::new());
        };
        let measured = self.measured()?;
        let mut text = String::new();
        for metric in metrics {
            // Writing to a string cannot fail.
            let _ = write!(text, "{metric}:");
            for name in runs {
                let newest = measured.of(name).pop();
                let value = newest.and_then(|run| run.value(*metric, Statistic::Median));
                let value = value.map_or("not reported".into(), |value| metric.unit().show(value));
                let _ = write!(text, " {} {value};", name.step);
            }
            text.push('\n');
        }
        text.push_str("Enter goes on.");
        Ok(text)
    }

    pub(super) fn profile_command(&self, kind: &StepKind) -> String {
        let (
            Some(at),
            StepKind::Profile {
                tool,
                target,
                flags,
            },
        ) = (&self.at, kind)
        else {
            return String::new();
        };
        let folder = folder_for(&self.options.place.folder, at);
        let prepared = match prepare(&self.options, *tool, target, flags, folder) {
            Ok(prepared) => prepared,
            Err(error) => return error.to_string(),
        };
        let tool = prepared.tool;
        let how = match prepared.is_installed {
            true => "Run it in another terminal".to_string(),
            false => format!(
                "{tool} is not installed here. {} Run it where it is",
                tool.how_to_install()
            ),
        };
        format!(
            "{}\nIt shows {}.\n{how}, then type `import` with the folder it wrote.",
            prepared.line.shell(),
            prepared.shows
        )
    }

    pub(super) fn import(&mut self, path: &str) -> Result<(), TutorError> {
        let course = Arc::clone(&self.course);
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current(&course)) else {
            return Ok(());
        };
        let StepKind::Profile { target, .. } = &step.kind else {
            return self.say("Profiles are imported at a profile step.");
        };
        let found = match import(Path::new(path)) {
            Ok(found) => found,
            Err(error) => return self.say(&error.to_string()),
        };
        self.say(&tables(&found))?;
        let command = ["profile", "import", path].map(str::to_owned).to_vec();
        self.with(|session| note_profile(session, at, target, command))?;
        self.check()
    }
}
