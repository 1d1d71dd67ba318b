//! Records and files that an honest program never writes.

use super::*;

#[test]
fn records_that_cannot_be_are_named_though_their_chain_is_whole() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 2, 5);
    let report = document(&place, false);
    let found = |change: &dyn Fn(usize, &mut Value)| {
        let mut forged = report.clone();
        rewrite(&mut forged, change);
        let found = check(&forged, None).unwrap();
        (found.problems.join("\n"), found.unusual.join("\n"))
    };
    let (problems, _) = found(&|_, _| {});
    assert_eq!(problems, "");
    let (problems, _) = found(&|_, record| record["n"] = 5.into());
    // Ten of them are named, and how many more there are.
    let records = problems.lines().filter(|line| line.starts_with("Record "));
    assert_eq!((records.count(), problems.lines().count()), (10, 11));
    let mut named = vec![problems];
    let (problems, _) = found(&|index, record| {
        if index == 0 {
            record["event"] = serde_json::json!({"note": {"text": "a beginning"}});
        }
    });
    named.push(problems);
    let (problems, _) = found(&|_, record| {
        if let Some(correct) = record.pointer_mut("/event/answered/correct") {
            *correct = (!correct.as_bool().unwrap()).into();
        }
    });
    named.push(problems);
    let (problems, _) = found(&|_, record| {
        let entered = record.pointer("/event/run_finished").is_some();
        if entered {
            record["event"]["run_finished"]["run"] = "other".into();
        }
    });
    named.push(problems);
    let (problems, _) = found(&|_, record| {
        if let Some(seconds) = record.pointer_mut("/event/time_spent/seconds") {
            *seconds = (-1.0).into();
        }
    });
    named.push(problems);
    let (_, unusual) = found(&|index, record| {
        record["time"] = if index < 9 {
            "1999-01-01T00:00:00Z"
        } else {
            "2091-01-01T00:00:00Z"
        }
        .into();
    });
    assert!(
        unusual.contains("1999") && unusual.contains("days") && unusual.contains("future"),
        "{unusual}"
    );
    let (_, unusual) = found(&|index, record| {
        record["time"] = if index < 9 {
            "2026-02-01T00:00:00Z"
        } else {
            "2026-01-01T00:00:00Z"
        }
        .into();
    });
    assert!(unusual.contains("went back"), "{unusual}");

    // Replaces minutes by a second start of a run, a second seal, and a hint that does not exist.
    let runs = report["runs"].as_array().unwrap();
    let [id, last] = [&runs[0], &runs[runs.len() - 1]].map(|run| run["id"].as_str().unwrap());
    let lesson = course().lessons().next().unwrap().clone();
    let at = json!({"lesson": lesson.id, "step": lesson.steps[0].id});
    for event in [
        // The last run stays the last one, in whatever second it is started again.
        json!({"run_started": {"run": last, "at": null, "target": "v1", "command": [], "host": ""}}),
        json!({"sealed": {"run": id, "sha256": "ab"}}),
        json!({"hint_shown": {"at": at, "hint": 99}}),
    ] {
        let (problems, _) = found(&|_, record| {
            if record.pointer("/event/time_spent").is_some() {
                record["event"] = event.clone();
            }
        });
        named.push(problems);
    }
    let (problems, _) = found(&|_, record| {
        let renamed = record.to_string().replace(id, "../x");
        *record = serde_json::from_str(&renamed).unwrap();
    });
    named.push(problems);

    // Steps recorded as done without any work.
    let liar = class::place(folder.path(), "liar");
    let mut session = Session::open(liar.clone()).unwrap();
    session
        .record_opening(&course().title, &course().version)
        .unwrap();
    for lesson in course().lessons() {
        for step in &lesson.steps {
            let at = StepRef::new(&lesson.id, &step.id);
            session.record(SessionEvent::StepDone { at }).unwrap();
        }
    }
    drop(session);
    let found = verify(&liar.folder, None, course()).unwrap();
    named.push(found.problems.join("\n"));

    // Figures that the sealed file of their run does not contain.
    let mut forged = report.clone();
    rewrite(&mut forged, |_, record| {
        if let Some(value) = record.pointer_mut("/event/run_finished/values/total_ms") {
            *value = 1.0.into();
        }
    });
    fs::write(
        place.events(),
        forged["chain"]["lines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| format!("{}\n", line.as_str().unwrap()))
            .collect::<String>(),
    )
    .unwrap();
    let found = verify(&place.folder, None, course()).unwrap();
    assert!(found.problems.join("").contains("total_ms"), "{found:?}");
    insta::assert_snapshot!(listed(&named));
}

