//! The figures of a profile as one JSON document. What is not known is `null`.

use serde_json::{Value, json};

use crate::profiler::model::Profile;
use crate::profiler::show::comparison::Comparison;
use crate::profiler::show::counters::counters;
use crate::profiler::show::derived::DERIVED;
use crate::profiler::show::hotspots::{GroupBy, Hotspot, hotspots};
use crate::profiler::show::launches::launch_overhead;
use crate::profiler::show::parts::Parts;
use crate::profiler::show::report::{Called, api_calls, marked};
use crate::profiler::show::{copies, occupancy, roofline, timeline};

/// Version of the document; it changes when a reader of the old one would misread the new one.
pub const VERSION: u32 = 1;

pub fn document(profile: &Profile, group: GroupBy, parts: &Parts) -> Value {
    let hotspots = hotspots(profile, group, parts);
    json!({
        "version": VERSION,
        "commands": profile.commands,
        "notes": profile.notes,
        "kernels": hotspots.kernels.iter().map(hotspot).collect::<Vec<_>>(),
        "kernel_ns": hotspots.total_ns,
        "untimed_launches": hotspots.untimed,
        "devices": devices(profile),
        "launches": launch_overhead(profile),
        "copies": copies::copies(profile).iter().map(|copies| json!({
            "direction": copies.direction,
            "count": copies.count,
            "ns": copies.total_ns,
            "bytes": copies.bytes,
            "bytes_per_s": copies.bandwidth(),
        })).collect::<Vec<_>>(),
        "calls": called(&api_calls(profile)),
        "markers": called(&marked(profile)),
        "metrics": profile.metrics,
        "machine": profile.system,
        "counters": counter_values(profile),
        "occupancy": occupancies(profile),
        "roofline": {
            "ceilings": roofline::measured(profile).iter().map(|ceiling| json!({
                "name": ceiling.name,
                "value": ceiling.value,
                "unit": ceiling.unit(),
            })).collect::<Vec<_>>(),
            "points": roofline::points(profile).iter().map(|point| json!({
                "kernel": point.kernels.first(),
                "flop": point.flops,
                "bytes": point.bytes,
                "flop_per_byte": point.intensity,
                "gflop_per_s": point.flops_per_s / 1e9,
            })).collect::<Vec<_>>(),
        },
    })
}

fn called(calls: &[Called]) -> Vec<Value> {
    let call = |(name, (calls, total_ns)): &Called| json!({"name": name, "calls": calls, "total_ns": total_ns});
    calls.iter().map(call).collect()
}

fn hotspot(kernel: &Hotspot) -> Value {
    json!({
        "name": kernel.name,
        "part": kernel.part,
        "workgroup": kernel.variant.and_then(|variant| variant.workgroup),
        "grid": kernel.variant.and_then(|variant| variant.grid),
        "vgpr": kernel.variant.and_then(|variant| variant.vgpr),
        "calls": kernel.calls,
        "total_ns": kernel.total_ns,
        "mean_ns": kernel.mean_ns(),
        "min_ns": kernel.min_ns,
        "max_ns": kernel.max_ns,
        "percent": kernel.percent,
    })
}

fn devices(profile: &Profile) -> Vec<Value> {
    timeline::activity(profile)
        .iter()
        .map(|activity| {
            json!({
                "device": timeline::device_label(profile, activity.process, activity.agent),
                "span_ns": activity.span.duration(),
                "busy_ns": activity.busy_ns,
                "idle_share": activity.idle_share(),
                "gaps": activity.gaps.len(),
                "longest_gap_ns": activity.gaps.first().map(|gap| gap.time.duration()),
            })
        })
        .collect()
}

fn counter_values(profile: &Profile) -> Vec<Value> {
    counters(profile)
        .iter()
        .map(|kernel| {
            let derived: serde_json::Map<String, Value> = DERIVED
                .iter()
                .filter_map(|metric| Some((metric.name.to_owned(), json!(kernel.derived(metric)?))))
                .collect();
            let means: serde_json::Map<String, Value> = kernel
                .counters
                .iter()
                .map(|(name, summary)| (name.clone(), json!(summary.mean)))
                .collect();
            json!({
                "kernel": kernel.kernel,
                "launches": kernel.launches,
                "mean_ns": kernel.mean_ns,
                "derived": derived,
                "mean": means,
            })
        })
        .collect()
}

fn occupancies(profile: &Profile) -> Vec<Value> {
    occupancy::kernels(profile)
        .iter()
        .map(|kernel| {
            json!({
                "kernel": profile.kernel_name(kernel.variant),
                "workgroup": profile.variant(kernel.variant).workgroup,
                "percent": kernel.occupancy.percent(),
                "limited_by": kernel.occupancy.limiter.to_string(),
                "waves": kernel.waves,
                "resident_waves": kernel.resident,
            })
        })
        .collect()
}

pub fn comparison(comparison: &Comparison) -> Value {
    json!({
        "version": VERSION,
        "calls": comparison.calls,
        "total_ns": comparison.total_ns,
        "kernels": comparison.kernels.iter().map(|kernel| json!({
            "name": kernel.name,
            "change": kernel.change().name(),
            "difference_ns": kernel.difference_ns(),
            "before": kernel.before.as_ref().map(hotspot),
            "after": kernel.after.as_ref().map(hotspot),
        })).collect::<Vec<_>>(),
    })
}
