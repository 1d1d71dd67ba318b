//! `doctor --machine`: describes another machine, from the output of its rocminfo or a copy of its driver's topology.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use schemars::JsonSchema;
use serde::Serialize;

use super::Exit;
use super::doctor::print_finding;
use super::print_result::print_prose;
use tinyllama_base::kfd::{self, KfdGpu};
use tinyllama_base::rocminfo::{MachineGpu, RocmInfo};
use tinyllama_base::units::{human_bytes, or_not_reported};
use tinyllama_base::{architecture, untrusted};
use tinyllama_contract::flags::UsageError;
use tinyllama_engine::device::check_architecture;
use tinyllama_engine::device::finding::{DeviceFinding, FindingStatus};

/// The document that `doctor --machine PATH --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
struct MachineReport {
    version: &'static str,
    /// What described the machine.
    source: &'static str,
    /// Version of its HSA runtime; null if the source does not say it.
    runtime: Option<String>,
    processors: Vec<String>,
    gpus: Vec<MachineGpu>,
}

/// Size limit for rocminfo's output. A machine with eight GPUs prints 60 KB.
const MOST_BYTES: u64 = 4 << 20;

pub fn run(path: &Path, as_json: bool) -> Result<Exit> {
    let report = match path.is_dir() {
        true => by_driver(path)?,
        false => by_rocminfo(path)?,
    };
    print_prose(as_json, &report, |out| print(out, path, &report))
}

fn by_rocminfo(path: &Path) -> Result<MachineReport> {
    let name = path.display();
    let text = untrusted::read_text(path, MOST_BYTES)
        .map_err(|error| UsageError(format!("--machine {name}: cannot be read: {error}")))?;
    let Some(info) = RocmInfo::parse(&text) else {
        bail!(UsageError(format!(
            "--machine {name}: is not the output of rocminfo. Write it there with `rocminfo > FILE`, or copy the folder \
             {}",
            kfd::TOPOLOGY
        )));
    };
    Ok(MachineReport {
        version: env!("CARGO_PKG_VERSION"),
        source: "rocminfo",
        runtime: info.runtime,
        processors: info.processors,
        gpus: info.gpus,
    })
}

fn by_driver(path: &Path) -> Result<MachineReport> {
    let name = path.display();
    let Some(topology) = topology(path) else {
        bail!(UsageError(format!(
            "--machine {name}: has no folder `nodes`. Copy all of {} from that machine",
            kfd::TOPOLOGY
        )));
    };
    let gpus =
        kfd::gpus(&topology).map_err(|error| UsageError(format!("--machine {name}: {error}")))?;
    Ok(MachineReport {
        version: env!("CARGO_PKG_VERSION"),
        source: "KFD topology",
        runtime: None,
        processors: Vec::new(),
        gpus: gpus.into_iter().map(described).collect(),
    })
}

/// The folder with `nodes` in it: the given one, one of those that lead to it in sysfs, or the one above.
fn topology(path: &Path) -> Option<PathBuf> {
    let below = [
        "",
        "topology",
        "kfd/topology",
        "kfd/kfd/topology",
        "class/kfd/kfd/topology",
    ];
    let below = below.iter().map(|folder| path.join(folder));
    let above = path.ancestors().skip(1).take(2).map(Path::to_owned);
    below
        .chain(above)
        .find(|folder| folder.join("nodes").is_dir())
}

fn described(gpu: KfdGpu) -> MachineGpu {
    MachineGpu {
        node: Some(gpu.node),
        arch: gpu.arch,
        product: gpu.name,
        compute_units: Some(gpu.compute_units),
        simds_per_compute_unit: Some(gpu.simds_per_compute_unit),
        wave_size: Some(gpu.wave_size),
        waves_per_simd: Some(gpu.waves_per_simd),
        lds_bytes: Some(u64::from(gpu.lds_bytes)),
        memory_bytes: gpu.vram,
        max_clock_mhz: None,
    }
}

fn finding(gpu: &MachineGpu) -> DeviceFinding {
    let names = [gpu.product.as_deref(), gpu.arch.as_deref()];
    let figure = |figure: Option<u32>| or_not_reported(figure.map(|figure| figure.to_string()));
    let bytes = |bytes: Option<u64>| or_not_reported(bytes.map(human_bytes));
    let detail = format!(
        "{}; compute units {}, SIMDs in each {}, lanes of a wave {}, waves of a SIMD {}, LDS {}, memory {}",
        itertools::join(names.iter().flatten(), ", "),
        figure(gpu.compute_units),
        figure(gpu.simds_per_compute_unit),
        figure(gpu.wave_size),
        figure(gpu.waves_per_simd),
        bytes(gpu.lds_bytes),
        bytes(gpu.memory_bytes),
    );
    let node = gpu
        .node
        .map_or("a GPU".to_owned(), |node| format!("node {node}"));
    let finding = DeviceFinding::ok("GPUs of that machine", node, detail);
    let Some(arch) = gpu.arch.as_deref() else {
        let remedy = "Its kernel is too old to say the architecture; `rocminfo` there says it, and so do today's drivers.";
        return finding.needs(FindingStatus::Absent, remedy);
    };
    let product = gpu.product.as_deref().unwrap_or("this GPU");
    match (check_architecture(product, arch), architecture::find(arch)) {
        (Err(error), _) => {
            let remedy = format!("{error}. {}", error.remedy());
            finding.needs(FindingStatus::Broken, remedy)
        }
        (Ok(()), None) => {
            let remedy =
                "The tutor has no figures for its registers: occupancy is not computed for it.";
            finding.needs(FindingStatus::Broken, remedy)
        }
        (Ok(()), Some(_)) => finding,
    }
}

const MARKS: [&str; 3] = ["ok", "unknown", "limited"];

fn print(out: &mut impl Write, path: &Path, report: &MachineReport) -> io::Result<()> {
    writeln!(out, "{}, by {}", path.display(), report.source)?;
    if let Some(runtime) = &report.runtime {
        writeln!(out, "HSA runtime {runtime}")?;
    }
    for processor in &report.processors {
        writeln!(out, "processor {processor}")?;
    }
    if report.gpus.is_empty() {
        writeln!(out, "\nThe machine has no GPU that its driver describes.")?;
    }
    let mut topic = "";
    report
        .gpus
        .iter()
        .try_for_each(|gpu| print_finding(out, &finding(gpu), &mut topic, MARKS))
}
