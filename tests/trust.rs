//! Tests that honest work is never refused and that forged work is named. It uses generated sessions, a table of forgeries in
//! every form of a hand-in, and classes with misleading names.

mod class;
#[path = "trust/class_page.rs"]
mod class_page;
#[path = "trust/forged.rs"]
mod forged;
#[path = "trust/limits.rs"]
mod limits;
#[path = "trust/session.rs"]
mod session;

use std::fs;
use std::path::Path;
use std::process::Command;

use class::{MadeUp, course, make_up, place, walk, write_stream};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tempfile::TempDir;
use tinyllama_lesson::Course;
use tinyllama_report::class::document::LearnerRow;
use tinyllama_report::class::{merge, page, sources};
use tinyllama_report::{CollectOptions, HandInError, HandInFindings, collect, hand_in};
use tinyllama_session::{
    AnswerGiven, KernelTime, RunExit, Scope, Session, SessionEvent, SessionLocation, StepRef,
    archive, chain,
};

/// Number of generated sessions. TRUST_SESSIONS overrides it.
const SESSIONS: u64 = 100;

fn count(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |count| count.parse().unwrap())
}

/// A folder in memory if possible, because thousands of records would wait for a disk.
fn memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => TempDir::new_in(memory).unwrap(),
        false => TempDir::new().unwrap(),
    }
}

/// A session's report in the form of a hand-in.
fn document(place: &SessionLocation, anonymous: bool) -> Value {
    let report = collect(place, course(), CollectOptions { anonymous }).unwrap();
    let text = serde_json::to_string_pretty(&report).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Checks a file or a folder. A kernel passes if its text says so.
fn verify(
    file: &Path,
    against: Option<&Path>,
    course: &Course,
) -> Result<HandInFindings, HandInError> {
    let kernels = |_: &str, text: &str| match text.contains("good") {
        true => Ok(Vec::new()),
        false => Ok(vec!["two lanes write the same element".to_string()]),
    };
    hand_in::verify(file, against, Some(&kernels), course)
}

fn check(document: &Value, against: Option<&Path>) -> Result<HandInFindings, HandInError> {
    let folder = memory();
    let file = folder.path().join("session.json");
    fs::write(&file, document.to_string()).unwrap();
    verify(&file, against, course())
}

/// A generated session: steps of all kinds, orders, skipped steps, crashed and unfinished runs.
fn honest(class: &Path, seed: u64) -> SessionLocation {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let course = course();
    let name = format!("learner-{seed}");
    let place = walk(place(class, &name), course, random.random_range(1..5), seed);
    let mut session = Session::open(place.clone()).unwrap();
    for number in 0..random.random_range(0..4_u32) {
        let id = format!("9{number:05}-v2");
        let run = MadeUp {
            noise: random.random(),
            device: ["Imagined GPU", "NVIDIA H200"][random.random_range(0..2)].into(),
            with_gradient: random.random_range(1..=38),
            ..MadeUp::new("v2", random.random_range(0.5..60.0))
        };
        make_up(&mut session, &id, None, &run, random.random());
    }
    let lesson = course.lessons().next().unwrap();
    let at = StepRef::new(&lesson.id, &lesson.steps[0].id);
    for _ in 0..random.random_range(0..30) {
        let seconds = random.random_range(0.0..5.0);
        session.spend(at.clone(), seconds).unwrap();
    }
    if random.random_bool(0.3) {
        session.skip(at, "no time | \u{1b}[8m <b>").unwrap();
    }
    if random.random_bool(0.3) {
        killed(&mut session, "950000-v1", false);
    }
    if random.random_bool(0.2) {
        let command = MadeUp::new("v1", 20.0).command();
        session.start_run("960000-v1", None, "v1", command).unwrap();
    }
    place
}

/// Records a run that was killed in its first steps, with or without its stream.
fn killed(session: &mut Session, id: &str, has_stream: bool) {
    let run = MadeUp::new("v1", 20.0);
    if has_stream {
        let events = run.events(&mut ChaCha8Rng::seed_from_u64(5));
        write_stream(session, id, &events[..4]);
    }
    session.start_run(id, None, "v1", run.command()).unwrap();
    session.run_ended(id, RunExit::Signal(9)).unwrap();
}

#[test]
fn honest_sessions_are_accepted_in_every_form() {
    let folder = memory();
    let sessions = count("TRUST_SESSIONS", SESSIONS);
    for seed in 0..sessions {
        let place = honest(folder.path(), seed);
        let accepted = |what: &str, found: HandInFindings| {
            assert_eq!(found.problems, [""; 0], "seed {seed}, {what}");
            assert_eq!(
                found.consistent(),
                Some(true),
                "seed {seed}, {what}: {found:?}"
            );
        };
        accepted("folder", verify(&place.folder, None, course()).unwrap());
        let plain = document(&place, false);
        accepted("plain", check(&plain, None).unwrap());
        accepted("against", check(&plain, Some(&place.folder)).unwrap());
        let anonymous = document(&place, true);
        let found = check(&anonymous, None).unwrap();
        assert_eq!((found.consistent(), found.records), (None, 0), "{found:?}");
        accepted("anonymous", check(&anonymous, Some(&place.folder)).unwrap());
        if seed % 10 == 0 {
            let export = folder.path().join(format!("{seed}.tar.gz"));
            archive::export(&place, &export).unwrap();
            accepted("export", verify(&export, None, course()).unwrap());
            accepted("against export", check(&plain, Some(&export)).unwrap());
            fs::remove_file(export).unwrap();
            // After the report, the session continues.
            let mut session = Session::open(place.clone()).unwrap();
            let text = "later".into();
            session.record(SessionEvent::Note { text }).unwrap();
            accepted("later", check(&plain, Some(&place.folder)).unwrap());
        }
    }
    let found = sources::read(&[folder.path().to_path_buf()], course());
    assert_eq!(found.unreadable, [""; 0]);
    let class = merge(found.hand_ins, course(), vec![]);
    assert_eq!(class.learners.len() as u64, sessions);
    let refused = class
        .learners
        .iter()
        .find(|row| row.consistent != Some(true));
    assert_eq!(refused, None, "{:?}", class.warnings);
}

#[test]
fn the_copies_in_a_document_are_not_read() {
    let folder = memory();
    let place = session::full(folder.path());
    let document = document(&place, false);
    let found = check(&document, None).unwrap();
    let bare = json!({"format": 1, "chain": document["chain"]});
    assert_eq!(check(&bare, None).unwrap(), found);
    let file = folder.path().join("session.json");
    let row = |text: String| {
        fs::write(&file, text).unwrap();
        on_a_page(std::slice::from_ref(&file), course()).0
    };
    let row_of_all = row(document.to_string());
    let mut forged = document.clone();
    forged["totals"]["minutes"] = 9999.0.into();
    forged["learner"] = "eve".into();
    forged["chain"]["records"] = 3.into();
    assert_eq!(row(forged.to_string()), row_of_all);
    // Some editors put a mark before the text.
    assert_eq!(row(format!("\u{feff}{document}")), row_of_all);
}

#[test]
fn steps_of_another_course_or_program_are_not_judged_and_named() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 2, 3);
    let mut report = document(&place, false);
    let mut other = course().clone();
    other.version = "another".into();
    let file = folder.path().join("session.json");
    fs::write(&file, report.to_string()).unwrap();
    let found = verify(&file, None, &other).unwrap();
    assert_eq!((found.problems.len(), found.consistent()), (0, None));
    assert!(found.unchecked.join("").contains("--lessons"), "{found:?}");
    let (row, warnings) = on_a_page(&[file], &other);
    assert_eq!(row.consistent, None);
    assert!(warnings.contains("ada: not checked: "), "{warnings}");
    rewrite(&mut report, |_, record| {
        if let Some(version) = record.pointer_mut("/event/opened/version") {
            *version = "0.0.9".into();
        }
    });
    let found = check(&report, None).unwrap();
    assert_eq!((found.problems.len(), found.consistent()), (0, None));
    assert!(
        found.unchecked.join("").contains("version of the tutor"),
        "{found:?}"
    );
}

