//! Tests the session store with everything that can happen to a file.

#[path = "session_store/archives.rs"]
mod archives;
#[path = "common/small_disk.rs"]
mod small_disk;
#[path = "session_store/space.rs"]
mod space;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use small_disk::SmallDisk;
use tempfile::TempDir;
use tinyllama_lesson::Verdict;
use tinyllama_session::{
    AnswerGiven, InstructorOrder, OrderAction, RunExit, Scope, Session, SessionError, SessionEvent,
    SessionLocation, SessionState, StepRef, StepStatus, archive, inbox, scan, store,
};

const REFLECTION: &str = "Ümläut\nand a second line";

fn place(folder: &Path) -> SessionLocation {
    SessionLocation::new(folder, "ada")
}

fn note(text: impl ToString) -> SessionEvent {
    SessionEvent::Note {
        text: text.to_string(),
    }
}

/// A session with one event of every kind that a learner causes.
fn busy(folder: &Path) -> SessionLocation {
    let place = place(folder);
    let mut session = Session::open(place.clone()).unwrap();
    let at = StepRef::new("baseline", "run");
    session.record_opening("Course", "1").unwrap();
    let run = "0001-v1";
    fs::create_dir(place.runs().join(run)).unwrap();
    session
        .start_run(run, Some(at.clone()), "v1", vec!["run".into(), "v1".into()])
        .unwrap();
    let values = BTreeMap::from([
        ("final_loss".to_string(), 6.5),
        ("peak_bytes_in_use".to_string(), f64::NAN),
    ]);
    session.finish_run(run, RunExit::Status(0), values).unwrap();
    for event in [
        SessionEvent::StepEntered { at: at.clone() },
        SessionEvent::TimeSpent {
            at: at.clone(),
            seconds: 90.5,
        },
        SessionEvent::Predicted {
            at: at.clone(),
            value: 20.0,
        },
        SessionEvent::Checked {
            at: at.clone(),
            check: "learns".into(),
            verdict: Verdict::Passed,
            value: Some(0.9),
        },
        SessionEvent::Answered {
            at: StepRef::new("baseline", "quiz"),
            given: AnswerGiven {
                answer: 1.0,
                correct: false,
            },
        },
        SessionEvent::HintShown {
            at: at.clone(),
            hint: 2,
        },
        SessionEvent::Reflected {
            at: at.clone(),
            text: REFLECTION.into(),
        },
        SessionEvent::StepSkipped {
            at: StepRef::new("other", "quiz"),
            note: "no GPU".into(),
        },
        SessionEvent::Unlocked {
            lesson: "late".into(),
            others: Vec::new(),
            by: "teacher".into(),
        },
        SessionEvent::Message {
            from: "teacher".into(),
            text: "Well done.".into(),
        },
        SessionEvent::StepDone { at },
    ] {
        session.record(event).unwrap();
    }
    place
}

#[test]
fn a_session_reopens_as_it_was_left() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let session = Session::open(place.clone()).unwrap();
    let state = session.state();
    assert_eq!(session.damage, []);
    let step = state.step("baseline", "run").unwrap();
    assert_eq!(
        (
            step.status.clone(),
            step.seconds,
            step.hints.len(),
            step.attempts
        ),
        (StepStatus::Done, 90.5, 1, 1)
    );
    assert_eq!(step.reflection.as_deref(), Some(REFLECTION));
    assert_eq!(state.runs["0001-v1"].exit, Some(RunExit::Status(0)));
    // The peak was not a number, so it is absent and not zero.
    assert_eq!(
        state.runs["0001-v1"].values,
        BTreeMap::from([("final_loss".to_string(), 6.5)])
    );
    assert_eq!(state.position, Some(StepRef::new("baseline", "run")));
    let cache: SessionState = serde_json::from_slice(&fs::read(place.state()).unwrap()).unwrap();
    assert_eq!(cache, *state);
}

