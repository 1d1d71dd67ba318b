//! The CPU as a device.

use burn::tensor::Device;

use super::{Backend, OpenDevice};
use tinyllama_base::device_facts::DeviceFacts;

/// Opens burn's pure Rust backend on all cores.
pub fn open() -> OpenDevice {
    let backend = Backend::Cpu;
    let facts = DeviceFacts {
        backend: backend.to_string(),
        device: name().unwrap_or_else(|| "CPU".into()),
        arch: Some(std::env::consts::ARCH.into()),
        driver: None,
        memory: memory(),
    };
    OpenDevice {
        device: Device::flex(),
        backend,
        facts,
    }
}

fn name() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    Some(format!(
        "{} ({cores} cores)",
        line.split_once(':')?.1.trim()
    ))
}

/// Returns the bytes of memory of the machine, free or not.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
