//! Kills tutors at random moments, on the full screen and as lines, some with a full disk or a missing folder.
//! Confirmed actions must not be lost. `KILLS` sets the number of kills, and `KILLS_SEED` the random numbers.
//! `.ci/mutants` runs many more.

#[path = "common/small_disk.rs"]
mod small_disk;
#[path = "common/terminal.rs"]
mod terminal;

#[path = "kills/commands.rs"]
mod commands;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use small_disk::SmallDisk;
use tempfile::TempDir;
use terminal::{Terminal, processes};
use tinyllama_session::{SessionEvent, SessionLocation, scan};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tinyllama-tutor");
/// Kills per session, because a growing log would slow down the rest.
const OF_ONE_SESSION: u64 = 20;
/// Kills per session on the small disk, which holds less.
const OF_ONE_DISK: u64 = 4;
/// Maximum time between the start of work and the kill.
const MOST: Duration = Duration::from_millis(400);
/// Upper limit for the events of one tutor; no tutor is that fast.
const MANY: u64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Face {
    Lines,
    Screen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trouble {
    None,
    FullDisk,
    FolderAway,
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

fn environment(state: &Path) -> Vec<(&'static str, String)> {
    let course = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course");
    vec![
        ("HOME", state.display().to_string()),
        ("XDG_STATE_HOME", state.display().to_string()),
        ("XDG_CONFIG_HOME", state.display().to_string()),
        ("TINYLLAMA_BACKEND", "cpu".into()),
        ("TINYLLAMA_LESSONS", course.display().to_string()),
        ("LC_ALL", "C.UTF-8".into()),
        ("TERM", "xterm-256color".into()),
        ("USER", "ada".into()),
        ("NO_COLOR", "1".into()),
    ]
}

fn session(state: &Path) -> PathBuf {
    state.join("tinyllama-tutor")
}

/// Kills a process, and at random also all processes that it started.
fn kill(process: u32, state: &Path, random: &mut ChaCha8Rng) {
    let process = i32::try_from(process).unwrap();
    // SAFETY: kill takes two numbers, and the process is a child of this test.
    unsafe { libc::kill(process, libc::SIGKILL) };
    if random.random_bool(0.5) {
        for child in processes(state) {
            let child = i32::try_from(child).unwrap();
            // SAFETY: as above; only tutors of this test have its folder in their environment.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
    }
}

/// Goes to a step and skips it repeatedly, each time with another note. Returns the notes that the tutor confirmed.
fn on_lines(
    state: &Path,
    first: u64,
    at: Duration,
    at_work: &AtomicBool,
    random: &mut ChaCha8Rng,
) -> Vec<u64> {
    let mut child = Command::new(PROGRAM)
        .arg("--plain")
        .envs(environment(state))
        .env_remove("TINYLLAMA_CLASS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let place = state.display().to_string();
    let (begun, ready) = mpsc::channel();
    let learner = thread::spawn(move || {
        // Returns `None` at the end of the output.
        let mut answer = |line: &str| -> Option<String> {
            input.write_all(line.as_bytes()).ok()?;
            let (mut said, mut byte) = (Vec::new(), [0]);
            while !said.ends_with(b"\n> ") {
                (output.read(&mut byte).ok()? == 1).then(|| said.push(byte[0]))?;
            }
            Some(String::from_utf8_lossy(&said).into_owned())
        };
        let mut acknowledged = Vec::new();
        // The first prompt comes without input.
        answer("");
        answer("open first\n");
        // Goes to the second step. No input here completes it, because a completed step cannot be skipped.
        (0..6).for_each(|_| drop(answer("back\n")));
        answer("next\n");
        let _ = begun.send(());
        for number in first..first + MANY {
            match answer(&format!("skip note-{number}.\n")) {
                Some(said) if said.contains("nothing to skip") => panic!("{said}"),
                // A message about a failed write contains the path.
                Some(said) if !said.contains(&place) => acknowledged.push(number),
                Some(_) => {}
                None => break,
            }
            answer("back\n");
        }
        acknowledged
    });
    // If the tutor has already ended, the pipe is closed.
    let _ = ready.recv_timeout(terminal::TIMEOUT);
    at_work.store(true, Ordering::SeqCst);
    thread::sleep(at);
    kill(child.id(), state, random);
    child.wait().unwrap();
    learner.join().unwrap()
}

fn on_screen(
    state: &Path,
    first: u64,
    at: Duration,
    at_work: &AtomicBool,
    random: &mut ChaCha8Rng,
) -> Vec<u64> {
    let command = pty_process::blocking::Command::new(PROGRAM).envs(environment(state));
    let command = command
        .env_remove("TINYLLAMA_CLASS")
        .env_remove("SSH_CONNECTION");
    let mut terminal = Terminal::start(command, 80, 24);
    let shows = |terminal: &Terminal, text: &str, until: Instant| {
        while !terminal.text().contains(text) {
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(2));
        }
        true
    };
    let at_the_step = "How long will a step take";
    let deadline = Instant::now() + terminal::TIMEOUT;
    while !terminal.text().contains(at_the_step) {
        assert!(Instant::now() < deadline, "{}", terminal.text());
        let text = terminal.text();
        // The welcome, the outline, and the steps before and after the second.
        let key = match text.split_once("Step ") {
            _ if text.contains("Your first minute") => "\x1b",
            Some((_, rest)) if rest.starts_with("1 ") => "n",
            Some((_, rest)) if rest.starts_with(|c: char| c.is_ascii_digit()) => "p",
            _ => "c",
        };
        terminal.send(key);
        thread::sleep(Duration::from_millis(300));
    }
    let mut acknowledged = Vec::new();
    at_work.store(true, Ordering::SeqCst);
    // Key presses, drawing and polling need time.
    let until = Instant::now() + 4 * at;
    for number in first..first + MANY {
        terminal.send("s");
        if !shows(&terminal, "Why?", until) {
            break;
        }
        terminal.send(&format!("note-{number}.\r"));
        // If a key arrived twice, the next step also shows behind the question.
        if !shows(&terminal, "Skipped; you can come back", until) {
            break;
        }
        acknowledged.push(number);
        terminal.send("p");
        if !shows(&terminal, at_the_step, until) || terminal.text().contains("come back") {
            break;
        }
    }
    kill(terminal.child.id(), state, random);
    terminal.wait();
    acknowledged
}

/// Causes trouble for a session some time after its tutor starts to work, until the tutor has ended.
fn bring(trouble: Trouble, state: &Path, after: Duration, at_work: &AtomicBool, gone: &AtomicBool) {
    let wait = |until: &dyn Fn() -> bool| {
        while !until() && !gone.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(2));
        }
    };
    wait(&|| at_work.load(Ordering::SeqCst));
    thread::sleep(after);
    if gone.load(Ordering::SeqCst) {
        return;
    }
    match trouble {
        Trouble::None => {}
        Trouble::FullDisk => {
            let ballast = state.join("ballast");
            let mut file = fs::File::create(&ballast).unwrap();
            while file.write_all(&[0; 512]).is_ok() {}
            wait(&|| false);
            fs::remove_file(&ballast).unwrap();
        }
        Trouble::FolderAway => {
            let (here, away) = (session(state), state.join("away"));
            fs::rename(&here, &away).unwrap();
            wait(&|| false);
            fs::rename(&away, &here).unwrap();
        }
    }
}

#[derive(Debug, Default)]
struct KillCounts {
    kills: u64,
    acknowledged: usize,
}

/// Notes in the session's log, after a check that the log has no damage and no contradictions.
fn kept(state: &Path) -> BTreeSet<u64> {
    let place = SessionLocation {
        folder: session(state),
        learner: "ada".into(),
    };
    let scan = scan(&place.events()).unwrap();
    assert_eq!(scan.damage, []);
    let notes = scan
        .records
        .iter()
        .filter_map(|record| match &record.event {
            SessionEvent::StepSkipped { note, .. } => {
                note.strip_prefix("note-")?.strip_suffix('.')?.parse().ok()
            }
            _ => None,
        });
    notes.collect()
}

#[test]
fn a_killed_tutor_keeps_every_acknowledged_record() {
    let kills = setting("KILLS", 12);
    let mut random = ChaCha8Rng::seed_from_u64(setting("KILLS_SEED", 3));
    let mut table: BTreeMap<(Face, Trouble), KillCounts> = BTreeMap::new();
    let mut left = kills;
    while left > 0 {
        let disk = random.random_bool(0.2).then(SmallDisk::mount).flatten();
        let folder = TempDir::new().unwrap();
        let state = disk.as_ref().map_or(folder.path(), SmallDisk::path);
        let of_one = if disk.is_some() {
            OF_ONE_DISK
        } else {
            OF_ONE_SESSION
        };
        let mut promised = BTreeSet::new();
        for round in 0..of_one.min(left) {
            let face = *[Face::Lines, Face::Screen].choose(&mut random).unwrap();
            let what = match (&disk, random.random_bool(0.25)) {
                (Some(_), _) if round > 0 => Trouble::FullDisk,
                (None, true) if round > 0 => Trouble::FolderAway,
                _ => Trouble::None,
            };
            let at = MOST.mul_f64(random.random_range(0.0..1.0));
            let (at_work, gone) = (AtomicBool::new(false), AtomicBool::new(false));
            let acknowledged = thread::scope(|scope| {
                scope.spawn(|| bring(what, state, at / 2, &at_work, &gone));
                let first = round * MANY;
                let acknowledged = match face {
                    Face::Lines => on_lines(state, first, at, &at_work, &mut random),
                    Face::Screen => on_screen(state, first, at, &at_work, &mut random),
                };
                gone.store(true, Ordering::SeqCst);
                acknowledged
            });
            let row = table.entry((face, what)).or_default();
            row.kills += 1;
            row.acknowledged += acknowledged.len();
            promised.extend(acknowledged);
        }
        left -= of_one.min(left);
        let kept = kept(state);
        let lost: Vec<_> = promised.difference(&kept).collect();
        assert!(
            lost.is_empty(),
            "{lost:?} of {} are gone: {table:?}",
            promised.len()
        );
        let reopened = Command::new(PROGRAM)
            .arg("--plain")
            .envs(environment(state))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        // The program reports a disk that the session itself has filled.
        let errors = String::from_utf8_lossy(&reopened.stderr);
        let is_told = disk.is_some() && errors.contains("not kept");
        assert!(reopened.status.success() || is_told, "{reopened:?}");
        assert_eq!(processes(state), Vec::<u32>::new());
    }
    for ((face, trouble), row) in &table {
        println!(
            "{face:?}, {trouble:?}: {} kills, {} acknowledged, all kept",
            row.kills, row.acknowledged
        );
    }
    assert!(table.values().any(|row| row.acknowledged > 0));
}
