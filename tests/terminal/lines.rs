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
    let lines = "next\nnext\nrecording 3\nrecording end\nquit\n";
    let mut input = tutor.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    let output = tutor.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    let label = "(recording: a machine of the tests, 21 November 2026)";
    for words in [
        &format!("plays v1 tiny instead {label}"),
        "`3` ",
        "learns: passed.",
        &format!("{label}\nmany-steps"),
    ] {
        assert!(said.contains(words), "no \"{words}\" in:\n{said}");
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
fn addresses_are_links_where_the_terminal_follows_them_and_text_elsewhere() {
    let written = |term: &str| {
        let home = home();
        let lines = command(&home)
            .arg("--plain")
            .env_remove("TINYLLAMA_LESSONS")
            .env_remove("TMUX")
            .env("TERM", term);
        let terminal = Terminal::start(lines, 100, 50);
        terminal.wait_for("> ");
        terminal.send("page rocprof\n");
        terminal.wait_for("ui.perfetto.dev");
        terminal.written()
    };
    let link = "\x1b]8;;https://ui.perfetto.dev\x1b\\https://ui.perfetto.dev\x1b]8;;\x1b\\";
    assert!(written("xterm-kitty").contains(link));
    assert!(!written("xterm-256color").contains("\x1b]8"));
}
