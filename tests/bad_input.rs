//! Tests the program's messages for mistakes that a user can make.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{SMALL, run, run_v1, stderr, stdout, tutor};

/// Arguments after `run`, the exit status, and texts that the message must contain.
const REFUSED: &[(&[&str], i32, &[&str])] = &[
    (&["v1", "--layers=0"], 2, &["--layers is 0", "at least 1"]),
    (&["v1", "--batch-size=0"], 2, &["--batch-size is 0"]),
    (&["v1", "--num-steps=0"], 2, &["--num-steps", "from 1 to"]),
    (&["v1", "--hidden=99999999999"], 2, &["--hidden", "largest"]),
    (
        &["v1", "--seq-len=18446744073709551615"],
        2,
        &["--seq-len", "largest"],
    ),
    (&["v1", "--seq-len=-1"], 2, &["--seq-len"]),
    (
        &["v1", "--heads=7"],
        2,
        &["--hidden 256", "--heads 7", "--hidden 259"],
    ),
    (&["v1", "--kv-heads=3"], 2, &["--kv-heads 3", "1, 2, 4, 8"]),
    (
        &["v1", "--hidden=24", "--heads=8"],
        2,
        &["even", "--hidden 32"],
    ),
    (
        &[
            "v1",
            "--config=medium",
            "--layers=1000",
            "--batch-size=4096",
        ],
        2,
        &["needs about", "--batch-size"],
    ),
    (
        &["v1", "--learning-rate=nan"],
        2,
        &["--learning-rate", "from 1e-12 to 10.0"],
    ),
    (&["v1", "--learning-rate=-1"], 2, &["--learning-rate"]),
    (
        &["v1", "--bucket-mb=nan"],
        2,
        &["--bucket-mb", "a number from"],
    ),
    (
        &["v1", "--data=/no/such/file"],
        2,
        &["/no/such/file", "No such file"],
    ),
    (&["v1", "--data=/dev/null"], 2, &["is empty"]),
    (&["v1", "--data=/"], 2, &["cannot read /"]),
    (&["v1", "--sample=5"], 2, &["--data"]),
    (&["v1", "--events", "--json"], 2, &["cannot be used with"]),
    (&["v9"], 2, &["no target `v9`", "v1"]),
    (&[], 2, &["TARGET"]),
    (&["v1", "--backend=rocm"], 3, &["--features rocm"]),
    (
        &["v1", "--trace=/no/such/folder/trace.json", "--num-steps=1"],
        2,
        &["/no/such/folder"],
    ),
    (
        &["v1", "--hidden", "-5"],
        2,
        &["--hidden", "a whole number, at least 0"],
    ),
    (
        &["v1", "--hidden=-5"],
        2,
        &["--hidden", "a whole number, at least 0"],
    ),
    (
        &["v1", "--seed", "-1"],
        2,
        &["--seed", "a whole number, at least 0"],
    ),
    (&["v1", "--device=foo"], 3, &["`foo`", "there are: 0"]),
    (&["v4", "--device=foo"], 3, &["`foo`", "there are: 0"]),
    (&["v1", "--ultra=off"], 2, &["--ultra", "v4"]),
    (&["v4", "--matmul-precision=tf32"], 2, &["tf32", "use auto"]),
    (
        &["v1", "--deterministic", "--repeatability=off"],
        2,
        &["--deterministic", "--repeatability", "one of them"],
    ),
];

/// A whole command line, the exit status, texts that the message must contain, and remedies that would not help.
type ErrorCase = (
    &'static [&'static str],
    i32,
    &'static [&'static str],
    &'static str,
);

