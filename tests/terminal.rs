//! The tutor on a real pseudo-terminal, training a real, tiny model on the CPU.

mod common;
#[path = "common/terminal.rs"]
mod terminal;

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pty_process::blocking::Command;
use tempfile::TempDir;
use terminal::{PATIENCE, Terminal, processes};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tinyllama-tutor");

fn course() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course")
}

fn environment(home: &TempDir) -> Vec<(&'static str, String)> {
    let path = |name: &str| home.path().join(name).display().to_string();
    vec![
        ("HOME", path("home")),
        ("XDG_STATE_HOME", path("state")),
        ("XDG_CACHE_HOME", path("cache")),
        ("XDG_CONFIG_HOME", path("config")),
        ("TINYLLAMA_BACKEND", "cpu".into()),
        ("TINYLLAMA_LESSONS", course().display().to_string()),
        ("LC_ALL", "C.UTF-8".into()),
        ("TERM", "xterm-256color".into()),
        ("USER", "ada".into()),
        ("NO_COLOR", String::new()),
        ("SSH_CONNECTION", String::new()),
    ]
}

fn command(home: &TempDir) -> Command {
    Command::new(PROGRAM)
        .envs(environment(home))
        .env_remove("SSH_CONNECTION")
}

/// The tutor at its outline.
fn opened(home: &TempDir) -> Terminal {
    let terminal = Terminal::start(command(home), 80, 24);
    terminal.wait_for("The first lesson");
    terminal
}

/// The tutor with a run under way that does not end by itself.
fn running(home: &TempDir) -> Terminal {
    let terminal = opened(home);
    terminal.send(":longrun\r");
    terminal.wait_for("More steps than anybody waits for.");
    terminal.send("\r");
    terminal.wait_for("of 1000003");
    terminal
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "waited for {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_learner_predicts_runs_passes_quits_and_comes_back_to_the_same_step() {
    let home = home();
    let mut terminal = opened(&home);
    terminal.send("c");
    terminal.wait_for("Something to read");
    terminal.send("n\r");
    terminal.wait_for("Your guess, in ms");
    terminal.send("30\r");
    terminal.wait_for("You guessed 30");
    terminal.send("\r");
    terminal.wait_for("A very small model");
    terminal.send("\r");
    terminal.wait_for("passed  learns");
    assert!(terminal.text().contains("✓"));
    terminal.send("\r");
    terminal.wait_for("Measured on this machine");
    assert!(
        !terminal.text().contains("not measured yet"),
        "{}",
        terminal.text()
    );
    terminal.send("q");
    assert!(terminal.wait().success());
    assert!(!terminal.is_alternate(), "the terminal is given back");

    let mut terminal = Terminal::start(command(&home), 80, 24);
    terminal.wait_for("Measured on this machine");
    terminal.wait_until("live values", |terminal| {
        !terminal.text().contains("not measured yet")
    });
    terminal.send("q");
    assert!(terminal.wait().success());
}

#[test]
fn a_terminal_that_shrinks_is_asked_for_room_and_everything_is_back_when_it_grows() {
    let home = home();
    let terminal = Terminal::start(command(&home), 160, 45);
    terminal.wait_for("The first lesson");
    terminal.send("c");
    // The session has answered, too.
    terminal.wait_for("✓ done");
    let before = terminal.text();
    terminal.resize(40, 10);
    terminal.wait_for("the tutor needs 60");
    terminal.resize(60, 20);
    terminal.wait_for("Something to read");
    terminal.resize(160, 45);
    terminal.wait_until("the same picture", |terminal| terminal.text() == before);
}

#[test]
fn no_colour_keeps_attributes_and_an_ascii_locale_gets_ascii() {
    let home = home();
    let plain = command(&home).env("NO_COLOR", "1").env("LC_ALL", "C");
    let terminal = Terminal::start(plain, 80, 24);
    terminal.wait_for("The first lesson");
    terminal.send("c");
    terminal.wait_for("another thing, with code in it");
    terminal.send("n\r");
    terminal.wait_for("Your guess, in ms");
    assert!(terminal.text().is_ascii(), "{}", terminal.text());
    assert!(terminal.any_cell(vt100::Cell::bold), "bold is no colour");
    assert!(terminal.any_cell(vt100::Cell::inverse), "nor is reverse");
    let is_coloured = |cell: &vt100::Cell| {
        (cell.fgcolor(), cell.bgcolor()) != (vt100::Color::Default, vt100::Color::Default)
    };
    assert!(!terminal.any_cell(is_coloured));
    drop(terminal);

    let home = self::home();
    let terminal = opened(&home);
    terminal.send("c");
    terminal.wait_for("another thing, with code in it");
    assert!(
        terminal.any_cell(is_coloured),
        "with colours the test above would fail"
    );
    assert!(!terminal.text().is_ascii());
}

