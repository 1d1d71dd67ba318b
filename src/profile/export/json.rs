//! Writes the figures of a profile as one JSON document. A figure that is not known is `null`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::model::{Profile, TimeSpan};
use crate::show::comparison::ProfileComparison;
use crate::show::counters::counters;
use crate::show::derived::{DERIVED, counter_unit};
use crate::show::hotspots::{GroupBy, Hotspot, hotspots};
use crate::show::idle::idle;
use crate::show::launches::launch_overhead;
use crate::show::parts::KernelParts;
use crate::show::report::{CallTotals, api_calls, marked};
use crate::show::{copies, occupancy, roofline, timeline};

/// Version of the document. It increases if a reader of the old version would misread the new one.
pub const VERSION: u32 = 1;

fn list<T>(items: &[T], value: impl Fn(&T) -> Value) -> Vec<Value> {
    items.iter().map(value).collect()
}

pub fn document(profile: &Profile, group: GroupBy, parts: &KernelParts) -> Value {
    let hotspots = hotspots(profile, group, parts);
    json!({
        "version": VERSION,
        "commands": profile.commands,
        "notes": profile.notes,
        "kernels": list(&hotspots.kernels, hotspot),
        // The sum of no kernels is -0.0.
        "kernel_ns": hotspots.total_ns + 0.0,
        "runs": list(&hotspots.runs, |(name, calls, total_ns)| json!({
            "name": name,
            "calls": calls,
            "kernel_ns": total_ns,
        })),
        "idle": idle_time(profile),
        "untimed_launches": hotspots.untimed,
        "devices": devices(profile),
        "any_device_busy_ns": timeline::any_busy(profile),
        "launches": launch_overhead(profile),
        "copies": list(&copies::copies(profile), |copies| json!({
            "direction": copies.direction,
            "count": copies.count,
            "ns": copies.total_ns,
            "bytes": copies.bytes,
            "bytes_per_s": copies.bandwidth(),
        })),
        "calls": called(&api_calls(profile)),
        "markers": called(&marked(profile)),
        "metrics": profile.metrics,
        "machine": profile.system,
        "counters": counter_values(profile),
        "instructions": instructions(profile),
        "occupancy": occupancies(profile),
        "roofline": {
            "ceilings": list(&roofline::measured(profile), |ceiling| json!({
                "name": ceiling.name,
                "value": ceiling.value,
                "unit": ceiling.unit(),
            })),
            "points": list(&roofline::points(profile), |point| json!({
                "kernel": point.kernels.first(),
                "flop": point.flops,
                "bytes": point.bytes,
                "flop_per_byte": point.intensity,
                "gflop_per_s": point.flops_per_s / 1e9,
            })),
        },
    })
}

fn called(calls: &[CallTotals]) -> Vec<Value> {
    let call = |(name, (calls, total_ns)): &CallTotals| json!({"name": name, "calls": calls, "total_ns": total_ns});
    list(calls, call)
}

fn hotspot(kernel: &Hotspot) -> Value {
    json!({
        "name": kernel.name,
        "part": kernel.part,
        "run": kernel.run,
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
    list(&timeline::activity(profile), |activity| {
        json!({
            "device": timeline::device_label(profile, activity.process, activity.agent),
            "span_ns": activity.span.duration(),
            "busy_ns": activity.busy_ns,
            "idle_share": activity.idle_share(),
            "gaps": activity.gaps.len(),
            "longest_gap_ns": activity.gaps.first().map(TimeSpan::duration),
        })
    })
}

fn counter_values(profile: &Profile) -> Vec<Value> {
    list(&counters(profile), |kernel| {
        let derived = DERIVED.iter();
        let derived = derived.filter_map(|metric| Some((metric.name, kernel.derived(metric)?)));
        let means = kernel.counters.iter();
        let means = means.map(|(name, summary)| (name, summary.mean));
        let units = kernel.counters.keys();
        let units = units.map(|name| (name, counter_unit(name)));
        let units = units.filter(|(_, unit)| !unit.is_empty());
        json!({
            "kernel": kernel.kernel,
            "launches": kernel.launches,
            "mean_ns": kernel.mean_ns,
            "derived": derived.collect::<BTreeMap<_, _>>(),
            "mean": means.collect::<BTreeMap<_, _>>(),
            "units": units.collect::<BTreeMap<_, _>>(),
        })
    })
}

/// Idle time of all queues by cause. Without launch calls nothing is known of the host and of launches.
fn idle_time(profile: &Profile) -> Value {
    let idle = idle(profile);
    let [host, launch, copy, kernel, unknown] = idle.by_cause();
    let known = |ns: i64| idle.knows_calls.then_some(ns);
    json!({
        "queues": idle.queues,
        "span_ns": idle.span_ns,
        "idle_ns": idle.whole(),
        "host_ns": known(host),
        "launch_ns": known(launch),
        "copy_ns": copy,
        "kernel_ns": kernel,
        "unknown_ns": unknown,
    })
}

fn instructions(profile: &Profile) -> Vec<Value> {
    list(&profile.instructions, |it| {
        json!({
            "kernel": it.kernel.map(|kernel| profile.name(kernel)),
            "code_object": it.code_object,
            "address": it.address,
            "instruction": profile.name(it.instruction),
            "line": it.line.map(|line| profile.name(line)),
            "waits_for": it.stall.map(|stall| profile.name(stall)),
            "count": it.samples,
            "executed": it.executed,
        })
    })
}

fn occupancies(profile: &Profile) -> Vec<Value> {
    list(&occupancy::kernels(profile), |kernel| {
        json!({
            "kernel": profile.kernel_name(kernel.variant),
            "workgroup": profile.variant(kernel.variant).workgroup,
            "percent": kernel.occupancy.percent(),
            "limited_by": kernel.occupancy.limiter.to_string(),
            "waves": kernel.waves,
            "resident_waves": kernel.resident,
        })
    })
}

pub fn comparison(comparison: &ProfileComparison) -> Value {
    json!({
        "version": VERSION,
        "calls": comparison.calls,
        "total_ns": comparison.total_ns,
        "kernels": list(&comparison.kernels, |kernel| json!({
            "name": kernel.name,
            "change": kernel.change().name(),
            "difference_ns": kernel.difference_ns(),
            "before": kernel.before.as_ref().map(hotspot),
            "after": kernel.after.as_ref().map(hotspot),
        })),
    })
}
