//! Tests an instructor and learners in one class folder: orders, permissions, and processes killed at any moment.

#[path = "instructor/accounts.rs"]
mod accounts;
mod class;
#[path = "instructor/orders.rs"]
mod orders;
#[path = "instructor/rights.rs"]
mod rights;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use class::{course, place, walk};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tempfile::TempDir;
use tinyllama_lesson::Verdict;
use tinyllama_session::class_file::{self, ClassSettings};
use tinyllama_session::progress::next;
use tinyllama_session::{
    AnswerGiven, InstructorOrder, OrderAction, OutsideChange, Scope, Session, SessionError,
    SessionEvent, SessionLocation, SessionState, StepRef, inbox, scan,
};
use tinyllama_tutor_core::instructor::{Class, Delivery, Sign, deliver, views};

fn order(action: OrderAction) -> InstructorOrder {
    InstructorOrder::new("Teacher", action)
}

fn message(text: impl ToString) -> InstructorOrder {
    order(OrderAction::Message {
        text: text.to_string(),
    })
}

fn reset_lesson(lesson: &str, workbench: &[&str]) -> InstructorOrder {
    order(OrderAction::Reset {
        scope: Scope::Lessons(vec![lesson.into()]),
        workbench: workbench.iter().map(|file| file.to_string()).collect(),
    })
}

#[test]
fn a_class_can_be_pinned_and_set_free() {
    let folder = TempDir::new().unwrap();
    let course = course();
    let place = walk(place(folder.path(), "ada"), course, 1, 1);
    let mut session = Session::open(place).unwrap();
    let pin = |lesson: Option<&str>| {
        let pin = ClassSettings {
            lesson: lesson.map(str::to_string),
            by: "Teacher".into(),
            ..ClassSettings::default()
        };
        class_file::write(folder.path(), &pin).unwrap();
    };
    pin(Some("memory"));
    assert!(matches!(
        &session.poll_notices().unwrap()[..],
        [OutsideChange::Done(SessionEvent::Pinned {
            lesson: Some(_),
            ..
        })]
    ));
    assert_eq!(next(course, session.state()).unwrap().lesson, "memory");
    assert_eq!(session.poll_notices().unwrap(), []);
    pin(None);
    assert_eq!(session.poll_notices().unwrap().len(), 1);
    assert_eq!(
        next(course, session.state()).unwrap().lesson,
        "first-baseline"
    );
    fs::write(folder.path().join(".class.json"), "damaged").unwrap();
    assert_eq!(session.poll_notices().unwrap(), []);
}

#[test]
fn the_instructor_sees_who_is_stuck() {
    let folder = TempDir::new().unwrap();
    let course = course();
    walk(place(folder.path(), "ada"), course, 2, 1);
    let eve = walk(place(folder.path(), "eve"), course, 1, 2);
    let mut session = Session::open(eve).unwrap();
    let lesson = course.lesson("first-baseline").unwrap();
    let step = lesson.step("baseline").unwrap();
    let at = StepRef::new("first-baseline", "baseline");
    session.enter(lesson, step).unwrap();
    for _ in 0..3 {
        let missed = SessionEvent::Checked {
            at: at.clone(),
            check: "learns".into(),
            verdict: Verdict::NotYet,
            value: Some(1.0),
        };
        session.record(missed).unwrap();
    }
    session
        .record_all(vec![
            SessionEvent::HintShown {
                at: at.clone(),
                hint: 1,
            },
            SessionEvent::HintShown {
                at: at.clone(),
                hint: 2,
            },
            SessionEvent::TimeSpent {
                at,
                seconds: 3600.0,
            },
        ])
        .unwrap();
    symlink("/", folder.path().join("link")).unwrap();
    fs::create_dir(folder.path().join(".hidden")).unwrap();
    let mut class = Class::open(folder.path()).unwrap();
    let seen = views(&mut class, course).unwrap();
    let names: Vec<&str> = seen.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(names, ["eve", "ada"], "those who need help come first");
    assert!(
        seen[0].signs.contains(&Sign::ChecksMissed { times: 3 }),
        "{:?}",
        seen[0].signs
    );
    assert!(seen[0].signs.contains(&Sign::AllHintsUsed { hints: 2 }));
    assert!(
        seen[0]
            .signs
            .iter()
            .any(|sign| matches!(sign, Sign::Slow { .. }))
    );
    assert!(seen[0].open_in.is_some() && seen[1].open_in.is_none());
    assert_eq!(seen[1].signs, []);
    let position = seen[0].position.as_ref().unwrap();
    let number = lesson.steps.iter().position(|other| other.id == step.id);
    assert_eq!(
        (position.number, position.of),
        (number.map(|n| n + 1), lesson.steps.len())
    );
    assert!(
        class.place("../ada").is_err()
            && class.place("link").is_err()
            && class.place("nobody").is_err()
    );
}

