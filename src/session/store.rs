//! An open session: the only one that may write.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::FORMAT;
use super::location::new_name;
use super::lock::Lock;
use super::log::Log;
use super::runs::known;
use crate::{
    LogDamage, MeasuredRuns, Record, RunEntry, RunExit, SessionError, SessionEvent,
    SessionLocation, SessionState, StepRef, chain, check_name, lock, log,
};
use tinyllama_lesson::Course;
use tinyllama_runs::FinishedRuns;

use tinyllama_base::untrusted::BoundedLines;
use tinyllama_base::{host_name, if_there, now, safe_path};

/// A session that this process has locked. Dropping it writes the cache and releases the lock.
#[derive(Debug)]
pub struct Session {
    pub location: SessionLocation,
    state: SessionState,
    /// Its finished runs, as far as this process has followed or read them.
    pub runs: Arc<FinishedRuns>,
    /// `None` for a session in memory.
    log: Option<Log>,
    /// Events that could not be written yet; the next write puts them first.
    unsaved: Vec<Record>,
    /// Records since the last call of [`Session::news`]; `None` before the first call.
    news: Option<Vec<Record>>,
    /// Damaged lines of the log; all others were kept.
    pub damage: Vec<LogDamage>,
    /// The lock must outlive the log; fields are dropped in this order.
    _lock: Option<Lock>,
}

impl Session {
    /// A session in memory, in which the actions of a log can be done again. It reads the runs at `location` and writes
    /// nothing.
    pub fn in_memory(location: SessionLocation) -> Self {
        Self {
            state: SessionState::default(),
            runs: Arc::new(FinishedRuns::new(location.runs())),
            log: None,
            unsaved: Vec::new(),
            news: Some(Vec::new()),
            damage: Vec::new(),
            _lock: None,
            location,
        }
    }

    /// Takes over a record as it is.
    pub fn apply(&mut self, record: &Record) {
        self.state.apply(record);
    }

    /// Goes on from what these records lead to.
    pub fn replay(&mut self, records: &[Record]) {
        self.state = SessionState::from_records(records);
    }

    /// Opens the session at `location`, or begins one there. Repairs are recorded in the session itself.
    pub fn open(location: SessionLocation) -> Result<Self, SessionError> {
        location.create()?;
        location.share();
        let (lock, crashed) = lock::acquire(&location.lock())?;
        let scan = log::scan(&location.events())?;
        let (log, repaired) = Log::open(&location.events(), &scan, &location.backups())?;
        let mut session = Self {
            state: SessionState::from_records(&scan.records),
            runs: Arc::new(FinishedRuns::new(location.runs())),
            log: Some(log),
            unsaved: Vec::new(),
            news: None,
            damage: scan.damage,
            _lock: Some(lock),
            location,
        };
        let first = scan.records.is_empty().then(|| session.created());
        let repaired = repaired.map(|text| SessionEvent::Note { text });
        let crashed = crashed.map(|holder| SessionEvent::Note {
            text: format!("The previous tutor ({holder}) did not exit cleanly."),
        });
        let lost = session
            .state
            .runs
            .iter()
            .filter(|(_, run)| run.exit.is_none())
            .map(|(run, _)| SessionEvent::RunFinished {
                run: run.clone(),
                exit: RunExit::Lost,
                values: BTreeMap::new(),
            });
        let found = first
            .into_iter()
            .chain(repaired)
            .chain(crashed)
            .chain(lost)
            .chain(session.unsealed())
            .collect();
        let is_new = scan.records.is_empty();
        match session.record_all(found) {
            // A full disk or log must not keep a learner from reading. Records that are not written yet count
            // as unsaved.
            Err(error) if is_new || !error.allows_reading() => Err(error),
            _ => Ok(session),
        }
    }

