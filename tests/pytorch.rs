//! Tests `pytorch` with a script in place of `python3`, which says which script it was given.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use common::{stderr, stdout, tutor};
use serde_json::Value;

fn pytorch(home: &Path, python: Option<&str>, arguments: &[&str]) -> Output {
    let bin = home.join("bin");
    fs::create_dir_all(&bin).unwrap();
    if let Some(text) = python {
        let path = bin.join("python3");
        // Another process writes it. While this one has it open, a child of another test may inherit that, and it cannot start.
        let draft = bin.join("draft");
        fs::write(&draft, text).unwrap();
        let copied = Command::new("cp").args([&draft, &path]).status();
        assert!(copied.unwrap().success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = tutor(home);
    command.env("PATH", &bin).arg("pytorch").args(arguments);
    command.output().expect("the program starts")
}

#[test]
fn figures_of_the_last_line_are_the_document_and_the_rest_is_shown() {
    let home = tempfile::tempdir().unwrap();
    let python = "#!/bin/sh\n/bin/cat \"$2\" >\"$0.script\"\necho a row\necho \"{\\\"right\\\": 7, \\\"json\\\": $TINYLLAMA_JSON}\"\n";
    let file = home.path().join("mine.py");
    let arguments = ["triton_rms_norm", "--file", file.to_str().unwrap()];
    let output = pytorch(home.path(), Some(python), &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).trim(), "a row");
    let script = home.path().join("bin/python3.script");
    let exercise = fs::read_to_string(&file).unwrap();
    assert!(exercise.contains("@triton.jit") && exercise == fs::read_to_string(&script).unwrap());

    let written = "# what a learner wrote";
    fs::write(&file, written).unwrap();
    let output = pytorch(
        home.path(),
        Some(python),
        &[&arguments[..], &["--json"]].concat(),
    );
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["right"], 7);
    assert_eq!(document["json"], 1);
    assert_eq!(document["file"], file.to_str().unwrap());
    assert_eq!(fs::read_to_string(&script).unwrap(), written);
    assert_eq!(fs::read_to_string(&file).unwrap(), written);
}

#[test]
fn what_is_missing_is_named_with_how_to_get_it() {
    let home = tempfile::tempdir().unwrap();
    let output = pytorch(home.path(), None, &["tiny_llama"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stderr(&output).contains("Install Python 3"),
        "{}",
        stderr(&output)
    );
    let python = "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n";
    let output = pytorch(home.path(), Some(python), &["tiny_llama"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stderr(&output).contains("pip install torch"),
        "{}",
        stderr(&output)
    );
    for arguments in [
        &["no_such_script"][..],
        &["solutions/triton_rms_norm"],
        &["tiny_llama", "--solution"],
        &["tiny_llama", "--file", "/"],
    ] {
        let output = pytorch(home.path(), Some(python), arguments);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    }
    let output = pytorch(home.path(), Some(python), &["no_such_script"]);
    assert!(
        stderr(&output).contains("tiny_llama"),
        "{}",
        stderr(&output)
    );
    // A script that fails, and one that prints no figures.
    for python in [
        "#!/bin/sh\necho broken\nexit 1\n",
        "#!/bin/sh\necho no figures\n",
    ] {
        let output = pytorch(home.path(), Some(python), &["tiny_llama"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    }
}
