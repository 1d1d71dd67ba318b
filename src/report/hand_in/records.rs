//! Finds contradictions in records that checksums cannot show: wrong order, missing conditions, impossible times.

use std::collections::BTreeSet;

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::some_of;
use tinyllama_base::{duration, plural};
use tinyllama_lesson::{Course, Quiz, QuizAnswer, Step};
use tinyllama_runs::FinishedRuns;
use tinyllama_session::earlier::StoredLog;
use tinyllama_session::{
    AnswerGiven, MeasuredRuns, Record, Scan, SessionEvent, SessionState, StepRef, is_complete,
};

/// A corrected clock may go back this far without a remark.
const CLOCK_SET: Duration = Duration::MINUTE;
/// No learner pauses a course for this long.
const LONG_BREAK: Duration = Duration::days(366);
/// No session is older than the program.
const FIRST_YEAR: i32 = 2025;
/// Largest number of records of the same kind that are named.
const MAX_SHOWN: usize = 10;

#[derive(Debug, Default)]
pub struct RecordFindings {
    /// Records that the program never writes.
    pub problems: Vec<String>,
    /// Records that a wrong clock can also explain.
    pub unusual: Vec<String>,
    /// Other courses that the records name. Without them, steps and answers cannot be judged.
    pub other_courses: BTreeSet<String>,
}

impl RecordFindings {
    /// Explains what these other courses leave unchecked.
    pub fn unchecked(&self, course: &Course) -> Option<String> {
        let others: Vec<&str> = self.other_courses.iter().map(String::as_str).collect();
        (!others.is_empty()).then(|| {
            format!(
                "Answers and steps: some were done with {}, and this is {} ({}). Name the other one with --lessons.",
                some_of(&others),
                course.title,
                course.version
            )
        })
    }
}

/// Examines all records in order, the last of `logs` first. After damage some records are missing, so only the rest is
/// judged. `runs` are the session's runs that are available.
pub fn check(logs: &[StoredLog], course: &Course, runs: &FinishedRuns) -> RecordFindings {
    let mut found = RecordFindings::default();
    for log in logs.iter().rev() {
        let of_log = check_log(&log.scan, course, runs);
        found.problems.extend(of_log.problems);
        found.unusual.extend(of_log.unusual);
        found.other_courses.extend(of_log.other_courses);
    }
    for list in [&mut found.problems, &mut found.unusual] {
        let more = list.len().saturating_sub(MAX_SHOWN);
        list.truncate(MAX_SHOWN);
        if more > 0 {
            list.push(format!("{more} more of the kind."));
        }
    }
    found
}

fn check_log(scan: &Scan, course: &Course, runs: &FinishedRuns) -> RecordFindings {
    let mut replay = Replay {
        course,
        runs,
        state: SessionState::default(),
        whole: scan.damage.is_empty(),
        n: None,
        time: None,
        attention: 0.0,
        clock_was_set: false,
        started: None,
        ordered: BTreeSet::new(),
        sealed: BTreeSet::new(),
        found: RecordFindings::default(),
    };
    for record in &scan.records {
        replay.record(record);
    }
    replay.end();
    replay.found
}

struct Replay<'a> {
    course: &'a Course,
    runs: &'a FinishedRuns,
    state: SessionState,
    /// True while no line is damaged or missing.
    whole: bool,
    n: Option<u64>,
    time: Option<OffsetDateTime>,
    /// Seconds of attention.
    attention: f64,
    clock_was_set: bool,
    started: Option<OffsetDateTime>,
    /// Runs that an instructor's order added or sealed.
    ordered: BTreeSet<String>,
    sealed: BTreeSet<String>,
    found: RecordFindings,
}