    /// Seals for runs that succeeded before a power cut lost their seal.
    fn unsealed(&self) -> Vec<SessionEvent> {
        let runs = self.state.runs.iter();
        let open = runs.filter(|(_, run)| run.is_unsealed());
        let seal = |(run, _): (&String, &RunEntry)| {
            let sha256 = self.runs.get(run).ok()??.sha256.clone();
            let run = run.clone();
            Some(SessionEvent::Sealed { run, sha256 })
        };
        open.filter_map(seal).collect()
    }

    fn created(&self) -> SessionEvent {
        SessionEvent::Created {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            learner: self.location.learner.clone(),
            host: host_name(),
            session: new_name(),
        }
    }

    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// The measurements of a course's steps.
    pub fn measured(&self, course: &Course) -> Result<MeasuredRuns, SessionError> {
        MeasuredRuns::read(course, &self.state, &self.runs)
    }

    /// Records since the last call, for a caller that keeps another [`SessionState`] up to date.
    pub fn news(&mut self) -> Vec<Record> {
        self.news.replace(Vec::new()).unwrap_or_default()
    }

    /// Number of events that are not on the disk yet because writing failed.
    pub fn unsaved(&self) -> usize {
        self.unsaved.len()
    }

    /// Records an event. When this returns `Ok`, the event is on the disk.
    ///
    /// After an error the event still counts and is kept in memory; the next write includes it.
    pub fn record(&mut self, event: SessionEvent) -> Result<(), SessionError> {
        self.record_all(vec![event])
    }

    /// Records several events with one write, or none of them if the log would become too large to read.
    pub fn record_all(&mut self, events: Vec<SessionEvent>) -> Result<(), SessionError> {
        for event in &events {
            reads_back(event)?;
        }
        let records = (self.state.records + 1..).zip(events);
        let records: Vec<Record> = records
            .map(|(n, event)| Record {
                n,
                time: now(),
                event,
            })
            .collect();
        // Events that can never be written must not count either.
        if let Some(log) = &self.log {
            log.check_room(self.unsaved.iter().chain(&records))?;
        }
        for record in records {
            self.state.apply(&record);
            if let Some(news) = &mut self.news {
                news.push(record.clone());
            }
            if self.log.is_some() {
                self.unsaved.push(record);
            }
        }
        self.save()
    }

    /// Writes events that could not be written before.
    pub fn save(&mut self) -> Result<(), SessionError> {
        if let Some(log) = self.log.as_mut().filter(|_| !self.unsaved.is_empty()) {
            log.append(&self.unsaved)?;
            self.unsaved.clear();
        }
        Ok(())
    }

    /// Records that a tutor has opened the session with this course.
    pub fn record_opening(
        &mut self,
        course: &str,
        course_version: &str,
    ) -> Result<(), SessionError> {
        let opened = SessionEvent::Opened {
            version: env!("CARGO_PKG_VERSION").into(),
            host: host_name(),
            pid: std::process::id(),
            course: course.into(),
            course_version: course_version.into(),
        };
        match self.record(opened) {
            // See [`Session::open`].
            Err(error) if error.allows_reading() => Ok(()),
            done => done,
        }
    }

    /// Writes what can be written now, and checks that everything is stored where the next tutor will find it.
    pub fn finish(&mut self) -> Result<(), SessionError> {
        if self.log.is_some() {
            self.location.share();
        }
        let log = |session: &Self| session.log.as_ref().map_or(Ok(()), Log::check_in_place);
        let finished = self.save().and_then(|()| log(self));
        finished.map_err(|source| SessionError::NotKept {
            events: self.unsaved(),
            source: Box::new(source),
        })
    }

    /// Records that a run was started. `run` is the name of its folder below `runs`.
    pub fn start_run(
        &mut self,
        run: &str,
        at: Option<StepRef>,
        target: &str,
        command: Vec<String>,
    ) -> Result<(), SessionError> {
        check_name(run)?;
        let host = host_name();
        self.record(SessionEvent::RunStarted {
            run: run.into(),
            at,
            target: target.into(),
            command,
            host,
        })
    }

