//! Kernels under the ceilings of memory and arithmetic, from hardware counters.

use super::counters::{KernelCounters, counters};
use super::derived::{memory_bytes, operations};
use super::memory_chart::ABOVE_MEASURED;
use crate::model::{MeasuredCeiling, Profile};
use crate::name;
use tinyllama_base::roofline::{CeilingSource, Ceilings, Grain, Point, Roof, Roofline};
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Share, bytes, figure, percent};

/// Points of kernels with known time whose counters give operations and bytes.
pub fn points(profile: &Profile) -> Vec<Point> {
    let kernels = counters(profile);
    let names: Vec<&str> = kernels.iter().map(|it| it.kernel.as_str()).collect();
    let named = kernels.iter().zip(name::distinct_names(&names));
    named
        .filter_map(|(kernel, name)| point(kernel, name))
        .collect()
}

fn point(kernel: &KernelCounters, name: &str) -> Option<Point> {
    let mean = |counter: &str| kernel.mean(counter);
    let bytes = memory_bytes(&mean).filter(|bytes| *bytes > 0.0)?;
    let on_matrix_units = kernel.counters.iter().any(|(counter, summary)| {
        counter.starts_with("SQ_INSTS_VALU_MFMA_MOPS") && summary.mean > 0.0
    });
    Some(Point {
        kernels: vec![kernel.kernel.clone()],
        ..Point::new(
            name,
            Grain::Kernel,
            on_matrix_units,
            (operations(&mean)?, bytes),
            kernel.mean_ns? / 1e6,
        )?
    })
}

/// Ceilings that rocprof-compute measured on the first device, bandwidths first.
pub fn measured(profile: &Profile) -> Vec<&MeasuredCeiling> {
    let device = profile.ceilings.iter().map(|ceiling| ceiling.device).min();
    let mut ceilings: Vec<&MeasuredCeiling> = profile
        .ceilings
        .iter()
        .filter(|ceiling| Some(ceiling.device) == device)
        .collect();
    ceilings.sort_by_key(|ceiling| !ceiling.is_bandwidth());
    ceilings
}

/// Ceilings for operations and bytes of the memory. Those of caches and local memory are left out. The fastest matrix unit
/// counts, because counters do not reveal the type. For vector units f32 counts.
fn ceilings(profile: &Profile) -> Ceilings {
    let mut lines = measured(profile);
    lines.sort_by(|a, b| {
        let is_f32 = |line: &MeasuredCeiling| line.name == "FP32Flops";
        is_f32(b).cmp(&is_f32(a)).then(b.value.total_cmp(&a.value))
    });
    let mut ceilings = Ceilings::default();
    for line in lines {
        let roof = match line.name.as_str() {
            name if name.eq_ignore_ascii_case("HBMBw") => Roof::Memory,
            name if name.starts_with("MFMA") && name.ends_with("Flops") => Roof::Products,
            name if name.ends_with("Flops") => Roof::Vector,
            _ => continue,
        };
        let per_second = Some(line.value * 1e9);
        ceilings.add(
            roof,
            line.name.as_str(),
            per_second,
            CeilingSource::Measured,
        );
    }
    ceilings
}

pub fn roofline(profile: &Profile) -> Roofline {
    let gpu = profile.agents.iter().find(|agent| agent.gpu);
    let device = gpu.map_or("", |gpu| gpu.name.as_str());
    let work = "hardware counters, per launch";
    Roofline::new(device, work, ceilings(profile), points(profile))
}

pub fn table(profile: &Profile) -> TextTable {
    let roofline = roofline(profile);
    let mut table: TextTable = TableColumns::titled(
        "Roofline: operations and bytes from counters, per launch",
        &roofline.points,
    )
    .left("kernel", |point| point.name.clone())
    .right("FLOP", |point| figure(point.flops))
    .right("memory", |point| bytes(point.bytes))
    .right("FLOP/byte", |point| figure(point.intensity))
    .right("GFLOP/s", |point| figure(point.flops_per_s / 1e9))
    .right("GB/s", |point| figure(point.bytes_per_s / 1e9))
    .right("of limit", |point| point.share.map(Share).map(percent))
    .left("bound by", |point| {
        point.bound.map(|bound| bound.to_string())
    })
    .into();
    if roofline
        .points
        .iter()
        .any(|point| point.share.is_some_and(|share| share > 1.0))
    {
        table.note(format!(
            "more than 100 % of a measured ceiling: {ABOVE_MEASURED}"
        ));
    }
    let measured = measured(profile);
    if !measured.is_empty() {
        let one = |it: &MeasuredCeiling| format!("{} {} {}", it.name, figure(it.value), it.unit());
        let list = itertools::join(measured.into_iter().map(one), ", ");
        table.note(format!("ceilings as rocprof-compute measured them: {list}"));
    }
    table
}
