//! Runs tests on the stand-in for the HIP library, each in its own process. The stand-in reads its settings once, keeps
//! one state per process, and counts unfreed handles when the process ends.

use std::any::type_name_of_val;
use std::path::PathBuf;
use std::process::Command;

use super::driver::{self, Driver, ModuleCache, Vendor};
use built::Record;

#[path = "../../../../../tests/common/stand_in.rs"]
mod built;

/// Names the case that a process is to run. It is set only in the process of a test.
const CASE: &str = "TUTOR_STAND_IN_CASE";
/// The folder with the files of that process.
const HOME: &str = "TUTOR_STAND_IN_HOME";

/// A process whose GPU is the stand-in.
pub struct StandIn {
    home: PathBuf,
}

impl StandIn {
    /// Opens its device, optionally with a cache of modules.
    pub fn open_with(&self, cache: Option<ModuleCache>) -> Driver {
        Driver::open(Vendor::Amd, 0, cache).expect("the stand-in has a device")
    }

    pub fn open(&self) -> Driver {
        driver::open(Vendor::Amd, 0).expect("the stand-in has a device")
    }

    /// Returns how often this process has called the function `call` of HIP or its libraries.
    pub fn count(&self, call: &str) -> usize {
        Record::read(&self.home).count(call)
    }
}

/// Runs a case of a test as `architecture`, with further settings of the stand-in (`library/settings.h`). Checks that
/// the case used every call correctly and freed everything. `test` must be a closure written in the test itself,
/// because the other process finds the test by the closure's name.
pub fn on(architecture: &str, settings: &[(&str, &str)], test: impl Fn(&StandIn)) {
    let case = format!("{architecture} {settings:?}");
    if let Ok(wanted) = std::env::var(CASE) {
        if wanted == case {
            let home = std::env::var_os(HOME).expect("set with the case");
            test(&StandIn { home: home.into() });
        }
        return;
    }
    let Some(stand_in) = built::built() else {
        return;
    };
    let name = type_name_of_val(&test).trim_end_matches("::{{closure}}");
    let (_, name) = name.split_once("::").expect("a path in this crate");
    let home = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .args([name, "--exact", "--nocapture"])
        .envs(built::environment(stand_in, home.path()))
        .env("HIP_STAND_IN_ARCH", architecture)
        .envs(settings.iter().copied())
        .env(CASE, &case)
        .env(HOME, home.path())
        .output()
        .expect("this program starts again");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{case}: {said}");
    assert!(said.contains("1 passed"), "{case}: {name}: {said}");
    let problems = Record::read(home.path()).problems();
    assert_eq!(problems, Vec::<String>::new(), "{case}: {said}");
}
