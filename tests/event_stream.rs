//! Tests the event stream against its published schema, and the stored files of a run.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use tinyllama_contract::model::Attention;

use common::{SMALL, run, run_v1, stderr, stdout, tutor};
use serde_json::Value;
use tinyllama_contract::Body;
use tinyllama_contract::flags::RunSpec;
use tinyllama_runs::{
    Control, FinishedRun, Launcher, Line, RunExit, RunRecord, RunStart, RunUpdate, supervise,
};

fn schema(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("assets")
        .join(name);
    serde_json::from_slice(&std::fs::read(path).expect("the schema is there")).expect("it is JSON")
}

#[test]
fn the_schema_files_are_those_that_are_printed() {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    for output in ["events", "run", "report"] {
        let file = assets.join(format!("{output}.schema.json"));
        let printed = stdout(&run(&["schema", output]));
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            std::fs::write(&file, &printed).unwrap();
        }
        // Not assert_eq, because it would print two whole schemas.
        assert!(
            printed == std::fs::read_to_string(&file).unwrap_or_default(),
            "{} is out of date: run tools/generate schemas",
            file.display()
        );
    }
}

#[test]
fn every_line_of_a_run_is_valid() {
    let validator = jsonschema::validator_for(&schema("events.schema.json")).unwrap();
    let output = run_v1(&["--events", "--num-steps=3", "--flops", "--profile-steps=1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut kinds = Vec::new();
    for line in stdout(&output).lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        if let Err(error) = validator.validate(&value) {
            panic!("{error}\n{line}");
        }
        kinds.push(value["event"].as_str().unwrap().to_string());
    }
    assert_eq!(kinds.first().map(String::as_str), Some("hello"));
    assert_eq!(kinds.last().map(String::as_str), Some("summary"));
    assert_eq!(kinds.iter().filter(|kind| *kind == "step").count(), 6);
    // Checks that the validator can fail.
    let mut broken: Value = serde_json::from_str(stdout(&output).lines().next().unwrap()).unwrap();
    broken["seed"] = "forty-two".into();
    assert!(validator.validate(&broken).is_err());
}

#[test]
fn an_error_is_the_last_event() {
    let output = run_v1(&["--events", "--data=no-such-file", "--num-steps=3"]);
    let text = stdout(&output);
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(
        (last["event"].as_str(), last["code"].as_str()),
        (Some("error"), Some("usage"))
    );
    assert_eq!(output.status.code(), Some(2));
}

/// A run that writes its process id to the file `leader` below `root`.
fn start(root: &Path, steps: &str) -> RunStart {
    let leader = root.join("leader");
    let launcher = [
        "sh",
        "-c",
        r#"echo $$ > "$0" && exec "$@""#,
        leader.to_str().unwrap(),
    ];
    let words = shlex::try_join(launcher).unwrap();
    let mut launcher = Launcher::from_settings(Some(&words), None).unwrap();
    launcher.program = env!("CARGO_BIN_EXE_tinyllama-tutor").into();
    let flags = [SMALL, &["--backend=cpu", steps]].concat();
    launcher.run(&RunSpec::parse("v1", flags).unwrap())
}

fn leader(root: &Path) -> String {
    let text = std::fs::read_to_string(root.join("leader")).unwrap();
    text.trim().to_string()
}

fn is_step(told: &RunUpdate) -> bool {
    matches!(told, RunUpdate::Line(Line::Event(event)) if matches!(event.body, Body::Step(_)))
}

#[test]
fn a_child_is_read_to_its_end_and_its_files_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let start = start(root.path(), "--num-steps=3");
    let mut steps = 0;
    let ended = supervise(&start, root.path(), &Control::default(), &mut |told| {
        steps += usize::from(is_step(&told));
        Ok(())
    });
    let ended = ended.unwrap();
    assert!(ended.exit.is_success());
    assert_eq!((steps, ended.run.losses.len()), (6, 6));
    let record: Value =
        serde_json::from_slice(&std::fs::read(ended.run.path.join("run.json")).unwrap()).unwrap();
    assert_eq!(record["summary"]["measured_steps"], 3);
    assert_eq!(record["hello"]["target"], "v1");
    let events = std::fs::read_to_string(ended.run.path.join("events.jsonl")).unwrap();
    assert!(events.lines().count() > 6);
    // The stored run equals the one that was received.
    let read = FinishedRun::read(&ended.run.path).unwrap();
    assert_eq!(read.sha256, ended.run.sha256);
    assert_eq!(read.figures(), ended.run.figures());
}