/// The first messages of each list of problems, each once, without the number of its record. Differences of single figures
/// begin with their path and are left out. Numbers are `#`, because most count the course's steps.
fn listed(named: &[String]) -> String {
    let first = named.iter().map(|problems| {
        let mut messages: Vec<&str> = Vec::new();
        for line in problems.lines() {
            let numbered = line
                .strip_prefix("Record ")
                .and_then(|rest| rest.split_once(": "));
            let message = numbered.map_or(line, |(_, message)| message);
            let is_path = |word: &str| word.contains('/') && !word.starts_with('`');
            let is_figure = numbered.is_none() && line.split(' ').next().is_some_and(is_path);
            if !is_figure && !messages.contains(&message) {
                messages.push(message);
            }
        }
        messages.truncate(6);
        messages.join("\n")
    });
    let text = first.collect::<Vec<_>>().join("\n\n");
    let mut shown = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        shown.push_str(if digits.is_empty() { "" } else { "#" });
        shown.push_str(&part[digits.len()..]);
    }
    shown
}

#[test]
fn a_compaction_makes_nothing_that_was_not_seen() {
    let folder = memory();
    // A single record that claims to have completed everything.
    let liar = class::place(folder.path(), "liar");
    let done: serde_json::Map<String, Value> = course()
        .lessons()
        .map(|lesson| {
            let steps = lesson.steps.iter();
            let done = json!({"status": "done", "seconds": 60.0, "attempts": 1, "hints": [], "prediction": null,
                "answers": [], "reflection": null, "checks": {}, "runs": []});
            let steps = steps.map(|step| (step.id.clone(), done.clone()));
            (lesson.id.clone(), Value::Object(steps.collect()))
        })
        .collect();
    let state = json!({"learner": "liar", "course": [&course().title, &course().version], "position": null,
        "lessons": done, "unlocked": {}, "runs": {}, "backups": {}, "messages": [], "notes": [],
        "unknown_events": 0, "records": 900, "last_time": "2026-01-01T00:00:00Z"});
    let record = json!({"n": 901, "time": "2026-01-01T00:00:00Z", "event": {"compacted": {"format": 1,
        "version": "0.1.0", "previous_hash": "ab", "previous_records": 900, "state": state}}});
    write_lines(&liar, &json!([encoded(chain::START, &record).0]));
    let file = folder.path().join("liar.json");
    let hand_in = document(&liar, false);
    assert!(hand_in["totals"]["steps_finished"].as_u64().unwrap() > 100);
    fs::write(&file, hand_in.to_string()).unwrap();
    for path in [&liar.folder, &file] {
        let found = verify(path, None, course()).unwrap();
        assert_eq!((found.intact(), found.unseen_records), (None, 900));
        let mut named = vec![found.verdict().to_string()];
        let (row, warnings) = on_a_page(std::slice::from_ref(path), course());
        assert_eq!(row.intact, None);
        named.push(row.unchecked.join("\n"));
        insta::assert_snapshot!("a_single_compacted_record", listed(&named));
        assert!(warnings.contains("liar: not checked: "), "{warnings}");
    }

    // A compaction of no records is not accepted either, nor one within an order.
    let mut of_nothing = record.clone();
    of_nothing["event"]["compacted"]["previous_records"] = 0.into();
    write_lines(&liar, &json!([encoded(chain::START, &of_nothing).0]));
    let found = verify(&liar.folder, None, course()).unwrap();
    assert_ne!(found.intact(), Some(true));
    let problems = found.problems.join("");
    insta::assert_snapshot!(problems, @"Record 901: it does not follow the records that it replaces.");
    of_nothing["n"] = 1.into();
    write_lines(&liar, &json!([encoded(chain::START, &of_nothing).0]));
    let found = verify(&liar.folder, None, course()).unwrap();
    assert_eq!(found.intact(), None, "{found:?}");
    let eve = place(folder.path(), "eve");
    drop(Session::open(eve.clone()).unwrap());
    let log = fs::read_to_string(eve.events()).unwrap();
    let last = scan(&eve.events()).unwrap().last_hash;
    let order = json!({"n": 2, "time": "2026-01-01T00:00:00Z",
        "event": {"ordered": {"order": "x", "events": [record["event"].clone()]}}});
    write_lines(&eve, &json!([log.trim_end(), encoded(&last, &order).0]));
    let found = verify(&eve.folder, None, course()).unwrap();
    let mut named = vec![found.problems.join("\n")];

    // A compaction that claims more than the records it replaced.
    let ada = walk(place(folder.path(), "ada"), course(), 2, 5);
    Session::open(ada.clone()).unwrap().compact().unwrap();
    let report = document(&ada, false);
    assert_eq!(check(&report, None).unwrap().intact(), Some(true));
    let mut forged = report.clone();
    rewrite(&mut forged, |_, record| {
        if let Some(state) = record.pointer_mut("/event/compacted/state") {
            let welcome = done["welcome"].as_object().unwrap();
            state["lessons"]["welcome"]["made-up"] = welcome.values().next().unwrap().clone();
            state["notes"] = json!(["made up"]);
        }
    });
    named.push(check(&forged, None).unwrap().problems.join("\n"));
    write_lines(&ada, &forged["chain"]["lines"]);
    let found = verify(&ada.folder, None, course()).unwrap();
    named.push(found.problems.join("\n"));
    // Other records in place of the compacted ones.
    let mut forged = report.clone();
    let earlier = forged["chain"]["earlier"][0].as_array_mut().unwrap();
    earlier.pop();
    named.push(check(&forged, None).unwrap().problems.join("\n"));
    insta::assert_snapshot!(listed(&named));
}