/// Not a separate test, but the child process of other tests: a tutor or an instructor that can be killed, or that
/// runs as another user.
#[test]
fn child_process() {
    let Some(folder) = env::var_os("INSTRUCTOR_TEST_CLASS") else {
        return;
    };
    let learner = env::var("INSTRUCTOR_TEST_LEARNER").unwrap();
    let place = place(Path::new(&folder), &learner);
    let first: u64 = env::var("INSTRUCTOR_TEST_FIRST").map_or(0, |text| text.parse().unwrap());
    match env::var("INSTRUCTOR_TEST_ROLE").unwrap().as_str() {
        "tutor" => tutor_loop(place, first),
        "instructor" => instructor_loop(&place, first),
        "open" => println!(
            "{}",
            match Session::open(place) {
                Ok(mut session) =>
                    format!("opened, {} notices", session.poll_notices().unwrap().len()),
                Err(error) => format!("refused: {error:?}"),
            }
        ),
        "send" => println!("{:?}", deliver(&place, &message("hello"))),
        "look" => println!("{:?}", scan(&place.events()).map(|scan| scan.records.len())),
        "squat" => fs::create_dir(&place.folder).unwrap(),
        role => panic!("no role {role}"),
    }
}

fn tutor_loop(place: SessionLocation, first: u64) {
    let mut session = loop {
        match Session::open(place.clone()) {
            Ok(session) => break session,
            Err(SessionError::Held { .. }) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => panic!("{error}"),
        }
    };
    println!("opened");
    for number in first..first + 100_000 {
        session
            .record(SessionEvent::Note {
                text: number.to_string(),
            })
            .unwrap();
        println!("ack {number}");
        session.poll_notices().unwrap();
    }
}

fn instructor_loop(place: &SessionLocation, first: u64) {
    println!("opened");
    for number in first..first + 100_000 {
        let order = match number % 5 {
            0 => reset_lesson("welcome", &[]),
            _ => message(number),
        };
        deliver(place, &order).unwrap();
        println!("ack {number}");
    }
}

