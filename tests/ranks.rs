//! Tests V4 over several GPUs, with stand-ins for HIP with two devices and for RCCL between two processes.

#[path = "common/mod.rs"]
mod common;
#[path = "common/stand_in.rs"]
mod stand_in;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{stderr, stdout, tutor};
use serde_json::Value;

/// A model with four layers, which needs more than one bucket.
const MODEL: &[&str] = &[
    "--hidden=32",
    "--layers=4",
    "--heads=4",
    "--kv-heads=2",
    "--ffn=48",
    "--seq-len=16",
    "--batch-size=4",
    "--vocab=64",
    "--backend=rocm",
    "--events",
    "--warmup=0",
    "--num-steps=4",
];

/// `run v4` on the stand-in.
fn v4(rocm: &Path, home: &Path, flags: &[&str]) -> Command {
    let mut command = tutor(home);
    let built = stand_in::built().expect("asked before");
    command
        .args(["run", "v4"])
        .args(MODEL.iter().filter(|flag| !is_replaced(flag, flags)))
        .args(flags)
        .env("ROCM_PATH", rocm)
        .env("HIP_PATH", rocm)
        .env("HIP_STAND_IN_CACHE", built.join("cache"))
        .env("HIP_STAND_IN_DEVICES", "2");
    command
}

/// True if one of `flags` replaces this flag of the model.
fn is_replaced(flag: &str, flags: &[&str]) -> bool {
    let name = |flag: &str| flag.split('=').next().map(str::to_owned);
    let given = |wanted: &str| {
        flags
            .iter()
            .any(|flag| name(flag).as_deref() == Some(wanted))
    };
    given(&name(flag).unwrap_or_default())
        || flag.starts_with("--batch-size") && given("--batch-per-gpu")
}

/// A run's output.
struct RunResult {
    output: Output,
    events: Vec<Value>,
}

fn run(flags: &[&str], settings: &[(&str, &str)]) -> Option<RunResult> {
    let rocm = stand_in::built()?;
    Some(run_with(rocm, flags, settings))
}

fn run_with(rocm: &Path, flags: &[&str], settings: &[(&str, &str)]) -> RunResult {
    let home = tempfile::tempdir().unwrap();
    let mut command = v4(rocm, home.path(), flags);
    let output = command.envs(settings.iter().copied()).output().unwrap();
    let text = stdout(&output);
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    RunResult {
        events: lines.collect(),
        output,
    }
}

impl RunResult {
    fn events_of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events
            .iter()
            .filter(move |event| event["event"] == kind)
    }

    fn losses(&self) -> Vec<f64> {
        let losses = self
            .events_of("step")
            .map(|step| step["loss"].as_f64().unwrap());
        losses.collect()
    }

    fn summary(&self) -> &Value {
        self.events_of("summary").last().expect("a summary")
    }

    fn expect(&self, status: i32) -> &Self {
        let said = stderr(&self.output);
        assert_eq!(self.output.status.code(), Some(status), "{said}");
        assert!(!said.contains("hip-stand-in:"), "{said}");
        self
    }
}

#[test]
fn two_gpus_train_as_one_with_the_whole_batch() {
    let Some(one) = run(&[], &[]) else { return };
    let expected = one.expect(0).losses();
    for flags in [&["--gpus=2"][..], &["--gpus=2", "--batch-per-gpu=2"]] {
        let without: Vec<&str> = flags.to_vec();
        let two = run(&without, &[]).unwrap();
        let losses = two.expect(0).losses();
        assert_eq!(losses.len(), expected.len());
        for (ours, theirs) in losses.iter().zip(&expected) {
            assert!(
                (ours - theirs).abs() < 1e-5 * theirs,
                "{losses:?} {expected:?}"
            );
        }
        let hello = two.events_of("hello").next().unwrap();
        assert_eq!(hello["ranks"]["ranks"], 2);
        assert_eq!(hello["config"]["batch_size"], 4);
        assert_eq!(two.summary()["rank_check"]["passed"], true);
        assert_eq!(two.summary()["complete"], true);
        assert_eq!(
            two.events_of("hello").count() + two.events_of("summary").count(),
            2
        );
        for step in two.events_of("step") {
            let ranks = step["ranks"].as_array().unwrap();
            assert_eq!(ranks.len(), 2);
            assert!(
                ranks
                    .iter()
                    .all(|rank| rank["waited_ms"].as_f64() >= Some(0.0)),
                "{ranks:?}"
            );
            let mean = ranks
                .iter()
                .map(|rank| rank["loss"].as_f64().unwrap())
                .sum::<f64>()
                / 2.0;
            assert_eq!(step["loss"].as_f64(), Some(mean));
        }
    }
}

