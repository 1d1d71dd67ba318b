//! Kernels under the ceilings of memory and arithmetic.

use super::counters::{KernelCounters, counters};
use super::derived::{memory_bytes, operations};
use crate::base::table::{Align, TextTable};
use crate::base::units::{bytes, figure, percent};
use crate::profiler::model::{Ceiling, Profile};
use crate::profiler::name;

/// A kernel in the roofline diagram.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub kernel: String,
    /// Floating-point operations a launch.
    pub operations: f64,
    /// Bytes to and from memory a launch.
    pub bytes: f64,
    pub mean_ns: f64,
}

impl Point {
    /// Operations a byte.
    pub fn intensity(&self) -> f64 {
        self.operations / self.bytes
    }

    /// GFLOP/s.
    pub fn performance(&self) -> f64 {
        self.operations / self.mean_ns
    }

    /// GB/s.
    pub fn bandwidth(&self) -> f64 {
        self.bytes / self.mean_ns
    }
}

/// Kernels whose counters tell operations and bytes, and whose time is known.
pub fn points(profile: &Profile) -> Vec<Point> {
    counters(profile).iter().filter_map(point).collect()
}

fn point(kernel: &KernelCounters) -> Option<Point> {
    let mean = |counter: &str| kernel.mean(counter);
    let point = Point {
        kernel: kernel.kernel.clone(),
        operations: operations(&mean)?,
        bytes: memory_bytes(&mean)?,
        mean_ns: kernel.mean_ns?,
    };
    (point.bytes > 0.0 && point.mean_ns > 0.0).then_some(point)
}

/// The ceilings of the first device that was measured, bandwidths first.
pub fn ceilings(profile: &Profile) -> Vec<&Ceiling> {
    let device = profile.ceilings.iter().map(|ceiling| ceiling.device).min();
    let mut ceilings: Vec<&Ceiling> = profile
        .ceilings
        .iter()
        .filter(|ceiling| Some(ceiling.device) == device)
        .collect();
    ceilings.sort_by_key(|ceiling| !ceiling.is_bandwidth());
    ceilings
}

/// Measured bandwidth of memory in GB/s, where rocprof-compute measured it.
pub fn memory_ceiling(profile: &Profile) -> Option<f64> {
    ceilings(profile)
        .iter()
        .find(|ceiling| ceiling.name.eq_ignore_ascii_case("HBMBw"))
        .map(|ceiling| ceiling.value)
}

pub fn table(profile: &Profile) -> TextTable {
    let mut table = TextTable::new(
        "Roofline: operations and bytes from counters, per launch",
        &[
            ("kernel", Align::Left),
            ("FLOP", Align::Right),
            ("memory", Align::Right),
            ("FLOP/byte", Align::Right),
            ("GFLOP/s", Align::Right),
            ("GB/s", Align::Right),
            ("of memory ceiling", Align::Right),
        ],
    );
    let ceiling = memory_ceiling(profile);
    for point in points(profile) {
        table.rows.push(vec![
            name::short(&point.kernel).to_owned(),
            figure(point.operations),
            bytes(point.bytes),
            figure(point.intensity()),
            figure(point.performance()),
            figure(point.bandwidth()),
            match ceiling {
                Some(ceiling) => percent(100.0 * point.bandwidth() / ceiling),
                None => "not reported".to_owned(),
            },
        ]);
    }
    let ceilings = ceilings(profile);
    if !ceilings.is_empty() {
        let list: Vec<String> = ceilings
            .iter()
            .map(|ceiling| {
                let unit = if ceiling.is_bandwidth() {
                    "GB/s"
                } else {
                    "GFLOP/s"
                };
                format!("{} {} {unit}", ceiling.name, figure(ceiling.value))
            })
            .collect();
        table.notes.push(format!(
            "ceilings as rocprof-compute measured them: {}",
            list.join(", ")
        ));
    }
    table
}
