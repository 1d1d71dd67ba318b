//! Tests steps in which the learner decides, with the real program: a command, a case, a goal and a contest. It uses
//! lines and the full screen, and checks the records and the report. Then it tests runs in turns, and `prepare` in
//! the background.

mod common;
#[path = "common/terminal.rs"]
mod terminal;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};

use common::{SMALL, stderr, stdout, tutor};
use pty_process::blocking::Command;
use serde_json::Value;
use tempfile::TempDir;
use terminal::Terminal;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tinyllama-tutor");

/// A course with one lesson of these steps, in a separate home. `RUN` stands for the flags of a small run, `RUN4` for
/// twice its batch, `RUN1` for a single step.
fn course(steps: &str) -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let course = home.path().join("course");
    fs::create_dir_all(course.join("only")).unwrap();
    fs::write(
        course.join("workshop.yaml"),
        "format: 1\ntitle: To decide\nversion: '1'\nsummary: Small.\nsessions:\n  - id: only\n    title: Only\n    minutes: 60\n    \
         objectives: [Decide.]\n    lessons: [one]\n",
    )
    .unwrap();
    let flags = format!("{} --num-steps 6 --repeatability off", SMALL.join(" "));
    let lesson = "id: one\ntitle: The only lesson\nminutes: 25\nlevel: beginner\nobjectives: [Decide.]\nsteps:\n";
    let twice = flags.replace("--batch-size=2", "--batch-size=4");
    let short = flags.replace("--num-steps 6", "--num-steps 1");
    let steps = steps.replace("RUN4", &twice).replace("RUN1", &short);
    let steps = steps.replace("RUN", &flags);
    let lesson = format!("{lesson}{steps}");
    fs::write(course.join("only/one.yaml"), lesson).unwrap();
    (home, course)
}

