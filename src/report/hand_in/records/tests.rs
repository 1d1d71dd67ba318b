//! Checks of records, on logs in memory.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_session::chain;

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

fn test_course() -> Course {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/course");
    Course::load(&CourseSource::Folder(folder)).expect("the tests' course is sound")
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
