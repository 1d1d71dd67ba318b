//! Orders of an instructor, and the tutors that carry them out.

use super::*;

#[test]
fn an_open_tutor_takes_orders_itself_and_keeps_what_it_had() {
    let folder = TempDir::new().unwrap();
    let place = walk(place(folder.path(), "ada"), course(), 2, 3);
    let mut session = Session::open(place.clone()).unwrap();
    fs::write(place.workbench().join("kernel.rs"), "mine").unwrap();
    let before = session.state().clone();
    assert_eq!(session.poll_notices().unwrap(), []);

    let sent = deliver(&place, &reset_lesson("first-baseline", &["kernel.rs"])).unwrap();
    assert_eq!(sent, Delivery::Sent);
    let sent = "Look at the loss.";
    deliver(&place, &message(sent)).unwrap();
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
    assert_eq!(text, sent);
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
        others: Vec::new(),
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
    let place = walk(place(folder.path(), "ada"), course(), 1, 3);
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
fn a_file_that_is_no_order_is_set_aside_and_named_once() {
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
fn an_order_is_noticed_within_two_seconds_of_polling() {
    let folder = TempDir::new().unwrap();
    let place = walk(place(folder.path(), "ada"), course(), 2, 3);
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
    assert_eq!(status(&run(&["unlock", "ada", "all", "stages"])), 0);
    assert_eq!(state("ada").changes.len(), 3, "one message for all lessons");
    assert_eq!(status(&run(&["unlock", "ada"])), 2, "no lesson");

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
