//! Tests the ROCTx calls of a run, with a library of that name that records them.

use std::fs;
use std::path::Path;
use std::process::Command;

const LIBRARY: &str = r#"
#include <stdio.h>
#include <stdlib.h>
static void say(const char *what, const char *name) {
    FILE *file = fopen(getenv("HEARD"), "a");
    fprintf(file, "%s %s\n", what, name);
    fclose(file);
}
int roctxRangePushA(const char *name) { say("push", name); return 0; }
int roctxRangePop(void) { say("pop", ""); return 0; }
int roctxProfilerResume(unsigned long thread) { say("resume", thread ? "one" : "all"); return 0; }
int roctxProfilerPause(unsigned long thread) { say("pause", thread ? "one" : "all"); return 0; }
"#;

/// The recorded ranges, each with the number of ranges around it.
fn heard(home: &Path, flags: &[&str]) -> Vec<(usize, String)> {
    let source = home.join("roctx.c");
    fs::write(&source, LIBRARY).unwrap();
    fs::create_dir(home.join("lib")).unwrap();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(home.join("lib/librocprofiler-sdk-roctx.so"))
        .arg(&source)
        .status()
        .expect("a C compiler, which the build needs too");
    assert!(compiled.success());
    let output = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args([
            "run",
            "v1",
            "--backend",
            "cpu",
            "--hidden",
            "16",
            "--layers",
            "1",
            "--heads",
            "2",
            "--kv-heads",
            "1",
        ])
        .args([
            "--ffn",
            "16",
            "--vocab",
            "16",
            "--seq-len",
            "4",
            "--batch-size",
            "1",
        ])
        .args(flags)
        .env("ROCM_PATH", home)
        .env("HEARD", home.join("heard"))
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_DATA_HOME", home.join("data"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut depth = 0;
    let mut heard = vec![];
    for line in fs::read_to_string(home.join("heard")).unwrap().lines() {
        let (what, name) = line.split_once(' ').unwrap();
        match what {
            "push" => {
                heard.push((depth, name.to_owned()));
                depth += 1;
            }
            "pop" => depth -= 1,
            _ => heard.push((depth, format!("{what} {name}"))),
        }
    }
    assert_eq!(depth, 0, "every range ends");
    heard
}

#[test]
fn counted_steps_and_their_parts_are_ranges_and_all_that_is_selected() {
    let home = tempfile::tempdir().unwrap();
    let heard = heard(home.path(), &["--warmup", "2", "--num-steps", "3"]);
    let at = |what: &str| heard.iter().position(|(_, name)| name == what).unwrap();
    let (resume, pause) = (at("resume all"), at("pause all"));
    assert_eq!(heard[resume + 1], (0, "counted steps".to_owned()));
    let steps = |part: &[(usize, String)], depth| {
        part.iter()
            .filter(|(at, name)| *at == depth && name == "step")
            .count()
    };
    // Two warm-up steps come before. The comparison of repeats afterwards is not a step.
    assert_eq!(steps(&heard[..resume], 0), 2);
    assert_eq!(steps(&heard[resume..pause], 1), 3);
    assert_eq!(steps(&heard[pause..], 0), 0);
    assert!(heard.len() > pause + 1, "repeats are compared behind it");
    let counted: Vec<&str> = heard[resume..pause]
        .iter()
        .map(|(_, name)| &**name)
        .collect();
    for part in [
        "forward",
        "embedding",
        "layer 0 attention",
        "loss",
        "backward",
        "optimizer",
    ] {
        let times = counted.iter().filter(|name| **name == part).count();
        assert_eq!(times, 3, "{part}: {counted:?}");
    }
}