fn child(class: &Path, learner: &str, role: &str, first: u64) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "child_process",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("INSTRUCTOR_TEST_CLASS", class)
        .env("INSTRUCTOR_TEST_LEARNER", learner)
        .env("INSTRUCTOR_TEST_ROLE", role)
        .env("INSTRUCTOR_TEST_FIRST", first.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Waits until a child has opened its session, and returns its output so far.
fn until_opened(child: &mut Child) -> String {
    let mut said = Vec::new();
    let output = child.stdout.as_mut().unwrap();
    let mut byte = [0];
    while !said.ends_with(b"opened\n") {
        assert_eq!(output.read(&mut byte).unwrap(), 1, "the child ended early");
        said.extend(byte);
    }
    String::from_utf8(said).unwrap()
}

/// The actions that a child confirmed before it was killed.
fn acknowledged(mut child: Child, mut text: String) -> Vec<u64> {
    child.kill().unwrap();
    child.wait().unwrap();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    // The kill may have cut the last line.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole
        .lines()
        .filter_map(|line| line.split("ack ").nth(1)?.parse().ok())
        .collect()
}

/// Kills both at random moments and in varying order. TINYLLAMA_KILLS sets the number of kills.
#[test]
fn killing_tutor_and_instructor_at_random_moments_loses_nothing_that_was_promised() {
    /// Kills per session, because a growing log would slow down the rest.
    const OF_ONE_SESSION: u64 = 40;
    let kills: u64 = env::var("TINYLLAMA_KILLS").map_or(60, |text| text.parse().unwrap());
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let (mut notes, mut orders) = (0, 0);
    let mut left = kills;
    while left > 0 {
        let now = left.min(OF_ONE_SESSION);
        let promised = kill_on_one_session(now / 2, &mut random);
        notes += promised.0;
        orders += promised.1;
        left -= now;
    }
    println!("{kills} kills: {notes} notes and {orders} orders promised, all there");
    assert!(notes > 0 && orders > 0);
}

/// Kills a tutor and an instructor in each round and checks that no confirmed action is lost. Returns the numbers of
/// confirmed actions.
fn kill_on_one_session(rounds: u64, random: &mut ChaCha8Rng) -> (usize, usize) {
    let folder = TempDir::new().unwrap();
    let place = place(folder.path(), "ada");
    drop(Session::open(place.clone()).unwrap());
    let (mut notes, mut orders) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let start = |role| {
            child(folder.path(), "ada", role, round * 1_000_000)
                .spawn()
                .unwrap()
        };
        let (mut tutor, mut instructor) = (start("tutor"), start("instructor"));
        // In about half of the rounds the tutor may also be killed while it opens.
        let mut by_tutor = String::new();
        if random.random_bool(0.5) {
            by_tutor = until_opened(&mut tutor);
        }
        let by_instructor = until_opened(&mut instructor);
        std::thread::sleep(Duration::from_micros(random.random_range(0..25_000)));
        let tutor_first = random.random_bool(0.5);
        let first = if tutor_first {
            &mut tutor
        } else {
            &mut instructor
        };
        first.kill().unwrap();
        std::thread::sleep(Duration::from_micros(random.random_range(0..5_000)));
        notes.extend(acknowledged(tutor, by_tutor));
        orders.extend(acknowledged(instructor, by_instructor));
    }
    let mut session = Session::open(place).unwrap();
    session.poll_notices().unwrap();
    assert_eq!(session.damage, []);
    let state = session.state();
    let kept: BTreeSet<&str> = state.notes.iter().map(String::as_str).collect();
    let gone: Vec<&u64> = notes
        .iter()
        .filter(|number| !kept.contains(number.to_string().as_str()))
        .collect();
    assert!(
        gone.is_empty(),
        "of {} notes are gone: {gone:?}",
        notes.len()
    );
    let mut taken: BTreeMap<u64, u32> = BTreeMap::new();
    for message in &state.messages {
        *taken.entry(message.text.parse().unwrap()).or_default() += 1;
    }
    let twice: Vec<_> = taken.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "taken more than once: {twice:?}");
    let lost: Vec<_> = orders
        .iter()
        .filter(|number| *number % 5 != 0 && !taken.contains_key(number))
        .collect();
    assert!(
        lost.is_empty(),
        "of {} orders are lost: {lost:?}",
        orders.len()
    );
    (notes.len(), orders.len())
}

/// Ids of three users that do not exist. Only their permissions matter.
const ADA: u32 = 61_001;
const EVE: u32 = 61_002;
const TEACHER: u32 = 61_003;
const STAFF: u32 = 61_100;

