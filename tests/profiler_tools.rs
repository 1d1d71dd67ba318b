//! Tests the whole path from a target to its tables, with stand-ins for the tools of each supported version of ROCm.

mod common;
#[path = "profiler_tools/mistakes.rs"]
mod mistakes;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

fn stand_ins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_ins")
}

/// A working folder, with the tools of one version of ROCm on the PATH.
struct Machine {
    folder: TempDir,
    programs: TempDir,
    rocm: &'static str,
    failure: &'static str,
    tools: bool,
}

impl Machine {
    fn with_rocm(rocm: &'static str) -> Self {
        Machine {
            folder: tempfile::tempdir().unwrap(),
            programs: tempfile::tempdir().unwrap(),
            rocm,
            failure: "",
            tools: true,
        }
    }

    fn failing(rocm: &'static str, failure: &'static str) -> Self {
        Machine {
            failure,
            ..Machine::with_rocm(rocm)
        }
    }

    fn without_tools() -> Self {
        Machine {
            tools: false,
            ..Machine::with_rocm("7.0")
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"));
        command
            .arg("profile")
            .args(words)
            .current_dir(self.folder.path())
            .env_remove("ROCM_PATH")
            .env("STAND_IN_ROCM", self.rocm)
            .env("STAND_IN_FAILURE", self.failure);
        if self.tools {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(self.programs()).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders).unwrap());
        }
        command
    }

    /// The stand-ins under the names that this version uses.
    fn programs(&self) -> PathBuf {
        let (sys, compute) = match self.rocm {
            "6.2" => ("omnitrace", "omniperf"),
            _ => ("rocprof-sys", "rocprof-compute"),
        };
        // A separate folder, because tests inspect the folder in which commands work.
        let folder = self.programs.path().to_path_buf();
        let link = |name: &str, called: String| {
            let _ = std::os::unix::fs::symlink(stand_ins().join(name), folder.join(called));
        };
        link("rocprofv3", "rocprofv3".into());
        link("rocprof-compute", compute.into());
        for program in ["run", "sample", "avail"] {
            link("rocprof-sys-run", format!("{sys}-{program}"));
        }
        folder
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Returns the document of a run with --json, and the exit code. The target only prints its help, so nothing
    /// trains.
    fn profile(&self, words: &[&str]) -> (Value, i32) {
        let words = [
            words,
            &["--json", "--arch", "gfx942", "--out", "out", "--", "--help"],
        ]
        .concat();
        let output = self.run(&words);
        let text = String::from_utf8(output.stdout).unwrap();
        let document = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!(
                "{error}\n{text}\n{}",
                String::from_utf8_lossy(&output.stderr)
            )
        });
        (document, output.status.code().unwrap())
    }
}

const VERSIONS: [&str; 7] = ["6.2", "6.4", "7.0", "7.13", "7.14", "10.0", "10.2"];

fn at_least(rocm: &str, other: &str) -> bool {
    let numbers =
        |text: &str| -> Vec<u32> { text.split('.').map(|part| part.parse().unwrap()).collect() };
    numbers(rocm) >= numbers(other)
}

fn kernels(document: &Value) -> Vec<(String, u64)> {
    let kernels = document["profile"]["kernels"].as_array().unwrap();
    kernels
        .iter()
        .map(|kernel| {
            (
                kernel["name"].as_str().unwrap().to_owned(),
                kernel["calls"].as_u64().unwrap(),
            )
        })
        .collect()
}