#[test]
fn a_killed_child_leaves_its_steps_and_says_how_it_ended() {
    let root = tempfile::tempdir().unwrap();
    let start = start(root.path(), "--num-steps=100000");
    let mut killed = false;
    let ended = supervise(&start, root.path(), &Control::default(), &mut |told| {
        if is_step(&told) && !killed {
            let kill = Command::new("sh")
                .args(["-c", "kill -KILL \"$0\"", &leader(root.path())])
                .status()?;
            killed = kill.success();
        }
        Ok(())
    });
    let ended = ended.unwrap();
    assert!(killed && !ended.stopped);
    assert_eq!(ended.exit, RunExit::Signal(9));
    let record = RunRecord::read(&ended.run.path).unwrap();
    assert_eq!(record.exit.as_deref(), Some("signal 9 (KILL)"));
    assert!(record.summary.is_none() && !ended.run.losses.is_empty());
}

#[test]
fn a_run_that_is_asked_to_end_says_what_it_did() {
    let root = tempfile::tempdir().unwrap();
    let start = start(root.path(), "--num-steps=100000");
    let control = Control::default();
    let ended = supervise(&start, root.path(), &control, &mut |told| {
        if is_step(&told) {
            control.stop(2);
        }
        Ok(())
    });
    let ended = ended.unwrap();
    assert!(ended.stopped && control.stopped() == Some(2));
    assert!(!ended.run.reported.summary.as_ref().unwrap().complete);
}

/// `setsid` leaves its parent's process group, and the intermediate parent ends immediately.
#[test]
fn a_run_that_left_its_group_ends_when_it_is_asked_to_and_when_nobody_looks() {
    let mut launcher = Launcher::from_settings(Some("setsid"), None).unwrap();
    launcher.program = env!("CARGO_BIN_EXE_tinyllama-tutor").into();
    let flags = [SMALL, &["--backend=cpu", "--num-steps=100000"]].concat();
    let start = launcher.run(&RunSpec::parse("v1", flags).unwrap());
    let root = tempfile::tempdir().unwrap();
    let control = Control::default();
    let ended = supervise(&start, root.path(), &control, &mut |told| {
        if is_step(&told) {
            control.stop(2);
        }
        Ok(())
    });
    let ended = ended.unwrap();
    assert!(!ended.run.reported.summary.as_ref().unwrap().complete);

    let mut pipe = None;
    let lost = supervise(&start, root.path(), &Control::default(), &mut |told| {
        if is_step(&told) {
            pipe = writers(root.path());
            anyhow::bail!("enough");
        }
        Ok(())
    });
    assert_eq!(lost.unwrap_err().to_string(), "enough");
    let process = pipe.expect("the run has a process");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while Path::new("/proc").join(&process).exists() {
        assert!(std::time::Instant::now() < until, "{process} goes on");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// The process whose error stream is a file below `root`.
fn writers(root: &Path) -> Option<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut names = processes.filter(|process| {
        std::fs::read_link(process.path().join("fd/2")).is_ok_and(|to| to.starts_with(root))
    });
    Some(names.next()?.file_name().to_string_lossy().into_owned())
}

#[test]
fn a_child_nobody_looks_after_any_more_is_ended() {
    let root = tempfile::tempdir().unwrap();
    let start = start(root.path(), "--num-steps=100000");
    let ended = supervise(&start, root.path(), &Control::default(), &mut |told| {
        anyhow::ensure!(!is_step(&told), "enough");
        Ok(())
    });
    assert_eq!(ended.unwrap_err().to_string(), "enough");
    let process = Path::new("/proc").join(leader(root.path()));
    assert!(!process.exists());
}

#[test]
fn compare_runs_targets_in_turns_and_reads_peers() {
    let home = tempfile::tempdir().unwrap();
    let peer = r#"echo noise; echo '{"cfg":"small","variant":"peer","step_ms":12.5}'"#;
    let output = tutor(home.path())
        .args([
            "compare",
            "v1",
            "v1:--dtype=bf16",
            "--rounds=2",
            "--no-phases",
            "--json",
            "--peer",
            peer,
            "--",
        ])
        .args(SMALL)
        .args(["--num-steps=2", "--warmup=1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let rows = &document["rows"];
    assert_eq!(rows[0]["step_ms_of_runs"].as_array().unwrap().len(), 2);
    assert_eq!(rows[1]["name"], "v1 --dtype=bf16");
    assert_eq!(document["peers"][0]["step_ms"], 12.5);
    assert!(rows[0]["launches_per_step"].is_null());
}

#[test]
fn recordings_with_the_attention_of_burns_library_stay_readable() {
    let read = |name: &str| serde_json::from_str::<Attention>(name).unwrap();
    assert_eq!(read("\"library\""), Attention::Kernel);
    assert_eq!(read("\"kernel\""), Attention::Kernel);
}
