//! Tests on the stand-in for the HIP library. Each runs in a process of its own: the stand-in reads its settings once, has
//! one world a process, and counts at the end of the process what was not given back.

use std::any::type_name_of_val;
use std::path::PathBuf;
use std::process::Command;

use super::driver::{self, Driver, ModuleCache, Vendor};
use built::Record;

#[path = "../../../../../tests/common/stand_in.rs"]
mod built;

/// Tells the process in which a test is to run, and which of its cases.
const CASE: &str = "TUTOR_STAND_IN_CASE";
/// Where that process has its files.
const HOME: &str = "TUTOR_STAND_IN_HOME";

/// A process that has the stand-in as its GPU.
pub struct StandIn {
    home: PathBuf,
}

impl StandIn {
    /// Opens its device, with a cache of modules where a test wants one.
    pub fn open_with(&self, cache: Option<ModuleCache>) -> Driver {
        Driver::open(Vendor::Amd, 0, cache).expect("the stand-in has a device")
    }

    pub fn open(&self) -> Driver {
        driver::open(Vendor::Amd, 0).expect("the stand-in has a device")
    }

    /// How often HIP or one of its libraries was called `call` by this process until now.
    pub fn count(&self, call: &str) -> usize {
        Record::read(&self.home).count(call)
    }
}

/// Runs a case of a test as `architecture`, with further settings of the stand-in (`library/settings.h`), and checks that
/// it used nothing wrongly and gave everything back. `test` is to be a closure written in the test itself: its name is how
/// the other process finds it.
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
