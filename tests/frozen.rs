//! Tests outputs that programs and classes rely on against stored copies: every `--json` document, and the events of
//! a run. Values that differ between runs (times, memory, paths, dates) are masked.
//!
//! For an intended change, run `tools/generate frozen` and read the diff.

mod common;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

use common::{SMALL, stderr, stdout, tutor, without_program};
use serde_json::{Value, json};

/// Keys with times, places, durations or amounts of memory. A null value stays visible.
const VOLATILE: &[&str] = &[
    "t",
    "started",
    "saved",
    "found",
    "device_ms",
    "measured",
    "date",
    "path",
    "folder",
    "file",
    "line",
    "device",
    "driver",
    "arch",
    "memory",
    "device_memory",
    "pid",
    "eta_s",
    "progress",
    "bytes_in_use",
    "bytes_reserved",
    "peak_bytes_in_use",
    "peak_bytes_reserved",
    "process_peak_bytes",
    "samples_per_s",
    "tokens_per_s",
    "total_ms",
    "forward_ms",
    "backward_ms",
    "optimizer_ms",
    "first_step_ms",
    "median",
    "p10",
    "p90",
    "mean",
    "hash",
    "last_hash",
    "chain",
    "time",
    "seconds",
    "minutes",
    "cores",
    "version",
    "program",
    "os",
    "kernel",
    "host",
    "worst_parameter",
    "loss_difference",
    "input_seed",
    "achieved_flops_per_s",
    "device_ms_per_step",
    "worst",
    "worst_difference",
    "difference",
    "distance",
];

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        // Two simulated targets with fixed times, so that every command reports the same figures.
        let truth = json!({
            "targets": {
                "v1": {"ms": 20.0, "launches": 2800}, "v2": {"ms": 10.0}, "v3": {"ms": 5.0, "launches": 250}, "v4": {"ms": 2.5},
                "stage1": {"ms": 12.0, "loss": [400.0, 300.0]}, "stage2": {"ms": 12.0}, "stage3": {"ms": 11.0, "waits": false},
                "stage4": {"ms": 11.0}, "stage5": {"ms": 5.0}, "stage6": {"ms": 2.0, "with_gradient": 1},
            },
            "growth": [1.5, 0.8], "factors": {"--qkv-fusion=on": 0.9, "--graph-fusion=on": 0.7},
        });
        std::fs::write(home.path().join("truth.json"), truth.to_string()).expect("written");
        Home(home)
    }

    fn run(&self, arguments: &[&str], device_of_known_times: bool) -> Output {
        let mut command = tutor(self.0.path());
        command
            .args(arguments)
            .env("HOME", self.0.path())
            .env("USER", "ada")
            .current_dir(self.0.path());
        if device_of_known_times {
            let stand_in =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_ins/training_run");
            command
                .env(
                    "TINYLLAMA_LAUNCHER",
                    format!("python3 {}", stand_in.display()),
                )
                .env("STAND_IN_TRUTH", self.0.path().join("truth.json"));
        }
        command.output().expect("the program starts")
    }

    /// The command's output, either a document or lines, with masked values.
    fn printed(&self, arguments: &[&str], device_of_known_times: bool) -> String {
        let output = self.run(arguments, device_of_known_times);
        let mut text = format!("exit {:?}\n", output.status.code());
        let printed = stdout(&output);
        if let Ok(document) = serde_json::from_str::<Value>(&printed) {
            self.write(&mut text, document);
        } else {
            for line in printed.lines() {
                match serde_json::from_str(line) {
                    Ok(document) => self.write(&mut text, document),
                    Err(_) => writeln!(text, "{}", self.without_places(line)).expect("a string"),
                }
            }
        }
        if !output.status.success() {
            writeln!(text, "stderr: {}", self.without_places(&stderr(&output))).expect("a string");
        }
        text
    }

    fn write(&self, text: &mut String, mut document: Value) {
        self.mask(&mut document, "");
        writeln!(text, "{document:#}").expect("a string");
    }

    fn mask(&self, value: &mut Value, key: &str) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.mask(field, name);
                }
            }
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.mask(item, key));
                // Kernels are listed by time, so their order varies.
                if key == "kernels" {
                    items.sort_by_key(|item| (item["name"].to_string(), item["part"].to_string()));
                }
            }
            Value::Null | Value::Bool(_) => {}
            _ if VOLATILE.contains(&key) => *value = "(varies)".into(),
            Value::Number(number) if number.is_f64() => {
                let digits = format!("{:.2e}", number.as_f64().unwrap_or(f64::NAN));
                *value = digits.into();
            }
            Value::Number(_) => {}
            Value::String(text) => *text = self.without_places(text),
        }
    }

    /// Masks paths, run ids, and times in text.
    fn without_places(&self, text: &str) -> String {
        // A program in `target/` lies below the project's folder, so it is masked first.
        let text = without_program(text, "PROGRAM")
            .replace(&self.0.path().display().to_string(), "HOME")
            .replace(env!("CARGO_MANIFEST_DIR"), "PROJECT");
        let words = text.split(' ').map(|word| {
            let of_a_run = word
                .split(['/', '-'])
                .any(|part| part.len() == 10 && part.bytes().all(|byte| byte.is_ascii_digit()));
            if of_a_run { "RUN" } else { word }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/frozen")
        .join(name)
}

/// Compares `text` with the stored copy `name`.
fn frozen(name: &str, text: &str) {
    let path = place(name);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, text).expect("written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if let Some((at, (before, now))) = kept
        .lines()
        .zip(text.lines())
        .enumerate()
        .find(|(_, (before, now))| before != now)
    {
        panic!(
            "{}: line {}\n  before: {before}\n  now:    {now}",
            path.display(),
            at + 1
        );
    }
    assert_eq!(
        kept.lines().count(),
        text.lines().count(),
        "{}: lines were added or left out",
        path.display()
    );
}

#[test]
fn runs_and_checks_on_the_cpu() {
    let home = Home::new();
    let small = |words: &[&'static str]| [words, SMALL].concat();
    for (name, arguments) in [
        (
            "run-v1",
            small(&[
                "run",
                "v1",
                "--events",
                "--num-steps=3",
                "--flops",
                "--profile-steps=1",
                "--diagnose",
            ]),
        ),
        (
            "run-v3-json",
            small(&["run", "v3", "--json", "--num-steps=2"]),
        ),
        (
            "run-v4",
            small(&[
                "run",
                "v4",
                "--events",
                "--num-steps=2",
                "--flops",
                "--profile-steps=1",
            ]),
        ),
        (
            "run-stage1",
            small(&["run", "stage1", "--json", "--num-steps=2"]),
        ),
        (
            "run-stage6",
            small(&["run", "stage6", "--json", "--num-steps=2"]),
        ),
        ("run-wrong", vec!["run", "v1", "--events", "--data=missing"]),
        (
            "gradcheck",
            small(&["gradcheck", "v1", "v2", "v3", "v4", "--json"]),
        ),
        ("verify", small(&["verify", "--json", "--num-steps=3"])),
    ] {
        frozen(&format!("{name}.txt"), &home.printed(&arguments, false));
    }
}

#[test]
fn documents_without_a_run_are_frozen() {
    let home = Home::new();
    for (name, arguments) in [
        ("kernels", &["kernels", "--json"][..]),
        ("diff", &["diff", "stage2", "stage3", "--json"]),
        ("diff-versions", &["diff", "v1", "v3", "--json"]),
        ("recordings-list", &["recordings", "list", "--json"]),
        (
            "recordings-play",
            &["recordings", "play", "v4", "--speed=end"],
        ),
        ("profile-print", &["profile", "rocprofv3", "v3", "--print"]),
    ] {
        frozen(&format!("{name}.txt"), &home.printed(arguments, false));
    }
}

#[test]
fn analyses_of_a_device_of_known_times() {
    for (name, arguments) in [
        (
            "compare",
            &["compare", "v1", "v2", "v4", "--rounds=3", "--json"][..],
        ),
        (
            "compare-workshop",
            &["compare", "v1", "v3", "--rounds=1", "--workshop", "--json"],
        ),
        (
            "ablate",
            &[
                "ablate",
                "v2",
                "--rounds=2",
                "--switches=qkv-fusion,graph-fusion",
                "--json",
            ],
        ),
        (
            "scale",
            &[
                "scale",
                "v1",
                "v4",
                "--seq-len=64,128,256",
                "--batch-size=4,8",
                "--json",
            ],
        ),
        (
            "batch-size",
            &[
                "batch-size",
                "v1",
                "--memory=0.8",
                "--optimize=memory",
                "--exact",
                "--json",
            ],
        ),
        ("stages", &["stages", "--rounds=2", "--json"]),
        (
            "predict",
            &["predict", "v1", "--seq-len=512", "--learn", "--json"],
        ),
        ("calibrate", &["calibrate", "--json"]),
        (
            "regress-create",
            &[
                "regress",
                "v1",
                "--baseline=baseline.json",
                "--save",
                "--json",
            ],
        ),
    ] {
        frozen(
            &format!("{name}.txt"),
            &Home::new().printed(arguments, true),
        );
    }
}
