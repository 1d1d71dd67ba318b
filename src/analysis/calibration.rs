//! Measured rates of a device: arithmetic, bandwidth, launches and waiting. One file per device keeps them.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::store::{device_file, read_json, write_json};
use tinyllama_base::device_facts::DeviceFacts;
use tinyllama_base::file::inside;
use tinyllama_base::or_not_reported;
use tinyllama_contract::ceilings::{ComputeCeiling, Latency, Sampled};
pub use tinyllama_contract::ceilings::{ComputeUnit, DeviceCeilings, Level};

/// Increases when a reader of an older file would misread it.
pub const VERSION: u32 = 1;

const KIND: &str = "calibration";

/// The ceilings of one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub version: u32,
    /// Seconds since 1970.
    pub measured: u64,
    /// Version of the program that measured.
    pub program: String,
    #[serde(flatten)]
    pub reached: DeviceCeilings,
}

impl Deref for Calibration {
    type Target = DeviceCeilings;

    fn deref(&self) -> &DeviceCeilings {
        &self.reached
    }
}

impl Calibration {
    /// Lists what has changed since the measurement. Empty if it still holds.
    pub fn staleness(&self, now: &DeviceFacts) -> Vec<String> {
        let then = &self.facts;
        let mut changes = Vec::new();
        for (what, then, now) in [
            ("device", Some(&then.device), Some(&now.device)),
            ("backend", Some(&then.backend), Some(&now.backend)),
            ("driver", then.driver.as_ref(), now.driver.as_ref()),
            ("architecture", then.arch.as_ref(), now.arch.as_ref()),
        ] {
            if then != now {
                let text = |value: Option<&String>| or_not_reported(value.cloned());
                changes.push(format!("{what}: {} then, {} now", text(then), text(now)));
            }
        }
        changes
    }

    /// Returns a line for each ceiling. `doctor` and the command itself print them.
    pub fn summary(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for ceiling in &self.compute {
            let (scale, name) = scale(ceiling.flops_per_s.median, "FLOP/s");
            let ComputeCeiling {
                dtype, unit, how, ..
            } = ceiling;
            let rate = ceiling.flops_per_s.median / scale;
            let spread = spread(&ceiling.flops_per_s, scale);
            lines.push(format!("{dtype} {unit}: {rate:.1} {name}{spread} ({how})"));
        }
        for ceiling in &self.bandwidth {
            let (scale, name) = scale(ceiling.bytes_per_s.median, "B/s");
            let (rate, how) = (ceiling.bytes_per_s.median / scale, &ceiling.how);
            let spread = spread(&ceiling.bytes_per_s, scale);
            lines.push(format!(
                "{}: {rate:.1} {name}{spread} ({how})",
                ceiling.level
            ));
        }
        let latencies = [("a launch", &self.launch), ("waiting", &self.synchronise)];
        for (name, latency) in latencies {
            if let Some(latency) = latency {
                let Latency { microseconds, how } = latency;
                let (median, spread) = (microseconds.median, spread(microseconds, 1.0));
                lines.push(format!("{name}: {median:.2} us{spread} ({how})"));
            }
        }
        lines.extend(self.notes.iter().cloned());
        lines
    }

    /// Lists what a user should know before trusting rooflines and predictions. Empty if all measurements agree.
    pub fn warnings(&self) -> Vec<String> {
        let doubts = self.doubts().into_iter();
        let line = |doubt| {
            format!(
                "{doubt}. Do not use it as a ceiling: close other programs and `calibrate` again"
            )
        };
        doubts.map(line).collect()
    }

    /// Path of a device's calibration below the state folder.
    pub fn path(root: &Path, backend: &str, device: &str) -> PathBuf {
        device_file(root, KIND, backend, device)
    }

    /// Writes the calibration, whole or not at all, and returns its path.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn save(&self, root: &Path) -> Result<PathBuf> {
        let path = Self::path(root, &self.facts.backend, &self.facts.device);
        write_json(&path, self)
    }

    /// Reads the calibration of a device. Returns `None` if it was never measured, or if the file has another version.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn load(root: &Path, backend: &str, device: &str) -> Result<Option<Self>> {
        let found: Option<Self> = read_json(&Self::path(root, backend, device))?;
        Ok(found.filter(|found| found.version == VERSION))
    }

    /// Reads every stored calibration. The second list names the files that it cannot understand.
    ///
    /// # Errors
    /// Fails if the folder cannot be read.
    pub fn load_all(root: &Path) -> Result<(Vec<Self>, Vec<String>)> {
        let folder = root.join(KIND);
        let entries =
            inside(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let mut found: Vec<Self> = Vec::new();
        let mut damaged = Vec::new();
        for path in entries {
            match read_json::<Self>(&path) {
                Ok(Some(calibration)) if calibration.version == VERSION => found.push(calibration),
                Ok(_) => {}
                Err(error) => damaged.push(format!("{error:#}")),
            }
        }
        found.sort_by(|a, b| a.facts.device.cmp(&b.facts.device));
        Ok((found, damaged))
    }
}

/// Picks the unit that leaves at least one digit before the point.
fn scale(rate: f64, unit: &str) -> (f64, String) {
    let (scale, prefix) = match rate {
        rate if rate >= 1e12 => (1e12, "T"),
        rate if rate >= 1e9 => (1e9, "G"),
        _ => (1e6, "M"),
    };
    (scale, format!("{prefix}{unit}"))
}

