//! Measures how long a session with ten thousand runs takes to open. The limit is 200 ms.

use std::collections::BTreeMap;
use std::time::Instant;

use tinyllama_lesson::Verdict;
use tinyllama_session::{RunExit, Session, SessionEvent, SessionLocation, StepRef};

const RUNS: usize = 10_000;
const REPEATS: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let place = SessionLocation {
        folder: folder.path().join("learner"),
        learner: "learner".into(),
    };
    let mut session = Session::open(place.clone())?;
    session.record_all((0..RUNS).flat_map(events_of_run).collect())?;
    drop(session);

    let mut milliseconds: Vec<f64> = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let started = Instant::now();
        let session = Session::open(place.clone())?;
        milliseconds.push(started.elapsed().as_secs_f64() * 1e3);
        assert_eq!(session.state().runs.len(), RUNS);
    }
    milliseconds.sort_by(f64::total_cmp);
    let megabytes = std::fs::metadata(place.events())?.len() as f64 / 1e6;
    println!(
        "{RUNS} runs, {megabytes:.1} MB of events: opens in {:.0} ms (median of {REPEATS}, slowest {:.0} ms)",
        milliseconds[REPEATS / 2],
        milliseconds[REPEATS - 1]
    );
    Ok(())
}

/// Returns the events that a run and the check after it append to the session.
fn events_of_run(number: usize) -> Vec<SessionEvent> {
    let at = StepRef::new("first-baseline", format!("step-{}", number % 40));
    let run = format!("{number:010}-000-abcd");
    let command = [
        "tinyllama-tutor",
        "run",
        "v1",
        "--events",
        "--config",
        "tiny",
        "--num-steps",
        "30",
    ];
    let figures = [
        "total_ms",
        "forward_ms",
        "backward_ms",
        "optimizer_ms",
        "samples_per_s",
        "first_loss",
        "final_loss",
    ];
    let values: BTreeMap<String, f64> = figures
        .iter()
        .map(|name| (name.to_string(), 20.0 + number as f64))
        .collect();
    vec![
        SessionEvent::RunStarted {
            run: run.clone(),
            at: Some(at.clone()),
            target: "v1".into(),
            command: command.map(str::to_string).to_vec(),
            host: "bench".into(),
        },
        SessionEvent::RunFinished {
            run,
            exit: RunExit::Status(0),
            values,
        },
        SessionEvent::Checked {
            at: at.clone(),
            check: "learns".into(),
            verdict: Verdict::Passed,
            value: Some(0.9),
        },
        SessionEvent::TimeSpent { at, seconds: 12.5 },
    ]
}
