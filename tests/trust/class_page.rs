//! What a class page says about its learners.

use super::*;

#[test]
fn a_class_goes_by_folders_and_chains_not_by_recorded_names() {
    let folder = memory();
    let in_class = folder.path().join("class");
    let alice = walk(place(&in_class, "alice"), course(), 1, 1);
    // A longer log that claims to be alice's.
    let mallory = walk(place(&in_class, "mallory"), course(), 2, 2);
    let events = fs::read_to_string(mallory.events()).unwrap();
    let mut forged = json!({"chain": {"lines": events.lines().collect::<Vec<_>>()}});
    rewrite(&mut forged, |index, record| {
        if index == 0 {
            record["event"]["created"]["learner"] = "alice".into();
        }
    });
    let lines = forged["chain"]["lines"].as_array().unwrap();
    let lines: String = lines
        .iter()
        .map(|line| format!("{}\n", line.as_str().unwrap()))
        .collect();
    fs::write(mallory.events(), lines).unwrap();
    copy(&alice.folder, &in_class.join("thief"));
    fs::write(in_class.join(".class.json"), "{}").unwrap();
    let merged = |paths: &[&Path]| {
        let paths: Vec<_> = paths.iter().map(|path| path.to_path_buf()).collect();
        let found = sources::read(&paths, course());
        let class = merge(found.hand_ins, course(), found.unreadable);
        let names: Vec<String> = class.learners.iter().map(|row| row.name.clone()).collect();
        (names, class.warnings.join("\n"))
    };
    let (names, warnings) = merged(&[&in_class]);
    assert_eq!(names, ["alice", "mallory", "thief"]);
    assert!(!warnings.contains(".class.json"), "{warnings}");
    let mut warned = vec![warnings];

    // Copies under other names, with recomputed checksums.
    let renamed = |name: &str, from: &SessionLocation| {
        let events = fs::read_to_string(from.events()).unwrap();
        let mut forged = json!({"chain": {"lines": events.lines().collect::<Vec<_>>()}});
        rewrite(&mut forged, |index, record| {
            if index == 0 {
                record["event"]["created"]["learner"] = name.into();
            }
        });
        let place = place(&folder.path().join("renamed"), name);
        copy(&from.folder, &place.folder);
        write_lines(&place, &forged["chain"]["lines"]);
        place
    };
    let zoe = walk(place(&folder.path().join("renamed"), "zoe"), course(), 2, 6);
    let copies = [renamed("bob", &alice), renamed("carol", &alice)];
    let files: Vec<_> = copies
        .iter()
        .chain([&alice, &zoe])
        .map(|place| {
            let file = folder.path().join(format!("of-{}.json", place.learner));
            fs::write(&file, document(place, false).to_string()).unwrap();
            file
        })
        .collect();
    let files: Vec<&Path> = files.iter().map(std::path::PathBuf::as_path).collect();
    for paths in [&files[..], &[&folder.path().join("renamed"), &alice.folder]] {
        let (names, warnings) = merged(paths);
        assert_eq!(names, ["alice", "bob", "carol", "zoe"]);
        warned.push(warnings);
    }

    // Two people without a separate name, and one of them twice.
    let hand_in = |name: &str, place: &SessionLocation, anonymous: bool| {
        let file = folder.path().join(name);
        fs::write(&file, document(place, anonymous).to_string()).unwrap();
        file
    };
    let one = walk(place(&folder.path().join("a"), "learner"), course(), 1, 3);
    let two = walk(place(&folder.path().join("b"), "learner"), course(), 2, 4);
    let first = hand_in("first.json", &one, false);
    let again = hand_in("again.json", &one, true);
    let second = hand_in("second.json", &two, false);
    let (names, warnings) = merged(&[&first, &again, &second]);
    assert_eq!(names, ["learner", "learner (2)"], "{warnings}");
    warned.push(warnings);
    insta::assert_snapshot!(without_times(&warned.join("\n\n")));

    // Forged figures do not reach the page, because it computes them from the records.
    let mut forged = document(&one, false);
    forged["totals"]["minutes"] = 9999.0.into();
    fs::write(&first, forged.to_string()).unwrap();
    let found = sources::read(&[first], course());
    let class = merge(found.hand_ins, course(), vec![]);
    let row = &class.learners[0];
    assert!(
        row.minutes < 9000.0 && row.consistent == Some(true),
        "{row:?}"
    );
}

#[test]
fn unchecked_parts_are_listed_next_to_the_learner() {
    let folder = memory();
    let ada = place(folder.path(), "ada");
    let mut session = Session::open(ada.clone()).unwrap();
    session.record_opening(&course().title, "0.9").unwrap();
    for (lesson, step) in course().steps() {
        let at = StepRef::new(&lesson.id, &step.id);
        session.record(SessionEvent::StepDone { at }).unwrap();
    }
    drop(session);
    let file = folder.path().join("session.json");
    fs::write(&file, document(&ada, false).to_string()).unwrap();
    for path in [file, ada.folder.clone()] {
        let (row, warnings) = on_a_page(&[path], course());
        assert!(row.unchecked.join("").contains("--lessons"), "{row:?}");
        assert!(warnings.contains("ada: not checked: "), "{warnings}");
    }
}

/// Warnings without those about time, which depend on how fast the test runs.
fn without_times(warnings: &str) -> String {
    let lines: Vec<&str> = warnings
        .lines()
        .filter(|line| !line.contains(" of attention "))
        .collect();
    lines.join("\n")
}
