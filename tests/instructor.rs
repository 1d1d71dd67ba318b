//! Tests an instructor and learners in one class folder: orders, permissions, and processes killed at any moment.

mod class;

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
use tinyllama_course::instructor::{Class, Delivery, Sign, deliver, views};
use tinyllama_course::lesson::Verdict;
use tinyllama_course::session::class_file::{self, Pin};
use tinyllama_course::session::progress::next;
use tinyllama_course::session::{
    AnswerGiven, InstructorOrder, OrderAction, OutsideChange, Scope, Session, SessionError,
    SessionEvent, SessionLocation, SessionState, StepRef, inbox, scan,
};

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
fn an_open_tutor_takes_orders_itself_and_keeps_what_it_had() {
    let folder = TempDir::new().unwrap();
    let place = walk(place(folder.path(), "ada"), &course(), 2, 3);
    let mut session = Session::open(place.clone()).unwrap();
    fs::write(place.workbench().join("kernel.rs"), "mine").unwrap();
    let before = session.state().clone();
    assert_eq!(session.poll_notices().unwrap(), []);

    let sent = deliver(&place, &reset_lesson("first-baseline", &["kernel.rs"])).unwrap();
    assert_eq!(sent, Delivery::Sent);
    deliver(&place, &message("Look at the loss.")).unwrap();
    // Only the tutor writes to the session.
    assert_eq!(
        SessionState::from_records(&scan(&place.events()).unwrap().records),
        before
    );

    let notices = session.poll_notices().unwrap();
    let [
        OutsideChange::Done(SessionEvent::Reset { backup, .. }),
        OutsideChange::Done(SessionEvent::Message { text, .. }),
    ] = &notices[..]
    else {
        panic!("{notices:?}");
    };
    assert_eq!(text, "Look at the loss.");
    assert!(notices[0].touches(&StepRef::new("first-baseline", "baseline")));
    assert!(!notices[0].touches(&StepRef::new("welcome", "doctor")));
    assert_eq!(
        session.state().lessons.keys().collect::<Vec<_>>(),
        ["welcome"]
    );
    assert!(!place.workbench().join("kernel.rs").exists());
    assert_eq!(session.poll_notices().unwrap(), [], "taken twice");
    assert_eq!(inbox::waiting(&place).unwrap(), [""; 0]);

    let restore = OrderAction::Restore {
        backup: backup.clone(),
    };
    deliver(&place, &order(restore.clone())).unwrap();
    session.poll_notices().unwrap();
    assert_eq!(session.state().lessons, before.lessons);
    assert_eq!(
        fs::read_to_string(place.workbench().join("kernel.rs")).unwrap(),
        "mine"
    );
    drop(session);

    // Without an open tutor it happens immediately. A second undo is refused with a reason.
    let unlock = OrderAction::Unlock {
        lesson: "bottleneck".into(),
    };
    assert!(matches!(
        deliver(&place, &order(unlock)).unwrap(),
        Delivery::Done(OutsideChange::Done(SessionEvent::Unlocked { .. }))
    ));
    assert!(matches!(
        deliver(&place, &order(restore)),
        Err(SessionError::AlreadyRestored(_))
    ));
    let session = Session::open(place.clone()).unwrap();
    assert!(session.state().unlocked.contains_key("bottleneck"));
    assert_eq!(session.damage, []);
}

