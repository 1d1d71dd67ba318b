//! Builds a [`Report`] from a session's files.

pub(super) mod ceilings;
mod lessons;
mod predictions;
mod profiles;
mod runs;
mod warnings;

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::document::{Chain, CourseName, FORMAT, SessionFacts, Totals};
use crate::{KernelReport, LessonReport, Report, anonymous, ratios};
use tinyllama_base::{now, safe_path};
use tinyllama_lesson::Course;
use tinyllama_runs::FinishedRuns;
use tinyllama_session::progress::PathProgress;
use tinyllama_session::runs::events_file;
use tinyllama_session::state::KernelAttempt;
use tinyllama_session::{
    KernelAttemptResult, MOST_LOG_BYTES, MeasuredRuns, Record, Scan, SessionError, SessionEvent,
    SessionLocation, SessionState, scan,
};

/// The largest event stream that a report includes. Real ones have some hundred kilobytes.
pub const MOST_STREAM_BYTES: u64 = 4 << 20;
/// Limit for all streams of a report together.
const MOST_STREAMS_BYTES: usize = 64 << 20;

/// Choices for a report.
#[derive(Clone, Copy, Debug, Default)]
pub struct CollectOptions {
    /// True to remove names of people and machines.
    pub anonymous: bool,
}

/// Reads a session and all its runs. It writes nothing, and the session may be open in another process.
///
/// # Errors
/// Fails if there is no session at `location` or its log cannot be read. A run that cannot be read becomes a warning.
pub fn collect(
    location: &SessionLocation,
    course: &Course,
    options: CollectOptions,
) -> Result<Report, SessionError> {
    let scan = scan(&location.events())?.begun(&location.folder)?;
    let state = SessionState::from_records(&scan.records);
    let files = FinishedRuns::new(location.runs());
    // Each file is read once and kept, so all processors read ahead. What cannot be read is told below.
    let ids: Vec<&String> = state.runs.keys().collect();
    ids.par_iter().for_each(|id| drop(files.get(id)));
    let measured = MeasuredRuns::read(course, &state, &files)?;
    let calibrations = ceilings::calibrations(location);
    let (mut runs, devices) = runs::collect(&state, &files, &calibrations);
    ratios::compare_with_baselines(&mut runs);
    let lessons = lessons::collect(&state, course, &measured);
    let mut report = Report {
        format: FORMAT,
        program: env!("CARGO_PKG_VERSION").into(),
        written: now(),
        anonymous: false,
        learner: Some(state.learner.clone()),
        course: state
            .course
            .clone()
            .map(|(title, version)| CourseName { title, version }),
        path: PathProgress::new(course, &state),
        session: facts(&scan, &state),
        totals: totals(&lessons, course),
        predictions: predictions::collect(&state, course, &measured),
        stages: ratios::stages(&runs),
        profiles: profiles::collect(&state, &files),
        kernels: state.kernels.iter().map(kernel).collect(),
        lessons,
        devices,
        runs,
        warnings: Vec::new(),
        chain: Chain {
            records: scan.records.len(),
            last_hash: scan.last_hash.clone(),
            lines: Some(log_lines(location, &scan)?),
            streams: Some(streams(location, &state)),
        },
    };
    report.warnings = warnings::collect(&report, &scan);
    if options.anonymous {
        anonymous::strip(&mut report);
    }
    Ok(report)
}

fn facts(scan: &Scan, state: &SessionState) -> SessionFacts {
    let time =
        |record: Option<&Record>| record.map_or_else(String::new, |record| record.time.clone());
    let mut facts = SessionFacts {
        begun: time(scan.records.first()),
        last: time(scan.records.last()),
        notes: state.notes.clone(),
        damaged_lines: scan
            .damage
            .iter()
            .map(|damage| format!("line {}: {}", damage.line, damage.why))
            .collect(),
        ..SessionFacts::default()
    };
    for record in &scan.records {
        if let SessionEvent::Created { version, host, .. }
        | SessionEvent::Opened { version, host, .. } = &record.event
        {
            add_new(&mut facts.tutor_versions, version);
            add_new(&mut facts.hosts, host);
        }
    }
    facts
}

fn add_new(list: &mut Vec<String>, value: &str) {
    if !list.iter().any(|known| known == value) {
        list.push(value.to_string());
    }
}

fn totals(lessons: &[LessonReport], course: &Course) -> Totals {
    Totals {
        steps_finished: lessons.iter().map(|lesson| lesson.finished).sum(),
        steps: course.lessons().map(|lesson| lesson.steps.len()).sum(),
        lessons_finished: lessons.iter().filter(|lesson| lesson.is_done()).count(),
        lessons: course.lessons().count(),
        // The sum of no numbers is -0.
        minutes: 0.0 + lessons.iter().map(|lesson| lesson.minutes).sum::<f64>(),
        planned_minutes: lessons
            .iter()
            .filter_map(|lesson| lesson.planned_minutes)
            .sum(),
        attempts: lessons.iter().map(|lesson| lesson.attempts).sum(),
        hints: lessons.iter().map(|lesson| lesson.hints).sum(),
    }
}

/// Event streams of all runs that have one. A reader can derive the report's figures from them.
fn streams(location: &SessionLocation, state: &SessionState) -> BTreeMap<String, Option<String>> {
    let mut room = MOST_STREAMS_BYTES;
    let stream = |id: &String| {
        let path = events_file(&location.runs(), id);
        if !path.exists() {
            return None;
        }
        let bytes = safe_path::read(&path, MOST_STREAM_BYTES).ok();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.filter(|text| text.len() <= room);
        room -= text.as_ref().map_or(0, String::len);
        Some((id.clone(), text))
    };
    state.runs.keys().filter_map(stream).collect()
}

/// The log up to the records that were read. Torn lines and lines written meanwhile are left out.
fn log_lines(location: &SessionLocation, scan: &Scan) -> Result<Vec<String>, SessionError> {
    let path = location.events();
    let bytes =
        safe_path::read(&path, MOST_LOG_BYTES).map_err(SessionError::io("reading", &path))?;
    let log = bytes.get(..scan.whole_bytes).unwrap_or(&bytes);
    let lines = log
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
    Ok(lines.map(text).collect())
}

fn kernel(attempt: &KernelAttempt) -> KernelReport {
    let mut report = KernelReport {
        exercise: attempt.exercise.clone(),
        time: attempt.time.clone(),
        sha256: attempt.sha256.clone(),
        ..KernelReport::default()
    };
    match &attempt.did {
        KernelAttemptResult::Checked { passed, findings } => {
            report.passed = Some(*passed);
            report.findings.clone_from(findings);
        }
        KernelAttemptResult::Timed(timed) => {
            report.device = Some(timed.device.clone());
            report.milliseconds = Some(timed.milliseconds);
            report.gigabytes_per_s = Some(timed.gigabytes_per_s);
            report.gigaflops_per_s = Some(timed.gigaflops_per_s);
        }
    }
    report
}