#[test]
fn ctrl_z_goes_to_the_shell_and_fg_brings_the_same_screen_back() {
    let home = home();
    let shell = Command::new("/bin/sh")
        .arg("-i")
        .envs(environment(&home))
        .env("PS1", "ready> ")
        .env_remove("ENV");
    let mut terminal = Terminal::start(shell, 80, 24);
    terminal.wait_for("ready>");
    terminal.send(&format!("{PROGRAM}\n"));
    terminal.wait_for("The first lesson");
    terminal.send("c");
    // The session has answered, too.
    terminal.wait_for("✓ done");
    let before = terminal.text();
    terminal.send("\x1a");
    terminal.wait_until("the shell", |terminal| !terminal.is_alternate());
    terminal.send("echo still-$((40 + 2))\n");
    terminal.wait_for("still-42");
    terminal.send("fg\n");
    terminal.wait_until("the same picture", |terminal| {
        terminal.is_alternate() && terminal.text() == before
    });
    terminal.send("n");
    terminal.wait_for("Guess first");
    terminal.send("q");
    terminal.wait_until("the shell", |terminal| !terminal.is_alternate());
    terminal.send("exit\n");
    terminal.wait();
}

#[test]
fn a_hang_up_in_mid_run_leaves_no_process_and_a_session_that_resumes() {
    let home = home();
    let mut terminal = running(&home);
    assert!(processes(home.path()).len() >= 2, "the tutor and its run");
    terminal.hang_up();
    let status = terminal.wait();
    assert_eq!(status.code(), Some(128 + libc::SIGHUP), "{status}");
    wait_until("the run to be gone", || processes(home.path()).is_empty());

    let terminal = Terminal::start(command(&home), 80, 24);
    terminal.wait_for("More steps than anybody waits for.");
    terminal.send("m");
    terminal.wait_for("Nobody has written to you.");
    assert!(
        !terminal.text().contains("did not end in order"),
        "{}",
        terminal.text()
    );
}

#[test]
fn term_gives_the_terminal_back_and_ends_the_run() {
    let home = home();
    let mut terminal = running(&home);
    // SAFETY: kill takes two numbers; the process is this test's own child.
    unsafe { libc::kill(i32::try_from(terminal.child.id()).unwrap(), libc::SIGTERM) };
    assert_eq!(terminal.wait().code(), Some(128 + libc::SIGTERM));
    terminal.wait_until("the screen given back", |terminal| !terminal.is_alternate());
    wait_until("the run to be gone", || processes(home.path()).is_empty());
}

#[test]
fn a_killed_tutor_takes_its_run_along_and_the_next_one_says_so() {
    let home = home();
    let mut terminal = running(&home);
    terminal.child.kill().unwrap();
    assert_eq!(terminal.wait().signal(), Some(libc::SIGKILL));
    wait_until("the run to be gone", || processes(home.path()).is_empty());

    let terminal = Terminal::start(command(&home), 80, 24);
    terminal.wait_for("More steps than anybody waits for.");
    terminal.send("m");
    terminal.wait_for("did not end in order");
}

#[test]
fn a_killed_run_is_explained_and_the_tutor_goes_on() {
    let home = home();
    let terminal = running(&home);
    let tutor = terminal.child.id();
    for process in processes(home.path()).into_iter().filter(|id| *id != tutor) {
        // SAFETY: kill takes two numbers; the process belongs to this test.
        unsafe { libc::kill(i32::try_from(process).unwrap(), libc::SIGKILL) };
    }
    terminal.wait_for("signal 9 (KILL)");
    assert!(terminal.text().contains("dmesg"), "{}", terminal.text());
    terminal.send("o");
    terminal.wait_for("The first lesson");
}

#[test]
fn a_run_is_stopped_after_asking_once() {
    let home = home();
    let terminal = running(&home);
    terminal.send("x");
    terminal.wait_for("Stop this run?");
    terminal.send("y");
    terminal.wait_for("The run was stopped.");
    terminal.send("o");
    terminal.wait_for("The first lesson");
    wait_until("the run to be gone", || processes(home.path()).len() == 1);
}

#[test]
#[cfg(debug_assertions)] // release builds have no key for it
fn a_panic_gives_the_terminal_back_and_keeps_the_session() {
    let home = home();
    let panicking = command(&home).env("TINYLLAMA_TUTOR_PANIC", "f12");
    let mut terminal = Terminal::start(panicking, 80, 24);
    terminal.wait_for("The first lesson");
    terminal.send("c");
    terminal.wait_for("another thing, with code in it");
    terminal.send("\x1b[24~");
    assert_eq!(terminal.wait().code(), Some(101));
    terminal.wait_until("the screen given back", |terminal| {
        !terminal.is_alternate() && terminal.text().contains("The tutor has a bug")
    });
    let terminal = Terminal::start(command(&home), 80, 24);
    terminal.wait_for("Something to read");
}

#[test]
fn a_second_tutor_is_told_who_holds_the_session() {
    let home = home();
    let first = opened(&home);
    let mut second = Terminal::start(command(&home), 100, 24);
    assert_eq!(second.wait().code(), Some(3));
    second.wait_for(&format!("process {}", first.child.id()));
    assert!(second.text().contains("--learner"), "{}", second.text());
}

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
    for words in [
        "You guessed 30",
        "learns: passed. The loss fell.",
        "Not so. It says so itself.",
        "Right. It says so, too.",
        "Type a number.",
        "Right. Two and two and two.",
        "Kept for your report.",
        "Once more",
    ] {
        assert!(said.contains(words), "no \"{words}\" in:\n{said}");
    }
}
