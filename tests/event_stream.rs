//! The event stream against its published schema, and the files kept of a run.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{SMALL, run, run_v1, stderr, stdout, tutor};
use serde_json::Value;
use tinyllama_tutor::run::{Line, RunChild, RunCommand};
use tinyllama_tutor::train::event::Body;

fn schema(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("assets")
        .join(name);
    serde_json::from_slice(&std::fs::read(path).expect("the schema is there")).expect("it is JSON")
}

#[test]
fn the_published_schemas_are_the_programs_own() {
    for (output, file) in [("events", "events.schema.json"), ("run", "run.schema.json")] {
        let printed = run(&["schema", output]);
        let printed: Value = serde_json::from_str(&stdout(&printed)).unwrap();
        // Not assert_eq: two schemas side by side help nobody.
        assert!(
            printed == schema(file),
            "assets/{file} is out of date: `tinyllama-tutor schema {output} > assets/{file}`"
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
    // The check itself can fail.
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

fn command(flags: &[&str]) -> RunCommand {
    RunCommand {
        launcher: vec![],
        program: env!("CARGO_BIN_EXE_tinyllama-tutor").into(),
        target: "v1".into(),
        flags: [SMALL, &["--backend=cpu"], flags]
            .concat()
            .iter()
            .map(Into::into)
            .collect(),
    }
}

#[test]
fn a_child_is_read_to_its_end_and_its_files_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let mut child = RunChild::start(&command(&["--num-steps=3"]), root.path()).unwrap();
    let mut steps = 0;
    while let Some(line) = child.next_line().unwrap() {
        if let Line::Event(event) = line {
            steps += usize::from(matches!(event.body, Body::Step(_)));
        }
    }
    let exited = child.wait().unwrap();
    assert!(exited.status.success());
    assert_eq!(steps, 6);
    let record: Value =
        serde_json::from_slice(&std::fs::read(exited.folder.path().join("run.json")).unwrap())
            .unwrap();
    assert_eq!(record["summary"]["measured_steps"], 3);
    assert_eq!(record["hello"]["target"], "v1");
    let events = std::fs::read_to_string(exited.folder.path().join("events.jsonl")).unwrap();
    assert!(events.lines().count() > 6);
}

#[test]
fn a_killed_child_leaves_its_steps_and_says_how_it_ended() {
    let root = tempfile::tempdir().unwrap();
    let mut child = RunChild::start(&command(&["--num-steps=100000"]), root.path()).unwrap();
    loop {
        match child.next_line().unwrap() {
            Some(Line::Event(event)) if matches!(event.body, Body::Step(_)) => break,
            Some(_) => {}
            None => panic!("the run ended before its first step"),
        }
    }
    let killed = Command::new("kill")
        .args(["-KILL", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let exited = child.wait().unwrap();
    assert!(!exited.status.success());
    let exit = exited.folder.record.exit.clone().unwrap();
    assert!(exit.contains("signal") && exit.contains('9'), "{exit}");
    assert!(exited.folder.record.summary.is_none());
}

#[test]
fn a_dropped_child_is_ended() {
    let root = tempfile::tempdir().unwrap();
    let child = RunChild::start(&command(&["--num-steps=100000"]), root.path()).unwrap();
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    assert!(process.exists());
    drop(child);
    assert!(!process.exists());
}

#[test]
fn bench_runs_targets_in_turns_and_reads_peers() {
    let home = tempfile::tempdir().unwrap();
    let peer = r#"echo noise; echo '{"cfg":"small","variant":"peer","step_ms":12.5}'"#;
    let output = tutor(home.path())
        .args([
            "bench",
            "v1",
            "v1:--dtype=bf16",
            "--rounds=2",
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
    assert_eq!(rows[0]["step_ms"].as_array().unwrap().len(), 2);
    assert_eq!(rows[1]["name"], "v1 --dtype=bf16");
    assert_eq!(rows[2]["step_ms"][0], 12.5);
    assert!(rows[0]["launches"].is_null());
}