#[test]
fn a_run_that_ended_well_has_a_stream_and_a_seal() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 3, 5);
    let report = document(&place, false);
    assert!(!report["runs"].as_array().unwrap().is_empty());
    let problems = |document: &Value| check(document, None).unwrap().problems.join("\n");
    let mut without = report.clone();
    without["chain"]["streams"] = json!({});
    let mut named = vec![problems(&without)];
    without["chain"]["streams"] = Value::Null;
    named.push(problems(&without));
    let unseal = |_, record: &mut Value| {
        if record.pointer("/event/sealed").is_some() {
            record["event"] = json!({"note": {"text": "no seal"}});
        }
    };
    let mut unsealed = report.clone();
    rewrite(&mut unsealed, unseal);
    named.push(problems(&unsealed));
    write_lines(&place, &unsealed["chain"]["lines"]);
    let in_folder = || {
        verify(&place.folder, None, course())
            .unwrap()
            .problems
            .join("\n")
    };
    named.push(in_folder());
    write_lines(&place, &report["chain"]["lines"]);
    assert_eq!(in_folder(), "");
    fs::remove_dir_all(place.runs()).unwrap();
    named.push(in_folder());
    insta::assert_snapshot!(listed(&named));
}

#[test]
fn a_seal_that_a_power_cut_took_is_made_good() {
    let folder = memory();
    let place = place(folder.path(), "ada");
    let mut session = Session::open(place.clone()).unwrap();
    make_up(&mut session, "1-v1", None, &MadeUp::new("v1", 20.0), 1);
    drop(session);
    let log = fs::read_to_string(place.events()).unwrap();
    let without_seal = log.trim_end().rsplit_once('\n').unwrap().0;
    fs::write(place.events(), format!("{without_seal}\n{{\"hash")).unwrap();
    drop(Session::open(place.clone()).unwrap());
    let found = verify(&place.folder, None, course()).unwrap();
    assert_eq!(found.problems, [""; 0]);
}

#[test]
fn an_order_is_examined_like_any_record() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 2, 5);
    let report = document(&place, false);
    let found = |change: &dyn Fn(&mut Value)| {
        let mut forged = report.clone();
        rewrite(&mut forged, |_, record| {
            let mut event = record["event"].take();
            change(&mut event);
            record["event"] = event;
        });
        check(&forged, None).unwrap().problems.join("\n")
    };
    let order = |event: &mut Value| {
        *event = json!({"ordered": {"order": "1", "events": [event.take()]}});
    };
    let turned = found(&|event| {
        if let Some(correct) = event.pointer_mut("/answered/correct") {
            *correct = (!correct.as_bool().unwrap()).into();
            order(event);
        }
    });
    let hinted = found(&|event| {
        if event.pointer("/time_spent").is_some() {
            order(event);
        }
    });
    insta::assert_snapshot!(listed(&[turned, hinted]));
}