    /// Records how a run ended, with its reported figures and those that were measured during it.
    pub fn run_ended(&mut self, run: &str, exit: RunExit) -> Result<(), SessionError> {
        let figures = known(&self.runs, run)?.map(|run| run.figures());
        self.finish_run(run, exit, figures.unwrap_or_default())
    }

    /// Records how a run ended. A figure that is not finite is left out, like one that was not reported.
    pub fn finish_run(
        &mut self,
        run: &str,
        exit: RunExit,
        mut values: BTreeMap<String, f64>,
    ) -> Result<(), SessionError> {
        values.retain(|_, value| value.is_finite());
        let finished = SessionEvent::RunFinished {
            run: run.into(),
            exit,
            values,
        };
        let sealed = known(&self.runs, run)?.map(|known| SessionEvent::Sealed {
            run: run.into(),
            sha256: known.sha256.clone(),
        });
        self.record_all([finished].into_iter().chain(sealed).collect())
    }

    /// Records that a run shows a recording of another machine, which is only played here.
    ///
    /// Call it once the run is started. `machine` is the label of its figures: device and date. Reports do not
    /// compare such a run with runs of this machine or with this machine's ceilings.
    pub fn mark_recording(&mut self, run: &str, machine: &str) -> Result<(), SessionError> {
        self.record(SessionEvent::Recorded {
            run: run.into(),
            machine: machine.into(),
        })
    }

    /// Writes `state.json` for other readers. Cheap enough for the end of a step, not for every event.
    pub fn write_cache(&self) -> Result<(), SessionError> {
        log::replace_json(&self.location.state(), &self.state)
    }
}

/// Refuses an event with NaN or infinity, which JSON does not have: it could not be read again, or only
/// without the number.
/// A test that compares the event after reading would be too strict, because a number's last digit may change.
fn reads_back(event: &SessionEvent) -> Result<(), SessionError> {
    if let SessionEvent::Checked {
        value: Some(value), ..
    } = event
        && !value.is_finite()
    {
        return Err(SessionError::NotRecordable("a number is not finite".into()));
    }
    serde_json::to_string(event)
        .and_then(|text| serde_json::from_str::<SessionEvent>(&text))
        .map(drop)
        .map_err(|error| SessionError::NotRecordable(error.to_string()))
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.log.is_some() {
            // The cache is derived from the events. If it cannot be written, its next reader rebuilds it.
            drop(self.save());
            drop(self.write_cache());
        }
    }
}

/// The unique id of a session, from its first record.
pub fn session_id(location: &SessionLocation) -> Result<String, SessionError> {
    let path = location.events();
    let io = || SessionError::io("reading", &path);
    let none = || SessionError::no_events(&location.folder);
    let file = if_there(safe_path::open(&path))
        .map_err(io())?
        .ok_or_else(none)?;
    let (mut lines, mut line) = (BoundedLines::new(file), Vec::new());
    let mut is_begun = false;
    while lines.next_into(&mut line).map_err(io())? {
        let content = line.strip_suffix(b"\n").unwrap_or(&line);
        let Ok(intact) = chain::decode(content) else {
            continue;
        };
        match Record::read(intact.record.get()).map(|record| record.event) {
            Ok(SessionEvent::Created { session, .. }) => return Ok(session),
            // Without a readable first line a session has no id.
            Ok(_) => is_begun = true,
            Err(_) => {}
        }
    }
    match is_begun {
        true => Ok(String::new()),
        false => Err(none()),
    }
}

/// Reads the state of a session that may be open elsewhere, from its events. Writes nothing.
pub fn read_only(
    location: &SessionLocation,
) -> Result<(SessionState, Vec<LogDamage>), SessionError> {
    let scan = log::scan(&location.events())?.begun(&location.folder)?;
    Ok((SessionState::from_records(&scan.records), scan.damage))
}
