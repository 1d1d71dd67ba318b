//! `doctor --driver`: tests a GPU's driver and its libraries on the device.

use std::io::{self, Write};

use anyhow::{Result, bail};
use schemars::JsonSchema;
use serde::Serialize;

use super::Exit;
use super::doctor::{DoctorArgs, print_finding};
use super::print_result::print_document;
use tinyllama_base::device_facts::DeviceFacts;
use tinyllama_base::terminal::Stdout;
use tinyllama_contract::flags::UsageError;
use tinyllama_engine::device::finding::{DeviceFinding, FindingStatus};
use tinyllama_engine::device::selftest::{self, TrialEffort};
use tinyllama_engine::device::{Backend, open_driver, vendor_of};

/// The document that `doctor --driver --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
struct DriverReport {
    version: &'static str,
    /// True if a device was tested and every test passed.
    passed: bool,
    drivers: Vec<DriverTests>,
}

/// The tests of one vendor's driver.
#[derive(Debug, Serialize, JsonSchema)]
struct DriverTests {
    backend: String,
    /// Null if no device could be opened.
    device: Option<DeviceFacts>,
    findings: Vec<DeviceFinding>,
}

const MARKS: [&str; 3] = ["ok", "not there", "FAILED"];

pub fn run(args: &DoctorArgs) -> Result<Exit> {
    let backends = match args.backend.backend() {
        None => vec![Backend::Rocm, Backend::Cuda],
        Some(backend) if vendor_of(backend).is_some() => vec![backend],
        Some(backend) => bail!(UsageError(format!(
            "--backend {backend}: --driver tries HIP and CUDA; use rocm or cuda"
        ))),
    };
    let effort = match args.quick {
        true => TrialEffort::QUICK,
        false => TrialEffort::FULL,
    };
    let mut drivers = vec![];
    for backend in backends {
        drivers.push(attempt(args, backend, effort)?);
    }
    let exit = verdict(&drivers);
    let report = DriverReport {
        version: env!("CARGO_PKG_VERSION"),
        passed: exit == Exit::Ok,
        drivers,
    };
    let text = match exit {
        Exit::Ok => "Everything that was tried works.",
        Exit::Failed => "Something is wrong: see what is marked above.",
        _ => "Not everything could be tried: see above what is missing.",
    };
    print_document(args.json, &report, |out| writeln!(out, "\n{text}"))?;
    Ok(exit)
}

/// Tests one driver. Unless a document is wanted, it prints each line immediately.
fn attempt(args: &DoctorArgs, backend: Backend, effort: TrialEffort) -> io::Result<DriverTests> {
    let mut out = Stdout;
    let mut topic = "";
    let mut printed = match args.json {
        true => Ok(()),
        false => writeln!(out, "\n{backend}"),
    };
    let mut show = |finding: &DeviceFinding| {
        if !args.json && printed.is_ok() {
            printed = print_finding(&mut out, finding, &mut topic, MARKS);
        }
    };
    let (device, findings) = match open_driver(backend, args.device.as_deref()) {
        Ok(driver) => (
            Some(DeviceFacts::from(driver.properties())),
            selftest::run(&driver, effort, &mut show),
        ),
        Err(error) => {
            let finding = DeviceFinding::ok("probe", "the driver", error.to_string());
            let finding = finding.needs(FindingStatus::Absent, error.remedy());
            show(&finding);
            (None, vec![finding])
        }
    };
    printed.map(|()| DriverTests {
        backend: backend.to_string(),
        device,
        findings,
    })
}

/// Wrong results decide first, then missing parts that could be installed. One vendor's driver may be missing if the
/// other's opened.
fn verdict(drivers: &[DriverTests]) -> Exit {
    let opened = drivers.iter().any(|driver| driver.device.is_some());
    let findings: Vec<&DeviceFinding> = drivers
        .iter()
        .filter(|driver| driver.device.is_some() || !opened)
        .flat_map(|driver| &driver.findings)
        .collect();
    let missing = |finding: &&DeviceFinding| finding.remedy.is_some();
    if findings
        .iter()
        .any(|finding| finding.status == FindingStatus::Broken)
    {
        Exit::Failed
    } else if findings.iter().any(missing) {
        Exit::Environment
    } else {
        Exit::Ok
    }
}
