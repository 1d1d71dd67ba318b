//! The tutor as lines, without the full screen.

use super::*;

#[test]
fn without_a_terminal_the_ways_without_one_are_named() {
    let home = home();
    let output = Process::new(PROGRAM)
        .envs(environment(&home))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("--plain") && said.contains("--json"),
        "{said}"
    );
}

#[test]
fn the_plain_dialogue_plays_a_recording_and_calls_it_one() {
    let home = home();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    let mut tutor = Process::new(PROGRAM)
        .arg("--plain")
        .envs(environment(&home))
        .env("TINYLLAMA_RECORDINGS", recordings)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = "next\nnext\nrecording 0\nrecording end\nquit\n";
    let mut input = tutor.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    let output = tutor.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    let label = "(recording: a machine of the tests, 21 November 2026)";
    for words in [
        &format!("plays v1 tiny instead {label}"),
        "`0` is not a speed",
        "learns: passed.",
        &format!("{label} many steps"),
    ] {
        assert!(
            sizes::flowing(&said).contains(words),
            "no \"{words}\" in:\n{said}"
        );
    }
}

#[test]
fn the_plain_dialogue_takes_no_failed_recording_for_a_finished_run() {
    let home = home();
    let recordings = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    std::fs::copy(
        fixtures.join("INDEX.yaml"),
        recordings.path().join("INDEX.yaml"),
    )
    .unwrap();
    let stream = File::create(recordings.path().join("v1.jsonl.gz")).unwrap();
    let mut stream = GzEncoder::new(stream, Compression::default());
    let error = r#"{"t":0,"event":"error","code":"not-finite","message":"no","remedy":"none"}"#;
    stream.write_all(error.as_bytes()).unwrap();
    stream.finish().unwrap();
    let mut tutor = Process::new(PROGRAM)
        .arg("--plain")
        .envs(environment(&home))
        .env("TINYLLAMA_RECORDINGS", recordings.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = tutor.stdin.take().unwrap();
    input
        .write_all(b"next\nnext\nrecording end\nquit\n")
        .unwrap();
    drop(input);
    let output = tutor.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let ending = said.lines().find(|line| line.contains("recorded run"));
    insta::assert_snapshot!(ending.unwrap_or(&said), @"The recorded run did not end as planned.");
    let state = home.path().join("state/tinyllama-tutor/events.jsonl");
    let session = std::fs::read_to_string(state).unwrap();
    assert!(session.contains(r#""exit":{"status":1}"#), "{session}");
}

#[test]
fn the_plain_dialogue_teaches_the_same_lesson_through_a_pipe() {
    let home = home();
    let mut tutor = Process::new(PROGRAM)
        .arg("--plain")
        .envs(environment(&home))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = "\n30\n\n\n\n\na\nb\n\nsix\n6\n\nquite a lot\n\nquit\n";
    tutor
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = tutor.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    // The order of the choices before depends on the session.
    let after = said.split_once("What is two").expect("the number").1;
    insta::assert_snapshot!(after);
    for fact in ["You guessed 30", "learns: passed.", "Not so.", "Right."] {
        assert!(said.contains(fact), "no \"{fact}\" in:\n{said}");
    }
}

#[test]
fn a_terminal_that_cannot_place_its_cursor_gets_lines() {
    let home = home();
    let terminal = Terminal::start(command(&home).env("TERM", "dumb"), 80, 24);
    terminal.wait_for("The first lesson");
    assert!(!terminal.is_alternate(), "{}", terminal.text());
}

#[test]
fn lines_break_between_words_at_the_width_of_a_narrow_terminal() {
    let home = home();
    let lines = command(&home)
        .arg("--plain")
        .env_remove("TINYLLAMA_LESSONS");
    let terminal = Terminal::start(lines, 40, 600);
    for (command, said) in [
        ("", "A small model that is real"),
        ("help\n", "Ctrl-C stops the current run."),
        ("outline\n", "Keeping it fast"),
        ("next\n", "Step 2 of"),
        ("page rocprof\n", "Perfetto, the viewer"),
        ("page nowhere\n", "There is no page"),
    ] {
        terminal.send(command);
        terminal.wait_until(said, |terminal| {
            let text = terminal.text();
            let last = text.rsplit("\n> ").next().unwrap_or_default();
            sizes::flowing(last).contains(said) && text.ends_with("\n>")
        });
    }
    assert_eq!(torn_sentences(&terminal), [""; 0]);
    // What goes on stands below the text behind a command's name.
    let text = terminal.text();
    let mut help = text
        .lines()
        .skip_while(|line| !line.starts_with("run [FLAGS]"));
    let (first, second) = (help.next().unwrap(), help.next().unwrap());
    let column = first.find("start the").unwrap();
    assert!(second.starts_with(&" ".repeat(column)), "{first}\n{second}");
    assert!(!second[column..].starts_with(' '), "{second}");
}

/// Lines that the terminal broke, without code, pictures, addresses and other long words: those stay whole.
fn torn_sentences(terminal: &Terminal) -> Vec<String> {
    let is_kept = |line: &String| {
        let signs = [
            "tinyllama-tutor ",
            "https://",
            " --",
            " = ",
            " / ",
            "->",
            "<-",
            "# ",
            "scp ",
            // Bars of a picture.
            " |",
        ];
        signs.iter().any(|sign| line.contains(sign)) || !line.trim().contains(' ')
    };
    let torn = terminal.torn_lines().into_iter();
    torn.filter(|line| !is_kept(line)).collect()
}

#[test]
fn sentences_of_commands_break_between_words_and_commands_stay_whole() {
    let class = changes::TestClass::with(&["ada"]);
    let shown: [&[&str]; 9] = [
        &["doctor"],
        &["lessons", "show", "first-baseline"],
        &["lessons", "show", "first-baseline", "--answers"],
        &["lessons", "show", "foundation", "--slides"],
        &["lessons", "list"],
        &["instructor", "show", "ada"],
        &["instructor", "message", "--learner", "ada", LONG],
        &["session", "verify", "--learner", "ada"],
        &["kernels"],
    ];
    for (columns, words) in [60, 80, 200]
        .into_iter()
        .flat_map(|it| shown.map(|words| (it, words)))
    {
        let mut terminal = class.terminal(words, columns, 2000);
        assert!(terminal.wait().success(), "{words:?}: {}", terminal.text());
        let text = terminal.text();
        assert_eq!(
            torn_sentences(&terminal),
            [""; 0],
            "{words:?} at {columns}:\n{text}"
        );
        // Tables may be as wide as the terminal. Sentences have no gaps, and end where they are easy to read.
        let sentences = text.lines().filter(|line| !line.trim().contains("  "));
        let widest = sentences.map(|line| line.chars().count()).max();
        assert!(widest <= Some(100), "{words:?} at {columns}:\n{text}");
    }
    let narrow = class.terminal(&["lessons", "show", "ablation"], 60, 2000);
    let command =
        "--flops --qkv-fusion off --flash-attention off --swiglu-fusion off --graph-fusion off";
    narrow.wait_until(command, |terminal| terminal.written().contains(command));
    let narrow = class.terminal(&["doctor"], 60, 2000);
    let remedy = "`PATH=\"$PWD/.ci/hipconfig:$PATH\" cargo build --release --features rocm`";
    narrow.wait_until(remedy, |terminal| terminal.written().contains(remedy));
    // Everything but a terminal gets the lines as they are written.
    let piped = class.process(&["lessons", "show", "first-baseline"]);
    let piped = { piped }.output().unwrap().stdout;
    let piped = String::from_utf8(piped).unwrap();
    assert!(
        piped.lines().any(|line| line.chars().count() > 100),
        "{piped}"
    );
}

/// A message of an instructor that no terminal has room for in one line.
const LONG: &str = "The baseline waits for the device after every phase, so its step is longer than the sum of \
                    its kernels; compare it with `tinyllama-tutor run v1 --no-sync` before you name a bottleneck.";

#[test]
fn help_lists_a_commands_own_flags_before_those_that_it_shares() {
    let reset = "--learner --everyone --step --stage --lesson --session --whole-course";
    for (command, own) in [
        ("instructor reset", reset),
        ("lessons show", "--answers --slides"),
        ("recordings play", "--speed --events"),
    ] {
        let words = command.split(' ').chain(["--help"]);
        let output = Process::new(PROGRAM).args(words).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let flags = text.lines().map(str::trim_start);
        let flags = flags.filter(|line| line.starts_with("--"));
        let flags: Vec<&str> = flags.filter_map(|line| line.split(' ').next()).collect();
        let own: Vec<&str> = own.split(' ').collect();
        assert!(flags.starts_with(&own), "{command}: {flags:?}");
        assert!(flags.contains(&"--json"), "{command}: {flags:?}");
    }
}

/// A folder with the fixture's recording, in whose summary the forward pass is fast in most steps and slow in some.
fn recording_with_two_speeds() -> TempDir {
    let recordings = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    let (from, to) = (
        fixtures.join("INDEX.yaml"),
        recordings.path().join("INDEX.yaml"),
    );
    std::fs::copy(from, to).unwrap();
    let mut stream = String::new();
    let file = File::open(fixtures.join("v1.jsonl.gz")).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut stream)
        .unwrap();
    let file = File::create(recordings.path().join("v1.jsonl.gz")).unwrap();
    let mut out = GzEncoder::new(file, Compression::default());
    for line in stream.lines() {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        if event["event"] == "summary" {
            let even = serde_json::json!({"mean": 2.0, "median": 2.0, "p10": 1.9, "p90": 2.1});
            let mixed = serde_json::json!({"mean": 55.99, "median": 1.05, "p10": 1.0, "p90": 1.2});
            for phase in ["total_ms", "backward_ms", "optimizer_ms"] {
                event[phase] = even.clone();
            }
            event["forward_ms"] = mixed;
        }
        writeln!(out, "{event}").unwrap();
    }
    out.finish().unwrap();
    recordings
}

#[test]
fn a_summary_remarks_on_a_phase_in_which_fast_and_slow_steps_are_mixed() {
    let recordings = recording_with_two_speeds();
    let output = Process::new(PROGRAM)
        .args(["recordings", "play", "v1", "--speed", "end"])
        .env("TINYLLAMA_RECORDINGS", recordings.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let remarks = said
        .lines()
        .filter(|line| line.contains("half of the steps"));
    let remarks: Vec<&str> = remarks.collect();
    assert_eq!(remarks.len(), 1, "{said}");
    for fact in ["forward:", "1.05 ms", "55.99", "1.20"] {
        assert!(remarks[0].contains(fact), "no {fact} in {}", remarks[0]);
    }
}

#[test]
fn errors_break_between_words_at_the_width_of_the_terminal() {
    let home = home();
    for columns in [60, 67, 80] {
        let terminal = Terminal::start(command(&home).arg("report"), columns, 24);
        let said = "`tinyllama-tutor session path` shows where yours is expected; --class DIR and --learner NAME name another.";
        terminal.wait_until(said, |terminal| {
            sizes::flowing(&terminal.text()).contains(said)
        });
        assert_eq!(terminal.torn_lines(), [""; 0]);
    }
}

#[test]
fn a_recording_is_played_at_any_speed_above_zero() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    let play = |speed: &str| {
        let mut play = Process::new(PROGRAM);
        play.args(["recordings", "play", "v1", "--speed", speed])
            .env("TINYLLAMA_RECORDINGS", &recordings);
        play.output().unwrap()
    };
    let fast = play("100000");
    assert!(fast.status.success(), "{fast:?}");
    assert_eq!(fast.stdout, play("end").stdout);
    let refused = play("0");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    insta::assert_snapshot!(said, @"
    error: invalid value '0' for '--speed <SPEED>': `0` is not a speed: a factor above 0, such as 4 or 0.5, or end

    For more information, try '--help'.
    ");
}

#[test]
fn a_calibration_of_a_busy_machine_is_doubted_and_no_rate_is_shown_as_zero() {
    let home = home();
    let folder = home.path().join("state/tinyllama-tutor/calibration");
    std::fs::create_dir_all(&folder).unwrap();
    let rate = |level: &str, median: f64, p10: f64, p90: f64| {
        let sampled = serde_json::json!({"median": median, "p10": p10, "p90": p90, "repeats": 5});
        serde_json::json!({"level": level, "bytes_per_s": sampled, "working_set": 1, "how": "made up"})
    };
    let calibration = serde_json::json!({
        "version": 1, "measured": 0, "program": "0",
        "facts": {"backend": "imagined", "device": "Imagined GPU", "arch": "gfx000", "driver": "1", "memory": 1_u64 << 34},
        "compute": [], "launch": null, "synchronise": null, "notes": [],
        "bandwidth": [rate("cold", 0.278e9, 0.24e9, 0.43e9), rate("warm", 0.152e9, 0.151e9, 0.153e9)],
    });
    std::fs::write(folder.join("imagined.json"), calibration.to_string()).unwrap();
    let output = Process::new(PROGRAM)
        .args(["calibrate", "--show"])
        .envs(environment(&home))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    for fact in [
        "278.0 MB/s",
        "152.0 MB/s",
        "warning: memory: repeats differ by 68.3 %",
        "warning: cache: it is slower than memory",
    ] {
        assert!(said.contains(fact), "no {fact} in\n{said}");
    }
    assert!(!said.contains(" 0 GB/s"), "{said}");
}

#[test]
fn a_check_of_gradients_says_what_it_computes_while_it_works() {
    let home = home();
    let words = ["gradcheck", "v3", "--config", "tiny"];
    let mut terminal = Terminal::start(command(&home).args(words), 100, 30);
    terminal.wait_for("computing the reference: v1 in f64 on the CPU");
    assert!(terminal.wait().success(), "{}", terminal.text());
    terminal.wait_for("worst parameter");
    let text = terminal.text();
    let at = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("no {what}: {text}"))
    };
    assert!(at("the gradients of v1, 1 of 2") < at("the gradients of v3, 2 of 2"));
    assert!(at("the gradients of v3, 2 of 2") < at("worst parameter"));
}

#[test]
fn the_memory_of_a_run_on_a_cpu_is_in_the_report() {
    let home = home();
    let mut terminal = Terminal::start(command(&home), 80, 24);
    terminal.wait_for("Your first minute");
    terminal.send("\r");
    terminal.wait_for("passed  learns");
    terminal.send("q");
    assert!(terminal.wait().success());
    let output = Process::new(PROGRAM)
        .args(["report", "--output"])
        .arg(home.path().join("rep"))
        .envs(environment(&home))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let report = std::fs::read_to_string(home.path().join("rep/report.md")).unwrap();
    let mut lines = report
        .lines()
        .skip_while(|line| !line.contains("Peak memory"));
    let row = lines.nth(2).unwrap_or_default();
    let memory = row.split('|').nth(7).unwrap_or_default();
    assert!(memory.ends_with("iB "), "{report}");
}
