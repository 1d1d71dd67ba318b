//! Measures the full screen: time to the first frame and after a key, bytes, wake-ups and memory.
//!
//! The limits: first frame under 100 ms, key to frame under 16 ms, no output while idle, under 4 KB/s while a run
//! streams. A full repaint at 80x24 writes under 8 KB. After a run of 100 000 steps the process holds under 40 MB.
//!
//! `TINYLLAMA_BENCHED_PROGRAM` names the program to measure if it is not the build that belongs to this benchmark.

#[path = "../tests/common/terminal.rs"]
mod terminal;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pty_process::blocking::Command;
use tempfile::TempDir;
use terminal::Terminal;

const IDLE: Duration = Duration::from_secs(60);
const STREAMING: Duration = Duration::from_secs(20);
const KEYS: usize = 40;
const STEPS: usize = 100_000;
const RUNS: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    first_frame(&home);

    let terminal = Terminal::start(command(&home, None), 80, 24);
    terminal.wait_for("Your first minute");
    terminal.send("\x1b");
    terminal.wait_for("The first lesson");
    sleep(Duration::from_secs(2));
    idle(&terminal);
    keys(&terminal);
    repaint(&terminal);
    drop(terminal);

    streaming(&home);
    long_run(&home)?;
    many_runs()?;
    Ok(())
}

fn command(home: &TempDir, launcher: Option<&str>) -> Command {
    let course = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/course");
    let program = std::env::var_os("TINYLLAMA_BENCHED_PROGRAM");
    let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_tinyllama-tutor").into());
    let command = Command::new(program)
        .env("XDG_STATE_HOME", home.path().join("state"))
        .env("XDG_CONFIG_HOME", home.path().join("config"))
        .env("XDG_CACHE_HOME", home.path().join("cache"))
        .env("TINYLLAMA_LESSONS", course)
        .env("TINYLLAMA_BACKEND", "cpu")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("NO_COLOR")
        .env_remove("SSH_CONNECTION");
    match launcher {
        Some(words) => command.env("TINYLLAMA_LAUNCHER", words),
        None => command,
    }
}

fn first_frame(home: &TempDir) {
    let mut times = Vec::new();
    for _ in 0..9 {
        let started = Instant::now();
        let terminal = Terminal::start(command(home, None), 80, 24);
        while !terminal.text().contains("Your first minute") {
            sleep(Duration::from_micros(200));
        }
        times.push(started.elapsed());
    }
    report("first frame", &mut times);
}

/// Measures ten thousand stored runs: the first frame, the screen that lists them, and the command that lists them.
fn many_runs() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let runs = home.path().join("state/tinyllama-tutor/runs");
    for n in 0..RUNS {
        let folder = runs.join(format!("{:010}-000-kept", 1_790_000_000 + n));
        fs::create_dir_all(&folder)?;
        let record = format!(r#"{{"command":["run"],"started":{n},"exit":"exit status: 0"}}"#);
        fs::write(folder.join("run.json"), record)?;
    }
    let started = Instant::now();
    let terminal = Terminal::start(command(&home, None), 80, 24);
    terminal.wait_for("Your first minute");
    println!("first frame beside {RUNS} runs: {:?}", started.elapsed());
    let started = Instant::now();
    terminal.send("H");
    terminal.wait_for("Runs so far");
    println!("screen of {RUNS} runs: {:?}", started.elapsed());
    drop(terminal);
    let started = Instant::now();
    let listed = std::process::Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .args(["runs", "list"])
        .env("XDG_STATE_HOME", home.path().join("state"))
        .output()?;
    assert!(listed.status.success(), "{listed:?}");
    println!("`runs list` of {RUNS}: {:?}", started.elapsed());
    Ok(())
}

fn idle(terminal: &Terminal) {
    let (bytes, switches) = (terminal.bytes(), context_switches(terminal.child.id()));
    sleep(IDLE);
    println!(
        "idle for {} s: {} bytes, {} wake-ups",
        IDLE.as_secs(),
        terminal.bytes() - bytes,
        context_switches(terminal.child.id()) - switches
    );
}

