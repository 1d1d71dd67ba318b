//! What a check cannot show, what it cannot check here, and work that only looks forged.

use super::*;

/// Replaces the events of records, from the one that `change` takes on.
fn changed(place: &SessionLocation, change: &dyn Fn(&mut Value)) -> HandInFindings {
    let mut report = document(place, false);
    rewrite(&mut report, |_, record| change(&mut record["event"]));
    check(&report, None).unwrap()
}

#[test]
fn what_stays_possible_is_said_with_every_verdict() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 2, 5);
    // The end of a chain can be cut off, and nobody knows who sat there.
    let mut report = document(&place, false);
    report["chain"]["lines"].as_array_mut().unwrap().truncate(9);
    let cut = check(&report, None).unwrap();
    let renamed = changed(&place, &|event| {
        if let Some(name) = event.pointer_mut("/created/learner") {
            *name = "eve".into();
        }
    });
    for found in [cut, renamed] {
        assert_eq!((found.problems.len(), found.consistent()), (0, Some(true)));
        assert!(
            found.verdict().contains(hand_in::STAYS_POSSIBLE),
            "{}",
            found.verdict()
        );
    }
    let whole = check(&report, Some(&place.folder)).unwrap();
    assert_eq!(
        whole.consistent(),
        Some(true),
        "it is the beginning of that session"
    );
}

#[test]
fn orders_and_kernels_count_only_where_they_can_be_checked() {
    let folder = memory();
    let place = session::full(folder.path());
    let found = verify(&place.folder, None, course()).unwrap();
    assert_eq!(
        (found.problems.len(), found.consistent()),
        (0, None),
        "{found:?}"
    );
    let mut named = vec![
        found.verdict(),
        found.unchecked.join("\n"),
        found.remarks.join("\n"),
    ];
    let plain = hand_in::verify(&place.folder, None, None, course()).unwrap();
    named.push(plain.unchecked.join("\n"));
    let no_compiler = |_: &str, _: &str| anyhow::bail!("there is no compiler");
    let found = hand_in::verify(&place.folder, None, Some(&no_compiler), course()).unwrap();
    named.push(found.unchecked.join("\n"));
    let unknown = changed(&place, &|event| {
        if event.get("note").is_some() {
            *event = json!({"medal": {"text": "gold"}});
        }
    });
    assert_eq!(unknown.problems, [""; 0]);
    named.push(unknown.unchecked.join("\n"));
    insta::assert_snapshot!(named.join("\n\n"));
}

#[test]
fn a_log_that_a_kill_or_a_full_disk_cut_is_unusual_and_not_refused() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 2, 5);
    // The tutor writes this after the record before it. Without it, nothing later may depend on it.
    let mut report = document(&place, false);
    let lines = report["chain"]["lines"].as_array_mut().unwrap();
    let is_done = |line: &Value| line.as_str().unwrap().contains("\"step_done\"");
    let last = lines.iter().rposition(is_done).unwrap();
    lines.remove(last);
    rewrite(&mut report, |index, record| {
        record["n"] = (index + 1).into()
    });
    let found = check(&report, None).unwrap();
    assert_eq!(found.problems, [""; 0]);
    let unusual = found.unusual.join("");
    assert!(
        last + 1 == lines_of(&place) || unusual.contains("`step done`"),
        "{found:?}"
    );
}

fn lines_of(place: &SessionLocation) -> usize {
    fs::read_to_string(place.events()).unwrap().lines().count()
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
fn a_hand_in_is_the_beginning_of_the_session_it_is_held_against() {
    let folder = memory();
    let [ada, bob] = ["ada", "bob"].map(|name| walk(place(folder.path(), name), course(), 2, 5));
    let [plain, anonymous] = [false, true].map(|anonymous| document(&ada, anonymous));
    for found in [
        verify(&ada.folder, Some(&bob.folder), course()).unwrap(),
        check(&plain, Some(&bob.folder)).unwrap(),
        check(&anonymous, Some(&bob.folder)).unwrap(),
    ] {
        let first = &found.problems[0];
        assert_eq!(first, "Its last record is not one of the session's.");
    }
    for document in [&plain, &anonymous] {
        let found = check(document, Some(&ada.folder)).unwrap();
        assert_eq!(found.consistent(), Some(true), "{found:?}");
    }
    let file = folder.path().join("plain.json");
    fs::write(&file, plain.to_string()).unwrap();
    let error = verify(&ada.folder, Some(&file), course()).unwrap_err();
    assert!(error.to_string().contains("it is not a session"), "{error}");
}

#[test]
fn a_stream_too_large_for_a_report_is_named_and_taken_from_the_session() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 2, 5);
    let mut report = document(&place, false);
    let streams = report["chain"]["streams"].as_object_mut().unwrap();
    *streams.values_mut().next().unwrap() = Value::Null;
    let alone = check(&report, None).unwrap();
    assert_eq!(
        (alone.problems.len(), alone.consistent()),
        (0, None),
        "{alone:?}"
    );
    assert!(alone.unchecked.join("").contains("--against"), "{alone:?}");
    let found = check(&report, Some(&place.folder)).unwrap();
    assert_eq!(found.consistent(), Some(true), "{found:?}");
}

#[test]
fn times_that_a_wrong_clock_explains_are_unusual() {
    let folder = memory();
    let place = walk(place(folder.path(), "ada"), course(), 1, 5);
    let at_times = |early: &str, late: &str| {
        let mut report = document(&place, false);
        rewrite(&mut report, |index, record| {
            record["time"] = if index < 9 { early } else { late }.into();
        });
        let found = check(&report, None).unwrap();
        assert_eq!(found.problems, [""; 0]);
        let clock = found
            .unusual
            .iter()
            .filter(|text| !text.contains(" of attention "));
        clock.cloned().collect::<Vec<_>>().join("\n")
    };
    assert_eq!(at_times("2026-01-01T12:00:00Z", "2026-01-01T12:59:00Z"), "");
    assert_eq!(
        at_times("2026-01-01T12:01:00Z", "2026-01-01T12:00:00Z"),
        "",
        "a corrected clock"
    );
    let named = [
        at_times("1999-01-01T00:00:00Z", "2091-01-01T00:00:00Z"),
        at_times("2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    ];
    insta::assert_snapshot!(named.join("\n"));
}