/// Runs a role as another user; `None` if this process may not change its user.
fn as_user(class: &Path, user: u32, group: u32, role: &str, learner: &str) -> Option<String> {
    let mut command = child(class, learner, role, 0);
    // The standard library also drops root's groups.
    command.uid(user).gid(group).env("HOME", "/nonexistent");
    let output = command.output().ok()?;
    assert!(
        output.status.success(),
        "{role} as {user}: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text)
}

/// Runs the program as another user with one group.
fn program_as(user: u32, group: u32, class: &Path, args: &[&str]) -> Option<Output> {
    let home = class.parent()?.join(format!("home-{user}"));
    fs::create_dir_all(&home).ok()?;
    std::os::unix::fs::chown(&home, Some(user), Some(user)).ok()?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"));
    command.args(args).arg("--class").arg(class);
    command.uid(user).gid(group).stdin(Stdio::null());
    command.env("HOME", home).env("USER", "somebody");
    for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    command.env_remove("TINYLLAMA_CLASS").output().ok()
}

fn tutor(class: &Path, lessons: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .arg("instructor")
        .args(args)
        .env("TINYLLAMA_CLASS", class)
        .env("TINYLLAMA_LESSONS", lessons)
        .env("USER", "teacher")
        .output()
        .unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{output:?}"))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// A course with a single lesson, which has stages to reset.
fn stages_course(folder: &Path) {
    fs::create_dir_all(folder.join("first")).unwrap();
    let workshop = "format: 1\ntitle: T\nversion: \"1\"\nsummary: S\nsessions:\n  - id: first\n    title: F\n    minutes: 60\n    objectives: [o]\n    lessons: [stages]\n";
    fs::write(folder.join("workshop.yaml"), workshop).unwrap();
    let mut lesson = String::from(
        "id: stages\ntitle: Stages\nminutes: 5\nlevel: beginner\nobjectives: [o]\nsteps:\n",
    );
    for stage in 2..4 {
        lesson.push_str(&format!(
            "  - {{ id: guess{stage}, kind: predict, title: G, text: T, measure: run{stage}.total_ms, golden: {{ number: 20 }} }}\n\
             \x20 - {{ id: run{stage}, kind: run, title: R, text: T, target: stage{stage}, flags: --config tiny --num-steps 20 }}\n"
        ));
    }
    fs::write(folder.join("first/stages.yaml"), lesson).unwrap();
}

#[test]
fn the_commands_act_on_a_class() {
    let folder = TempDir::new().unwrap();
    let (class, lessons) = (folder.path().join("class"), folder.path().join("lessons"));
    stages_course(&lessons);
    let run = |args: &[&str]| tutor(&class, &lessons, args);
    assert_eq!(status(&run(&["list"])), 3, "a class that is not there");
    fs::create_dir(&class).unwrap();
    assert_eq!(
        json(&run(&["list", "--json"]))["learners"]
            .as_array()
            .unwrap()
            .len(),
        0
    );

    let ada = place(&class, "ada");
    let mut session = Session::open(ada.clone()).unwrap();
    for step in ["guess2", "run2", "guess3", "run3"] {
        session
            .record(SessionEvent::StepDone {
                at: StepRef::new("stages", step),
            })
            .unwrap();
    }
    drop(session);
    let done = |place: &SessionLocation| {
        SessionState::from_records(&scan(&place.events()).unwrap().records)
            .lessons
            .values()
            .flat_map(|steps| steps.keys().cloned())
            .collect::<Vec<_>>()
    };

    let reset = run(&["reset", "ada", "--stage", "3", "--json"]);
    assert_eq!(
        (status(&reset), json(&reset)["state"].as_str()),
        (0, Some("done"))
    );
    assert_eq!(done(&ada), ["guess2", "run2"]);
    assert_eq!(status(&run(&["restore", "ada"])), 0);
    assert_eq!(done(&ada), ["guess2", "guess3", "run2", "run3"]);
    let again = run(&["restore", "ada"]);
    assert_eq!(status(&again), 2, "nothing left to restore");
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    insta::assert_snapshot!("restored_already", said);
    assert_eq!(status(&run(&["reset", "ada", "--stage", "5"])), 2);
    assert_eq!(status(&run(&["reset", "ada"])), 2, "of what?");
    assert_eq!(status(&run(&["reset", "../ada", "--whole-course"])), 2);
    assert_eq!(status(&run(&["reset", "eve", "--whole-course"])), 2);
    assert_eq!(status(&run(&["reset", "--whole-course"])), 2, "of whom?");
    let old = run(&["reset", "ada", "--all"]);
    assert_eq!(status(&old), 2);
    let said = String::from_utf8_lossy(&old.stderr);
    assert!(said.contains("--whole-course"), "{said}");

    assert_eq!(
        status(&run(&["solve", "ada", "stages/guess2", "--by", "Ms Smith"])),
        0
    );
    assert_eq!(status(&run(&["pin", "stages"])), 0);
    assert_eq!(status(&run(&["pin", "nowhere"])), 2);
    assert_eq!(json(&run(&["list", "--json"]))["pinned"], "stages");
    let words = ["Coffee", "at", "three"];
    assert_eq!(
        status(&run(&[&["message", "--all"], &words[..]].concat())),
        0
    );
    assert_eq!(status(&run(&["message", "Coffee"])), 0, "to everyone");
    let mut session = Session::open(ada.clone()).unwrap();
    session.poll_notices().unwrap();
    assert_eq!(
        session
            .state()
            .step("stages", "guess2")
            .unwrap()
            .solved_by
            .as_deref(),
        Some("Ms Smith")
    );
    assert_eq!(session.state().pinned.as_deref(), Some("stages"));
    assert_eq!(session.state().messages[0].text, words.join(" "));
    assert_eq!(session.state().messages[1].text, "Coffee");
    // While the tutor is open, it receives orders.
    assert_eq!(
        json(&run(&["unlock", "ada", "stages", "--json"]))["state"],
        "sent"
    );
    assert_eq!(
        json(&run(&["list", "--json"]))["learners"][0]["orders_waiting"],
        1
    );
    drop(session);

    let out = folder.path().join("out").display().to_string();
    assert_eq!(status(&run(&["collect", "-o", &out])), 0);
    assert_eq!(status(&run(&["collect", "-o", &out])), 0, "a second time");
    let files: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(String::from_utf8_lossy(&run(&["show", "ada"]).stdout).contains("Session report: ada"));
}

#[test]
fn a_skipped_step_is_not_called_done() {
    let folder = TempDir::new().unwrap();
    let (class, lessons) = (folder.path().join("class"), folder.path().join("lessons"));
    stages_course(&lessons);
    fs::create_dir(&class).unwrap();
    let name = "carla-maria.von-und-zu-hohenstein-langenfeld";
    let mut session = Session::open(place(&class, name)).unwrap();
    for (at, skipped) in [
        ("guess2", false),
        ("guess3", false),
        ("run2", true),
        ("run3", true),
    ] {
        let at = StepRef::new("stages", at);
        let note = "no time".into();
        session
            .record(match skipped {
                true => SessionEvent::StepSkipped { at, note },
                false => SessionEvent::StepDone { at },
            })
            .unwrap();
    }
    drop(session);
    let list = tutor(&class, &lessons, &["list"]);
    let list = String::from_utf8_lossy(&list.stdout);
    let [head, row] = list.lines().collect::<Vec<_>>()[..] else {
        panic!("{list}");
    };
    let behind = |line: &str, word: &str| line.find(word).map(|at| at + word.len());
    assert_eq!(behind(head, "done"), behind(row, "2/4"), "{list}");
    assert_eq!(
        behind(head, "skipped"),
        behind(row, " 2 ").map(|at| at - 1),
        "{list}"
    );
    let report = tutor(&class, &lessons, &["show", name]);
    let report = String::from_utf8_lossy(&report.stdout);
    assert!(
        report.contains("2 done, 2 skipped of 4 steps, 0 of 1 lessons"),
        "{report}"
    );
}