#[test]
fn cutting_the_file_at_every_byte_of_the_last_record_loses_only_that_record() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let whole = fs::read(place.events()).unwrap();
    let last = whole[..whole.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    let before = SessionState::from_records(&scan(&place.events()).unwrap().records);
    for cut in last..=whole.len() {
        fs::write(place.events(), &whole[..cut]).unwrap();
        let mut session = Session::open(place.clone()).unwrap();
        assert_eq!(session.damage, [], "cut at {cut}");
        let done = session.state().step("baseline", "run").unwrap().status == StepStatus::Done;
        // A record without its newline is still complete.
        assert_eq!(done, cut >= whole.len() - 1, "cut at {cut}");
        assert_eq!(
            session.state().step("baseline", "run").unwrap().seconds,
            90.5
        );
        assert_eq!(
            session.state().notes.len(),
            usize::from(cut != last && cut != whole.len()),
            "cut at {cut}"
        );
        session.record(note("after")).unwrap();
        drop(session);
        let mended = scan(&place.events()).unwrap();
        assert_eq!(
            (mended.damage.len(), mended.torn_bytes),
            (0, 0),
            "cut at {cut}"
        );
        assert!(
            mended.records.len() as u64 >= before.records,
            "cut at {cut}"
        );
    }
}

#[test]
fn damage_in_the_middle_is_reported_with_its_line_and_everything_else_is_kept() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let whole = fs::read(place.events()).unwrap();
    let records = scan(&place.events()).unwrap().records;
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for damaged in 0..lines.len() {
        let mut bytes = whole.clone();
        let start: usize = lines[..damaged].iter().map(|line| line.len()).sum();
        bytes[start + lines[damaged].len() / 2] ^= 0x10;
        fs::write(place.events(), &bytes).unwrap();
        let found = scan(&place.events()).unwrap();
        assert_eq!(
            found
                .damage
                .iter()
                .map(|damage| damage.line)
                .collect::<Vec<_>>(),
            [damaged + 1]
        );
        let kept: Vec<_> = records
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != damaged)
            .map(|(_, record)| record.clone())
            .collect();
        assert_eq!(found.records, kept, "line {}", damaged + 1);

        let mut session = Session::open(place.clone()).unwrap();
        assert_eq!(session.damage.len(), 1);
        session.record(note("goes on")).unwrap();
    }
}

#[test]
fn a_removed_or_swapped_line_breaks_the_chain() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let text = fs::read_to_string(place.events()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let without: Vec<&str> = [&lines[..4], &lines[5..]].concat();
    fs::write(place.events(), without.join("\n") + "\n").unwrap();
    assert_eq!(scan(&place.events()).unwrap().damage[0].line, 5);
    let mut swapped = lines.clone();
    swapped.swap(4, 5);
    fs::write(place.events(), swapped.join("\n") + "\n").unwrap();
    assert!(!scan(&place.events()).unwrap().damage.is_empty());
}

#[test]
fn a_second_tutor_is_refused_and_readers_are_not() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let open = Session::open(place.clone()).unwrap();
    let refused = Session::open(place.clone()).map(|_| ()).unwrap_err();
    assert!(
        matches!(&refused, SessionError::Held { holder } if holder.pid == std::process::id()),
        "{refused}"
    );
    assert_eq!(store::read_only(&place).unwrap().0, *open.state());
}

#[test]
fn an_unreadable_record_is_refused_and_does_not_block_later_ones() {
    let folder = TempDir::new().unwrap();
    let mut session = Session::open(place(folder.path())).unwrap();
    let at = StepRef::new("a", "b");
    for value in [f64::NAN, f64::INFINITY] {
        let refused = session
            .record(SessionEvent::Predicted {
                at: at.clone(),
                value,
            })
            .unwrap_err();
        assert!(
            matches!(refused, SessionError::NotRecordable(_)),
            "{refused}"
        );
    }
    session
        .record(SessionEvent::Predicted { at, value: 3.0 })
        .unwrap();
    assert_eq!(session.unsaved(), 0);
    assert_eq!(
        session.state().step("a", "b").unwrap().prediction,
        Some(3.0)
    );
}

/// Appends raw records with correct checksums.
fn append(place: &SessionLocation, records: &[&str]) {
    let mut last = scan(&place.events()).unwrap().last_hash;
    let mut text = fs::read_to_string(place.events()).unwrap();
    for record in records {
        let (line, hash) = tinyllama_session::chain::encode(&last, record);
        text.push_str(&line);
        last = hash;
    }
    fs::write(place.events(), text).unwrap();
}

