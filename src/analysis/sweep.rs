//! Makes several runs of a series at a time, each behind the launcher's command. Finished runs are recorded until
//! all are done, so an interrupted series continues. A run that lost its place is made again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::runner::{FailedRun, MeasuredRun, RunFailure, RunVariant, Runner};
use tinyllama_base::checksum::sha256_hex;
use tinyllama_base::file::{create_private, replace};
use tinyllama_base::untrusted;
use tinyllama_contract::event::FailureCode;
use tinyllama_runs::{EndedRun, Processes, RunExit};

/// How often a run is started if it loses its place.
const ATTEMPTS: usize = 3;
const TICK: Duration = Duration::from_millis(200);
const MOST_BYTES: u64 = 1 << 20;

type RunOutcome = Result<MeasuredRun, RunFailure>;

/// Finished runs by target and flags, in the order in which they were requested.
#[derive(Clone, Debug, Default)]
pub struct Pool(Arc<Mutex<HashMap<Vec<String>, VecDeque<RunOutcome>>>>);

impl Pool {
    pub(super) fn put(&self, variant: &RunVariant, outcome: RunOutcome) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pool.entry(pool_key(variant))
            .or_default()
            .push_back(outcome);
    }

    pub(super) fn take(&self, variant: &RunVariant) -> Option<RunOutcome> {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pool.get_mut(&pool_key(variant))?.pop_front()
    }
}

fn pool_key(variant: &RunVariant) -> Vec<String> {
    let target = variant.spec.target.name.to_string();
    std::iter::once(target).chain(variant.spec.args()).collect()
}

/// The finished pieces of a series: `sweeps/KEY.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct FinishedPieces {
    /// Ids of runs, by the piece's index.
    runs: BTreeMap<usize, String>,
}

/// Runs `pieces`, at most `at_once` at a time, and puts them into the runner's pool. `tell` receives the number of
/// finished pieces and the name of the last one.
///
/// # Errors
/// Fails if the launcher offers only one place, no run can be started, or a stop was requested.
pub fn make(
    runner: &Runner,
    pieces: &[RunVariant],
    at_once: usize,
    tell: &mut dyn FnMut(usize, &str),
) -> Result<(), RunFailure> {
    let record = record(runner, pieces);
    let mut finished: FinishedPieces =
        untrusted::read_json(&record, MOST_BYTES).unwrap_or_default();
    let mut outcomes: BTreeMap<usize, RunOutcome> = BTreeMap::new();
    for (at, run) in &finished.runs {
        if let Ok(run) = MeasuredRun::read(&runner.root.join("runs").join(run)) {
            outcomes.insert(*at, Ok(run));
        }
    }
    if !outcomes.is_empty() {
        tell(outcomes.len(), "finished before");
    }
    let left: Vec<usize> = (0..pieces.len())
        .filter(|at| !outcomes.contains_key(at))
        .collect();
    runner
        .launcher
        .check_several()
        .map_err(anyhow::Error::from)?;
    let (next, processes) = (AtomicUsize::new(0), Processes::default());
    let (sender, ended) = channel();
    thread::scope(|scope| -> Result<(), RunFailure> {
        for _ in 0..at_once.min(left.len()) {
            let (sender, left, next, processes) = (sender.clone(), &left, &next, &processes);
            scope.spawn(move || {
                while let Some(at) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run_piece(runner, &pieces[*at], processes);
                    if sender.send((*at, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        loop {
            match ended.recv_timeout(TICK) {
                Ok((at, outcome)) => {
                    if let Ok(run) = &outcome {
                        let id = run.path.file_name().unwrap_or_default();
                        finished.runs.insert(at, id.to_string_lossy().into_owned());
                        save(&record, &finished)?;
                    }
                    outcomes.insert(at, outcome);
                    tell(outcomes.len(), &pieces[at].name);
                }
                Err(RecvTimeoutError::Timeout) if runner.stop.stopped().is_some() => {
                    processes.ask_to_end();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    })?;
    runner.check_stop()?;
    if outcomes.values().all(Result::is_ok) {
        // The series is complete, so the next one of this kind starts from the beginning.
        drop(std::fs::remove_file(&record));
    }
    for (at, outcome) in outcomes {
        runner.pool.put(&pieces[at], outcome);
    }
    Ok(())
}

fn record(runner: &Runner, pieces: &[RunVariant]) -> PathBuf {
    let words = pieces.iter().flat_map(pool_key).map(|word| word + "\0");
    let program = [env!("CARGO_PKG_VERSION").to_owned(), runner.launcher.json()];
    let name = &sha256_hex(program.into_iter().chain(words))[..16];
    runner.root.join("sweeps").join(format!("{name}.json"))
}

fn save(record: &std::path::Path, finished: &FinishedPieces) -> anyhow::Result<()> {
    if let Some(folder) = record.parent() {
        create_private(folder)?;
    }
    replace(record, &serde_json::to_vec(finished)?)?;
    Ok(())
}

/// Makes one run, and makes it again if it loses its place.
fn run_piece(runner: &Runner, variant: &RunVariant, processes: &Processes) -> RunOutcome {
    let start = runner.launcher.run(&variant.spec);
    let mut attempt = 0;
    loop {
        attempt += 1;
        runner.check_stop()?;
        let (ended, steps) = runner.see(&start, &processes.control(), &mut |_| {})?;
        if attempt == ATTEMPTS || !lost_machine(&ended) {
            return MeasuredRun::ended(variant, ended, steps);
        }
    }
}

fn lost_machine(ended: &EndedRun) -> bool {
    match (&ended.run.reported.error, ended.exit) {
        (Some(failure), _) => failure.code == FailureCode::Launcher,
        (None, RunExit::Status(status)) => status > 128,
        (None, exit) => !exit.is_success(),
    }
}

impl MeasuredRun {
    /// Turns a finished run into figures.
    ///
    /// # Errors
    /// Fails if the run did not reach its end.
    pub(super) fn ended(
        variant: &RunVariant,
        ended: EndedRun,
        steps: Vec<tinyllama_contract::event::Step>,
    ) -> RunOutcome {
        let measured = MeasuredRun::from_run(&ended.run, steps);
        measured.filter(|_| ended.exit.is_success()).ok_or_else(|| {
            let variant = variant.name.clone();
            RunFailure::FailedRun(Box::new(FailedRun { variant, ended }))
        })
    }
}