impl Replay<'_> {
    fn record(&mut self, record: &Record) {
        self.number(record);
        self.clock(record);
        self.event(record.n, &record.event);
        self.state.apply(record);
    }

    fn problem(&mut self, n: u64, what: impl std::fmt::Display) {
        self.found.problems.push(format!("Record {n}: {what}."));
    }

    fn number(&mut self, record: &Record) {
        let n = record.n;
        let begins = matches!(
            record.event,
            SessionEvent::Created { .. } | SessionEvent::Compacted { .. }
        );
        match self.n {
            None if !begins && self.whole => self.problem(n, "a session does not begin this way"),
            Some(_) if begins => self.problem(n, "a session begins only once"),
            None if matches!(record.event, SessionEvent::Compacted { previous_records, .. }
                if previous_records.checked_add(1) != Some(n)) =>
            {
                self.problem(n, "it does not follow the records that it replaces");
            }
            Some(before) if self.whole && Some(n) != before.checked_add(1) => {
                self.problem(n, format!("it follows record {before}"));
            }
            _ => {}
        }
        self.n = Some(n);
    }

    fn clock(&mut self, record: &Record) {
        let n = record.n;
        let Ok(now) = OffsetDateTime::parse(&record.time, &Rfc3339) else {
            return self.problem(n, format!("`{}` is not a time", record.time));
        };
        let mut unusual = |what: String| self.found.unusual.push(format!("Record {n}: {what}."));
        let before = self.time;
        // Only the first record of a series is reported.
        let begins = |is: &dyn Fn(OffsetDateTime) -> bool| is(now) && !before.is_some_and(is);
        let step = before.map_or(Duration::ZERO, |before| now - before);
        if step < -CLOCK_SET {
            unusual(format!(
                "the clock went back by {}",
                duration(-step.as_seconds_f64())
            ));
        }
        if step > LONG_BREAK {
            unusual(format!(
                "{} after the one before",
                duration(step.as_seconds_f64())
            ));
        }
        if begins(&|time| time.year() < FIRST_YEAR) {
            unusual(format!(
                "it dates from {}, before this program existed",
                now.year()
            ));
        }
        let tomorrow = OffsetDateTime::now_utc() + Duration::DAY;
        if begins(&|time| time > tomorrow) {
            unusual(format!("its time, {}, is in the future", record.time));
        }
        self.clock_was_set |= step < Duration::ZERO;
        self.time = Some(now);
        self.started.get_or_insert(now);
    }

    fn event(&mut self, n: u64, event: &SessionEvent) {
        let is_judged = matches!(
            event,
            SessionEvent::StepDone { .. }
                | SessionEvent::Answered { .. }
                | SessionEvent::Recalled { .. }
        );
        if is_judged && !self.is_this_course() {
            let named = |(title, version): &(String, String)| format!("{title} ({version})");
            let name = self.state.course.as_ref().map(named);
            let name = name.unwrap_or("a course that is not named".into());
            self.found.other_courses.insert(name);
        }
        let known = |run: &String| self.state.runs.contains_key(run) || self.ordered.contains(run);
        let runs = &self.state.runs;
        let is_sealed = |run: &String| {
            let seal = runs.get(run).and_then(|run| run.sha256.as_ref());
            seal.is_some() || self.sealed.contains(run)
        };
        match event {
            SessionEvent::TimeSpent { seconds, .. }
                if !(seconds.is_finite() && *seconds >= 0.0) =>
            {
                self.problem(n, format!("{seconds} seconds cannot be spent"));
            }
            SessionEvent::TimeSpent { seconds, .. } => self.attention += seconds,
            SessionEvent::RunStarted { run, .. } if known(run) => {
                self.problem(n, format!("run {run} is started a second time"));
            }
            SessionEvent::RunFinished { run, .. }
            | SessionEvent::Sealed { run, .. }
            | SessionEvent::Recorded { run, .. }
                if self.whole && !known(run) =>
            {
                self.problem(n, format!("run {run} was never started"));
            }
            SessionEvent::Sealed { run, .. } if is_sealed(run) => {
                self.problem(n, format!("run {run} is sealed a second time"));
            }
            SessionEvent::Answered { at, given } | SessionEvent::Recalled { at, given } => {
                self.answer(n, at, given)
            }
            SessionEvent::HintShown { at, hint }
                if self
                    .step(at)
                    .is_some_and(|step| *hint as usize > step.hints.len() || *hint == 0) =>
            {
                self.problem(n, format!("{at} has no hint {hint}"));
            }
            SessionEvent::StepDone { at } if self.whole => {
                let shown = self
                    .step(at)
                    .is_none_or(|step| is_complete(step, &self.state.progress(at), &self.state));
                if !shown {
                    self.problem(
                        n,
                        format!("{at} is marked as done, but no record shows that it was"),
                    );
                }
            }
            SessionEvent::Ordered { events, .. } => {
                for event in events {
                    if !event.may_be_ordered() && !event.is_of_command_line() {
                        self.problem(n, "it does what an order cannot do");
                        continue;
                    }
                    self.event(n, event);
                    match event {
                        SessionEvent::RunStarted { run, .. } => self.ordered.insert(run.clone()),
                        SessionEvent::Sealed { run, .. } => self.sealed.insert(run.clone()),
                        _ => false,
                    };
                }
            }
            _ => {}
        }
    }

    /// Returns whether the course that was open then is the one to judge by.
    fn is_this_course(&self) -> bool {
        let opened = self.state.course.as_ref();
        opened.is_some_and(|(title, version)| {
            *title == self.course.title && *version == self.course.version
        })
    }

    fn step(&self, at: &StepRef) -> Option<&Step> {
        match self.is_this_course() {
            true => self.course.step(&at.lesson, &at.step),
            false => None,
        }
    }

    fn answer(&mut self, n: u64, at: &StepRef, given: &AnswerGiven) {
        let Some(step) = self.step(at) else {
            return;
        };
        // If a command's document decides, the one at the time of the answer counts.
        let outputs = match step.looks_back().is_empty() {
            true => Ok(MeasuredRuns::default()),
            false => MeasuredRuns::read(self.course, &self.state, self.runs),
        };
        let Ok(outputs) = outputs else {
            return;
        };
        let given_as = [
            QuizAnswer::Number(given.answer),
            QuizAnswer::Choice(given.answer as usize),
        ];
        let mut marks = given_as.into_iter();
        let marked = marks.find_map(|answer| step.mark(answer, &outputs));
        let is_known = |quiz: &Quiz| quiz.resolved(&outputs).is_some();
        if marked.is_none() && !step.as_quiz().is_some_and(is_known) {
            return;
        }
        let marked = marked.map(|marked| marked.correct);
        if marked != Some(given.correct) {
            let as_what = if given.correct { "right" } else { "wrong" };
            self.problem(n, format!("the answer to {at} is not {as_what}"));
        }
    }

    fn end(&mut self) {
        let unsealed = self.state.runs.iter().filter(|(_, run)| run.is_unsealed());
        let unsealed: Vec<&str> = unsealed.map(|(id, _)| id.as_str()).collect();
        if self.whole && !unsealed.is_empty() {
            self.found.problems.push(format!(
                "{} ended well without the checksum of what was reported, which the tutor always records: {}.",
                plural(unsealed.len(), "run"),
                some_of(&unsealed)
            ));
        }
        let Some((first, last)) = self.started.zip(self.time) else {
            return;
        };
        let passed = (last - first).as_seconds_f64() + CLOCK_SET.as_seconds_f64();
        if !self.clock_was_set && self.attention > passed {
            self.found.unusual.push(format!(
                "{} of attention are recorded within {}.",
                duration(self.attention),
                duration(passed)
            ));
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