#[test]
fn the_moment_of_summing_gradients_changes_no_bit() {
    let Some(overlapping) = run(&["--gpus=2"], &[]) else {
        return;
    };
    let expected = overlapping.expect(0).losses();
    assert!(overlapping.events_of("step").last().unwrap()["captured"].as_u64() > Some(50));
    for flags in [
        &["--overlap=off"][..],
        &["--ultra=off"],
        &["--bucket-mb=0.001"],
        &["--bucket-mb=0.001", "--overlap=off", "--ultra=off"],
    ] {
        let other = run(&[&["--gpus=2"], flags].concat(), &[]).unwrap();
        assert_eq!(other.expect(0).losses(), expected, "{flags:?}");
    }
}

#[test]
fn gradients_in_bf16_are_summed_too() {
    let Some(two) = run(&["--gpus=2", "--dtype=bf16"], &[]) else {
        return;
    };
    assert_eq!(two.expect(0).summary()["rank_check"]["passed"], true);
}

/// Uses an RCCL that sums nothing.
#[test]
fn a_missing_sum_is_found() {
    let plant = [("HIP_STAND_IN_SUM", "off")];
    let Some(two) = run(&["--gpus=2"], &plant) else {
        return;
    };
    let check = &two.expect(1).summary()["rank_check"];
    assert_eq!(check["passed"], false);
    assert!(check["gradient_difference"].as_f64() > Some(0.1), "{check}");
    assert!(check["worst_parameter"].is_string());
}

#[test]
fn gradients_over_ranks_are_checked_by_themselves() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let check = |plant: &str, more: &[&str]| {
        let home = tempfile::tempdir().unwrap();
        let model = MODEL.iter().filter(|flag| **flag != "--events");
        tutor(home.path())
            .args(["gradcheck", "v4"])
            .args(model)
            .args(more)
            .env("ROCM_PATH", rocm)
            .env("HIP_PATH", rocm)
            .env("HIP_STAND_IN_CACHE", rocm.join("cache"))
            .env("HIP_STAND_IN_DEVICES", "2")
            .env("HIP_STAND_IN_SUM", plant)
            .output()
            .unwrap()
    };
    let good = check("on", &["--gpus=2"]);
    assert!(good.status.success(), "{}", stderr(&good));
    assert!(
        stdout(&good).contains("summed over 2 GPUs"),
        "{}",
        stdout(&good)
    );
    let bad = check("off", &["--gpus=2", "--json"]);
    assert_eq!(bad.status.code(), Some(1), "{}", stderr(&bad));
    let document: Value = serde_json::from_str(&stdout(&bad)).unwrap();
    assert_eq!(document["passed"], false);
    assert_eq!(check("on", &["--gpus=2", "v1"]).status.code(), Some(2));
}

#[test]
fn a_rank_that_dies_ends_the_run_with_its_name() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let mut run = v4(rocm, home.path(), &["--gpus=2", "--num-steps=1000000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let stepped = |line: &String| line.contains(r#""event":"step""#);
    lines
        .by_ref()
        .map(Result::unwrap)
        .find(stepped)
        .expect("a step");
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id()));
    let children: Vec<i32> = children
        .unwrap()
        .split_whitespace()
        .map(|child| child.parse().unwrap())
        .collect();
    let is_second = |child: &&i32| {
        let environment = std::fs::read(format!("/proc/{child}/environ")).unwrap();
        String::from_utf8_lossy(&environment).contains("TINYLLAMA_RANK=1")
    };
    assert_eq!(children.len(), 2);
    let second = *children.iter().find(is_second).unwrap();
    // SAFETY: kill takes two numbers, and the process is a child of the one that this test started.
    unsafe { libc::kill(second, libc::SIGKILL) };
    let last: Vec<Value> = lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    let error = last.last().unwrap();
    let message = error["message"].as_str().unwrap();
    assert_eq!(error["event"], "error");
    assert!(
        message.contains("rank 1") && message.contains("KILL"),
        "{message}"
    );
    assert_eq!(run.wait().unwrap().code(), Some(1));
    for child in children {
        assert!(
            !Path::new(&format!("/proc/{child}")).exists(),
            "{child} is left"
        );
    }
}

#[test]
fn a_missing_library_is_named_with_where_it_was_looked_for() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let without = tempfile::tempdir().unwrap();
    let lib = without.path().join("lib");
    std::fs::create_dir(&lib).unwrap();
    for entry in std::fs::read_dir(rocm.join("lib")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "librccl.so" {
            std::os::unix::fs::symlink(entry.path(), lib.join(entry.file_name())).unwrap();
        }
    }
    let said = run_with(without.path(), &["--gpus=2"], &[]);
    let error = said.expect(3).events_of("error").last().unwrap();
    assert_eq!(error["code"], "environment");
    assert!(
        error["message"].as_str().unwrap().contains("librccl.so"),
        "{error}"
    );
    for place in ["RCCL_PATH", "LD_LIBRARY_PATH", "ROCM_PATH"] {
        assert!(error["remedy"].as_str().unwrap().contains(place), "{error}");
    }
}

