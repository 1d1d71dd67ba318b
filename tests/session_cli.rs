//! Tests the commands `session` and `lessons`: output and exit status.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use tinyllama_course_walk::scaffold;
use tinyllama_runs::RunFolder;
use tinyllama_session::{Session, SessionEvent, SessionLocation, StepRef};

fn tutor(state: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args(args)
        .env("XDG_STATE_HOME", state)
        .env("USER", "ada")
        .env("LANG", "C")
        .env_remove("LC_ALL")
        .env_remove("TINYLLAMA_CLASS")
        .env_remove("TINYLLAMA_LESSONS")
        .output()
        .unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{output:?}"))
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

fn begin(state: &Path) -> SessionLocation {
    let place = SessionLocation {
        folder: state.join("tinyllama-tutor"),
        learner: "ada".into(),
    };
    let mut session = Session::open(place.clone()).unwrap();
    session
        .record(SessionEvent::StepDone {
            at: StepRef::new("welcome", "doctor"),
        })
        .unwrap();
    place
}

#[test]
fn without_a_session_nothing_is_made_up_and_nothing_is_created() {
    let state = TempDir::new().unwrap();
    let refused = [&["show"][..], &["verify"], &["export", "mine.tar.gz"]].map(|command| {
        let output = tutor(state.path(), &[&["session"], command].concat());
        assert_eq!(status(&output), 2, "{command:?}: {}", text(&output));
        text(&output)
    });
    let here = state.path().display().to_string();
    insta::assert_snapshot!(refused.join("\n").replace(&here, "[state]"));
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    let path = tutor(state.path(), &["session", "path"]);
    assert_eq!(
        text(&path).trim(),
        state.path().join("tinyllama-tutor").display().to_string()
    );
}

#[test]
fn a_session_is_shown_verified_and_found_damaged() {
    let state = TempDir::new().unwrap();
    let place = begin(state.path());
    let shown = tutor(state.path(), &["session", "show"]);
    assert_eq!(status(&shown), 0, "{}", text(&shown));
    assert!(text(&shown).contains("welcome"), "{}", text(&shown));
    assert_eq!(
        json(&tutor(state.path(), &["session", "show", "--json"]))["state"]["learner"],
        "ada"
    );
    assert_eq!(status(&tutor(state.path(), &["session", "verify"])), 0);

    let log = fs::read_to_string(place.events()).unwrap();
    fs::write(place.events(), log.replacen("welcome", "wellcome", 1)).unwrap();
    let verified = tutor(state.path(), &["session", "verify", "--json"]);
    assert_eq!(status(&verified), 1);
    assert_eq!(json(&verified)["damage"][0]["line"], 2);
}

#[test]
fn a_session_moves_between_classes() {
    let state = TempDir::new().unwrap();
    begin(state.path());
    let file = state.path().join("ada.tar.gz").display().to_string();
    assert_eq!(
        status(&tutor(state.path(), &["session", "export", &file])),
        0
    );
    let again = tutor(state.path(), &["session", "export", &file]);
    assert_eq!(status(&again), 2, "{}", text(&again));
    let class = state.path().join("class").display().to_string();
    let into = ["session", "import", &file, "--class", &class];
    let missing = tutor(state.path(), &into);
    assert_eq!(status(&missing), 3, "{}", text(&missing));
    fs::create_dir(&class).unwrap();
    assert_eq!(status(&tutor(state.path(), &into)), 0);
    let twice = tutor(state.path(), &into);
    assert_eq!(status(&twice), 2, "an existing session was replaced");
    let here = state.path().display().to_string();
    insta::assert_snapshot!((text(&again) + &text(&twice)).replace(&here, "[state]"));
    let outside = tutor(
        state.path(),
        &["session", "path", "--class", &class, "--learner", "../eve"],
    );
    assert_eq!(status(&outside), 2, "{}", text(&outside));
}

#[test]
fn the_built_in_course_is_listed_shown_and_sound() {
    let state = TempDir::new().unwrap();
    let list = json(&tutor(state.path(), &["lessons", "list", "--json"]));
    assert_eq!(list["sessions"].as_array().unwrap().len(), 4);
    let shown = tutor(state.path(), &["lessons", "show", "first-baseline"]);
    assert_eq!(status(&shown), 0);
    assert!(
        text(&shown).contains("tinyllama-tutor run v1 --config tiny"),
        "{}",
        text(&shown)
    );
    let figures = text(&shown);
    assert!(!figures.contains("{{"), "{figures}");
    let unknown = tutor(state.path(), &["lessons", "show", "nowhere"]);
    assert_eq!(status(&unknown), 2);
    assert!(
        text(&unknown).contains("first-baseline"),
        "{}",
        text(&unknown)
    );
    let lint = tutor(state.path(), &["lessons", "lint"]);
    assert_eq!(status(&lint), 0, "{}", text(&lint));
    let best = text(&lint).contains(" % of the choice questions; at most 34 % are allowed");
    assert!(best, "{}", text(&lint));
}

#[test]
fn a_new_lesson_is_refused_until_listed_and_its_flags_are_those_of_the_run_command() {
    let folder = TempDir::new().unwrap();
    let course = folder.path().display().to_string();
    let workshop = |lessons: &str| {
        let text = format!(
            "format: 1\ntitle: T\nversion: \"1\"\nsummary: S\nsessions:\n  - id: first\n    title: F\n    minutes: 30\n    objectives: [o]\n    lessons: [{lessons}]\n"
        );
        fs::write(folder.path().join("workshop.yaml"), text).unwrap();
    };
    let lint = || tutor(folder.path(), &["lessons", "lint", "--lessons", &course]);
    workshop("");
    let new = tutor(
        folder.path(),
        &["lessons", "new", "first", "mine", "--lessons", &course],
    );
    assert_eq!(status(&new), 0, "{}", text(&new));
    assert!(
        text(&lint()).contains("first/mine.yaml"),
        "{}",
        text(&lint())
    );
    workshop("mine");
    assert_eq!(status(&lint()), 0, "{}", text(&lint()));

    let wrong = scaffold::lesson("mine", "Mine").replace("--num-steps 20", "--num-stops 20");
    fs::write(folder.path().join("first/mine.yaml"), wrong).unwrap();
    let refused = lint();
    assert_eq!(status(&refused), 1);
    let report = text(&refused);
    assert!(
        report.contains("--num-stops") && report.contains("mine.yaml:25"),
        "{report}"
    );
    let machine = json(&tutor(
        folder.path(),
        &["lessons", "lint", "--json", "--lessons", &course],
    ));
    assert_eq!(machine["problems"][0]["line"], 25);
}

#[test]
fn a_separator_before_flags_is_taken_by_every_command() {
    let state = tempfile::tempdir().unwrap();
    for command in ["run", "verify", "gradcheck"] {
        let output = tutor(state.path(), &[command, "v1", "--", "--config", "vast"]);
        let said = text(&output);
        assert!(said.contains("'vast'"), "{command}: {said}");
    }
}

/// Runs are listed newest first, shown, compared, and pruned except those that the session refers to.
#[test]
fn runs_are_listed_shown_compared_and_pruned() {
    let state = TempDir::new().unwrap();
    let root = state.path().join("tinyllama-tutor");
    let stream = include_str!("fixtures/runs/v1_cpu.jsonl");
    let mut made: Vec<String> = Vec::new();
    for exit in ["exit status: 0", "exit status: 143"] {
        let words = ["tinyllama-tutor", "run", "v1"].map(String::from);
        let mut folder = RunFolder::create(&root, words.into()).unwrap();
        for line in stream.lines() {
            folder.append(line.as_bytes()).unwrap();
        }
        made.push(folder.finish(exit, None).unwrap().id());
    }
    let run = |words: &[&str]| tutor(state.path(), &[&["runs"], words].concat());
    let list = json(&run(&["list", "--json"]));
    let ids: Vec<&str> = list["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [made[1].as_str(), made[0].as_str()], "newest first");
    let listed = text(&run(&["list"]));
    assert!(
        listed.contains("stopped") && listed.contains("v1"),
        "{listed}"
    );
    let shown = text(&run(&["show", "last"]));
    assert!(
        shown.contains(&made[1]) && shown.contains("Summary"),
        "{shown}"
    );
    let compared = run(&["compare", &made[0], "last"]);
    assert_eq!(status(&compared), 0, "{}", text(&compared));
    let unknown = run(&["show", "nowhere"]);
    assert_eq!(status(&unknown), 2, "{}", text(&unknown));
    assert!(!text(&unknown).contains("target"), "{}", text(&unknown));
    assert_eq!(status(&run(&["prune"])), 2, "prune what?");

    // One of the runs becomes part of a session.
    let place = begin(state.path());
    let mut session = Session::open(place).unwrap();
    session.start_run(&made[0], None, "v1", vec![]).unwrap();
    drop(session);
    let young = json(&run(&["prune", "--older-than", "1", "--json"]));
    assert_eq!(young["removed"].as_array().unwrap().len(), 0);
    let pruned = json(&run(&["prune", "--keep", "0", "--json"]));
    assert_eq!(pruned["removed"], serde_json::json!([made[1]]));
    assert!(root.join("runs").join(&made[0]).exists());
}
