//! Finds contradictions in records that checksums cannot show: wrong order, missing conditions, impossible times.

use std::collections::BTreeSet;

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::lesson::{Course, Quiz, QuizAnswer, Step};
use crate::report::some_of;
use crate::run::FinishedRuns;
use crate::session::earlier::StoredLog;
use crate::session::{
    AnswerGiven, MeasuredRuns, Record, Scan, SessionEvent, SessionState, StepRef, is_complete,
};
use tinyllama_base::{duration, plural};

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
        let outputs = match step.behavior().looks_back().is_empty() {
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
        let marked = marks.find_map(|answer| step.behavior().mark(answer, &outputs));
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
pub(super) mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::session::chain;
    use crate::tui::tests::script::test_course;

    pub const NOON: &str = "2026-01-01T12:00:00Z";

    pub fn created() -> Value {
        json!({"created": {"format": 1, "version": "0", "learner": "ada", "host": "vm"}})
    }

    fn opened(title: &str, version: &str) -> Value {
        json!({"opened": {"version": "0", "host": "vm", "pid": 1, "course": title, "course_version": version}})
    }

    /// A chain of records: number, time and event of each. A line of another kind stands before them if `damaged`.
    pub fn log(damaged: bool, records: &[(u64, &str, Value)]) -> StoredLog {
        let mut bytes = String::from(if damaged { "damaged\n" } else { "" });
        let mut previous = chain::START.to_string();
        for (n, time, event) in records {
            let record = json!({"n": n, "time": time, "event": event});
            let (line, hash) = chain::encode(&previous, &record.to_string());
            bytes.push_str(&line);
            previous = hash;
        }
        let log = StoredLog::parse(bytes.into(), Path::new("a log")).unwrap();
        assert_eq!(log.scan.records.len(), records.len());
        log
    }

    fn found(log: StoredLog) -> RecordFindings {
        check(&[log], &test_course(), &FinishedRuns::default())
    }

    fn lines(found: RecordFindings) -> String {
        let remarks = found.unusual.into_iter().map(|text| format!("({text})"));
        let lines: Vec<String> = found.problems.into_iter().chain(remarks).collect();
        lines.join("\n")
    }

    /// What is found in a session of the tests' course that goes on with these events, at noon.
    fn after_opening(damaged: bool, events: &[Value]) -> String {
        let course = test_course();
        let begun = [created(), opened(&course.title, &course.version)];
        let events = begun.into_iter().chain(events.iter().cloned());
        let records: Vec<_> = (1..)
            .zip(events)
            .map(|(n, event)| (n, NOON, event))
            .collect();
        lines(found(log(damaged, &records)))
    }

    /// What is found in a session with a record at each of these times. It begins with the first, and has `seconds` of attention.
    fn at_times(seconds: f64, times: &[&str]) -> String {
        let spent = |seconds: f64| json!({"time_spent": {"at": {"lesson": "first", "step": "text"}, "seconds": seconds}});
        let events = [created(), spent(seconds)].into_iter();
        let events = events.chain(std::iter::repeat(spent(0.0)));
        let records = (1..).zip(times).zip(events);
        let records: Vec<_> = records
            .map(|((n, time), event)| (n, *time, event))
            .collect();
        lines(found(log(false, &records)))
    }

    #[test]
    fn times_that_a_clock_may_show_are_not_remarked() {
        let hours = |hours| {
            let time = OffsetDateTime::now_utc() + Duration::hours(hours);
            time.format(&Rfc3339).unwrap()
        };
        let (soon, later) = (hours(23), hours(25));
        for times in [
            [NOON, "2026-01-01T11:59:00Z"],
            ["2025-01-01T12:00:00Z", "2026-01-02T12:00:00Z"],
            ["2025-01-01T00:00:00Z", NOON],
            [&hours(0), &soon],
        ] {
            assert_eq!(at_times(0.0, &times), "", "{times:?}");
        }
        let found = [
            at_times(0.0, &[NOON, "2026-01-01T11:58:59Z"]),
            at_times(0.0, &["2025-01-01T12:00:00Z", "2026-01-02T12:00:01Z"]),
            at_times(0.0, &["2024-12-31T23:59:59Z", "2024-12-31T23:59:59Z", NOON]),
            at_times(0.0, &[&soon, &later, &later]).replace(&later, "(later)"),
            at_times(0.0, &["noon"]),
        ];
        insta::assert_snapshot!(found.join("\n"));
    }

    #[test]
    fn attention_is_no_longer_than_the_session_unless_the_clock_was_set() {
        let (back, later) = ("2026-01-01T11:59:59Z", "2026-01-01T12:02:00Z");
        for (seconds, times) in [
            (180.0, &[NOON, later][..]),
            (181.0, &[NOON, back, later]),
            (1e6, &["2026-01-01T10:00:00Z", NOON, back, later, later]),
        ] {
            assert_eq!(at_times(seconds, times), "", "{times:?}");
        }
        let found = [
            at_times(181.0, &[NOON, later]),
            at_times(6000.0, &[NOON, NOON]),
        ];
        insta::assert_snapshot!(found.join("\n"));
    }

    #[test]
    fn a_log_begins_once_and_counts_on() {
        let compacted = |records: u64| {
            let state = json!({});
            json!({"compacted": {"format": 1, "version": "0", "previous_hash": "ab", "previous_records": records, "state": state}})
        };
        let note = || json!({"note": {"text": ""}});
        let of = |damaged, records: &[(u64, Value)]| {
            let records = records.iter().cloned().map(|(n, event)| (n, NOON, event));
            lines(found(log(damaged, &records.collect::<Vec<_>>())))
        };
        for (damaged, records) in [
            (false, vec![(1, created()), (2, note()), (3, note())]),
            (false, vec![(9, compacted(8)), (10, note())]),
            (true, vec![(5, note()), (9, note())]),
        ] {
            assert_eq!(of(damaged, &records), "", "{records:?}");
        }
        let found = [
            of(false, &[(1, note())]),
            of(false, &[(1, created()), (3, note())]),
            of(false, &[(1, created()), (2, created())]),
            of(false, &[(9, compacted(9))]),
            of(false, &[(9, compacted(u64::MAX))]),
            of(true, &[(9, compacted(9)), (10, created())]),
        ];
        insta::assert_snapshot!(found.join("\n"));
    }

    #[test]
    fn a_run_is_started_once_and_sealed_once() {
        let started = |run: &str| json!({"run_started": {"run": run, "at": null, "target": "v1", "command": [], "host": ""}});
        let finished = |run: &str, status: i32| json!({"run_finished": {"run": run, "exit": {"status": status}, "values": {}}});
        let sealed = |run: &str| json!({"sealed": {"run": run, "sha256": "ab"}});
        let recorded = |run: &str| json!({"recorded": {"run": run, "machine": "vm"}});
        let order = |events: &[Value]| json!({"ordered": {"order": "1", "events": events}});
        for events in [
            vec![started("a"), recorded("a"), finished("a", 0), sealed("a")],
            vec![order(&[started("a"), finished("a", 0), sealed("a")])],
            vec![started("a"), finished("a", 1), started("b")],
        ] {
            assert_eq!(after_opening(false, &events), "", "{events:?}");
        }
        // After damage, the records that are missing may have been the ones that are needed.
        let unknown = [finished("a", 0), sealed("a"), recorded("a")];
        let unsealed = [started("a"), finished("a", 0)];
        assert_eq!(after_opening(true, &unknown), "");
        assert_eq!(after_opening(true, &unsealed), "");
        let found = [
            after_opening(false, &unknown),
            after_opening(false, &unsealed),
            after_opening(true, &[started("a"), started("a")]),
            after_opening(true, &[started("a"), sealed("a"), sealed("a")]),
            after_opening(true, &[order(&[started("a")]), started("a")]),
            after_opening(true, &[order(&[recorded("a"), created()])]),
            after_opening(true, &[order(&[started("a"), started("a")])]),
            after_opening(true, &[order(&[started("a"), sealed("a"), sealed("a")])]),
        ];
        insta::assert_snapshot!(found.join("\n"));
    }

    #[test]
    fn steps_and_answers_are_judged_by_the_course() {
        let at = |step: &str| json!({"lesson": "first", "step": step});
        let given = |kind: &str, step: &str, answer: f64, correct: bool| json!({kind: {"at": at(step), "answer": answer, "correct": correct}});
        let hint = |hint: u32| json!({"hint_shown": {"at": at("baseline"), "hint": hint}});
        let done = |step: &str| json!({"step_done": {"at": at(step)}});
        let spent = |seconds: f64| json!({"time_spent": {"at": at("text"), "seconds": seconds}});
        let wrote = json!({"reflected": {"at": at("thoughts"), "text": "A lot."}});
        let tried = json!({"kernel_checked": {"at": null, "exercise": "rmsnorm", "passed": true, "findings": [], "sha256": "ab"}});
        let events = [
            given("answered", "question", 1.0, true),
            given("answered", "question", 0.0, false),
            given("recalled", "number", 6.0, true),
            // These steps ask nothing, or are none of this course.
            given("answered", "text", 1.0, true),
            given("answered", "missing", 1.0, true),
            hint(1),
            hint(2),
            wrote.clone(),
            done("thoughts"),
            spent(0.0),
            json!({"ordered": {"order": "1", "events": [tried]}}),
        ];
        assert_eq!(after_opening(false, &events), "");
        assert_eq!(after_opening(true, &[done("thoughts")]), "");
        let found = [
            given("answered", "question", 0.0, true),
            given("answered", "question", 1.0, false),
            given("answered", "question", 7.0, true),
            given("recalled", "number", 5.0, true),
            hint(0),
            hint(3),
            done("thoughts"),
            spent(-1.0),
            json!({"ordered": {"order": "1", "events": [given("answered", "question", 0.0, true), spent(1.0)]}}),
        ];
        insta::assert_snapshot!(after_opening(false, &found));
    }

    #[test]
    fn steps_of_another_course_are_not_judged() {
        let course = test_course();
        let answered = json!({"answered": {"at": {"lesson": "first", "step": "question"}, "answer": 0.0, "correct": true}});
        let in_course = |opened: Option<Value>, event: Value| {
            let events = [created()].into_iter().chain(opened).chain([event]);
            let records: Vec<_> = (1..)
                .zip(events)
                .map(|(n, event)| (n, NOON, event))
                .collect();
            let found = found(log(false, &records));
            (found.problems.len(), found.unchecked(&course))
        };
        let this = opened(&course.title, &course.version);
        assert_eq!(in_course(Some(this), answered.clone()), (1, None));
        let note = json!({"note": {"text": ""}});
        assert_eq!(in_course(None, note), (0, None));
        let others = [
            Some(opened(&course.title, "0.9")),
            Some(opened("Another", &course.version)),
            None,
        ];
        let named = others.map(|opened| {
            let (problems, unchecked) = in_course(opened, answered.clone());
            assert_eq!(problems, 0);
            unchecked.unwrap()
        });
        insta::assert_snapshot!(named.join("\n"));
    }

    #[test]
    fn ten_of_a_kind_are_named() {
        let created = |_| (1, NOON, created());
        let of = |count: usize| {
            let records: Vec<_> = (0..=count).map(created).collect();
            found(log(false, &records)).problems
        };
        assert_eq!(of(10).len(), 10);
        assert_eq!(of(12).last().unwrap(), "2 more of the kind.");
    }
}
