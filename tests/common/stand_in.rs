//! The stand-in for the HIP library (`tests/stand-in`), built once in the target folder, and its record of a
//! process.

#![allow(dead_code, reason = "every test binary uses its own part of this")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// Environment variable that makes tests fail on a machine without the compiler, so that nothing stays unchecked.
const REQUIRED: &str = "HIP_STAND_IN_REQUIRED";

/// The folder to use as ROCM_PATH. Without a compiler it prints a line and returns `None`.
pub fn built() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref()
}

fn build() -> Option<PathBuf> {
    let program = std::env::current_exe().expect("this program has a path");
    // The test program is target/debug/deps/NAME.
    let target = program.ancestors().nth(3).expect("a target folder");
    let folder = target.join("hip-stand-in");
    // Several test programs may run this at the same time.
    let lock = File::create(target.join("hip-stand-in.lock")).expect("a file to lock");
    lock.lock().expect("locked");
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut scripts = folders.map(|folder| folder.join("tests/stand-in/build"));
    let script = scripts
        .find(|script| script.exists())
        .expect("the stand-in's sources");
    let output = Command::new(script).arg(&folder).output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Some(folder),
        Some(3) if std::env::var_os(REQUIRED).is_none() => {
            // Writes directly to stderr, because the test harness hides the output of tests that pass.
            let line = format!("NOT CHECKED on the stand-in for the HIP library: {said}");
            std::io::stderr().write_all(line.as_bytes()).expect("said");
            None
        }
        _ => panic!("the stand-in for the HIP library cannot be built: {said}"),
    }
}

/// The environment in which a process uses the stand-in for HIP, with its files in `home`.
pub fn environment(stand_in: &Path, home: &Path) -> [(&'static str, OsString); 5] {
    [
        ("ROCM_PATH", stand_in.into()),
        ("HIP_PATH", stand_in.into()),
        ("HIP_STAND_IN_CACHE", stand_in.join("cache").into()),
        ("HIP_STAND_IN_RECORD", record_of(home).into()),
        ("XDG_CACHE_HOME", home.join("cache").into()),
    ]
}

pub fn record_of(home: &Path) -> PathBuf {
    home.join("record")
}

/// The stand-in's record of a process.
#[derive(Debug, Default)]
pub struct Record {
    /// Name and status of every call.
    calls: Vec<(String, i64)>,
    /// Mistakes that the stand-in found.
    pub complaints: Vec<String>,
    /// Objects that were not released at the end, by kind.
    left: BTreeMap<String, u64>,
}

impl Record {
    /// Reads the record of the process with this `home`. For a process that still runs it has the calls so far.
    pub fn read(home: &Path) -> Record {
        let text = std::fs::read_to_string(record_of(home)).unwrap_or_default();
        let mut record = Record::default();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).expect("a line of the record");
            if let Some(call) = entry["call"].as_str() {
                let status = entry["status"].as_i64().unwrap_or(-1);
                record.calls.push((call.to_owned(), status));
            }
            if let Some(complaint) = entry["complaint"].as_str() {
                record.complaints.push(complaint.to_owned());
            }
            let left = entry["summary"].as_object().into_iter().flatten();
            record.left.extend(
                left.filter(|(kind, _)| *kind != "complaints")
                    .filter_map(|(kind, count)| Some((kind.clone(), count.as_u64()?))),
            );
        }
        record
    }

    /// Number of calls to `call`.
    pub fn count(&self, call: &str) -> usize {
        self.calls.iter().filter(|(name, _)| name == call).count()
    }

    /// Problems that a real device would not report: mistakes, and objects that were not released or were released
    /// twice.
    pub fn problems(&self) -> Vec<String> {
        let gives_back = |name: &str| {
            ["Destroy", "Free", "Unload"]
                .iter()
                .any(|part| name.contains(part))
        };
        let refused = self.calls.iter().filter(|(_, status)| *status != 0);
        let wrong = refused
            .filter(|(name, _)| gives_back(name))
            .map(|(name, status)| format!("{name}: {status}"));
        let left = self.left.iter().filter(|(_, count)| **count > 0);
        let left = left.map(|(kind, count)| format!("{count} {kind} left"));
        let ended = match self.left.is_empty() {
            true => Some("the process did not come to its end".to_owned()),
            false => None,
        };
        let complaints = self.complaints.iter().cloned();
        complaints.chain(wrong).chain(left).chain(ended).collect()
    }
}
