//! Everything that a run reported, collected while it ran or read from its files.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::{Line, Measurements, Metric, RunEnergy, RunRecord, Statistic, read_line};
use tinyllama_base::checksum::hex;
use tinyllama_base::untrusted::BoundedLines;
use tinyllama_base::{if_there, safe_path};
use tinyllama_contract::event::{Body, Event, FinalDocument};

/// File of the event stream in a run's folder.
pub const EVENTS_FILE: &str = "events.jsonl";

/// Names of the energy figures, in joules. The uncertainty is half the 95 % interval.
pub const ENERGY: [&str; 4] = [
    "joules_per_step",
    "joules_per_step_uncertainty",
    "joules_per_sample",
    "joules_per_sample_uncertainty",
];

/// Everything that a run reported, except its single steps. `None` means "not reported".
#[derive(Clone, Debug, Default)]
pub struct FinishedRun {
    /// The run's folder, or the file it was read from.
    pub path: PathBuf,
    /// All events but the steps.
    pub reported: FinalDocument,
    pub measurements: Measurements,
    /// Loss of every step, warm-up included.
    pub losses: Vec<f64>,
    /// True if the first measured step waited for the device.
    pub synchronized: Option<bool>,
    /// Measured by the process that keeps the run's files.
    pub energy: Option<RunEnergy>,
    /// Checksum of the event stream.
    pub sha256: String,
}

impl FinishedRun {
    /// Takes an event.
    pub fn on_event(&mut self, event: &Event) {
        self.measurements.add(event);
        match &event.body {
            Body::Step(step) => {
                self.losses.push(step.loss);
                if step.measured {
                    self.synchronized.get_or_insert(step.synchronized);
                }
            }
            body => self.reported.add(body),
        }
    }

    /// Reads a stored run from its folder or from an event stream. Lines that are not events are ignored.
    ///
    /// # Errors
    /// Fails with the file system's message.
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::read_with(path, |_| {})
    }

    /// As [`FinishedRun::read`], and passes every event to `see`.
    ///
    /// # Errors
    /// Fails like [`FinishedRun::read`].
    pub fn read_with(path: &Path, mut see: impl FnMut(&Event)) -> io::Result<Self> {
        let record = RunRecord::read(path);
        let mut run = FinishedRun {
            path: path.to_path_buf(),
            energy: record.and_then(|record| record.energy),
            ..FinishedRun::default()
        };
        let mut stream = BoundedLines::new(safe_path::open(&stream_of(path))?);
        let mut digest = Sha256::new();
        let mut line = Vec::new();
        while stream.next_into(&mut line)? {
            digest.update(&line);
            if let Line::Event(event) = read_line(String::from_utf8_lossy(&line).trim_end()) {
                run.on_event(&event);
                see(&event);
            }
        }
        run.sha256 = hex(digest);
        Ok(run)
    }

    /// The run's id, which is the name of its folder.
    pub fn id(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Returns every reported figure by metric name, and the energy under the names of [`ENERGY`].
    pub fn figures(&self) -> BTreeMap<String, f64> {
        let reported = Metric::ALL.into_iter().filter_map(|metric| {
            let value = self.measurements.value(metric, Statistic::Median)?;
            Some((metric.name().to_string(), value))
        });
        let energy = self.energy.as_ref().and_then(|energy| {
            let (step, sample) = (energy.per_step()?, energy.per_sample()?);
            Some([step, sample].map(|joules| [joules.joules, joules.uncertainty]))
        });
        let names = ENERGY.map(str::to_string).into_iter();
        reported
            .chain(names.zip(energy.into_iter().flatten().flatten()))
            .collect()
    }
}

/// Path of the event stream. `path` is a run's folder or the stream itself.
pub fn stream_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(EVENTS_FILE)
    } else {
        path.to_path_buf()
    }
}

/// Finished runs by id. Each is read from its folder at most once, and never if its events were collected while it ran.
#[derive(Debug, Default)]
pub struct FinishedRuns {
    pub folder: PathBuf,
    known: Mutex<HashMap<String, Arc<FinishedRun>>>,
}

impl FinishedRuns {
    /// Creates a cache for the runs in `folder`.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            ..Self::default()
        }
    }

    /// Remembers a run that just ended.
    pub fn add(&self, run: Arc<FinishedRun>) {
        self.known.lock().insert(run.id(), run);
    }

    /// Finds a run. Returns `None` if its files are gone.
    ///
    /// # Errors
    /// Fails with the file system's message.
    pub fn get(&self, id: &str) -> io::Result<Option<Arc<FinishedRun>>> {
        let path = self.folder.join(id);
        if !path.join(EVENTS_FILE).exists() {
            self.known.lock().remove(id);
            return Ok(None);
        }
        if let Some(run) = self.known.lock().get(id) {
            return Ok(Some(Arc::clone(run)));
        }
        let run = if_there(FinishedRun::read(&path))?.map(Arc::new);
        if let Some(run) = &run {
            self.known.lock().insert(id.to_string(), Arc::clone(run));
        }
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunFolder;

    #[test]
    fn a_finished_run_is_read_once_and_never_where_it_was_heard() {
        let root = tempfile::tempdir().unwrap();
        let finished = || {
            let folder = RunFolder::create(root.path(), vec!["run".into()]).unwrap();
            Arc::new(folder.finish("exit status: 0", None).unwrap())
        };
        let runs = FinishedRuns::new(root.path().join("runs"));
        let get = |run: &FinishedRun| runs.get(&run.id()).unwrap();
        let kept = finished();
        let read = get(&kept).unwrap();
        assert!(Arc::ptr_eq(&read, &get(&kept).unwrap()));
        let heard = finished();
        runs.add(Arc::clone(&heard));
        assert!(Arc::ptr_eq(&heard, &get(&heard).unwrap()));
        std::fs::remove_dir_all(&heard.path).unwrap();
        assert!(get(&heard).is_none(), "its files are gone");
    }
}