#[test]
fn events_of_a_newer_program_are_kept_and_counted() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    append(
        &place,
        &[r#"{"n":99,"time":"2026-01-01T00:00:00Z","event":{"teleported":{"to":"mars"}}}"#],
    );
    let mut session = Session::open(place.clone()).unwrap();
    assert_eq!(
        (session.damage.len(), session.state().unknown_events),
        (0, 1)
    );
    session.record(note("after")).unwrap();
    assert_eq!(session.state().records, 100);
    assert!(fs::read_to_string(place.events()).unwrap().contains("mars"));
}

#[test]
fn a_log_of_a_newer_format_is_refused_untouched() {
    let folder = TempDir::new().unwrap();
    let place = place(folder.path());
    fs::create_dir_all(&place.folder).unwrap();
    fs::write(place.events(), "").unwrap();
    append(
        &place,
        &[
            r#"{"n":1,"time":"2026-01-01T00:00:00Z","event":{"created":{"format":9,"version":"9","learner":"ada","host":"h"}}}"#,
        ],
    );
    let before = fs::read(place.events()).unwrap();
    let refused = Session::open(place.clone()).map(|_| ()).unwrap_err();
    assert!(
        matches!(refused, SessionError::NewerFormat { found: 9, .. }),
        "{refused}"
    );
    assert_eq!(fs::read(place.events()).unwrap(), before);
}

#[test]
fn a_clock_that_goes_back_changes_neither_order_nor_minutes() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    append(
        &place,
        &[
            r#"{"n":50,"time":"2020-01-01T00:00:00Z","event":{"time_spent":{"at":{"lesson":"baseline","step":"run"},"seconds":9.5}}}"#,
            r#"{"n":51,"time":"2019-01-01T00:00:00Z","event":{"time_spent":{"at":{"lesson":"baseline","step":"run"},"seconds":-500.0}}}"#,
            r#"{"n":52,"time":"2018-01-01T00:00:00Z","event":{"step_entered":{"at":{"lesson":"baseline","step":"later"}}}}"#,
        ],
    );
    let session = Session::open(place).unwrap();
    assert_eq!(
        session.state().step("baseline", "run").unwrap().seconds,
        100.0
    );
    assert_eq!(session.state().position.as_ref().unwrap().step, "later");
}

fn order(session: &mut Session, action: OrderAction) -> Result<(), SessionError> {
    let order = InstructorOrder::new("teacher", action);
    session.apply_order(&inbox::new_name(), &order).map(drop)
}

fn reset(session: &mut Session, scope: Scope, files: &[String]) -> Result<(), SessionError> {
    let workbench = files.to_vec();
    order(session, OrderAction::Reset { scope, workbench })
}

fn restore(session: &mut Session, backup: &str) -> Result<(), SessionError> {
    let backup = backup.to_string();
    order(session, OrderAction::Restore { backup })
}

#[test]
fn a_reset_takes_back_its_scope_and_restore_undoes_it() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let mut session = Session::open(place.clone()).unwrap();
    let before = session.state().lessons.clone();
    fs::write(place.workbench().join("rmsnorm.rs"), "mine").unwrap();
    let files = ["rmsnorm.rs".to_string(), "untouched.rs".to_string()];
    let scope = Scope::Lessons(vec!["baseline".into()]);
    reset(&mut session, scope, &files).unwrap();
    assert_eq!(
        session.state().lessons.keys().collect::<Vec<_>>(),
        ["other"]
    );
    assert!(!place.workbench().join("rmsnorm.rs").exists());

    drop(session);
    let mut session = Session::open(place.clone()).unwrap();
    fs::write(place.workbench().join("rmsnorm.rs"), "written since").unwrap();
    restore(&mut session, "reset-1").unwrap();
    assert_eq!(session.state().lessons, before);
    assert_eq!(
        fs::read_to_string(place.workbench().join("rmsnorm.rs")).unwrap(),
        "mine"
    );
    let replaced = place.backups().join("reset-1").join("replaced/rmsnorm.rs");
    assert_eq!(fs::read_to_string(replaced).unwrap(), "written since");
    assert!(matches!(
        restore(&mut session, "reset-1"),
        Err(SessionError::AlreadyRestored(_))
    ));
    assert!(matches!(
        restore(&mut session, "reset-9"),
        Err(SessionError::NoBackup(_))
    ));
}