const DECIDING: &str = "
  - id: look
    kind: command
    title: What differs
    text: A command of the tutor.
    command: diff
    flags: stage2 stage3
    checks:
      - { id: one-thing, measure: \"differences.#\", at_most: 1, passed: One thing differs., not_yet: More than one. }
  - id: which
    kind: quiz
    title: Which setting
    text: It says so.
    of: look
    choices:
      - { text: The weights., when: \"differences[0].setting = initial weights\", because: Look again. }
      - { text: Keys and values., when: \"differences[0].setting = keys and values\", because: So it says. }
      - { text: The clock., correct: true, because: Look once more. }
  - id: case
    kind: investigate
    title: A case
    text: The first loss is absurd.
    target: stage1
    flags: RUN
    measurements:
      - { id: plain, text: a plain run, shows: \"**Plain.** It starts at {{ case.first_loss }}.\" }
      - { id: layers, text: every layer, flags: --diagnose, convicts: true, shows: \"**Layers.** The embedding is too wide.\" }
    suspects:
      - { id: layout, text: the layout, fix: layout, because: \"**Layout.** Nothing changes.\" }
      - { id: init, text: the initial weights, fix: init, guilty: true, because: \"**Init.** It starts at {{ case+fix.first_loss }}.\" }
    checks:
      - { id: fixed, measure: case.first_loss / case+fix.first_loss, at_least: 1.5, passed: The loss is right., not_yet: Not lower. }
  - id: work
    kind: run
    title: Some work
    text: How much work it is.
    target: v1
    flags: RUN --flops
  - id: goal
    kind: run
    title: A goal
    text: Twice the work, and on a GPU in no time.
    target: v1
    flags: RUN --flops
    editable: true
    golden: { flags: RUN4 --flops }
    checks:
      - { id: doubled, measure: goal.flops_per_step / work.flops_per_step, at_least: 1.9, at_most: 2.1, passed: Twice the work., not_yet: Not twice. }
      - { id: in-time, measure: goal.total_ms, at_most: 0.000001, on_gpu: true, passed: In no time., not_yet: Too long. }
  - id: contest
    kind: run
    title: A contest
    text: As fast as you can.
    target: v1
    flags: RUN
    contest: true
    checks:
      - { id: learns, measure: contest.final_loss / contest.first_loss, at_most: 1, passed: It learns., not_yet: It does not. }
";

const TUTOR: [(&str, &str); 4] = [
    ("USER", "ada"),
    ("LC_ALL", "C.UTF-8"),
    ("TERM", "xterm-256color"),
    ("NO_COLOR", ""),
];

/// Runs the dialogue in a class folder with these input lines.
fn plain(home: &Path, course: &Path, lines: &str) -> String {
    let class = home.join("class");
    fs::create_dir_all(&class).unwrap();
    let mut tutor = tutor(home)
        .envs(TUTOR)
        .args(["--plain", "--class"])
        .arg(class)
        .arg("--lessons")
        .arg(course)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = tutor.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    let output = tutor.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stdout(&output));
    stdout(&output)
}

fn asked(home: &Path, course: &Path, arguments: &[&str]) -> Output {
    tutor(home)
        .envs(TUTOR)
        .env("TINYLLAMA_CLASS", home.join("class"))
        .env("TINYLLAMA_LESSONS", course)
        .args(arguments)
        .output()
        .unwrap()
}

/// Asserts that all `words` occur in this order.
fn in_order(said: &str, words: &[&str]) {
    let mut rest = said;
    for word in words {
        let at = rest
            .find(word)
            .unwrap_or_else(|| panic!("no \"{word}\" where it belongs in:\n{said}"));
        rest = &rest[at + word.len()..];
    }
}

/// Checks the report of a learner who completed [`DECIDING`].
fn is_reported(home: &Path, course: &Path) {
    let report = home.join("report");
    let to = report.display().to_string();
    let written = asked(home, course, &["report", "--format", "json", "-o", &to]);
    assert!(written.status.success(), "{}", stderr(&written));
    let file = report.join("session.json");
    let document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let steps = document["sessions"][0]["lessons"][0]["steps"].as_array();
    let steps = steps.or_else(|| document["lessons"][0]["steps"].as_array());
    let steps = steps.unwrap_or_else(|| panic!("{document:#}"));
    let step = |id: &str| steps.iter().find(|step| step["id"] == id).unwrap();
    for id in ["look", "which", "case", "goal", "contest"] {
        assert_eq!(step(id)["status"], "done", "{:#}", step(id));
    }
    let case = &step("case")["case"];
    insta::allow_duplicates! {
        insta::assert_snapshot!(
            case["suspicions"],
            @r#"["the layout (after 1 run)","the initial weights (after 3 runs)"]"#
        );
    }
    assert_eq!(
        (&case["measurements"], &case["solved"]),
        (&2.into(), &true.into())
    );
    let verdict = |id: &str, check: &str| {
        let checks = step(id)["checks"].as_array().unwrap();
        checks.iter().find(|it| it["id"] == check).unwrap()["verdict"].clone()
    };
    assert_eq!(verdict("case", "fixed"), "passed");
    assert_eq!(verdict("goal", "doubled"), "passed");
    assert_eq!(verdict("goal", "in-time"), "not evaluated", "on a CPU");
    let verified = asked(
        home,
        course,
        &["report", "verify", &file.display().to_string()],
    );
    assert!(verified.status.success(), "{}", stdout(&verified));
    let ladder = asked(home, course, &["instructor", "--json", "ladder"]);
    let ladder: Value = serde_json::from_slice(&ladder.stdout).unwrap();
    assert_eq!(ladder["ladder"][0]["learner"], "ada", "{ladder}");
    // Repeats the runs on the instructor's machine. A launcher command allows several at a time.
    let again = [
        "instructor",
        "--json",
        "run",
        "--jobs",
        "2",
        "--launcher",
        "env A=b",
    ];
    let again = asked(home, course, &again);
    assert!(again.status.success(), "{}", stderr(&again));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["again"][0]["learner"], "ada", "{again}");
    assert!(
        again["again"][0]["samples_per_s"].as_f64() > Some(0.0),
        "{again}"
    );
    let alone = asked(home, course, &["instructor", "run", "--jobs", "2"]);
    assert_eq!(alone.status.code(), Some(2), "they would share a device");
}

#[test]
fn a_command_a_case_a_goal_and_a_contest_as_lines() {
    let (home, course) = course(DECIDING);
    let goal = SMALL.join(" ").replace("--batch-size=2", "--batch-size=4");
    let lines = format!(
        "\n\na\nb\nc\n\na\nc\ne\nb\nd\ne\n\n\n\n\nrun {goal} --num-steps 6 --flops\n\n\nquit\n"
    );
    let said = plain(home.path(), &course, &lines);
    in_order(
        &said,
        &[
            "one thing: passed",
            "Right. So it says.",
            "Plain. It starts at",
            "Layout. Nothing changes.",
            "The symptom is still there: name another suspect.",
            "Numbers in every layer before the first step",
            "Layers. The embedding is too wide.",
            "Init. It starts at",
            "2 measurements taken. Solved.",
            "doubled: not yet",
            "This step is not done yet.",
            "doubled: passed",
            "in time: not evaluated. Only a GPU can show this",
            "This step is done.",
            "A contest",
            "learns: passed",
        ],
    );
    is_reported(home.path(), &course);
}

#[test]
fn a_command_a_case_a_goal_and_a_contest_on_the_screen() {
    let (home, course) = course(DECIDING);
    let class = home.path().join("class");
    fs::create_dir_all(&class).unwrap();
    let path = |name: &str| home.path().join(name);
    let command = Command::new(PROGRAM)
        .arg("--class")
        .arg(&class)
        .arg("--lessons")
        .arg(&course)
        .envs(TUTOR)
        .env("HOME", path("home"))
        .env("XDG_STATE_HOME", path("state"))
        .env("XDG_CACHE_HOME", path("cache"))
        .env("XDG_CONFIG_HOME", path("config"))
        .env("TINYLLAMA_BACKEND", "cpu")
        .env_remove("SSH_CONNECTION");
    // The terminal is high enough for every line of a case.
    let mut terminal = Terminal::start(command, 100, 60);
    terminal.wait_for("Your first minute");
    terminal.escape("Your first minute");
    terminal.wait_for("The only lesson");
    terminal.press("c", "A command of the tutor.");
    terminal.press("\r", "passed  one thing");
    terminal.press("\r", "It says so.");
    for choice in 1..=3 {
        if !terminal.text().contains("Right.") {
            terminal.send(&format!("{choice}\r"));
            terminal.wait_until("an answer", |terminal| {
                let text = terminal.text();
                text.contains("Right.") || text.contains(&format!("✗ {choice}."))
            });
        }
    }
    terminal.wait_for("Right. So it says.");
    terminal.send("\r");
    terminal.wait_for("The first loss is absurd.");
    for (line, shown) in [
        ("1", "It starts at"),
        ("3", "Run the fix of your suspect"),
        ("5", "The symptom is still there"),
        ("2", "The embedding is too wide."),
        ("4", "Run the fix of your suspect"),
        ("5", "Solved."),
    ] {
        terminal.send(&format!("{line}\r"));
        back_to(&terminal, shown);
    }
    terminal.wait_for("passed  fixed");
    terminal.press("n", "How much work it is.");
    terminal.press("\r", "next step");
    terminal.press("\r", "Twice the work, and on a GPU in no time.");
    terminal.press("\r", "not yet  doubled");
    terminal.wait_for("not evaluated  in time");
    let goal = SMALL.join(" ").replace("--batch-size=2", "--batch-size=4");
    back_to(&terminal, "enter start the run");
    terminal.press("f", "Flags of the run");
    let flags = format!("{goal} --num-steps 6 --flops");
    // Many keys at once count as a paste, and neither a delete key nor Enter acts in a paste. So each waits for its effect.
    terminal.send("\x15");
    terminal.wait_until("an empty field", |terminal| field(terminal).is_empty());
    terminal.send(&flags);
    terminal.wait_until("the flags", |terminal| field(terminal) == flags);
    terminal.send("\r");
    back_to(&terminal, "passed  doubled");
    terminal.press("n", "As fast as you can.");
    terminal.send("\r");
    back_to(&terminal, "passed  learns");
    terminal.send("q");
    assert!(terminal.wait().success());
    is_reported(home.path(), &course);
}

/// What the field for flags holds, without its frame.
fn field(terminal: &Terminal) -> String {
    let text = terminal.text();
    let lines = text
        .lines()
        .skip_while(|line| !line.contains("Flags of the run"))
        .skip(1);
    let lines = lines.take_while(|line| !line.contains("Enter starts the run"));
    let words = lines.flat_map(|line| line.trim_matches('│').split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

/// Leaves the page with a run's figures for the step's text, once the step shows `shown`.
fn back_to(terminal: &Terminal, shown: &str) {
    let finished = "finished:";
    terminal.wait_until(shown, |terminal| {
        let text = terminal.text();
        text.contains(shown) || text.contains(finished)
    });
    if !terminal.text().contains(shown) {
        terminal.escape(finished);
    }
    terminal.wait_for(shown);
}

const TURNS: &str = "
  - id: a
    kind: run
    title: The first
    text: One step.
    target: v1
    flags: RUN
  - id: b
    kind: run
    title: The second
    text: The same again.
    target: v1
    flags: RUN
    checks:
      - { id: faster, measure: a.total_ms / b.total_ms, at_least: 1.05, required: false, passed: Faster., not_yet: Not. }
  - id: c
    kind: run
    title: The third
    text: And again.
    target: v1
    flags: RUN
    checks:
      - { id: alike, measure: a.total_ms / c.total_ms, at_least: 0.1, required: false, passed: Alike., not_yet: Not. }
";

/// The runs have too few steps to know their spread. So both continue in turns with more steps, and every round is
/// stored.
#[test]
fn an_effect_that_is_not_decided_is_measured_in_turns_until_it_is_or_cannot_be() {
    let (home, course) = course(&TURNS.replace("RUN", "RUN1"));
    let said = plain(home.path(), &course, "\n\n\ncheck\n\n\ncheck\nquit\n");
    in_order(
        &said,
        &[
            "Not decided yet",
            "(round 1 of at most 12)",
            "The third",
            "Alike.",
        ],
    );
    let events = fs::read_to_string(home.path().join("class/ada/events.jsonl")).unwrap();
    let started = events.lines().filter(|line| line.contains("run_started"));
    let started: Vec<Value> = started
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let order: String = started
        .iter()
        .map(|line| {
            line["record"]["event"]["run_started"]["at"]["step"]
                .as_str()
                .unwrap()
        })
        .collect();
    let (turns, third) = order.split_at(order.find('c').unwrap());
    let rounds = turns.len() / 2;
    assert!((2..=13).contains(&rounds), "{order}");
    assert_eq!(turns, "ab".repeat(rounds));
    // The first run has become longer, and a round has equally many steps of both.
    let more_rounds = third.len() / 2;
    assert!(more_rounds >= 1, "{order}");
    assert_eq!(third, "c".to_owned() + &"ac".repeat(more_rounds), "{order}");
    let asked: Vec<_> = started[turns.len() + 1..].iter().map(steps_asked).collect();
    let is_equal = |round: &[usize]| round[0] == round[1] && round[0] > 1;
    assert!(asked.chunks(2).all(is_equal), "{asked:?}");
    // Run names begin with their start time in milliseconds.
    let runs = home.path().join("class/ada/runs");
    let mut runs: Vec<_> = fs::read_dir(runs)
        .unwrap()
        .map(|run| run.unwrap().path())
        .collect();
    runs.sort();
    for round in runs[..turns.len()].chunks(2).skip(1) {
        let [first, second] = [0, 1].map(|n| started_ms(&round[n]));
        assert!(
            second < first + last_ms(&round[0]),
            "the second starts while the first is alive"
        );
        let long_enough = last_ms(&round[0]) > 1000.0;
        assert!(long_enough, "with more steps than the lesson asked for");
    }
}

fn steps_asked(started: &Value) -> usize {
    let words = started["record"]["event"]["run_started"]["command"]
        .as_array()
        .unwrap()
        .iter();
    let mut steps = words.filter_map(|word| word.as_str()?.strip_prefix("--num-steps="));
    steps.next().unwrap().parse().unwrap()
}

fn started_ms(run: &Path) -> f64 {
    let name = run.file_name().unwrap().to_str().unwrap().to_owned();
    let mut parts = name.split('-').map(|part| part.parse::<f64>());
    let mut next = || parts.next().unwrap().unwrap();
    next() * 1e3 + next()
}

/// Milliseconds from a run's start to its last event.
fn last_ms(run: &Path) -> f64 {
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    last["t"].as_f64().unwrap() * 1e3
}

/// The screen starts `prepare` in the background. It pauses on request, continues, and ends with the tutor.
#[test]
fn prepare_behind_a_learner_steps_aside_goes_on_and_ends_with_the_tutor() {
    let (home, course) = course(TURNS);
    let started = || {
        let mut command = tutor(home.path());
        command
            .args(["prepare", "--background", "--lessons"])
            .arg(&course);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child: std::process::Child = Process::spawn(&mut command).unwrap();
        let input = child.stdin.take().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        (child, input, said.lines().map_while(Result::ok))
    };
    let (mut child, mut input, mut said) = started();
    input.write_all(b"pause\n").unwrap();
    assert_eq!(
        said.next().map(|line| line.starts_with("1 of 1: v1")),
        Some(true)
    );
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    input.write_all(b"go\n").unwrap();
    let rest: Vec<String> = said.collect();
    assert!(
        rest.last()
            .is_some_and(|line| line.contains("1 programs ready")),
        "{rest:?}"
    );
    assert!(child.wait().unwrap().success());

    let (mut child, mut input, said) = started();
    input.write_all(b"pause\n").unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(said.into_iter().all(|line| !line.contains("ready")));
}