fn spread(sampled: &Sampled, scale: f64) -> String {
    let (low, high, repeats) = (sampled.p10 / scale, sampled.p90 / scale, sampled.repeats);
    format!(", {low:.2} to {high:.2} in {repeats} repeats")
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use super::*;
    use tinyllama_contract::ceilings::BandwidthCeiling;

    pub fn example() -> Calibration {
        let sampled =
            |value: f64| Sampled::from_repeats(&[0.99 * value, value, 1.01 * value]).unwrap();
        let compute = |dtype: &str, unit, rate| ComputeCeiling {
            dtype: dtype.into(),
            unit,
            flops_per_s: sampled(rate),
            how: "8192^3".into(),
        };
        Calibration {
            version: VERSION,
            measured: 1_700_000_000,
            program: "0.1.0".into(),
            reached: DeviceCeilings {
                facts: DeviceFacts {
                    backend: "cuda".into(),
                    device: "NVIDIA H200".into(),
                    arch: Some("sm_90".into()),
                    driver: Some("1.0".into()),
                    memory: Some(1 << 37),
                },
                compute: vec![
                    compute("f32", ComputeUnit::Vector, 5e13),
                    compute("f32", ComputeUnit::Matrix, 5.1e13),
                    compute("bf16", ComputeUnit::Matrix, 6.5e14),
                ],
                bandwidth: vec![
                    BandwidthCeiling {
                        level: Level::Cold,
                        bytes_per_s: sampled(4e12),
                        working_set: 1 << 33,
                        how: "copy".into(),
                    },
                    BandwidthCeiling {
                        level: Level::Warm,
                        bytes_per_s: sampled(9e12),
                        working_set: 1 << 24,
                        how: "copy".into(),
                    },
                ],
                launch: Some(Latency {
                    microseconds: sampled(4.0),
                    how: "1000 empty kernels".into(),
                }),
                synchronise: None,
                notes: vec!["waiting: not measured on this backend".into()],
            },
        }
    }

    #[test]
    fn the_faster_unit_counts_unless_one_is_asked_for() {
        let calibration = example();
        assert_eq!(calibration.flops_per_s("f32", None), Some(5.1e13));
        assert_eq!(
            calibration.flops_per_s("f32", Some(ComputeUnit::Vector)),
            Some(5e13)
        );
        assert_eq!(calibration.flops_per_s("f64", None), None);
        assert_eq!(calibration.bytes_per_s(Level::Cold), Some(4e12));
        assert!(
            Sampled::from_repeats(&[1.0, f64::NAN]).is_none()
                && Sampled::from_repeats(&[]).is_none()
        );
    }

    #[test]
    fn a_rate_of_a_busy_machine_is_no_ceiling_and_never_shown_as_zero() {
        let mut calibration = example();
        assert_eq!(calibration.warnings(), [""; 0]);
        let rates = [0.24e9, 0.278e9, 0.43e9];
        calibration.reached.bandwidth[0].bytes_per_s = Sampled::from_repeats(&rates).unwrap();
        let slow = Sampled::from_repeats(&[0.151e9, 0.152e9, 0.153e9]).unwrap();
        calibration.reached.bandwidth[1].bytes_per_s = slow;
        let beside = &mut calibration.reached.compute[0].flops_per_s;
        beside.median = 1.1 * beside.p90;
        assert_eq!(calibration.bytes_per_s(Level::Cold), None);
        assert_eq!(calibration.bytes_per_s(Level::Warm), None);
        assert_eq!(
            calibration.flops_per_s("f32", Some(ComputeUnit::Vector)),
            None
        );
        let warnings = calibration.warnings().join("\n");
        for expected in [
            "memory: repeats differ by",
            "cache: it is slower",
            "f32 vector: the value lies outside",
        ] {
            assert!(warnings.contains(expected), "{expected}: {warnings}");
        }
        let summary = calibration.summary().join("\n");
        assert!(summary.contains("memory: 278.0 MB/s"), "{summary}");
        assert!(summary.contains("cache: 152.0 MB/s"), "{summary}");
    }

    #[test]
    fn it_is_kept_for_each_device_and_a_new_driver_makes_it_stale() {
        let root = tempfile::tempdir().unwrap();
        let calibration = example();
        let path = calibration.save(root.path()).unwrap();
        let load = |device| Calibration::load(root.path(), "cuda", device).unwrap();
        assert_eq!(load("NVIDIA H200"), Some(calibration.clone()));
        assert_eq!(load("NVIDIA H100"), None);
        assert!(calibration.staleness(&calibration.facts).is_empty());
        let mut now = calibration.facts.clone();
        now.driver = None;
        assert_eq!(
            calibration.staleness(&now),
            ["driver: 1.0 then, not reported now"]
        );
        assert!(
            calibration
                .summary()
                .iter()
                .any(|line| line.contains("650.0 TFLOP/s"))
        );

        fs::write(path.with_file_name("cuda-broken.json"), "{").unwrap();
        let (all, damaged) = Calibration::load_all(root.path()).unwrap();
        assert_eq!((all.len(), damaged.len()), (1, 1));
        fs::write(&path, r#"{"version": 99}"#).unwrap();
        assert!(Calibration::load(root.path(), "cuda", "NVIDIA H200").is_err());
    }
}
