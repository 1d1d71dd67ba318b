//! Runs, comparisons and profiles as lines.

use std::fmt::Write as _;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::dialogue::Dialogue;
use crate::analysis::metric::Statistic;
use crate::lesson::{Runs, StepKind};
use crate::profiler::live::meter::EnergyMeter;
use crate::profiler::read::import;
use crate::run::{Exited, Line, RunChild};
use crate::session::event::RunExit;
use crate::train::event::Body;
use crate::tutor::finish::{finish_run, note_profile};
use crate::tutor::profile::{folder_for, prepare, tables};
use crate::tutor::{Ending, TutorError, say};

/// Between two lines about steps: a screen reader reads them all.
const BETWEEN_STEPS: Duration = Duration::from_secs(2);

impl<I: BufRead, O: Write> Dialogue<'_, I, O> {
    /// Flags of the step, or those of its last run.
    pub(super) fn flags(&self) -> Vec<String> {
        match self.current().map(|(_, step)| &step.kind) {
            Some(StepKind::Run { flags, .. } | StepKind::Profile { flags, .. }) => flags.clone(),
            _ => Vec::new(),
        }
    }

    pub(super) fn run(&mut self, flags: Option<Vec<String>>) -> Result<(), TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(());
        };
        let StepKind::Run { target, .. } = &step.kind else {
            return self.say("This step starts no run.");
        };
        let target = target.clone();
        let flags = flags.unwrap_or_else(|| self.flags());
        let started = self
            .options
            .run_command(&target, &flags)
            .and_then(|command| {
                let child = RunChild::start(&command, &self.options.place.folder)?;
                Ok((child, EnergyMeter::beside(&command)))
            });
        let (mut child, mut meter) = match started {
            Ok(started) => started,
            Err(error) => return self.say_ending(&Ending::not_started(&error)),
        };
        let registered = self.processes.add(child.id());
        let run = child.folder().id();
        let command = child.folder().record.command.clone();
        self.with(|session| session.start_run(&run, Some(at), &target, command))?;
        let mut last = None;
        loop {
            match child.next_line() {
                Ok(Some(line)) => {
                    if let Line::Event(event) = &line {
                        meter.hear(event);
                    }
                    self.say_line(&line, &mut last)?;
                }
                Ok(None) => break,
                Err(error) => {
                    self.say(&format!("{error:#}"))?;
                    break;
                }
            }
        }
        let noted = |mut exited: Exited| exited.note_energy(meter.finish()).map(|()| exited);
        let exited = match child.wait().and_then(noted) {
            Ok(exited) => exited,
            Err(error) => return self.say_ending(&Ending::not_started(&error)),
        };
        drop(registered);
        let ending = Ending::of(&exited, false);
        let exit = ending.exit.clone().unwrap_or(RunExit::Lost);
        self.with(|session| finish_run(session, &run, exit))?;
        self.say_ending(&ending)?;
        if ending.is_success() {
            self.check()?;
        }
        Ok(())
    }

    pub(super) fn say_line(
        &mut self,
        line: &Line,
        last: &mut Option<Instant>,
    ) -> Result<(), TutorError> {
        let Line::Event(event) = line else {
            return Ok(());
        };
        if matches!(event.body, Body::Step(_)) {
            if last.is_some_and(|last: Instant| last.elapsed() < BETWEEN_STEPS) {
                return Ok(());
            }
            *last = Some(Instant::now());
        }
        match say::event(event) {
            Some(words) => self.say(&words),
            None => Ok(()),
        }
    }

    fn say_ending(&mut self, ending: &Ending) -> Result<(), TutorError> {
        self.say(&ending.words)?;
        if let Some(remedy) = &ending.remedy {
            self.say(remedy)?;
        }
        if !ending.is_success() && !ending.stderr.is_empty() {
            self.say(&format!("Its last lines:\n{}", ending.stderr))?;
        }
        Ok(())
    }

    /// The runs of a comparison, a metric a line.
    pub(super) fn comparison(&mut self, kind: &StepKind) -> Result<String, TutorError> {
        let StepKind::Compare { runs, metrics } = kind else {
            return Ok(String::new());
        };
        let measured = self.measured()?;
        let mut text = String::new();
        for metric in metrics {
            // Writing to a string cannot fail.
            let _ = write!(text, "{metric}:");
            for name in runs {
                let value = measured
                    .of(name)
                    .last()
                    .and_then(|run| run.value(*metric, Statistic::Median))
                    .map_or("not reported".to_string(), |value| {
                        metric.unit().show(value)
                    });
                let _ = write!(text, " {} {value};", name.step);
            }
            text.push('\n');
        }
        text.push_str("Enter goes on.");
        Ok(text)
    }

    pub(super) fn profile_command(&mut self) -> Result<String, TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(String::new());
        };
        let StepKind::Profile {
            tool,
            target,
            flags,
        } = &step.kind
        else {
            return Ok(String::new());
        };
        let folder = folder_for(&self.options.place.folder, &at);
        Ok(match prepare(&self.options, *tool, target, flags, folder) {
            Ok(prepared) => {
                let how = if prepared.is_installed {
                    "Run it in another terminal".to_string()
                } else {
                    format!(
                        "{} is not installed here. {} Run it where it is",
                        prepared.tool,
                        prepared.tool.how_to_install()
                    )
                };
                format!(
                    "{}\nIt shows {}.\n{how}, then type `import` with the folder it wrote.",
                    prepared.line.shell(),
                    prepared.shows
                )
            }
            Err(error) => format!("{error:#}"),
        })
    }

    pub(super) fn import(&mut self, path: &str) -> Result<(), TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(());
        };
        let StepKind::Profile { target, .. } = &step.kind else {
            return self.say("Profiles are imported at a profile step.");
        };
        let target = target.clone();
        let found = match import(&PathBuf::from(path)) {
            Ok(found) => found,
            Err(error) => return self.say(&error.to_string()),
        };
        self.say(&tables(&found))?;
        let command = vec!["profile".into(), "import".into(), path.into()];
        self.with(|session| note_profile(session, at, &target, command))?;
        self.check()
    }
}