const SAID: &[ErrorCase] = &[
    (
        &["kernels", "--bench"],
        3,
        &["GPU", "kernels --check"],
        "--backend cpu",
    ),
    (
        &["kernels", "--check", "--dtype=bf16", "--backend=cpu"],
        3,
        &["bf16", "--dtype f32"],
        "--backend cpu",
    ),
    (
        &["kernels", "--source=rmsnorm", "--arch=gfx1100"],
        2,
        &["gfx942", "f32", "tinyllama-emit"],
        "ROCM_PATH",
    ),
    (
        &["kernels", "--source=rmsnorm_sideways", "--arch=gfx942"],
        2,
        &["rmsnorm_sideways", "rmsnorm_forward"],
        "ROCM_PATH",
    ),
    (
        &["kernels", "--arch=gfx9999"],
        2,
        &["gfx9999", "gfx942"],
        "ROCM_PATH",
    ),
    (
        &["report"],
        2,
        &["begins one", "session path"],
        "session verify",
    ),
    (&["session", "verify"], 2, &["begins one"], "session verify"),
    (
        &["recordings", "play", "v3", "--speed=x4x"],
        2,
        &["`x4x` is not a speed", "above 0", "or end"],
        "panicked",
    ),
    (
        &["profile", "rocprofv3", "v1", "--print", "--for-rocm=7x2"],
        2,
        &["--for-rocm", "X.Y, such as 7.2"],
        "panicked",
    ),
    (
        &["session", "show", "--class", "/no/such/class"],
        3,
        &["/no/such/class does not exist", "--class DIR"],
        "HOME",
    ),
    (
        &["session", "import", "/no/such.tar.gz"],
        2,
        &["/no/such.tar.gz", "No such file"],
        "is not a session",
    ),
    (
        &["lessons", "lint", "--lessons", "/missing"],
        1,
        &["/missing/workshop.yaml", "no such file or folder"],
        "panicked",
    ),
    (
        &["profile", "rocprofv3", "v9", "--print"],
        2,
        &["no target `v9`", "v1"],
        "run v9",
    ),
    (
        &[
            "profile",
            "import",
            "lessons/profiles/jacobi_kernel_stats.csv",
            "--perfetto=/no/such/folder/trace.json",
        ],
        2,
        &["--perfetto", "only sums", "Profile with a trace"],
        "cannot write",
    ),
];

#[test]
fn every_remedy_helps() {
    for (arguments, status, words, not) in SAID {
        let output = run(arguments);
        let message = stderr(&output) + &stdout(&output);
        let found = output.status.code();
        assert_eq!(found, Some(*status), "{arguments:?}: {message}");
        for word in *words {
            assert!(
                message.contains(word),
                "{arguments:?}: no {word:?}: {message}"
            );
        }
        assert!(!message.contains(not), "{arguments:?}: {message}");
    }
}