/// Measures from sending a key to receiving its frame, which is one write.
fn keys(terminal: &Terminal) {
    let mut times = Vec::new();
    for number in 0..KEYS {
        let before = terminal.bytes();
        let started = Instant::now();
        terminal.send(if number % 2 == 0 { "j" } else { "k" });
        while terminal.bytes() == before {
            // Sleeping leaves the processor to the tutor; spinning would take it.
            sleep(Duration::from_micros(100));
        }
        times.push(started.elapsed());
        sleep(Duration::from_millis(50));
    }
    report("key to frame", &mut times);
}

fn repaint(terminal: &Terminal) {
    terminal.send("c");
    terminal.wait_for("✓ done");
    sleep(Duration::from_millis(300));
    let before = terminal.bytes();
    terminal.send("\x0c");
    sleep(Duration::from_millis(500));
    println!("full repaint at 80x24: {} bytes", terminal.bytes() - before);
}

fn streaming(home: &TempDir) {
    let terminal = Terminal::start(command(home, None), 80, 24);
    start_marathon(&terminal);
    terminal.wait_for("of 1000003");
    sleep(Duration::from_secs(3));
    let before = terminal.bytes();
    sleep(STREAMING);
    let rate = (terminal.bytes() - before) as f64 / STREAMING.as_secs_f64();
    println!("while a run streams: {rate:.0} bytes/s");
}

fn start_marathon(terminal: &Terminal) {
    terminal.wait_until("the tutor", Terminal::is_alternate);
    terminal.send(":longrun\r");
    terminal.wait_for("More steps than anybody waits for.");
    terminal.send("\r");
}

/// Uses a launcher that prints a stream instead of training: a hundred thousand steps in seconds.
fn long_run(home: &TempDir) -> Result<(), Box<dyn Error>> {
    let stream = home.path().join("stream.jsonl");
    fs::write(&stream, events()?)?;
    let script: PathBuf = home.path().join("launcher.sh");
    fs::write(&script, format!("exec cat {}\n", stream.display()))?;
    let launcher = format!("sh {}", script.display());
    let terminal = Terminal::start(command(home, Some(&launcher)), 80, 24);
    terminal.wait_until("the tutor", Terminal::is_alternate);
    let before = resident(terminal.child.id());
    let started = Instant::now();
    start_marathon(&terminal);
    terminal.wait_for("ended as planned");
    let took = started.elapsed();
    sleep(Duration::from_secs(3));
    println!(
        "run of {STEPS} steps, read in {:.1} s: {:.1} MB resident, {before:.1} MB before",
        took.as_secs_f64(),
        resident(terminal.child.id())
    );
    Ok(())
}

fn events() -> Result<String, Box<dyn Error>> {
    let recorded = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ui/tui/script/run.jsonl"),
    )?;
    let hello = recorded.lines().next().ok_or("an empty recording")?;
    let summary = recorded.lines().last().ok_or("an empty recording")?;
    let step = recorded
        .lines()
        .rfind(|line| line.contains("\"event\":\"step\""))
        .ok_or("no step")?;
    let mut text = format!("{hello}\n");
    for n in 1..=STEPS {
        let mut event: serde_json::Value = serde_json::from_str(step)?;
        event["n"] = n.into();
        event["of"] = STEPS.into();
        event["t"] = (n as f64 * 0.01).into();
        event["total_ms"] = (20.0 + (n % 97) as f64 / 10.0).into();
        text.push_str(&event.to_string());
        text.push('\n');
    }
    text.push_str(summary);
    text.push('\n');
    Ok(text)
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort();
    let milliseconds = |index: usize| {
        times
            .get(index)
            .map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
    };
    println!(
        "{what}: median {:.1} ms, slowest {:.1} ms of {}",
        milliseconds(times.len() / 2),
        milliseconds(times.len() - 1),
        times.len()
    );
}

/// Counts how often threads of a process slept and were woken (voluntary context switches).
fn context_switches(process: u32) -> u64 {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else {
        return 0;
    };
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("status")).ok())
        .filter_map(|status| field(&status, "voluntary_ctxt_switches:"))
        .sum()
}

/// Returns the memory that a process has in use, in MB.
fn resident(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    field(&status, "VmRSS:").unwrap_or(0) as f64 / 1024.0
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
