//! Runs, recordings, comparisons and profiles as lines.

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::dialogue::Dialogue;
use super::show::width;
use tinyllama_contract::Body;
use tinyllama_lesson::{CaseMove, Step};
use tinyllama_profile::NothingRecorded;
use tinyllama_profile::read::import;
use tinyllama_runs::recording::{Library, RecordingError, label};
use tinyllama_runs::{Control, Line, RunStart, RunUpdate, Speed, supervise};
use tinyllama_session::runs::MOST_ROUNDS;
use tinyllama_session::turns::{self, TurnAction};
use tinyllama_session::{CheckResultText, Standing};
use tinyllama_tutor_core::profile::{ProfileView, prepare, tables};
use tinyllama_tutor_core::request::{News, SessionRequest};
use tinyllama_tutor_core::{
    JobRecording, RunEnding, TutorError, folder_for, gpu, job, recorded, say, tape,
};

/// Time between two lines about steps, because a screen reader reads every line.
const BETWEEN_STEPS: Duration = Duration::from_secs(2);

impl<I: BufRead, O: Write> Dialogue<'_, I, O> {
    /// Starts the step's run, with other flags if any are given.
    pub(super) fn run(&mut self, flags: Option<Vec<String>>) -> Result<(), TutorError> {
        let Some((_, step)) = self.current() else {
            return Ok(());
        };
        let flags = flags.unwrap_or_else(|| step.flags.clone());
        let checked = self.start(&flags)?;
        self.run_in_turns(step, checked, false)
    }

    /// Repeats runs until the step's effects are decided, or this machine scatters too much to decide them.
    pub(super) fn run_in_turns(
        &mut self,
        step: &Step,
        mut checked: Vec<CheckResultText>,
        asked: bool,
    ) -> Result<(), TutorError> {
        while let Some(turn) = self.turn(step, &checked, asked)? {
            match turn {
                TurnAction::Enough(text) => return self.print(&text),
                TurnAction::Again { runs, round, .. } => {
                    self.print(&format!(
                        "Not decided yet: both run again, in turns (round {round} of at most {MOST_ROUNDS}). Ctrl-C ends it."
                    ))?;
                    let here = self.at.clone();
                    let starts = turns::starts(&self.options.launcher, &runs)
                        .map_err(|error| TutorError::Usage(error.0))?;
                    for (run, start) in runs.into_iter().zip(starts) {
                        self.at = Some(run.at);
                        let started = self.see(&run.target, Ok(start), None, Speed::REAL);
                        self.at.clone_from(&here);
                        // The second run belongs to this step.
                        checked = started?;
                    }
                }
            }
        }
        if !asked
            && matches!(
                self.turn(step, &checked, true)?,
                Some(TurnAction::Again { .. })
            )
        {
            return self.print(&format!(
                "One effect is undecided, and not required here. `check` repeats both runs in turns, at most {MOST_ROUNDS} rounds."
            ));
        }
        Ok(())
    }

    fn turn(
        &self,
        step: &Step,
        checked: &[CheckResultText],
        asked: bool,
    ) -> Result<Option<TurnAction>, TutorError> {
        let measured = self.measured()?;
        self.state(|state| turns::next(self.course, state, &measured, step, checked, asked))
    }

    /// Starts the step's job with these flags.
    pub(super) fn start(&mut self, flags: &[String]) -> Result<Vec<CheckResultText>, TutorError> {
        let job = self.current().and_then(|(_, step)| step.job());
        let Some(job) = job else {
            self.print("This step starts no run.")?;
            return Ok(Vec::new());
        };
        let start = job::start(&job, &self.options, flags);
        self.see(job.name(), start.map_err(Into::into), None, Speed::REAL)
    }

    /// Plays the recording for the open step.
    pub(super) fn play(&mut self, speed: Speed) -> Result<(), TutorError> {
        let job = self.current().and_then(|(_, step)| step.job());
        let Some(job) = job else {
            return self.print("Recordings can only be played at a step that starts a run.");
        };
        let found = self.recording(self.measured_last()?);
        let found = found.and_then(|(library, recorded)| match recorded {
            Some(recorded) => Ok(Some((tape(&library, &recorded.id)?, recorded))),
            None => Ok(None),
        });
        match found {
            Ok(None) => self.print("There is no recording of this run."),
            Err(error) => self.print(&format!("{error}. {}", error.remedy())),
            Ok(Some((tape, recorded))) => {
                self.print(&label(&recorded.origin))?;
                let start = Ok(RunStart::Recording(tape));
                self.see(job.name(), start, Some(&recorded.origin), speed)
                    .map(drop)
            }
        }
    }

    /// Follows a run until it ends, and checks the step if it succeeded.
    fn see(
        &mut self,
        target: &str,
        start: anyhow::Result<RunStart>,
        origin: Option<&str>,
        speed: Speed,
    ) -> Result<Vec<CheckResultText>, TutorError> {
        let control = self.processes.control();
        control.set_speed(speed);
        let ended = start.and_then(|start| self.follow(target, &start, origin, &control));
        let (ending, checked) = match ended {
            Ok(ended) => ended,
            Err(error) => match error.downcast::<TutorError>() {
                Ok(error) => return Err(error),
                Err(error) => (RunEnding::not_started(&error, origin.is_some()), News::None),
            },
        };
        self.print(&ending.message)?;
        if let Some(remedy) = &ending.remedy {
            self.print(remedy)?;
        }
        if ending.is_success() {
            return self.say_outcomes(checked);
        }
        if !ending.stderr.is_empty() {
            self.print(&format!("Its last lines:\n{}", ending.stderr))?;
        }
        Ok(Vec::new())
    }

    fn follow(
        &mut self,
        target: &str,
        start: &RunStart,
        origin: Option<&str>,
        control: &Control,
    ) -> anyhow::Result<(RunEnding, News)> {
        let (root, at) = (self.options.location.folder.clone(), self.at.clone());
        let mut last_said = None;
        let mut silence = Silence::default();
        let ended = supervise(start, &root, control, &mut |update| {
            match update {
                RunUpdate::Started { run, command } => {
                    if let Some(at) = at.clone() {
                        let (target, recording) = (target.to_owned(), origin.map(str::to_owned));
                        self.request(SessionRequest::RunStarted {
                            run,
                            at,
                            target,
                            command,
                            recording,
                        })?;
                    }
                }
                RunUpdate::Line(line) => self.say_line(&line, &mut last_said)?,
                RunUpdate::Clock { silent, .. } => {
                    if let Some(text) = silence.message(silent) {
                        self.print(&text)?;
                    }
                }
            }
            Ok(())
        })?;
        let ending = RunEnding::from_run(&ended);
        let (run, exit) = (ended.run.id(), ended.exit);
        self.with_session(|session| {
            session.runs.add(ended.run);
            Ok(())
        })?;
        let news = match at {
            Some(at) => self.request(SessionRequest::RunFinished { run, at, exit })?,
            None => News::None,
        };
        Ok((ending, news))
    }

    fn say_line(&mut self, line: &Line, last_said: &mut Option<Instant>) -> Result<(), TutorError> {
        let Line::Event(event) = line else {
            return Ok(());
        };
        if matches!(event.body, Body::Step(_)) {
            if last_said.is_some_and(|time| time.elapsed() < BETWEEN_STEPS) {
                return Ok(());
            }
            *last_said = Some(Instant::now());
        }
        say::event(event).map_or(Ok(()), |text| self.print(&text))
    }

    /// Offers a recording in place of a run, if this machine has no GPU.
    pub(super) fn offer(&self) -> Option<String> {
        let (_, recorded) = self.recording(Some(CaseMove::Measure(0))).ok()?;
        let recorded = recorded.filter(|_| !gpu::may_be_found(&self.options))?;
        Some(format!(
            "No GPU was found on this machine; `recording` plays {} instead ({}).",
            recorded.what,
            label(&recorded.origin)
        ))
    }

    /// Returns whether Enter plays a recording: the learner asked for recordings, or only a GPU can show the effect and none
    /// was found.
    pub(super) fn plays_instead(&self) -> bool {
        let on_gpu = self.current().is_some_and(|(_, step)| step.on_gpu);
        let is_asked = self.plays_recordings || on_gpu && !gpu::may_be_found(&self.options);
        let found = || self.recording(self.measured_last().ok().flatten());
        is_asked && found().is_ok_and(|(_, recorded)| recorded.is_some())
    }

    /// Returns the recording of the step; for an investigation, the recording of `case_move`.
    fn recording(
        &self,
        case_move: Option<CaseMove>,
    ) -> Result<(Library, Option<JobRecording>), RecordingError> {
        let library = Library::load(self.options.recordings.clone())?;
        let step = self.current().map(|(_, step)| step);
        let found = step.and_then(|step| recorded(&library, step, &step.flags, case_move));
        Ok((library, found))
    }

    /// Returns the first measurement of an investigation that the learner has not taken; `recording` plays it.
    fn measured_last(&self) -> Result<Option<CaseMove>, TutorError> {
        let Some(case) = self.current().and_then(|(_, step)| step.as_case()) else {
            return Ok(None);
        };
        let progress = self.progress()?;
        let standing = self.state(|state| Standing::from_progress(case, &progress, state))?;
        let left = (0..case.measurements.len()).find(|index| !standing.taken.contains(index));
        let fix = standing.suspect.map(CaseMove::Fix);
        Ok(left.map(CaseMove::Measure).or(fix))
    }

    /// Returns the command of a profile step, filled in for this machine.
    pub(super) fn profile(&self) -> ProfileView {
        let step = self.current().map(|(_, step)| step);
        let step = step.filter(|step| step.as_profile().is_some());
        let prepared = self.at.as_ref().zip(step).map(|(at, step)| {
            let folder = folder_for(&self.options.location.folder, at);
            prepare(&self.options, step, folder).map_err(|error| format!("{error:#}"))
        });
        ProfileView {
            prepared,
            ..ProfileView::default()
        }
    }

    pub(super) fn import(&mut self, path: &str) -> Result<(), TutorError> {
        let (Some(at), Some((_, step))) = (self.at.clone(), self.current()) else {
            return Ok(());
        };
        let (Some(_), Some(_)) = (step.as_profile(), &step.target) else {
            return self.print("Profiles can only be imported at a profile step.");
        };
        let found = match import(Path::new(path)) {
            Ok(found) => found,
            Err(error) => return self.print(&error.to_string()),
        };
        self.print(&tables(&found, width(100)))?;
        if let Some(nothing) = NothingRecorded::explain(&found) {
            self.print(&nothing.lines().join("\n"))?;
            return self.print("This does not complete the step.");
        }
        let command = ["profile", "import", path].map(str::to_owned).to_vec();
        let checked = self.request(SessionRequest::Profiled { at, command })?;
        self.say_outcomes(checked).map(drop)
    }
}

