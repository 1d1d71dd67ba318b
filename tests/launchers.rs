//! Tests runs on other machines through a simulated `ssh`, a local shell with connections that break. Also tests
//! which files may choose a launcher. `tests/slurm/check` does the same with a real scheduler and a real sshd.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{SMALL, line_with, stderr, stdout, tutor};
use serde_json::Value;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tinyllama-tutor");

/// A machine whose `ssh` executes `script`. `$line` is the command line for the remote shell.
struct Machine(TempDir);

impl Machine {
    fn with_ssh(script: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let ssh = home.path().join("ssh");
        let text = format!(
            "#!/bin/sh\nhere={}\nfor line; do :; done\n{script}\n",
            home.path().display()
        );
        fs::write(&ssh, text).unwrap();
        fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
        Machine(home)
    }

    fn command(&self) -> Command {
        let mut command = tutor(self.0.path());
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{}:{path}", self.0.path().display()))
            .env("XDG_CONFIG_HOME", self.0.path().join("config"));
        command
    }

    fn command_through(&self, words: &[&str]) -> Command {
        let mut command = self.command();
        command
            .args([
                "launch",
                "near",
                r#"--launcher={"to":{"ssh":"node"}}"#,
                "--",
            ])
            .args(words);
        command
    }

    fn run(&self, flags: &[&str]) -> Command {
        self.command_through(&[&[PROGRAM, "run", "v1", "--events"], SMALL, flags].concat())
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
fn a_run_on_another_machine_is_told_as_if_it_were_made_here() {
    let machine = Machine::with_ssh("exec sh -c \"$line\"");
    let output = machine.run(&["--num-steps=3"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let events = events(&output);
    assert_whole(&events, 6);
    assert_eq!(events[0]["phase"], "queue");
    assert!(events_of(&events, "hello").next().unwrap()["node"].is_string());
    // No files of the run remain.
    let left = fs::read_dir(machine.0.path().join("state/tinyllama-tutor/launched")).unwrap();
    assert_eq!(left.count(), 0);
}

#[test]
fn a_connection_that_breaks_twice_costs_no_line_of_the_run() {
    let machine = Machine::with_ssh(
        "n=$(ls $here/cut.* 2>/dev/null | wc -l); touch $here/cut.$n\n\
         case $n in 0|1) sh -c \"$line\" | head -c 2500; exit 255;; *) exec sh -c \"$line\";; esac",
    );
    let output = machine.run(&["--num-steps=30"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let events = events(&output);
    assert_whole(&events, 33);
    let broken = events_of(&events, "phase")
        .filter(|phase| phase["message"].as_str().unwrap().contains("broke"));
    assert_eq!(broken.count(), 2);
}

#[test]
fn words_reach_the_other_machine_as_they_are() {
    let machine = Machine::with_ssh("cd $here && exec sh -c \"$line\"");
    let hostile = [
        "a b",
        "it's",
        "\"",
        "$(touch hacked)",
        "`touch hacked`",
        ";touch hacked",
        "",
        "-n",
        "~",
        "*",
    ];
    let words = [&["sh", "-c", "printf '%s\\n' \"$@\"", "-"], &hostile[..]].concat();
    let output = machine.command_through(&words).output().unwrap();
    let said = stdout(&output);
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("{\"t\""))
        .collect();
    assert_eq!(lines, hostile);
    assert!(!machine.0.path().join("hacked").exists());
}

#[test]
fn a_learners_kernel_is_timed_where_the_gpu_is() {
    let machine = Machine::with_ssh(r#"echo "$line" >>"$here/asked"; exec sh -c "$line""#);
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
            .args(["--file", "it's mine.hip", "--launcher", "ssh:node"])
            .output()
            .unwrap();
        // The other machine has no GPU either. Its message and exit status come back.
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains("GPU"), "{}", stderr(&output));
        let asked = fs::read_to_string(machine.0.path().join("asked")).unwrap();
        assert!(asked.contains("--launcher=local"), "{asked}");
        assert!(
            asked.contains(words[0]) && asked.contains("mine.hip"),
            "{asked}"
        );
    }
}

#[test]
fn a_launcher_that_is_not_there_is_named_with_what_to_do() {
    let machine = Machine::with_ssh("");
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
            "echo 'me@node: Permission denied (publickey).' >&2; exit 255",
            "does not let you log in",
        ),
        (
            "echo 'ssh: connect to host node port 22: Connection refused' >&2; exit 255",
            "does not answer",
        ),
        (
            "echo 'sh: 1: /no/tutor: not found' >&2; exit 127",
            "this program is not on",
        ),
    ] {
        let output = Machine::with_ssh(script)
            .run(&["--num-steps=3"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3));
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

/// Waits for a step in a child's output so far.
fn wait_for_a_step(said: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(said).is_ok_and(|text| text.contains("\"event\":\"step\"")) {
        assert!(Instant::now() < until, "no step came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn terminate(child: &Child) {
    let status = Command::new("kill").arg(child.id().to_string()).status();
    assert!(status.unwrap().success());
}

#[test]
fn an_end_that_is_asked_for_reaches_the_run_which_sums_up() {
    let machine = Machine::with_ssh("exec sh -c \"$line\"");
    let said = machine.0.path().join("said");
    let mut command = machine.run(&["--num-steps=1000000"]);
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
    let machine = Machine::with_ssh("exit 1");
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
    let machine = Machine::with_ssh("exec sh -c \"$line\"");
    let class = machine.0.path().join("class; touch hacked");
    fs::create_dir(&class).unwrap();
    let site = class.join(".site.toml");
    fs::write(&site, "launcher = \"ssh:node\"\n").unwrap();
    fs::set_permissions(&site, fs::Permissions::from_mode(0o644)).unwrap();
    let output = doctor(&machine, &class);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let chosen =
        |text: &str| line_with("Runs are", text).replace(&*class.to_string_lossy(), "[class]");
    insta::assert_snapshot!(chosen(&text), @"Runs are made by ssh:node: [class]/.site.toml says so.");
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
    let machine = Machine::with_ssh("exec sh -c \"$line\"");
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
    let place = machine.0.path().join("a place");
    let text = format!(
        "#!/bin/sh\ncd '{}'\necho \"$*\" >> made\ncase \"$*\" in *--seq-len=16*) [ -e unlucky ] || {{ touch unlucky; exit 1; }};; esac\n\
         TINYLLAMA_NODE=\"n$(wc -l < made)\" exec \"$@\"\n",
        machine.0.path().display()
    );
    fs::write(&place, text).unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
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
    let machine = Machine::with_ssh("");
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
    let machine = Machine::with_ssh("exit 1");
    for place in ["local", "ssh:node"] {
        let output = machine
            .command()
            .args(["scale", "v1", "--jobs=2", "--launcher", place])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--jobs"), "{}", stderr(&output));
    }
}
