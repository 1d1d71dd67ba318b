//! `report` on the command line, and the page of a class.

use super::*;

/// Uses eight learners, or the number in REPORT_TEST_CLASS. Keeps the files in the folder that REPORT_TEST_KEEP
/// names.
#[test]
fn a_class_is_put_on_one_page() {
    let size = std::env::var("REPORT_TEST_CLASS").map_or(8, |size| size.parse::<usize>().unwrap());
    let kept = std::env::var_os("REPORT_TEST_KEEP");
    let folder = TempDir::new().unwrap();
    let class = kept.as_ref().map_or(folder.path(), |kept| Path::new(kept));
    let course = course();
    for number in 0..size {
        walk(
            place(class, &format!("learner-{number:02}")),
            course,
            2 + number % 5,
            number as u64,
        );
    }
    fs::create_dir(class.join("empty")).unwrap();
    fs::write(class.join("stray.json"), "{}").unwrap();
    let started = Instant::now();
    let found = of_class::sources::read(&[class.to_path_buf()], course);
    let merged = of_class::merge(found.hand_ins, course, found.unreadable);
    let page = of_class::page(&merged);
    println!(
        "{size} learners in {:.0} ms, {} kB of HTML",
        started.elapsed().as_secs_f64() * 1e3,
        page.len() / 1000
    );

    assert_eq!(merged.learners.len(), size);
    assert!(
        merged
            .learners
            .iter()
            .all(|row| row.consistent == Some(true))
    );
    assert!(
        merged.warnings.join("").contains("stray.json"),
        "{:?}",
        merged.warnings
    );
    let first = &merged.lessons[0];
    assert_eq!((first.begun, first.finished), (size, size));
    assert!(
        first
            .minutes
            .is_some_and(|minutes| minutes.p10 <= minutes.median && minutes.median <= minutes.p90)
    );
    assert_eq!(
        merged.lessons[5].begun,
        size.div_ceil(5) - usize::from(!size.is_multiple_of(5))
    );
    let device = &merged.devices[0];
    assert_eq!((device.target.as_str(), device.learners), ("v1", size));
    assert!((18.0..22.0).contains(&device.step_ms.median), "{device:?}");
    let wrong = &merged.wrong_answers[0];
    assert!(
        wrong.learners > 1 && wrong.learners <= wrong.of,
        "{wrong:?}"
    );
    assert!(
        merged
            .predictions
            .iter()
            .any(|row| row.step == "guess-time" && row.ratio.count == size)
    );
    assert!(page.len() < html::MOST_BYTES && !page.contains("NaN"));
    let tables = of_class::tables(&merged);
    assert_eq!(tables[0].1.lines().count(), size + 1);
    assert!(
        tables[0].1.ends_with(",Imagined GPU,true,\n"),
        "{}",
        tables[0].1
    );
    assert!(tables[3].1.contains(",f32,false,"), "{}", tables[3].1);
}

#[test]
fn the_commands_write_check_and_merge() {
    let state = TempDir::new().unwrap();
    let nothing = tutor(state.path(), &["report"]);
    assert_eq!(nothing.status.code(), Some(2), "{nothing:?}");

    walk(place(state.path(), "ada"), course(), 2, 7);
    let class = ["--class", ".", "--learner", "ada"];
    let args = [
        &["report"],
        &class[..],
        &["--format", "md,html,json", "-o", "out"],
    ]
    .concat();
    let written = tutor(state.path(), &args);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    for file in ["report.md", "report.html", "session.json"] {
        assert!(state.path().join("out").join(file).is_file(), "{file}");
    }
    let sound = tutor(state.path(), &["report", "verify", "out/session.json"]);
    assert_eq!(sound.status.code(), Some(0), "{sound:?}");
    let folder = tutor(state.path(), &["report", "verify", "out"]);
    assert_eq!(folder.stdout, sound.stdout, "{folder:?}");
    let text = fs::read_to_string(state.path().join("out/session.json")).unwrap();
    let mut report: Value = serde_json::from_str(&text).unwrap();
    report["chain"]["lines"].as_array_mut().unwrap().remove(4);
    fs::write(state.path().join("changed.json"), report.to_string()).unwrap();
    let changed = tutor(
        state.path(),
        &["report", "verify", "changed.json", "--json"],
    );
    assert_eq!(changed.status.code(), Some(1), "{changed:?}");
    let value: Value = serde_json::from_slice(&changed.stdout).unwrap();
    assert_eq!(value["consistent"], false);
    std::fs::create_dir(state.path().join("empty")).unwrap();
    let empty = tutor(state.path(), &["report", "verify", "empty"]);
    assert_eq!(empty.status.code(), Some(2));
    let said = String::from_utf8_lossy(&empty.stderr).into_owned();
    assert!(
        said.contains("empty holds no session: name a session.json"),
        "{said}"
    );
    let missing = tutor(state.path(), &["report", "verify", "no-such-file"]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");

    let merged = tutor(
        state.path(),
        &["report", "merge", ".", "out/session.json", "-o", "all"],
    );
    assert_eq!(merged.status.code(), Some(0), "{merged:?}");
    for file in ["class.html", "class.json", "learners.csv", "devices.csv"] {
        assert!(state.path().join("all").join(file).is_file(), "{file}");
    }
    let said = String::from_utf8_lossy(&merged.stdout);
    // How much time the records cover depends on the machine.
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.contains(" of attention "))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    fs::write(state.path().join("blocked"), "").unwrap();
    let blocked = tutor(
        state.path(),
        &[&["report"], &class[..], &["-o", "blocked/x"]].concat(),
    );
    assert_ne!(blocked.status.code(), Some(0));
}
