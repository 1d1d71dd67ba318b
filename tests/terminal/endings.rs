//! Signals, crashes, and programs that end while a run is going.

use super::*;

#[test]
fn a_spinner_is_gone_after_ctrl_c() {
    let home = home();
    let command = command(&home).args(["run", "v1", "--config", "tiny", "--num-steps", "1000"]);
    let mut terminal = Terminal::start(command, 80, 24);
    terminal.wait_for("ms");
    let spins = |line: &str| line.starts_with(['|', '/', '-', '\\']);
    terminal.wait_until("a spinner", |terminal| terminal.text().lines().any(spins));
    terminal.send("\x03");
    assert_eq!(terminal.wait().code(), Some(130));
    let text = terminal.text();
    assert!(!text.lines().any(spins), "{text}");
    assert!(!text.contains("counted steps"), "{text}");
    assert!(!text.contains("not counted"), "{text}");
    let line = text.lines().find(|line| line.contains("gradient"));
    insta::assert_snapshot!(line.unwrap_or(&text).trim(), @"with a gradient    38 of 38 tensors");
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
    terminal.wait_for("You have no messages.");
    let log = home.path().join("state/tinyllama-tutor/events.jsonl");
    let state = SessionState::from_records(&scan(&log).unwrap().records);
    assert_eq!(state.notes, Vec::<String>::new());
}

#[test]
fn term_gives_the_terminal_back_and_ends_the_run() {
    let home = home();
    let mut terminal = running(&home);
    // SAFETY: kill takes two numbers, and the process is a child of this test.
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
    terminal.wait_for("did not exit cleanly");
}

#[test]
fn a_killed_run_is_explained_and_the_tutor_goes_on() {
    let home = home();
    let terminal = running(&home);
    let tutor = terminal.child.id();
    for process in processes(home.path()).into_iter().filter(|id| *id != tutor) {
        // SAFETY: kill takes two numbers, and the process belongs to this test.
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
    past_the_welcome(&terminal);
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
