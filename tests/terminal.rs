//! Tests the tutor on a real pseudo-terminal. It trains a real, tiny model on the CPU.

#[path = "terminal/changes.rs"]
mod changes;
mod common;
#[path = "terminal/endings.rs"]
mod endings;
#[path = "terminal/lines.rs"]
mod lines;
#[path = "terminal/occupancy.rs"]
mod occupancy;
#[path = "terminal/sizes.rs"]
mod sizes;
#[path = "common/terminal.rs"]
mod terminal;

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use pty_process::blocking::Command;
use tempfile::TempDir;
use terminal::{TIMEOUT, Terminal, processes};
use tinyllama_lesson::live::NOT_MEASURED;
use tinyllama_session::{SessionState, scan};

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

/// Goes from the first screen to the outline.
fn past_the_welcome(terminal: &Terminal) {
    terminal.wait_for("Your first minute");
    terminal.escape("Your first minute");
    terminal.wait_for("The first lesson");
}

/// The tutor with its outline open.
fn opened(home: &TempDir) -> Terminal {
    let terminal = Terminal::start(command(home), 80, 24);
    past_the_welcome(&terminal);
    terminal
}

/// The tutor with a run that does not end without a stop.
fn running(home: &TempDir) -> Terminal {
    let terminal = opened(home);
    terminal.press(":", "Find");
    terminal.press("long run", "lesson: ");
    terminal.press("\r", "More steps than anybody waits for.");
    terminal.send("\r");
    terminal.wait_for("of 1000003");
    terminal
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + TIMEOUT;
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
    terminal.press("n", "Guess first");
    terminal.press("\r", "Your guess, in ms");
    terminal.send("30\r");
    terminal.wait_for("You guessed 30");
    terminal.send("\r");
    terminal.wait_for("A very small model");
    terminal.send("\r");
    terminal.wait_for("passed  learns");
    assert!(terminal.text().contains("✓"));
    terminal.send("\r");
    terminal.wait_for("Measured on this machine");
    let not_measured = NOT_MEASURED.trim_matches(['(', ')']);
    let text = terminal.text();
    assert!(!text.contains(not_measured), "{text}");
    terminal.send("q");
    assert!(terminal.wait().success());
    assert!(!terminal.is_alternate(), "the terminal is given back");

    let mut terminal = Terminal::start(command(&home), 80, 24);
    terminal.wait_for("Measured on this machine");
    terminal.wait_until("live values", |terminal| {
        !terminal.text().contains(not_measured)
    });
    terminal.send("q");
    assert!(terminal.wait().success());
}

#[test]
fn a_number_that_is_typed_before_its_line_is_open_is_not_lost() {
    let home = home();
    let terminal = opened(&home);
    terminal.send("c");
    terminal.wait_for("Something to read");
    terminal.send("n");
    terminal.wait_for("Guess first");
    terminal.send("3");
    terminal.wait_for("Your guess, in ms");
    terminal.send("0\r");
    terminal.wait_for("You guessed 30");

    let home = self::home();
    let terminal = opened(&home);
    terminal.send("c");
    terminal.wait_for("Something to read");
    terminal.send("n");
    terminal.wait_for("Guess first");
    terminal.send("\x1b[200~42.5\x1b[201~");
    terminal.wait_for("Your guess, in ms");
    terminal.send("\r");
    terminal.wait_for("You guessed 42.5");
}