fn words(document: &Value) -> Vec<String> {
    let words = document["command"].as_array().unwrap();
    words
        .iter()
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

fn remedies(document: &Value) -> String {
    document["remedies"].to_string()
}

#[test]
fn hotspots_with_every_version_of_rocprofv3() {
    for rocm in VERSIONS {
        let (document, code) = Machine::with_rocm(rocm).profile(&["rocprofv3", "v1"]);
        assert_eq!(code, 0, "{rocm}: {document:#}");
        assert_eq!(document["ending"], "success");
        // The database of the stand-in has 400 launches, its table seven.
        let is_database = at_least(rocm, "7.0");
        let calls: u64 = kernels(&document).iter().map(|(_, calls)| calls).sum();
        assert_eq!(calls, if is_database { 400 } else { 7 }, "{rocm}");
        let words = words(&document);
        let form = words
            .iter()
            .position(|word| word == "--output-format")
            .unwrap()
            + 1;
        assert_eq!(
            words[form],
            if is_database { "rocpd" } else { "csv" },
            "{rocm}"
        );
        assert_eq!(
            words.contains(&"--stats".to_owned()),
            !is_database,
            "{rocm}"
        );
        for flag in [
            "--kernel-trace",
            "--marker-trace",
            "--output-format",
            "-d",
            "-o",
            "--",
        ] {
            assert!(words.contains(&flag.to_owned()), "{rocm}: {words:?}");
        }
        // Warm-up is excluded if the profiler supports that. Otherwise a note says that the figures include it.
        let selects = words.contains(&"--selected-regions".to_owned());
        let notes = document["notes"].to_string();
        assert_eq!(selects, at_least(rocm, "7.0"), "{rocm}: {words:?}");
        assert_eq!(
            notes.contains("no --selected-regions here"),
            !selects,
            "{notes}"
        );
    }
}

#[test]
fn a_runtime_trace_where_the_aggregate_flag_is_missing() {
    for rocm in VERSIONS {
        let (document, code) =
            Machine::with_rocm(rocm).profile(&["rocprofv3", "v1", "--kind", "runtime"]);
        assert_eq!(code, 0, "{rocm}: {document:#}");
        let words = words(&document);
        assert_eq!(
            words.contains(&"--runtime-trace".to_owned()),
            rocm != "6.2",
            "{words:?}"
        );
        let passed = document["profile"]["passed_over"].to_string();
        assert!(passed.contains("ui.perfetto.dev"), "{passed}");
        assert!(
            !kernels(&document).is_empty(),
            "{rocm}: besides the timeline something is read"
        );
    }
}

#[test]
fn counters_are_split_into_passes_the_hardware_takes() {
    for rocm in VERSIONS {
        let machine = Machine::with_rocm(rocm);
        let (document, code) = machine.profile(&["rocprofv3", "v2", "--kind", "counters"]);
        assert_eq!(code, 0, "{rocm}: {document:#}");
        let repeated = words(&document)
            .iter()
            .filter(|word| *word == "--pmc")
            .count();
        assert_eq!(repeated > 1, at_least(rocm, "7.13"), "{rocm}");
        let counters = document["profile"]["counters"].as_array().unwrap();
        assert_eq!(counters.len(), 1, "{rocm}: {counters:?}");
        let means = counters[0]["mean"].as_object().unwrap();
        assert_eq!(means["SQ_WAVES"], 64.0, "{rocm}");
        assert!(
            means.contains_key("SQ_INSTS_VALU_MFMA_MOPS_BF16"),
            "of the last pass: {rocm}"
        );
        // The program ran three times, but its two launches count once. 6.2 writes no times with counters.
        if rocm == "6.2" {
            assert_eq!(document["profile"]["untimed_launches"], 2);
        } else {
            assert_eq!(kernels(&document), [("rms_norm".to_owned(), 2)], "{rocm}");
        }
    }
}

#[test]
fn counters_of_ones_own_choice_fit_one_pass() {
    let (document, code) = Machine::with_rocm("7.0").profile(&[
        "rocprofv3",
        "v2",
        "--kind",
        "counters",
        "--counters",
        "SQ_WAVES,TCC_HIT_sum",
    ]);
    assert_eq!(code, 0, "{document:#}");
    let words = words(&document);
    let at = words.iter().position(|word| word == "--pmc").unwrap();
    assert_eq!(words[at + 1..at + 3], ["SQ_WAVES", "TCC_HIT_sum"]);
}

#[test]
fn the_system_profiler_leaves_a_call_tree() {
    for rocm in VERSIONS {
        for kind in ["run", "sample"] {
            let machine = Machine::with_rocm(rocm);
            let (document, code) = machine.profile(&["rocprof-sys", "v1", "--kind", kind]);
            assert_eq!(code, 0, "{rocm} {kind}: {document:#}");
            let taken = document["profile"]["taken"].to_string();
            assert!(taken.contains("rocprof-sys call tree (text)"), "{taken}");
            // Only the complete help lists this option, and since 7.13 that help needs a separate request.
            let words = words(&document);
            assert!(
                words.contains(&"--profile-format".to_owned()),
                "{rocm}: {words:?}"
            );
        }
    }
    let machine = Machine::with_rocm("7.0");
    let (_, code) = machine.profile(&["rocprof-sys", "v1", "--kind", "config"]);
    assert_eq!(code, 0);
    assert!(machine.folder.path().join("out/rocprof-sys.cfg").exists());
}

#[test]
fn the_compute_profiler_of_every_version_fills_a_workload() {
    for rocm in VERSIONS {
        for kind in ["profile", "roofline"] {
            let (document, code) =
                Machine::with_rocm(rocm).profile(&["rocprof-compute", "v3", "--kind", kind]);
            assert_eq!(code, 0, "{rocm} {kind}: {document:#}");
            assert_eq!(
                kernels(&document)[0],
                ("vecCopy".to_owned(), 3),
                "{rocm} {kind}"
            );
            let words = words(&document);
            assert_eq!(
                words.contains(&"--output-directory".to_owned()),
                at_least(rocm, "7.13"),
                "{words:?}"
            );
            let has_ceilings = !document["profile"]["roofline"]["ceilings"]
                .as_array()
                .unwrap()
                .is_empty();
            assert_eq!(has_ceilings, kind == "roofline");
        }
    }
}

#[test]
fn a_warning_about_rights_spoils_nothing() {
    let (document, code) = Machine::failing("7.0", "perfmon").profile(&["rocprofv3", "v1"]);
    assert_eq!(code, 0, "{document:#}");
    assert!(
        remedies(&document).contains("perf_event_paranoid"),
        "{}",
        remedies(&document)
    );
}

/// Without a terminal, for example under `setsid`, cron or a container, an interrupt reaches only this process.
#[test]
fn an_interrupt_without_a_terminal_reaches_what_is_profiled() {
    use std::os::unix::process::CommandExt;
    let machine = Machine::with_rocm("7.0");
    let steps = [
        "--num-steps",
        "100000000",
        "--hidden",
        "32",
        "--layers",
        "1",
        "--heads",
        "4",
        "--kv-heads",
        "2",
    ];
    let small = [
        "--ffn",
        "48",
        "--seq-len",
        "16",
        "--batch-size",
        "2",
        "--vocab",
        "300",
        "--backend",
        "cpu",
    ];
    let mut command = machine.command(&["rocprofv3", "v1", "--out", "out", "--"]);
    command.args(steps).args(small).arg("--events");
    command
        .env("HOME", machine.folder.path())
        .env("XDG_STATE_HOME", machine.folder.path());
    let file = std::fs::File::create(machine.folder.path().join("said")).unwrap();
    command.stdout(file.try_clone().unwrap()).stderr(file);
    // SAFETY: the closure makes one system call, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    let until = |what: &str, is_so: &mut dyn FnMut() -> bool| {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !is_so() {
            assert!(std::time::Instant::now() < end, "waited for {what}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    let log = machine.folder.path().join("out/profiler.log");
    until("a step", &mut || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("\"event\":\"step\""))
    });
    let process = i32::try_from(child.id()).unwrap();
    // SAFETY: kill takes two numbers, and the process is a child of this test.
    unsafe { libc::kill(process, libc::SIGINT) };
    until("the end", &mut || child.try_wait().unwrap().is_some());
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(
        text.contains("\"event\":\"summary\""),
        "what was profiled says what it did"
    );
}