#[test]
fn a_batch_that_cannot_be_shared_is_refused() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    for (flags, status, words) in [
        (&["--gpus=3"][..], 2, "multiple of 3"),
        (&["--gpus=0"], 2, "from 1 to 1024"),
        (&["--gpus=128", "--batch-size=128"], 2, "srun"),
        (&["--gpus=2000", "--batch-size=2000"], 2, "from 1 to 1024"),
        (&["--gpus=2", "--backend=cpu"], 2, "CUDA or HIP"),
        (&["--gpus=2", "--device=1"], 2, "HIP_VISIBLE_DEVICES"),
        (&["--gpus=2", "--bucket-mb=0"], 2, "--bucket-mb"),
        (
            &["--gpus=2", "--batch-size=4", "--batch-per-gpu=2"],
            2,
            "--batch-per-gpu",
        ),
        (&["--gpus=2", "--kernel=rmsnorm=my.hip"], 2, "--kernel"),
        (&["--batch-per-gpu=2"], 2, "--gpus"),
        (&["--gpus=4"], 3, "device"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let output = v4(rocm, home.path(), flags).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{flags:?}: {said}");
        assert!(said.contains(words), "{flags:?}: {said}");
    }
    let output = common::run(&["run", "v1", "--gpus=2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("v4's"), "{}", stderr(&output));
}

/// Starts tasks like `srun --ntasks=2`: each task is one rank, and they share only a folder.
#[test]
fn tasks_of_a_scheduler_are_one_run() {
    let Some(rocm) = stand_in::built() else {
        return;
    };
    let (home, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let task = |rank: &str, steps: &str| {
        v4(rocm, home.path(), &["--gpus=2", steps])
            .env("SLURM_NTASKS", "2")
            .env("SLURM_PROCID", rank)
            .env("SLURM_LOCALID", rank)
            .env("SLURM_JOB_ID", "7")
            .env("SLURM_STEP_ID", "0")
            .env("TINYLLAMA_MEETING", shared.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let second = task("1", "--num-steps=3");
    let first = task("0", "--num-steps=3").wait_with_output().unwrap();
    let second = second.wait_with_output().unwrap();
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert_eq!(second.status.code(), Some(0), "{}", stderr(&second));
    assert_eq!(stdout(&second), "", "the first task tells of all");
    let text = stdout(&first);
    let steps = text
        .lines()
        .filter(|line| line.contains(r#""event":"step""#));
    assert_eq!(steps.filter(|step| step.contains(r#""rank":1"#)).count(), 3);
    assert_eq!(std::fs::read_dir(shared.path()).unwrap().count(), 0);

    // After the end of the first task, the second one does not wait forever.
    let (mut second, mut first) = (
        task("1", "--num-steps=1000000"),
        task("0", "--num-steps=1000000"),
    );
    let mut lines = BufReader::new(first.stdout.take().unwrap()).lines();
    let stepped = |line: &String| line.contains(r#""event":"step""#);
    lines
        .by_ref()
        .map(Result::unwrap)
        .find(stepped)
        .expect("a step");
    // SAFETY: kill takes two numbers, and the process is a child of this test.
    unsafe { libc::kill(first.id().cast_signed(), libc::SIGTERM) };
    assert_eq!(first.wait().unwrap().code(), Some(128 + libc::SIGTERM));
    assert_eq!(second.wait().unwrap().code(), Some(128 + libc::SIGTERM));
}

/// With a clock that counts pieces of work, the backward pass hides all sums but the last, or none.
#[test]
fn sums_that_are_not_hidden_are_waited_for() {
    let counting = [("HIP_STAND_IN_CLOCK", "1")];
    let waited = |flags: &[&str]| {
        let flags = [
            &["--gpus=2", "--bucket-mb=0.001", "--check-ranks=off"],
            flags,
        ]
        .concat();
        let run = run(&flags, &counting)?;
        run.expect(0).summary()["waited_ms"]["median"].as_f64()
    };
    let Some(hidden) = waited(&[]) else { return };
    assert!(hidden >= 1.0, "{hidden}");
    assert!(waited(&["--overlap=off"]) > Some(hidden + 2.0), "{hidden}");
    assert!(
        waited(&["--overlap=off", "--ultra=off"]) > Some(hidden + 2.0),
        "{hidden}"
    );
}