#[test]
fn a_terminal_that_shrinks_is_asked_for_room_and_everything_is_back_when_it_grows() {
    let home = home();
    let terminal = Terminal::start(command(&home), 160, 45);
    past_the_welcome(&terminal);
    terminal.send("c");
    // Waits for the session's reply.
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
    past_the_welcome(&terminal);
    terminal.send("c");
    terminal.wait_for("another thing, with code in it");
    terminal.press("n", "Guess first");
    terminal.press("\r", "Your guess, in ms");
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
    past_the_welcome(&terminal);
    terminal.send("c");
    // Waits for the session's reply.
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

/// Learners type `tinyllama-tutor` as in the course. Its runs go to the tutor's folder.
#[test]
fn the_tutors_shell_finds_this_program_wherever_it_lies() {
    let home = home();
    let command = command(&home)
        .args(["--launcher", "env MARK=1"])
        .env("SHELL", "/bin/sh")
        .env("PS1", "ready> ")
        .env_remove("ENV");
    let terminal = Terminal::start(command, 80, 24);
    past_the_welcome(&terminal);
    terminal.send("!");
    terminal.wait_for("ready>");
    terminal.send("tinyllama-tutor --version && echo found-$((40 + 2))\n");
    terminal.wait_for("found-42");
    terminal.send("echo $TINYLLAMA_LAUNCHER\n");
    terminal.wait_for(r#""command":["env","MARK=1"]"#);
    terminal.send("exit\n");
    terminal.wait_until("the tutor", Terminal::is_alternate);
}

#[test]
fn a_second_tutor_is_told_who_holds_the_session() {
    let home = home();
    let first = opened(&home);
    let mut second = Terminal::start(command(&home), 100, 24);
    assert_eq!(second.wait().code(), Some(3));
    second.wait_for(&format!("process {}", first.child.id()));
    second.wait_for("--learner");
}

#[test]
fn the_wheel_scrolls_where_the_mouse_was_asked_for_and_is_the_terminals_own_elsewhere() {
    let home = home();
    let terminal = Terminal::start(command(&home).arg("--mouse"), 80, 24);
    past_the_welcome(&terminal);
    assert!(terminal.takes_the_mouse());
    terminal.send("?");
    terminal.wait_for("continue where you were");
    // Two turns of the wheel down at column 10, row 10, in the terminal's encoding, and then back.
    terminal.send("\x1b[<65;10;10M\x1b[<65;10;10M");
    terminal.wait_until("the page further down", |terminal| {
        !terminal.text().contains("Sessions, their lessons")
    });
    terminal.send("\x1b[<64;10;10M\x1b[<64;10;10M");
    terminal.wait_for("Sessions, their lessons");
    drop(terminal);

    let home = self::home();
    assert!(!opened(&home).takes_the_mouse());
}

#[test]
fn an_editor_gets_the_terminal_and_what_was_written_comes_back() {
    let home = home();
    let editor = home.path().join("editor.sh");
    let script = "echo EDITING\nread line\necho \"$line\" >> \"$1\"\n";
    std::fs::write(&editor, script).unwrap();
    let command = command(&home).env("EDITOR", format!("sh {}", editor.display()));
    let mut terminal = Terminal::start(command, 80, 24);
    past_the_welcome(&terminal);
    terminal.send("c");
    terminal.wait_for("Something to read");
    let last = "In your own words";
    for title in [
        "Guess first",
        "Measure it",
        "What came out",
        "A question",
        "A number",
        last,
    ] {
        terminal.send("n");
        terminal.wait_for(title);
    }
    terminal.send("e");
    terminal.wait_until("the editor", |terminal| {
        !terminal.is_alternate() && terminal.text().contains("EDITING")
    });
    // The tutor would quit or continue on these keys, but now the editor receives them.
    terminal.send("q n written elsewhere\n");
    terminal.wait_until("the tutor", Terminal::is_alternate);
    terminal.wait_for("q n written elsewhere");
    assert!(terminal.text().contains(last), "{}", terminal.text());
    terminal.send("q");
    assert!(terminal.wait().success());
}

/// The whole path of a learner without a GPU: the tutor offers a recording, plays it, evaluates it, and reports it as
/// a recording.
#[test]
fn a_recording_is_played_and_called_one_from_the_step_to_the_report() {
    let home = home();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings");
    let command = command(&home)
        .env("TINYLLAMA_RECORDINGS", recordings)
        .current_dir(home.path());
    let mut terminal = Terminal::start(command, 100, 30);
    past_the_welcome(&terminal);
    terminal.send("c");
    terminal.wait_for("Something to read");
    terminal.send("n");
    terminal.wait_for("Guess first");
    terminal.send("n");
    terminal.wait_for("No GPU was found on this machine");
    terminal.send("r");
    let machine = "a machine of the tests, 21 November 2026";
    terminal.wait_for(&format!("recording: {machine}: v1"));
    terminal.wait_for("×1");
    terminal.send("+");
    terminal.wait_for("×4");
    terminal.send("++");
    terminal.wait_for("passed  learns");
    let label = &format!("recording: {machine}")[..20];
    assert!(terminal.text().contains(label), "{}", terminal.text());
    terminal.send("R");
    terminal.wait_for("Your report");
    terminal.send("\r");
    terminal.wait_for("Wrote report.md, report.html, session.json to");
    let report = std::fs::read_to_string(home.path().join("report/report.md")).unwrap();
    assert!(report.contains(&format!("of {machine}.")), "{report}");
    terminal.escape("Your report");
    terminal.wait_for("passed  learns");
    terminal.send("F");
    // The test may see a frame that is only half drawn.
    terminal.wait_until("the roofline and its source", |terminal| {
        let text = terminal.text();
        text.contains("FLOP/byte") && text.contains(label)
    });
    terminal.escape("FLOP/byte");
    terminal.wait_for("passed  learns");
    terminal.send("q");
    assert!(terminal.wait().success());
}

/// Runs the stand-in profiler of every supported version, then imports a profile from another machine.
#[test]
fn a_profiler_is_run_and_a_profile_is_imported_in_every_version() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", fixtures.join("stand_ins").display());
    for version in ["6.2", "6.4", "7.0", "7.14"] {
        let home = home();
        let command = command(&home)
            .env("PATH", &path)
            .env("STAND_IN_ROCM", version);
        let mut terminal = Terminal::start(command, 100, 30);
        go_to_the_profiler(&terminal);
        terminal.wait_for("run the profiler");
        terminal.send("\r");
        terminal.wait_for("Hotspots");
        terminal.send("v");
        terminal.wait_for("t with the terminal");
        terminal.send("i");
        terminal.wait_for("Import a profile");
        let profile = fixtures.join("fixtures/rocprofv3");
        terminal.send(&format!("{}\r", profile.display()));
        terminal.wait_for("Hotspots");
        terminal.send("q");
        assert!(terminal.wait().success(), "{version}");
    }
}

/// Skips every step of the first lesson up to the one that profiles.
fn go_to_the_profiler(terminal: &Terminal) {
    past_the_welcome(terminal);
    terminal.send("c");
    // The outline contains titles, too. The learner's position is in the header.
    for (place, keys) in [
        ("Step 1 of 7", "n"),
        ("Step 2 of 7", "s\r"),
        ("Step 3 of 7", "s\r"),
        ("Step 4 of 7", "n"),
        ("Step 5 of 7", "s\r"),
        ("Step 6 of 7", "s\r"),
        ("Step 7 of 7", "s\r"),
        ("The end of a lesson", "\r"),
        ("The same again.", "n"),
        ("Two runs of the same program.", "n"),
        ("Which kernels take the time?", ""),
    ] {
        terminal.wait_for(place);
        terminal.send(keys);
    }
}

/// Issue 10: an instructor's action reaches an open tutor, and the tutor continues.
#[test]
fn an_instructors_reset_of_a_stage_reaches_the_tutor_that_is_open_on_it() {
    let home = home();
    let class = home.path().join("class");
    std::fs::create_dir(&class).unwrap();
    let instructor = |words: &[&str]| {
        let output = Process::new(PROGRAM)
            .args(["instructor", "--class"])
            .arg(&class)
            .args(["--by", "Teacher"])
            .args(words)
            .envs(environment(&home))
            .env_remove("TINYLLAMA_LESSONS")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let command = command(&home)
        .env_remove("TINYLLAMA_LESSONS")
        .args(["--learner", "ada", "--class"])
        .arg(&class);
    let terminal = Terminal::start(command, 100, 30);
    terminal.wait_for("Your first minute");
    terminal.escape("Your first minute");
    terminal.wait_for("Foundation");
    instructor(&["unlock", "ada", "five-stages"]);
    terminal.wait_for("Teacher");
    terminal.send(":");
    terminal.wait_for("Find");
    terminal.send("five stages");
    terminal.wait_for("lesson: ");
    terminal.send("\r");
    for step in 1..=4 {
        terminal.wait_for(&format!("Step {step} of 6"));
        terminal.send("n");
    }
    let here = "Stage 3: it does not add up";
    terminal.wait_for("Step 5 of 6");
    terminal.wait_for(here);
    terminal.send("s");
    terminal.wait_for("Skip this step");
    terminal.send("no time\r");
    terminal.wait_for("Step 6 of 6");
    terminal.send("p");
    terminal.wait_for("skipped: no time");
    instructor(&["reset", "ada", "--stage", "3"]);
    terminal.wait_for("Teacher reset");
    terminal.wait_until("the stage as if it were new", |terminal| {
        terminal.text().contains(here) && !terminal.text().contains("skipped: no time")
    });
    // The tutor continues at the same step.
    terminal.send("n");
    terminal.wait_for("Step 6 of 6");
}

#[test]
fn the_page_about_this_machine_closes_with_escape() {
    let home = home();
    let terminal = opened(&home);
    terminal.send("D");
    terminal.wait_for("Devices and tools of this machine");
    terminal.send("G");
    terminal.wait_for("The workshop can run here.");
    // The size is that of the learner's terminal, not of a pipe.
    terminal.wait_for("80x24");
    terminal.escape("Devices and tools of this machine");
    assert!(terminal.is_alternate());
}

/// The first minute: the model trains immediately, its figures stay after the end, and a restart still shows them.
#[test]
fn the_first_key_trains_the_model_and_what_was_seen_is_seen_again() {
    let home = home();
    let mut terminal = Terminal::start(command(&home), 80, 24);
    terminal.wait_for("Your first minute");
    terminal.send("\r");
    terminal.wait_for("passed  learns");
    terminal.wait_for("run again");
    assert!(terminal.text().contains("Overview"), "{}", terminal.text());
    terminal.send("q");
    assert!(terminal.wait().success());

    let mut terminal = Terminal::start(command(&home), 80, 24);
    terminal.wait_for("Run once before");
    terminal.wait_for("passed  learns");
    let not_read_yet = "No run was started here yet";
    while !terminal.text().contains("Overview") {
        terminal.send("v");
        terminal.wait_until("an answer", |terminal| {
            let text = terminal.text();
            text.contains("Overview") || text.contains(not_read_yet)
        });
        if terminal.text().contains(not_read_yet) {
            terminal.send("k");
            terminal.wait_until("the answer to go", |terminal| {
                !terminal.text().contains(not_read_yet)
            });
        }
    }
    terminal.wait_for("measured of");
    // The page with all runs lists it, too.
    terminal.send("H");
    terminal.wait_for("Runs so far");
    terminal.send("\r");
    terminal.wait_for("A run of v1");
    terminal.escape("A run of v1");
    terminal.wait_for("Runs so far");
    terminal.send("q");
    assert!(terminal.wait().success());
}

#[test]
fn a_paste_that_is_not_announced_is_one_event_and_no_thousand_keys() {
    let home = home();
    let mut terminal = opened(&home);
    terminal.send("c");
    terminal.wait_for("Something to read");
    for _ in 0..50 {
        terminal.send(&"n".repeat(1000));
    }
    terminal.wait_until("the tutor to answer", |terminal| {
        terminal.send("?");
        thread::sleep(Duration::from_millis(100));
        terminal.text().contains("Help")
    });
    terminal.send("q");
    assert!(terminal.wait().success());
    let events = home.path().join("state/tinyllama-tutor/events.jsonl");
    let events = std::fs::read_to_string(events).unwrap();
    let entered = events.matches("step_entered").count();
    assert!(entered < 100, "{entered} steps were entered");
}

#[test]
fn a_run_that_was_lost_is_named_where_it_was_made() {
    let home = home();
    let mut terminal = running(&home);
    let pid = i32::try_from(terminal.child.id()).unwrap();
    // SAFETY: kill takes two numbers, and the process is a child of this test.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    terminal.wait();
    let terminal = Terminal::start(command(&home), 80, 24);
    terminal.wait_for("was lost");
}