#[test]
fn a_hand_in_is_of_the_session_it_is_held_against_and_not_older() {
    let folder = memory();
    let [ada, bob] = ["ada", "bob"].map(|name| walk(place(folder.path(), name), course(), 2, 5));
    let report = document(&ada, false);
    let held = [
        verify(&ada.folder, Some(&bob.folder), course()).unwrap(),
        check(&report, Some(&bob.folder)).unwrap(),
    ];
    let problems = held.map(|found| found.problems);
    insta::assert_snapshot!(listed(&problems.concat()));
    let mut forged = report;
    forged["written"] = "1999-01-01T00:00:00Z".into();
    let found = check(&forged, None).unwrap();
    assert_eq!(found.problems, [""; 0]);
    let early = |line: &String| line.starts_with("It claims to be written 1999");
    assert!(found.unusual.iter().any(early), "{found:?}");
}

#[test]
fn everything_that_was_not_checked_is_named() {
    let folder = memory();
    // A run that did not end well. It has a seal once its end is recorded.
    let fail = |place: &SessionLocation, is_recorded: bool| {
        let mut session = Session::open(place.clone()).unwrap();
        let events = MadeUp::new("v1", 20.0).events(&mut ChaCha8Rng::seed_from_u64(5));
        let stream = place.runs().join("900000-v1/events.jsonl");
        fs::create_dir_all(stream.parent().unwrap()).unwrap();
        let lines = events.iter().map(|event| json!(event).to_string() + "\n");
        fs::write(stream, lines.collect::<String>()).unwrap();
        session
            .start_run("900000-v1", None, "v1", vec!["run".into()])
            .unwrap();
        if is_recorded {
            session
                .finish_run("900000-v1", RunExit::Signal(9), [].into())
                .unwrap();
        }
    };
    let mut named = Vec::new();
    let mut name = |found: HandInFindings| {
        assert_eq!(found.problems, [""; 0]);
        let lists = [
            vec![found.verdict().to_string()],
            found.unchecked,
            found.never_checked,
        ];
        named.push(lists.concat().join("\n"));
    };
    let ada = full(folder.path());
    fail(&ada, false);
    let report = document(&ada, false);
    name(check(&report, None).unwrap());
    name(verify(&ada.folder, None, course()).unwrap());
    let bob = walk(place(folder.path(), "bob"), course(), 2, 3);
    fail(&bob, true);
    let file = folder.path().join("session.json");
    fs::write(&file, document(&bob, false).to_string()).unwrap();
    for (title, version) in [
        ("Another", &course().version),
        (&course().title, &"0".into()),
    ] {
        let mut other = course().clone();
        (other.title, other.version) = (title.into(), version.clone());
        name(verify(&file, None, &other).unwrap());
    }
    name(check(&document(&ada, true), None).unwrap());

    // Without the file of its only run.
    let eve = walk(place(folder.path(), "eve"), course(), 0, 5);
    fail(&eve, true);
    let mut without = document(&eve, false);
    without["chain"]["streams"] = Value::Null;
    name(check(&without, None).unwrap());
    fs::remove_dir_all(eve.runs()).unwrap();
    name(verify(&eve.folder, None, course()).unwrap());
    insta::assert_snapshot!(listed(&named));
}

#[test]
fn logs_and_formats_that_are_not_whole_are_refused() {
    let folder = memory();
    let ada = walk(place(folder.path(), "ada"), course(), 1, 5);
    let mut report = document(&ada, false);
    let problems = |found: HandInFindings| found.problems.join("\n");
    let mut empty = report.clone();
    empty["chain"]["lines"] = json!([]);
    let mut named = vec![problems(check(&empty, None).unwrap())];
    let log = fs::read_to_string(ada.events()).unwrap();
    fs::write(ada.events(), format!("{log}{{\"hash")).unwrap();
    named.push(problems(verify(&ada.folder, None, course()).unwrap()));
    fs::write(ada.events(), log).unwrap();

    // A report without the logs that were compacted, as older programs wrote it, and one with another log in their place.
    Session::open(ada.clone()).unwrap().compact().unwrap();
    let mut compacted = document(&ada, false);
    compacted["chain"]["earlier"] = json!([]);
    let found = check(&compacted, Some(&ada.folder)).unwrap();
    assert_eq!(found.intact(), Some(true), "{found:?}");
    compacted["chain"]["earlier"] = json!([compacted["chain"]["lines"]]);
    named.push(problems(check(&compacted, Some(&ada.folder)).unwrap()));
    report["format"] = 99.into();
    named.push(check(&report, None).unwrap_err().to_string());
    let named = named.join("\n\n");
    let file = named
        .rsplit_once("\n/")
        .map_or(&*named, |(before, _)| before);
    insta::assert_snapshot!(file);
}