#[test]
fn an_order_cut_off_by_a_kill_is_finished_and_not_done_twice() {
    let folder = TempDir::new().unwrap();
    let place = walk(place(folder.path(), "ada"), &course(), 1, 3);
    let mut session = Session::open(place.clone()).unwrap();
    fs::write(place.workbench().join("kernel.rs"), "mine").unwrap();
    let order = reset_lesson("welcome", &["kernel.rs"]);
    let name = inbox::send(&place, &order).unwrap();
    session.apply_order(&name, &order).unwrap();
    // Simulates a kill between writing the record and removing the files, so both still exist.
    fs::write(place.workbench().join("kernel.rs"), "mine").unwrap();
    session
        .record(SessionEvent::Answered {
            at: StepRef::new("welcome", "which-part-changes"),
            given: AnswerGiven {
                answer: 1.0,
                correct: false,
            },
        })
        .unwrap();
    drop(session);
    let mut session = Session::open(place.clone()).unwrap();
    assert_eq!(session.poll_notices().unwrap(), []);
    assert_eq!(session.state().backups.len(), 1);
    assert!(
        session
            .state()
            .step("welcome", "which-part-changes")
            .is_some(),
        "reset a second time"
    );
    assert!(!place.workbench().join("kernel.rs").exists());
    assert_eq!(inbox::waiting(&place).unwrap(), [""; 0]);
}

#[test]
fn what_is_no_order_is_set_aside_and_told_once() {
    let folder = TempDir::new().unwrap();
    let place = place(folder.path(), "ada");
    let mut session = Session::open(place.clone()).unwrap();
    let drop_in = |name: &str, text: &str| fs::write(place.inbox().join(name), text).unwrap();
    drop_in("1.json", "not json");
    drop_in(
        "2.json",
        r#"{"format":99,"by":"x","action":{"message":{"text":"hi"}}}"#,
    );
    drop_in(
        "3.json",
        r#"{"format":1,"by":"x","action":{"restore":{"backup":"reset-9"}}}"#,
    );
    drop_in(
        "4.json",
        r#"{"format":1,"by":"x","action":{"reset":{"scope":"all","workbench":["../../secret"]}}}"#,
    );
    drop_in(
        "5.json",
        r#"{"format":1,"by":"x","action":{"solve":{"at":{"lesson":"a","step":"b"},"events":[],"run":{"id":"../x","stream":""}}}}"#,
    );
    drop_in("note.txt", "not for us");
    symlink("/etc/passwd", place.inbox().join("6.json")).unwrap();
    fs::create_dir(place.inbox().join("7.json")).unwrap();
    let notices = session.poll_notices().unwrap();
    assert_eq!(notices.len(), 7, "{notices:?}");
    assert!(
        notices
            .iter()
            .all(|notice| matches!(notice, OutsideChange::Refused { .. })),
        "{notices:?}"
    );
    assert_eq!(session.poll_notices().unwrap(), []);
    assert!(!folder.path().join("x").exists());
    // The session continues.
    inbox::send(&place, &message("fine")).unwrap();
    assert_eq!(session.poll_notices().unwrap().len(), 1);
}

