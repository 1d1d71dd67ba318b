//! Tests runs in other places: behind a command, and as steps of Slurm through a simulated `srun`. Also tests which files
//! may choose a launcher. `tests/slurm/check` does the same with a real scheduler.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{SMALL, line_with, stderr, stdout, tutor};
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tinyllama-tutor");

/// A machine with programs of its own in front of the others.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        Machine(tempfile::tempdir().unwrap())
    }

    /// A machine inside job 7 of Slurm, whose `srun` executes `script`. Its flags are gone by then.
    fn with_srun(script: &str) -> Self {
        let machine = Machine::new();
        let here = machine.0.path().display().to_string();
        let begins = format!(
            "here='{here}'\nwhile :; do case $1 in --job-name=*) echo \"7.0|${{1#*=}}\" >\"$here/steps\";; --*) ;; *) break;; esac; shift; done"
        );
        machine.has_program("srun", &format!("{begins}\n{script}"));
        let of_steps = format!(
            "case \"$*\" in *--steps*) cat '{here}/steps';; *) echo 'RUNNING|0|None';; esac"
        );
        machine.has_program("squeue", &of_steps);
        machine.has_program("scancel", &format!("kill -TERM $(cat '{here}/task')"));
        machine
    }

    fn has_program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn command(&self) -> Command {
        let mut command = tutor(self.0.path());
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{}:{path}", self.0.path().display()))
            .env("XDG_CONFIG_HOME", self.0.path().join("config"));
        command
    }

    /// A run as a step of the job.
    fn step(&self, flags: &[&str]) -> Command {
        let mut command = self.command();
        command
            .env("SLURM_JOB_ID", "7")
            .args(["launch", "step", r#"--launcher={"to":"slurm"}"#, "--"])
            .args([PROGRAM, "run", "v1", "--events"])
            .args(SMALL)
            .args(flags);
        command
    }
}

fn events(output: &Output) -> Vec<Value> {
    let lines = stdout(output);
    let events = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    events.collect()
}

fn events_of<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["event"] == kind)
}

/// Asserts that every step occurs once, in order.
fn assert_whole(events: &[Value], steps: u64) {
    let told: Vec<u64> = events_of(events, "step")
        .map(|step| step["n"].as_u64().unwrap())
        .collect();
    assert_eq!(told, (1..=steps).collect::<Vec<_>>());
    assert_eq!(events.last().unwrap()["event"], "summary");
    let times: Vec<f64> = events_of(events, "step")
        .map(|event| event["t"].as_f64().unwrap())
        .collect();
    assert!(times.is_sorted(), "one clock for all: {times:?}");
}

#[test]
fn a_step_is_told_as_if_it_were_made_here() {
    let machine = Machine::with_srun("sleep 1; exec \"$@\"");
    let output = machine.step(&["--num-steps=3"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let events = events(&output);
    assert_whole(&events, 6);
    assert_eq!(events[0]["phase"], "queue");
    let first = events[1]["t"].as_f64().unwrap();
    assert!(first > 1.0, "times count from the launch: {first}");
}

#[test]
fn a_learners_kernel_is_timed_where_the_gpu_is() {
    let machine = Machine::new();
    let asked = machine.0.path().join("asked");
    let script = format!("echo \"$*\" >>'{}'; exec \"$@\"", asked.display());
    let place = machine.has_program("place", &script);
    let file = machine.0.path().join("it's mine.hip");
    fs::copy("kernels/workbench/01-elementwise/solution.hip", &file).unwrap();
    for words in [
        &["bench", "elementwise"][..],
        &["check", "elementwise", "--gpu"],
    ] {
        let output = machine
            .command()
            .current_dir(machine.0.path())
            .arg("workbench")
            .args(words)
            .args(["--file", "it's mine.hip", "--launcher"])
            .arg(&place)
            .output()
            .unwrap();
        // The other place has no GPU either. Its message and exit status come back.
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains("GPU"), "{}", stderr(&output));
        let asked = fs::read_to_string(&asked).unwrap();
        assert!(asked.contains("--launcher=local"), "{asked}");
        assert!(
            asked.contains(words[0]) && asked.contains("mine.hip"),
            "{asked}"
        );
    }
}

#[test]
fn a_launcher_that_is_not_there_is_named_with_what_to_do() {
    let machine = Machine::new();
    let kernel = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/kernels/workbench/01-elementwise/solution.hip"
    );
    for words in [
        &["calibrate"][..],
        &["scale", "v1", "--seq-len=8", "--num-steps=2"],
        &["workbench", "bench", "elementwise", "--file", kernel],
    ] {
        let output = machine
            .command()
            .args(words)
            .args(["--launcher", "no-such-srun --pty"])
            .output()
            .unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{words:?}: {said}");
        assert!(
            said.contains("no-such-srun") && said.contains("--launcher local"),
            "{said}"
        );
    }
}

