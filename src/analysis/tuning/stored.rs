//! Results of tuning on a device, stored for later runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store::{device_file, invalid_file, read_json, write_json};
use tinyllama_base::factor;
use tinyllama_contract::event::Hello;
use tinyllama_contract::model::{ModelConfig, Recipe};

/// Increases when a reader of an older file would misread it.
const VERSION: u32 = 2;

const KIND: &str = "tuning";

/// Flag before a kernel's name and its block size.
pub const BLOCK_SIZE: &str = "--block-size=";

/// The result for one target and model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TunedTarget {
    pub target: String,
    pub config: ModelConfig,
    pub recipe: Recipe,
    /// Type of the products' operands in the tuned runs.
    pub dtype: String,
    /// Flags to run the target with. Empty if no others beat the usual flags.
    pub flags: Vec<String>,
    /// Usual time over tuned time, with its interval. Null if nothing beat the usual flags.
    pub speedup: Option<[f64; 3]>,
    /// Seconds since 1970.
    pub found: u64,
    pub program: String,
    pub driver: Option<String>,
}

impl TunedTarget {
    /// Block sizes by kernel.
    pub fn block_sizes(&self) -> BTreeMap<String, usize> {
        let sizes = self.flags.iter().filter_map(|flag| {
            let (kernel, size) = flag.strip_prefix(BLOCK_SIZE)?.split_once('=')?;
            Some((kernel.to_string(), size.parse().ok()?))
        });
        sizes.collect()
    }

    /// Returns whether `run` has what this was measured with. Block sizes that suit one model, type or driver's compiler
    /// may not suit the next, and another version of the program has other kernels.
    fn matches_run(&self, run: &Hello) -> bool {
        self.subject() == (&*run.target, &run.config, &run.recipe, &*run.dtype)
            && self.driver == run.driver
            && self.program == env!("CARGO_PKG_VERSION")
    }

    /// What was tuned. There is one entry for it.
    fn subject(&self) -> (&str, &ModelConfig, &Recipe, &str) {
        (&self.target, &self.config, &self.recipe, &self.dtype)
    }

    /// How much faster the block sizes alone made the target. Returns `None` if another flag had a share in it.
    fn speedup_text(&self) -> Option<String> {
        let [value, low, high] = self.speedup?.map(factor);
        let alone = self.flags.iter().all(|flag| flag.starts_with(BLOCK_SIZE));
        alone.then(|| format!(", which made a step {value}x ({low} to {high}) as fast"))
    }
}

/// Block sizes that a run takes from an earlier search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenOver {
    /// By kernel.
    pub block_sizes: BTreeMap<String, usize>,
    /// A note to show next to the figures of the run.
    pub note: String,
}

/// All tuning results of one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    version: u32,
    pub backend: String,
    pub device: String,
    pub targets: Vec<TunedTarget>,
}