#[cfg(not(feature = "gpu"))]
#[test]
fn a_build_without_gpus_names_the_flag_for_what_it_lacks() {
    let output = run(&["kernels", "--bench"]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{message}");
    let named = ["--features vulkan", "rocm", "cuda"].map(|flag| message.contains(flag));
    assert_eq!(named, [true; 3], "{message}");
    let recorded = run(&["kernels", "--arch=all"]);
    assert_eq!(recorded.status.code(), Some(0), "{}", stderr(&recorded));
    for name in ["gfx90a", "gfx942", "gfx1100", "v4_attention"] {
        assert!(stdout(&recorded).contains(name), "{name}");
    }
    let through_vulkan = run(&["run", "v1", "--backend=vulkan"]);
    assert_eq!(through_vulkan.status.code(), Some(3));
    assert!(stderr(&through_vulkan).contains("--features vulkan"));
}

/// The order of launches and the header of each are those that `tools/emit` recorded.
#[test]
fn recorded_sources_are_printed_by_operation_and_by_kernel() {
    let printed = |name: &str| {
        let output = run(&["kernels", "--source", name, "--arch=gfx942"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let (operation, kernel) = (printed("rmsnorm"), printed("column_sums"));
    let headers: Vec<&str> = operation
        .lines()
        .filter_map(|line| line.strip_prefix("// ")?.split_once(" in f32, "))
        .map(|(kernel, _)| kernel)
        .collect();
    assert_eq!(
        headers,
        ["rmsnorm_forward", "rmsnorm_backward", "column_sums"]
    );
    assert!(operation.ends_with(&kernel));
    assert!(kernel.contains("__global__ void"), "{kernel}");
}

#[test]
fn a_cause_is_named_once() {
    let message = stderr(&run(&["run", "v1", "--data=/no/such/file"]));
    assert_eq!(message.matches("os error 2").count(), 1, "{message}");
}

#[test]
fn a_closed_output_ends_a_command_without_a_message() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [
        &["lessons", "list", "--json"][..],
        &["lessons", "lint"],
        &["kernels"],
        &["schema", "events"],
        &["recordings", "list", "--json"],
        &["profile", "tools"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = tutor(home.path())
            .args(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(stderr(&output), "", "{arguments:?}");
        assert!(output.status.success(), "{arguments:?}: {}", output.status);
    }
}

#[test]
fn mistakes_are_named_with_a_way_out() {
    for (arguments, status, words) in REFUSED {
        // In a build with ROCm the message is about the library or the device.
        if arguments.contains(&"--backend=rocm") && cfg!(feature = "rocm") {
            continue;
        }
        let output = run(&[&["run"], *arguments].concat());
        let message = stderr(&output);
        assert_eq!(
            output.status.code(),
            Some(*status),
            "{arguments:?}: {message}"
        );
        for word in *words {
            assert!(
                message.contains(word),
                "{arguments:?} does not say {word:?}: {message}"
            );
        }
        assert!(!message.contains("panicked"), "{arguments:?}: {message}");
    }
}

#[test]
fn a_file_that_is_no_text_is_refused_with_its_place() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"a line\nand \xff\xfe bytes").unwrap();
    let output = run_v1(&["--data", file.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(
        message.contains("line 2, byte 11") && message.contains("iconv"),
        "{message}"
    );
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [
        &["--help"][..],
        &["run", "--help"],
        &["--version"],
        &["completions", "bash"],
    ] {
        let output = run(arguments);
        assert!(output.status.success(), "{arguments:?}");
        assert!(!stdout(&output).is_empty());
    }
}

#[test]
fn doctor_finds_the_cpu_and_says_what_is_missing() {
    let output = run(&["doctor", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(report["ready"], true);
    for finding in report["findings"].as_array().unwrap() {
        let ok = finding["status"] == "ok";
        assert_eq!(ok, finding["remedy"].is_null(), "{finding}");
    }
}

#[test]
fn doctor_says_when_nothing_can_be_kept() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = tutor(file.path()).args(["doctor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("XDG_STATE_HOME"));
}

#[test]
fn slow_commands_are_ended_and_the_facts_of_the_rest_are_packed() {
    let home = tempfile::tempdir().unwrap();
    let archive = home.path().join("facts.tar.gz");
    let output = tutor(home.path())
        .args(["doctor", "--collect"])
        .arg(&archive)
        .args(["--limit=0.01", "--"])
        .args(SMALL)
        .output()
        .unwrap();
    // Kernels are checked in f32 alone on a CPU, so two commands fail.
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let file = std::fs::File::open(&archive).unwrap();
    let mut packed = std::collections::BTreeMap::new();
    for entry in tar::Archive::new(flate2::read::GzDecoder::new(file))
        .entries()
        .unwrap()
    {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().file_name().unwrap().to_owned();
        let mut text = String::new();
        if entry.header().entry_type().is_file() {
            entry.read_to_string(&mut text).unwrap();
            packed.insert(name.into_string().unwrap(), text);
        }
    }
    let index: Vec<&str> = packed["index.txt"].lines().collect();
    assert_eq!(index.len(), 19);
    assert!(index[11].starts_with("calibrate --json: ended after 0.6 s"));
    let succeeded = index
        .iter()
        .filter(|line| line.contains("exit status: 0"))
        .count();
    assert!(stdout(&output).contains(&format!("({succeeded} of 19 commands succeeded)")));
    assert!(packed.contains_key("stages.json") && packed.contains_key("stages.json.stderr"));
    assert!(!packed["doctor.json"].is_empty());

    // An existing archive is not overwritten.
    let again = tutor(home.path())
        .args(["doctor", "--collect"])
        .arg(&archive)
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(2));
    let refused = stderr(&again).replace(&*archive.to_string_lossy(), "[archive]");
    insta::assert_snapshot!(refused, @"error: --collect [archive]: File exists (os error 17); name a new file in a folder that can be written");
}

#[test]
fn a_reader_that_leaves_ends_the_run_quietly() {
    let home = tempfile::tempdir().unwrap();
    let mut child = tutor(home.path())
        .args(["run", "v1", "--num-steps=100000"])
        .args(SMALL)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let status = wait(&mut child, Duration::from_secs(60));
    assert_eq!(status, Some(0));
    let mut message = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut message)
        .unwrap();
    assert!(!message.contains("panicked"), "{message}");
}

#[test]
fn a_full_disk_is_said_plainly() {
    let home = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = tutor(home.path())
        .args(["run", "v1", "--num-steps=5", "--events"])
        .args(SMALL)
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
    insta::assert_snapshot!(stderr(&output), @"error: the output cannot be written: no storage space");
}

#[test]
fn an_interrupt_in_training_gives_a_summary_of_what_was_done() {
    let home = tempfile::tempdir().unwrap();
    let mut child = tutor(home.path())
        .args(["run", "v1", "--num-steps=100000", "--events"])
        .args(SMALL)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_measured = |line: &String| line.contains("\"measured\":true");
    lines
        .by_ref()
        .map_while(Result::ok)
        .find(is_measured)
        .expect("a measured step");
    interrupt(&child);
    let last = lines.map_while(Result::ok).last().expect("a last line");
    assert_eq!(wait(&mut child, Duration::from_secs(60)), Some(130));
    let summary: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["complete"], false);
    assert!(summary["measured_steps"].as_u64().unwrap() >= 1);
}

#[test]
fn an_interrupt_during_a_long_first_step_does_not_wait_for_it() {
    let home = tempfile::tempdir().unwrap();
    // A step of this run takes minutes on a test machine. It stands for compiling and tuning on a GPU.
    let mut child = tutor(home.path())
        .args([
            "run",
            "v1",
            "--config=medium",
            "--layers=2",
            "--batch-size=64",
            "--num-steps=5",
            "--events",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines
        .by_ref()
        .map_while(Result::ok)
        .find(|line| line.contains("\"setup\""))
        .expect("the setup phase");
    interrupt(&child);
    let started = Instant::now();
    let last = lines.map_while(Result::ok).last().expect("a last line");
    assert_eq!(
        wait(&mut child, Duration::from_secs(60)),
        Some(130),
        "after {:?}",
        started.elapsed()
    );
    let summary: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!(
        (summary["event"].as_str(), summary["steps"].as_u64()),
        (Some("summary"), Some(0))
    );
    assert!(summary["final_loss"].is_null());
}

#[test]
fn an_interrupt_ends_a_run_whose_output_nobody_reads_any_more() {
    use std::os::fd::AsRawFd;
    let home = tempfile::tempdir().unwrap();
    let mut child = tutor(home.path())
        .args(["run", "v1", "--num-steps=1000000", "--events"])
        .args(SMALL)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().unwrap();
    // Waits until the pipe is full.
    let waiting = || {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the pointer leads to a local variable for the answer.
        let status = unsafe { libc::ioctl(stdout.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
        assert_eq!(status, 0);
        bytes
    };
    let mut before = -1;
    while before < 60_000 || waiting() > before {
        before = waiting();
        std::thread::sleep(Duration::from_millis(500));
    }
    interrupt(&child);
    assert_eq!(wait(&mut child, Duration::from_secs(60)), Some(130));
}

fn interrupt(child: &Child) {
    // The shell has `kill` itself; a small machine has no program of this name.
    let kill = ["-c", "kill -INT \"$0\"", &child.id().to_string()];
    assert!(Command::new("sh").args(kill).status().unwrap().success());
}

fn wait(child: &mut Child, limit: Duration) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(child.kill());
    panic!("still running after {limit:?}");
}