/// Decides when to mention a silent run again. A screen reader reads every line, so it waits until the
/// silence has doubled.
#[derive(Debug, Default)]
struct Silence {
    next: f64,
}

impl Silence {
    /// Called once a second. Returns the line to print for a run that has been silent for `silent` seconds.
    fn message(&mut self, silent: Option<f64>) -> Option<String> {
        let Some(seconds) = silent else {
            self.next = 0.0;
            return None;
        };
        (seconds >= self.next).then(|| {
            self.next = 2.0 * seconds;
            say::silence(seconds, "Ctrl-C")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_told_when_it_begins_when_it_doubles_and_when_it_comes_back() {
        let mut silence = Silence::default();
        let mut lines = |seconds: &[Option<f64>]| {
            let text = seconds.iter().filter_map(|silent| silence.message(*silent));
            text.collect::<Vec<_>>()
        };
        let first = lines(&[None, Some(60.0), Some(61.0), Some(119.0)]);
        assert_eq!(first.len(), 1);
        insta::assert_snapshot!(first[0], @"The run has reported nothing for 60 s. It may be compiling or in a slow step; a GPU that hangs never answers (check with `tinyllama-tutor doctor` and `dmesg` in another terminal). Ctrl-C ends it within seconds, and what it reported is kept.");
        assert_eq!(lines(&[Some(120.0), Some(121.0)]).len(), 1);
        assert_eq!(lines(&[None, Some(60.0)]).len(), 1);
    }
}