#[test]
fn the_reason_why_a_run_does_not_start_is_explained() {
    for (script, says) in [
        (
            "echo 'srun: error: Node failure on n1' >&2; exit 0",
            "the node failed",
        ),
        (
            "echo 'srun: error: Unable to create step for job 7: Invalid generic resource (gres) specification' >&2; exit 1",
            "no node of the partition",
        ),
        (
            "echo 'slurmstepd: error: execve(): /no/tutor: No such file or directory' >&2\n\
             echo 'srun: error: n1: task 0: Exited with exit code 2' >&2; exit 2",
            "this program is not on",
        ),
        (
            "echo 'srun: error: nothing known' >&2; exit 1",
            "nothing known",
        ),
    ] {
        let output = Machine::with_srun(script)
            .step(&["--num-steps=3"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3), "{script}");
        let events = events(&output);
        let last = events.last().unwrap();
        assert_eq!(
            (last["event"].as_str(), last["code"].as_str()),
            (Some("error"), Some("launcher"))
        );
        assert!(last["message"].as_str().unwrap().contains(says), "{last}");
        assert!(!last["remedy"].as_str().unwrap().is_empty());
    }
}

/// A message of the program that looks like one of Slurm's is not taken for one.
#[test]
fn a_run_that_fails_by_itself_keeps_its_status() {
    let machine = Machine::with_srun(
        "\"$@\"; status=$?; echo 'no such file or directory' >&2\n\
         echo \"srun: error: n1: task 0: Exited with exit code $status\" >&2; exit $status",
    );
    let output = machine.step(&["--num-steps=0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let events = events(&output);
    assert_eq!(events_of(&events, "error").count(), 0, "{events:?}");
}

/// Waits for a step in a child's output so far.
fn wait_for_a_step(said: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(said).is_ok_and(|text| text.contains("\"event\":\"step\"")) {
        assert!(Instant::now() < until, "no step came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn terminate(child: &Child) {
    // The shell has `kill` itself; a small machine has no program of this name.
    let kill = ["-c", "kill \"$0\"", &child.id().to_string()];
    assert!(Command::new("sh").args(kill).status().unwrap().success());
}

#[test]
fn an_end_that_is_asked_for_reaches_the_run_which_sums_up() {
    let machine = Machine::with_srun("echo $$ >\"$here/task\"; exec \"$@\"");
    let said = machine.0.path().join("said");
    let mut command = machine.step(&["--num-steps=1000000"]);
    let mut child = command
        .stdout(fs::File::create(&said).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_a_step(&said);
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let text = fs::read_to_string(&said).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(
        (last["event"].as_str(), last["complete"].as_bool()),
        (Some("summary"), Some(false))
    );
}

fn doctor(machine: &Machine, class: &Path) -> Output {
    machine
        .command()
        .args(["doctor", "--class"])
        .arg(class)
        .output()
        .unwrap()
}

#[test]
fn doctor_says_whether_a_class_folder_keeps_learners_apart() {
    let machine = Machine::new();
    let class = machine.0.path().join("class");
    assert!(stdout(&doctor(&machine, &class)).contains("there is no such folder"));
    fs::create_dir(&class).unwrap();
    for (mode, said) in [(0o777, "no sticky bit"), (0o3773, "no learner can replace")] {
        fs::set_permissions(&class, fs::Permissions::from_mode(mode)).unwrap();
        let text = stdout(&doctor(&machine, &class));
        assert!(text.contains(said), "{mode:o}: {text}");
    }
}

#[test]
fn doctor_says_who_chose_and_shows_both_machines() {
    let machine = Machine::new();
    let class = machine.0.path().join("class; touch hacked");
    fs::create_dir(&class).unwrap();
    let site = class.join(".site.toml");
    fs::write(&site, "launcher = \"env MARK=here\"\n").unwrap();
    fs::set_permissions(&site, fs::Permissions::from_mode(0o644)).unwrap();
    let output = doctor(&machine, &class);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let chosen =
        |text: &str| line_with("Runs are", text).replace(&*class.to_string_lossy(), "[class]");
    insta::assert_snapshot!(chosen(&text), @"Runs are made by env 'MARK=here': [class]/.site.toml says so.");
    assert!(text.contains("here") && text.contains("there"), "{text}");
    // The user's flag overrides the site file.
    let output = machine
        .command()
        .args(["doctor", "--launcher=local", "--class"])
        .arg(&class)
        .output();
    insta::assert_snapshot!(chosen(&stdout(&output.unwrap())), @"Runs are made by local: --launcher says so.");
    // The site file is refused if other users can write it, because it chooses programs.
    fs::set_permissions(&site, fs::Permissions::from_mode(0o666)).unwrap();
    let output = doctor(&machine, &class);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("chmod go-w"),
        "{}",
        stderr(&output)
    );
    fs::set_permissions(&site, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&site, "[slurm]\npartion = \"gpu\"\n").unwrap();
    let output = doctor(&machine, &class);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains(".site.toml:2: unknown field `partion`"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_sites_launcher_is_shown_once_and_needs_consent_if_it_is_anothers() {
    let machine = Machine::new();
    let class = machine.0.path().join("class");
    fs::create_dir(&class).unwrap();
    let site = class.join(".site.toml");
    let write = |mark: &str| {
        let text = format!("launcher = \"env MARK={mark}\"\n");
        fs::write(&site, text).unwrap();
        fs::set_permissions(&site, fs::Permissions::from_mode(0o644)).unwrap();
    };
    let shown = |output: &Output| stderr(output).contains("start here with your rights");
    write("one");
    let first = doctor(&machine, &class);
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert!(shown(&first) && stderr(&first).contains("env MARK=one"));
    assert!(!shown(&doctor(&machine, &class)), "a second time");
    write("two");
    assert!(stderr(&doctor(&machine, &class)).contains("env MARK=two"));
    // A file from another user starts no program without the user's consent.
    write("three");
    let chown = |path| std::os::unix::fs::chown(path, Some(61_003), None);
    if chown(&class).and_then(|()| chown(&site)).is_err() {
        eprintln!("SKIPPED: only root can try this with another's file");
        return;
    }
    for _ in 0..2 {
        let refused = doctor(&machine, &class);
        assert_eq!(refused.status.code(), Some(2));
        let text = stderr(&refused);
        assert!(text.contains("env MARK=three"), "{text}");
        insta::assert_snapshot!(
            "not_agreed",
            text.replace(&*class.to_string_lossy(), "[class]")
        );
    }
}

/// A launcher command that notes every run and fails once for the second size.
fn unlucky(machine: &Machine) -> Command {
    let text = format!(
        "cd '{}'\necho \"$*\" >> made\ncase \"$*\" in *--seq-len=16*) [ -e unlucky ] || {{ touch unlucky; exit 1; }};; esac\n\
         TINYLLAMA_NODE=\"n$(wc -l < made)\" exec \"$@\"",
        machine.0.path().display()
    );
    let place = machine.has_program("a place", &text);
    let mut command = machine.command();
    command
        .args([
            "scale",
            "v1",
            "--seq-len=8,16,32",
            "--batch-size=2",
            "--num-steps=2",
            "--jobs=2",
            "--json",
        ])
        .args(
            SMALL
                .iter()
                .filter(|flag| !flag.contains("seq-len") && !flag.contains("batch-size")),
        )
        .arg(format!("--launcher='{}'", place.display()));
    command
}

#[test]
fn a_series_goes_on_where_it_failed_and_says_that_its_runs_are_of_several_nodes() {
    let machine = Machine::new();
    let made = || {
        fs::read_to_string(machine.0.path().join("made"))
            .unwrap()
            .lines()
            .count()
    };
    let first = unlucky(&machine).output().unwrap();
    assert_eq!(
        (first.status.code(), made()),
        (Some(1), 3),
        "{}",
        stderr(&first)
    );
    let second = unlucky(&machine).output().unwrap();
    assert_eq!(
        (second.status.code(), made()),
        (Some(0), 4),
        "{}",
        stderr(&second)
    );
    assert!(
        stderr(&second).contains("finished before"),
        "{}",
        stderr(&second)
    );
    let document: Value = serde_json::from_str(&stdout(&second)).unwrap();
    assert_eq!(document["scales"][0]["cells"].as_array().unwrap().len(), 3);
    assert_eq!(document["nodes"].as_array().unwrap().len(), 3);
    // A completed series is not resumed.
    let third = unlucky(&machine).output().unwrap();
    assert_eq!(
        (third.status.code(), made()),
        (Some(0), 7),
        "{}",
        stderr(&third)
    );
}

#[test]
fn runs_at_a_time_on_one_machine_are_refused() {
    let machine = Machine::new();
    for place in ["local", "slurm"] {
        let output = machine
            .command()
            .args(["scale", "v1", "--jobs=2", "--launcher", place])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--jobs"), "{}", stderr(&output));
    }
}