#[test]
fn a_target_that_fails_is_the_profilers_failure() {
    let machine = Machine::with_rocm("7.0");
    let output = machine.run(&[
        "rocprofv3",
        "v1",
        "--json",
        "--out",
        "out",
        "--",
        "--no-such-flag",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["ending"]["failed"], 2);
}

#[test]
fn a_command_is_written_for_the_version_one_asks_for() {
    // The installed tools make no difference.
    for machine in [Machine::without_tools(), Machine::with_rocm("6.4")] {
        let ask = |words: &[&str]| {
            let output = machine.run(words);
            assert_eq!(output.status.code(), Some(0), "{words:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            (text.lines().next().unwrap().to_owned(), text)
        };
        let roofline = ["rocprof-compute", "v3", "--kind", "roofline", "--for-rocm"];
        let (line, text) = ask(&[&roofline[..], &["10.2"]].concat());
        assert!(line.contains("--roofline --roofline-device 0"), "{line}");
        let version = text.lines().find(|line| line.contains("ROCm 10.2"));
        insta::allow_duplicates! {
            insta::assert_snapshot!(
                version.unwrap_or(&text).trim(),
                @"Written for ROCm 10.2 (rocprof-compute 3.10), because no installed tool said its version. Add"
            );
        }
        let (line, _) = ask(&[&roofline[..], &["6.2"]].concat());
        assert!(
            line.starts_with("omniperf profile --name v3 --path"),
            "{line}"
        );
        let (line, _) = ask(&[
            "rocprofv3",
            "v3",
            "--kind",
            "counters",
            "--for-rocm",
            "7.13",
        ]);
        assert!(!line.contains("--selected-regions"), "{line}");
        let (line, _) = ask(&["analyze", ".", "--list-stats", "--for-rocm", "6.2"]);
        assert_eq!(line, "omniperf analyze --path . --list-stats");
        let entries = std::fs::read_dir(machine.folder.path()).unwrap();
        assert_eq!(entries.count(), 0, "nothing was written");
    }
    for wrong in ["6.1", "ten", "7"] {
        let output = Machine::without_tools().run(&["rocprofv3", "v1", "--for-rocm", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_profiler_is_found_where_packages_of_rocm_put_it() {
    let machine = Machine::with_rocm("7.13");
    let rocm = machine.folder.path().join("rocm");
    std::fs::create_dir_all(&rocm).unwrap();
    std::os::unix::fs::symlink(machine.programs(), rocm.join("bin")).unwrap();
    let bare = Machine::without_tools();
    let mut command = bare.command(&["tools", "--json"]);
    command.env("ROCM_PATH", &rocm).env("STAND_IN_ROCM", "7.13");
    let document: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(document[0]["version"], "7.13", "{document}");
}

#[test]
fn printing_explains_every_part_and_runs_nothing() {
    let machine = Machine::with_rocm("7.0");
    let output = machine.run(&[
        "rocprofv3",
        "v2",
        "--print",
        "--json",
        "--launcher",
        "srun --gpus=1",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let parts = document["parts"].as_array().unwrap();
    assert!(
        parts
            .iter()
            .all(|part| !part["explanation"].as_str().unwrap().is_empty())
    );
    assert_eq!(words(&document)[..2], ["srun", "--gpus=1"]);
    assert_eq!(
        std::fs::read_dir(machine.folder.path()).unwrap().count(),
        0,
        "nothing was written"
    );
}

#[test]
fn results_of_another_run_are_not_taken_for_this_ones() {
    let machine = Machine::with_rocm("7.0");
    std::fs::create_dir(machine.folder.path().join("out")).unwrap();
    let old = machine.folder.path().join("out/old_kernel_trace.csv");
    std::fs::write(old, "x").unwrap();
    let output = machine.run(&["rocprofv3", "v1", "--out", "out", "--", "--help"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @"error: --out out: the folder is not empty; name another one or empty it");
}

#[test]
fn everything_goes_into_one_folder_with_an_index() {
    let machine = Machine::with_rocm("7.0");
    let output = machine.run(&[
        "all", "v1", "--out", "out", "--arch", "gfx942", "--", "--help",
    ]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{stderr}\n{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let index = std::fs::read_to_string(machine.folder.path().join("out/index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    let states: Vec<_> = index["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (
                entry["name"].as_str().unwrap(),
                entry["state"].as_str().unwrap(),
            )
        })
        .collect();
    let names = [
        "built-in", "hotspots", "runtime", "counters", "system", "roofline", "compute",
    ];
    assert_eq!(states, names.map(|name| (name, "done")));

    // The stream of the built-in trace names the kernels of the profiles in its folder. Here the target only printed
    // its help.
    let stream = machine.folder.path().join("out/events.jsonl");
    assert!(stream.exists());
    let parts = |path: &str| -> Vec<Value> {
        let output = machine.run(&["import", path, "--json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let kernels = document["kernels"].as_array().unwrap();
        kernels
            .iter()
            .map(|kernel| kernel["part"].clone())
            .collect()
    };
    let unnamed = parts("out/hotspots");
    assert!(!unnamed.is_empty() && unnamed.iter().all(Value::is_null));
    let output = machine.run(&["import", "out/hotspots", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = document["kernels"][0]["name"].as_str().unwrap();
    let kernel = serde_json::json!({"name": name, "part": "layer 0 ffn", "launches_per_step": 1.0});
    let event = serde_json::json!({"t": 1.0, "event": "kernels", "steps": 1, "launches_per_step": 1.0, "kernels": [kernel]});
    std::fs::write(&stream, format!("{event}\n")).unwrap();
    assert_eq!(parts("out/hotspots")[0], "layer 0 ffn");
}

#[test]
fn without_tools_only_the_built_in_trace_is_made() {
    let machine = Machine::without_tools();
    let output = machine.run(&["all", "v1", "--out", "out", "--json", "--", "--help"]);
    assert_eq!(output.status.code(), Some(0));
    let index: Value = serde_json::from_slice(&output.stdout).unwrap();
    let states: Vec<_> = index["profiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["state"].clone())
        .collect();
    assert_eq!(states[0], "done");
    assert!(
        states[1..].iter().all(|state| state == "not installed"),
        "{states:?}"
    );
}

#[test]
fn tools_are_listed_with_their_versions() {
    for (rocm, compute) in [
        ("6.2", "2.0"),
        ("6.4", "3.1"),
        ("7.0", "3.2"),
        ("7.14", "3.7"),
        ("10.2", "3.10"),
    ] {
        let output = Machine::with_rocm(rocm).run(&["tools", "--json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let versions: Vec<_> = document
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["version"].clone())
            .collect();
        assert_eq!(versions, [rocm, rocm, compute], "{rocm}");
    }
}
