//! Shows progress while the first step compiles and tunes kernels.
//!
//! On a GPU without caches this takes minutes inside a single call, so another thread reports.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::device;
use crate::train::{Body, Phase, PhaseName, Reporter};
use tinyllama_base::file;

/// How often the phase is reported.
const INTERVAL: Duration = Duration::from_secs(1);

/// Shown while this machine has no earlier time to estimate from.
const EXPERIENCE: &str = "; without caches it took 7 to 12 s on one H200, through Vulkan 47 to 61";

/// Reports the compile phase every second until dropped.
pub struct CompileProgress {
    /// Dropping it ends the thread.
    done: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    started: Instant,
    key: String,
}

impl CompileProgress {
    /// `key` names what determines the work: target, device, shape. `launches` counts the kernels launched so far.
    pub fn start(
        reporter: Reporter,
        key: String,
        launches: impl Fn() -> u64 + Send + 'static,
    ) -> Self {
        let started = Instant::now();
        let expected = CompileTimes::load().expected_seconds(&key);
        let report = move || {
            let elapsed = started.elapsed().as_secs_f64();
            let tuned = device::tuned_operations().unwrap_or(0);
            let issued = launches();
            let experience = match expected {
                Some(_) => "",
                None => EXPERIENCE,
            };
            reporter.emit(Body::Phase(Phase {
                phase: if tuned == 0 {
                    PhaseName::Compile
                } else {
                    PhaseName::Tune
                },
                progress: expected.map(|total| (elapsed / total).min(0.99)),
                eta_s: expected.map(|total| (total - elapsed).max(0.0)),
                message: format!(
                    "first step: compiling and tuning kernels ({issued} launches, {tuned} operations tuned, {elapsed:.0} s{experience})"
                ),
            }));
        };
        let (done, wait) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            report();
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(INTERVAL) {
                report();
            }
        });
        CompileProgress {
            done: Some(done),
            thread: Some(thread),
            started,
            key,
        }
    }

    /// Call it after the first step: stores how long the step took for the next estimate.
    pub fn finish(self) {
        device::forget_decisions();
        let mut history = CompileTimes::load();
        history.record(&self.key, self.started.elapsed().as_secs_f64());
        history.save();
    }
}

impl Drop for CompileProgress {
    fn drop(&mut self) {
        self.done.take();
        if let Some(thread) = self.thread.take() {
            // A reporting thread that panicked has nothing left to report.
            drop(thread.join());
        }
    }
}

/// Seconds that the first step took before, by key. This is a cache: an unreadable file counts as empty, a failed write
/// is ignored.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CompileTimes {
    seconds: BTreeMap<String, f64>,
}

impl CompileTimes {
    fn path() -> Option<PathBuf> {
        file::cached("first-step.json")
    }

    fn load() -> Self {
        Self::path()
            .and_then(|path| std::fs::read(path).ok())
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Returns what this key took last time. The caches may be warmer now, so the figure is an upper estimate.
    fn expected_seconds(&self, key: &str) -> Option<f64> {
        self.seconds
            .get(key)
            .copied()
            .filter(|seconds| *seconds > 0.0)
    }

    fn record(&mut self, key: &str, seconds: f64) {
        self.seconds.insert(key.to_string(), seconds);
    }

    fn save(&self) {
        let write = || -> Option<()> {
            let path = Self::path()?;
            std::fs::create_dir_all(path.parent()?).ok()?;
            file::replace(&path, &serde_json::to_vec(self).ok()?).ok()?;
            Some(())
        };
        // A failed write only loses an estimate.
        write();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_first_step_has_no_estimate() {
        let mut history = CompileTimes::default();
        assert_eq!(history.expected_seconds("v1 tiny"), None);
        history.record("v1 tiny", 12.5);
        assert_eq!(history.expected_seconds("v1 tiny"), Some(12.5));
    }
}