impl Tuned {
    /// Reads the results of a device. They are empty if it was never tuned, or if the file has another version.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn load(root: &Path, backend: &str, device: &str) -> Result<Self> {
        let path = device_file(root, KIND, backend, device);
        let found = read_json::<Value>(&path)?
            .filter(|found| found.get("version").and_then(Value::as_u64) == Some(VERSION.into()));
        let found = found.map(serde_json::from_value).transpose();
        let found = found.with_context(|| invalid_file(&path))?;
        Ok(found.unwrap_or_else(|| Tuned {
            version: VERSION,
            backend: backend.into(),
            device: device.into(),
            targets: vec![],
        }))
    }

    /// Finds block sizes for runs like this one, for kernels that `given` does not name. Returns `None` if there are none.
    pub fn block_sizes_for(
        &self,
        run: &Hello,
        given: &BTreeMap<String, usize>,
    ) -> Option<TakenOver> {
        let tuned = self.targets.iter().find(|tuned| tuned.matches_run(run))?;
        let found = tuned.block_sizes();
        let all = found.len();
        let block_sizes: BTreeMap<String, usize> = found
            .into_iter()
            .filter(|(kernel, _)| !given.contains_key(kernel))
            .collect();
        if block_sizes.is_empty() {
            return None;
        }
        let list = block_sizes.iter();
        let list = itertools::join(list.map(|(kernel, size)| format!("{kernel}={size}")), ", ");
        let speedup = tuned
            .speedup_text()
            .filter(|_| block_sizes.len() == all)
            .unwrap_or_default();
        Some(TakenOver {
            block_sizes,
            note: format!(
                "block sizes that `tune` found on this device: {list}{speedup}; TINYLLAMA_TUNING=off uses the usual ones"
            ),
        })
    }

    /// Adds an entry and replaces an earlier one for the same runs.
    pub fn put(&mut self, entry: TunedTarget) {
        self.targets.retain(|old| old.subject() != entry.subject());
        self.targets.push(entry);
    }

    /// Writes the results, whole or not at all, and returns their path.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn save(&self, root: &Path) -> Result<PathBuf> {
        let path = device_file(root, KIND, &self.backend, &self.device);
        write_json(&path, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tinyllama_contract::model::Preset;
    use tinyllama_contract::targets::v3;

    fn run(change: impl FnOnce(&mut Hello)) -> Hello {
        let mut hello: Hello = serde_json::from_value(json!({
            "stream": 1, "version": "0", "target": "v3", "recipe": v3::RECIPE, "backend": "cuda",
            "device": "a GPU", "arch": null, "driver": "1", "device_memory": null, "config": Preset::Small.config(),
            "seed": 42, "parameters": 1, "parameter_tensors": 1, "dtype": "f32", "matmul_precision": "f32",
            "learning_rate": 3e-4, "weight_decay": 0.01, "steps": 1, "warmup": 1, "data": {"kind": "synthetic"},
            "deterministic": false, "synchronize": "step",
        }))
        .unwrap();
        change(&mut hello);
        hello
    }

    fn entry(flags: &[&str]) -> TunedTarget {
        TunedTarget {
            target: "v3".into(),
            config: Preset::Small.config(),
            recipe: v3::RECIPE,
            dtype: "f32".into(),
            flags: flags.iter().map(ToString::to_string).collect(),
            speedup: Some([1.1, 1.05, 1.15]),
            found: 1,
            program: env!("CARGO_PKG_VERSION").into(),
            driver: Some("1".into()),
        }
    }

    fn sizes(pairs: &[(&str, usize)]) -> BTreeMap<String, usize> {
        pairs
            .iter()
            .map(|(kernel, size)| (kernel.to_string(), *size))
            .collect()
    }

    #[test]
    fn tuned_settings_serve_the_same_runs_and_no_other() {
        let root = tempfile::tempdir().unwrap();
        let mut tuned = Tuned::load(root.path(), "cuda", "a GPU").unwrap();
        tuned.put(entry(&["--block-size=adamw=32"]));
        tuned.put(entry(&[
            "--block-size=adamw=64",
            "--block-size=rmsnorm=256",
        ]));
        tuned.save(root.path()).unwrap();
        let read = Tuned::load(root.path(), "cuda", "a GPU").unwrap();
        assert_eq!(read.targets.len(), 1);
        let taken = read.block_sizes_for(&run(|_| ()), &sizes(&[])).unwrap();
        assert_eq!(taken.block_sizes, sizes(&[("adamw", 64), ("rmsnorm", 256)]));
        assert!(
            taken.note.contains("adamw=64, rmsnorm=256") && taken.note.contains("1.10x"),
            "{}",
            taken.note
        );
        let others: [fn(&mut Hello); 5] = [
            |run| run.target = "stage5".into(),
            |run| run.config = Preset::Tiny.config(),
            |run| run.dtype = "bf16".into(),
            |run| run.driver = Some("2".into()),
            |run| run.recipe.graph_fusion = !run.recipe.graph_fusion,
        ];
        for other in others {
            assert_eq!(read.block_sizes_for(&run(other), &sizes(&[])), None);
        }
        let nowhere = Tuned::load(root.path(), "cuda", "another GPU").unwrap();
        assert_eq!(nowhere.block_sizes_for(&run(|_| ()), &sizes(&[])), None);
    }

    #[test]
    fn given_settings_stay_and_only_the_whole_claims_a_speedup() {
        let mut tuned = Tuned::load(Path::new("nowhere"), "cuda", "a GPU").unwrap();
        tuned.put(entry(&[
            "--block-size=adamw=64",
            "--block-size=rmsnorm=256",
        ]));
        let taken = tuned
            .block_sizes_for(&run(|_| ()), &sizes(&[("adamw", 1024)]))
            .unwrap();
        assert_eq!(taken.block_sizes, sizes(&[("rmsnorm", 256)]));
        assert!(!taken.note.contains("1.10x"), "{}", taken.note);
        let all = sizes(&[("adamw", 1024), ("rmsnorm", 8)]);
        assert_eq!(tuned.block_sizes_for(&run(|_| ()), &all), None);
        let mut with_type = entry(&["--dtype=bf16", "--block-size=adamw=64"]);
        with_type.dtype = "bf16".into();
        tuned.put(with_type);
        assert_eq!(tuned.targets.len(), 2);
        let taken = tuned
            .block_sizes_for(&run(|run| run.dtype = "bf16".into()), &sizes(&[]))
            .unwrap();
        assert!(!taken.note.contains("1.10x"), "{}", taken.note);
        tuned.put(entry(&[]));
        assert_eq!(tuned.block_sizes_for(&run(|_| ()), &sizes(&[])), None);
    }

    #[test]
    fn a_file_of_an_older_version_counts_as_none_and_a_damaged_one_is_named() {
        let root = tempfile::tempdir().unwrap();
        let path = device_file(root.path(), KIND, "cuda", "a GPU");
        write_json(&path, &json!({"version": 1, "targets": [{"old": true}]})).unwrap();
        let tuned = Tuned::load(root.path(), "cuda", "a GPU").unwrap();
        assert!(tuned.targets.is_empty());
        write_json(&path, &json!({"version": VERSION, "targets": 3})).unwrap();
        let error = format!(
            "{:#}",
            Tuned::load(root.path(), "cuda", "a GPU").unwrap_err()
        );
        assert!(
            error.contains("cuda-a-gpu.json") && error.contains("remove"),
            "{error}"
        );
    }
}