#[test]
fn resetting_one_step_leaves_the_others_and_no_file_outside_can_be_named() {
    let folder = TempDir::new().unwrap();
    let mut session = Session::open(busy(folder.path())).unwrap();
    let scope = Scope::Step(StepRef::new("baseline", "quiz"));
    reset(&mut session, scope, &[]).unwrap();
    assert!(session.state().step("baseline", "quiz").is_none());
    assert!(session.state().step("baseline", "run").is_some());
    let files = ["../../victim".to_string()];
    let outside = reset(&mut session, Scope::All, &files).unwrap_err();
    assert!(matches!(outside, SessionError::Name { .. }), "{outside}");
    assert!(session.state().step("baseline", "run").is_some());
}

#[test]
fn a_record_that_makes_the_log_unreadable_is_refused_and_never_counts() {
    let folder = TempDir::new().unwrap();
    let place = busy(folder.path());
    let mut session = Session::open(place.clone()).unwrap();
    let before = session.state().clone();
    let error = session.record(note("y".repeat(65 << 20))).unwrap_err();
    assert!(matches!(error, SessionError::TooLarge { .. }), "{error}");
    assert_eq!((session.state(), session.unsaved()), (&before, 0));
    session.record(note("after")).unwrap();
    drop(session);
    let session = Session::open(place).unwrap();
    assert_eq!(session.state().notes.last().unwrap(), "after");
}

/// Not a separate test, but the child process that other tests kill or that runs out of space. It prints every
/// confirmed number.
#[test]
fn child_process() {
    let Some(folder) = env::var_os("SESSION_TEST_FOLDER") else {
        return;
    };
    let mut session = Session::open(place(Path::new(&folder))).unwrap();
    let first: u64 = env::var("SESSION_TEST_FIRST").unwrap().parse().unwrap();
    println!("opened");
    for number in first..first + 100_000 {
        match session.record(note(number)) {
            Ok(()) => println!("ack {number}"),
            Err(error) => {
                println!("failed {} {}", session.unsaved(), error.remedy());
                break;
            }
        }
    }
    lift_size_limit();
    session.record(note("room again")).unwrap();
    println!("ack room again");
}

/// Removes the limit that `ulimit -S -f` set, as if space had been freed.
fn lift_size_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: both calls only use the given structure, which outlives them.
    let lifted = unsafe {
        libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_FSIZE, &limit)
    };
    assert_eq!(lifted, 0);
}

fn child(folder: &Path, first: u64) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([
        "--exact",
        "child_process",
        "--nocapture",
        "--test-threads=1",
    ]);
    command
        .env("SESSION_TEST_FOLDER", folder)
        .env("SESSION_TEST_FIRST", first.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn acknowledged(output: &str) -> Vec<String> {
    output
        .lines()
        .filter_map(|line| line.split("ack ").nth(1))
        .map(str::to_string)
        .collect()
}

#[test]
fn killing_the_tutor_at_random_moments_loses_no_acknowledged_event() {
    let kills: u64 = env::var("TINYLLAMA_KILLS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(60);
    let folder = TempDir::new().unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut promised = Vec::new();
    for kill in 0..kills {
        let mut process = child(folder.path(), kill * 1_000_000).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains("opened") {
            assert!(
                output.read_line(&mut text).unwrap() > 0,
                "the child ended early: {text}"
            );
        }
        std::thread::sleep(Duration::from_micros(random.random_range(0..20_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        output.read_to_string(&mut text).unwrap();
        // The kill may have cut the last line.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        promised.extend(acknowledged(whole));
    }
    assert!(
        promised.len() as u64 > kills,
        "only {} events were acknowledged",
        promised.len()
    );
    let session = Session::open(place(folder.path())).unwrap();
    assert_eq!(session.damage, []);
    let kept: std::collections::HashSet<&str> =
        session.state().notes.iter().map(String::as_str).collect();
    let missing: Vec<_> = promised
        .iter()
        .filter(|number| !kept.contains(number.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "{} of {} acknowledged events are gone: {missing:?}",
        missing.len(),
        promised.len()
    );
}