#[test]
fn a_class_can_be_pinned_and_set_free() {
    let folder = TempDir::new().unwrap();
    let course = course();
    let place = walk(place(folder.path(), "ada"), &course, 1, 1);
    let mut session = Session::open(place).unwrap();
    let pin = |lesson: Option<&str>| {
        let pin = Pin {
            lesson: lesson.map(str::to_string),
            by: "Teacher".into(),
            ..Pin::default()
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
    assert_eq!(next(&course, session.state()).unwrap().lesson, "memory");
    assert_eq!(session.poll_notices().unwrap(), []);
    pin(None);
    assert_eq!(session.poll_notices().unwrap().len(), 1);
    assert_eq!(
        next(&course, session.state()).unwrap().lesson,
        "first-baseline"
    );
    fs::write(folder.path().join(".class.json"), "damaged").unwrap();
    assert_eq!(session.poll_notices().unwrap(), []);
}

#[test]
fn the_instructor_sees_who_is_stuck() {
    let folder = TempDir::new().unwrap();
    let course = course();
    walk(place(folder.path(), "ada"), &course, 2, 1);
    let eve = walk(place(folder.path(), "eve"), &course, 1, 2);
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
    let seen = views(&mut class, &course).unwrap();
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
                Err(error) => format!("refused: {error}"),
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

#[test]
fn an_order_is_noticed_within_two_seconds_of_polling() {
    let folder = TempDir::new().unwrap();
    let place = walk(place(folder.path(), "ada"), &course(), 2, 3);
    let mut session = Session::open(place.clone()).unwrap();
    let started = Instant::now();
    for _ in 0..1_000 {
        session.poll_notices().unwrap();
    }
    println!(
        "a poll takes {:.0} us",
        started.elapsed().as_secs_f64() * 1e3
    );
    deliver(&place, &message("now")).unwrap();
    assert_eq!(session.poll_notices().unwrap().len(), 1);
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

#[test]
fn rights_are_those_of_the_file_system() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let class = folder.path().join("class");
    fs::create_dir(&class).unwrap();
    if std::os::unix::fs::chown(&class, Some(TEACHER), Some(STAFF)).is_err() {
        eprintln!("SKIPPED: only root can try this as several users");
        return;
    }
    fs::set_permissions(&class, Permissions::from_mode(0o3773)).unwrap();
    let Some(opened) = as_user(&class, ADA, ADA, "open", "ada") else {
        eprintln!("SKIPPED: this program cannot be started as another user from where it lies");
        return;
    };
    assert!(opened.contains("opened, 0 notices"), "{opened}");
    let run = |user, group, role, learner| as_user(&class, user, group, role, learner).unwrap();
    // Another learner cannot read or do anything.
    assert!(run(EVE, EVE, "look", "ada").contains("PermissionDenied"));
    assert!(run(EVE, EVE, "send", "ada").contains("Err"));
    assert!(run(EVE, EVE, "open", "ada").contains("refused"));
    // An instructor can read and give orders, but writes nothing except the order.
    assert!(run(TEACHER, STAFF, "look", "ada").contains("Ok("));
    assert!(run(TEACHER, STAFF, "send", "ada").contains("Waits"));
    assert!(run(TEACHER, STAFF, "open", "ada").contains("belongs to another user"));
    assert!(run(ADA, ADA, "open", "ada").contains("opened, 1 notices"));
    // A folder that another user created under a learner's name is not used.
    run(EVE, EVE, "squat", "bob");
    assert!(run(ADA, ADA, "open", "bob").contains("refused"));
    // A pin is ignored if it does not belong to the owner of the class.
    fs::write(
        class.join(".class.json"),
        r#"{"lesson":"memory","by":"Eve"}"#,
    )
    .unwrap();
    assert_eq!(class_file::read(&class).unwrap(), None);
    std::os::unix::fs::chown(class.join(".class.json"), Some(TEACHER), None).unwrap();
    assert!(class_file::read(&class).unwrap().is_some());
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

#[test]
fn a_class_that_does_not_keep_its_learners_apart_is_refused_by_the_first_command() {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let class = folder.path().join("class");
    fs::create_dir(&class).unwrap();
    if std::os::unix::fs::chown(&class, Some(TEACHER), Some(STAFF)).is_err() {
        eprintln!("SKIPPED: only root can try this as several users");
        return;
    }
    let open = |group, learner: &str| {
        let user = if learner == "ada" { ADA } else { EVE };
        program_as(user, group, &class, &["--plain", "--learner", learner])
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    // Folders for a learners' group without and with the sticky bit, and a folder that everyone may write into.
    for (mode, group, why) in [
        (0o2775, STAFF, "no sticky bit"),
        (0o3773, STAFF, "you are in the group"),
        (0o777, ADA, "everybody may write"),
    ] {
        fs::set_permissions(&class, Permissions::from_mode(mode)).unwrap();
        let Some(output) = open(group, "ada") else {
            eprintln!("SKIPPED: this program cannot be started as another user from where it lies");
            return;
        };
        let text = said(&output);
        assert_eq!(status(&output), 3, "{mode:o}: {text}");
        assert!(text.contains(why) && text.contains("chmod 3773"), "{text}");
        assert!(!class.join("ada").exists(), "{mode:o}");
    }
    let warned = program_as(TEACHER, STAFF, &class, &["instructor", "list"]).unwrap();
    assert!(said(&warned).contains("everybody may write"), "{warned:?}");

    // The permissions that the documents describe.
    fs::set_permissions(&class, Permissions::from_mode(0o3773)).unwrap();
    let opened = open(ADA, "ada").unwrap();
    assert_eq!(status(&opened), 0, "{}", said(&opened));
    assert_eq!(status(&open(EVE, "eve").unwrap()), 0);
    let eve = |args: &[&str]| program_as(EVE, EVE, &class, args).unwrap();
    assert_ne!(status(&eve(&["session", "show", "--learner", "ada"])), 0);
    assert_ne!(
        status(&eve(&["instructor", "reset", "ada", "--whole-course"])),
        0
    );
    let moved = Command::new("mv")
        .args([class.join("ada"), class.join("x")])
        .uid(EVE)
        .gid(EVE)
        .output()
        .unwrap();
    assert!(!moved.status.success(), "{moved:?}");
    let listed = program_as(TEACHER, STAFF, &class, &["instructor", "list"]).unwrap();
    assert!(!said(&listed).contains("warning"), "{}", said(&listed));
    assert!(String::from_utf8_lossy(&listed.stdout).contains("ada"));
}

/// The documents name the same permissions that the program requires.
#[test]
fn the_documents_name_the_rights_that_keep_learners_apart() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in ["README.md", "docs/guide/cluster.md", "docs/design/trust.md"] {
        let text = fs::read_to_string(root.join(page)).unwrap();
        assert!(text.contains("chmod 3773"), "{page}");
        assert!(!text.contains("2775"), "{page}");
    }
    let help = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args(["instructor", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("chmod 3773"), "{help}");
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
    assert!(said.contains("restored already"), "{said}");
    assert!(!said.contains("that was not restored"), "{said}");
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
    assert_eq!(
        status(&run(&["message", "--all", "Coffee", "at", "three"])),
        0
    );
    assert_eq!(status(&run(&["message", "Coffee"])), 2, "to whom?");
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
    assert_eq!(session.state().messages[0].text, "Coffee at three");
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
fn orders_reach_several_learners_or_everyone() {
    let folder = TempDir::new().unwrap();
    let (class, lessons) = (folder.path().join("class"), folder.path().join("lessons"));
    stages_course(&lessons);
    fs::create_dir(&class).unwrap();
    let names = ["ada", "bob", "eve"];
    for name in names {
        let mut session = Session::open(place(&class, name)).unwrap();
        let at = StepRef::new("stages", "guess2");
        session.record(SessionEvent::StepDone { at }).unwrap();
    }
    let run = |args: &[&str]| tutor(&class, &lessons, args);
    let state = |name: &str| {
        SessionState::from_records(&scan(&place(&class, name).events()).unwrap().records)
    };
    let unlocked = || names.map(|name| !state(name).unlocked.is_empty());

    let two = ["--learner", "ada", "--learner", "bob"];
    let unlock = run(&[&["unlock", "stages", "--json"][..], &two].concat());
    assert_eq!(status(&unlock), 0, "{unlock:?}");
    assert_eq!(json(&unlock)["learners"].as_array().unwrap().len(), 2);
    assert_eq!(unlocked(), [true, true, false]);
    assert_eq!(status(&run(&["unlock", "stages"])), 2, "for whom?");
    assert_eq!(status(&run(&["unlock", "stages", "--everyone"])), 0);
    assert_eq!(unlocked(), [true; 3]);

    let typo = [
        "reset",
        "--lesson",
        "stages",
        "--learner",
        "ada",
        "--learner",
        "bop",
    ];
    assert_eq!(status(&run(&typo)), 2);
    let begun = || names.map(|name| !state(name).lessons.is_empty());
    assert_eq!(begun(), [true; 3], "a wrong name resets nobody");
    assert_eq!(
        status(&run(&["reset", "--lesson", "stages", "--everyone"])),
        0
    );
    assert_eq!(begun(), [false; 3]);
    assert_eq!(status(&run(&[&["message", "Hi"][..], &two].concat())), 0);
    let messages = names.map(|name| state(name).messages.len());
    assert_eq!(messages, [1, 1, 0]);
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