/// Changes records and recomputes every checksum, as a forger would.
fn rewrite(document: &mut Value, change: impl Fn(usize, &mut Value)) {
    let mut previous = chain::START.to_string();
    let lines = document["chain"]["lines"].as_array_mut().unwrap();
    for (index, line) in lines.iter_mut().enumerate() {
        let whole: Value = serde_json::from_str(line.as_str().unwrap()).unwrap();
        let mut record = whole["record"].clone();
        change(index, &mut record);
        let (text, hash) = chain::encode(&previous, &record.to_string());
        *line = text.trim_end().into();
        previous = hash;
    }
    document["chain"]["last_hash"] = previous.into();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

fn write_lines(place: &SessionLocation, lines: &Value) {
    let lines = lines.as_array().unwrap().iter();
    let lines: String = lines
        .map(|line| format!("{}\n", line.as_str().unwrap()))
        .collect();
    fs::create_dir_all(&place.folder).unwrap();
    fs::write(place.events(), lines).unwrap();
}

/// The page of a class with one learner.
fn on_a_page(paths: &[std::path::PathBuf], course: &Course) -> (LearnerRow, String) {
    let found = sources::read(paths, course);
    let class = merge(found.hand_ins, course, found.unreadable);
    let page = page(&class);
    for text in &class.learners[0].unchecked {
        assert!(page.contains(&text[..20]), "{page}");
    }
    (class.learners[0].clone(), class.warnings.join("\n"))
}

#[test]
fn without_a_user_in_the_environment_the_password_database_has_the_name() {
    let state = memory();
    let output = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args(["session", "path", "--json"])
        .env("XDG_STATE_HOME", state.path())
        .env_remove("USER")
        .env_remove("LOGNAME")
        .env_remove("TINYLLAMA_CLASS")
        .output()
        .unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let id = Command::new("id").arg("-un").output().unwrap();
    assert_eq!(value["learner"], String::from_utf8_lossy(&id.stdout).trim());
}
