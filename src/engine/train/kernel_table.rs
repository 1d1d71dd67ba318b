//! Turns a profile pass into the table of kernels, and joins each part's work with its measured time.

use std::collections::HashMap;

use crate::model::Part;
use crate::model::work::Work;
use crate::train::{Kernel, KernelLaunch, Kernels, PartWork, Parts, Trace};

/// Sums a pass per kernel and part, longest first.
pub fn kernels(trace: &Trace) -> Kernels {
    let steps = trace.steps.max(1) as f64;
    let mut groups: HashMap<(&'static str, String), Vec<&KernelLaunch>> = HashMap::new();
    for launch in &trace.launches {
        let part = match (launch.part, launch.within) {
            (Part::Backward, Some(within)) => format!("{within} backward"),
            (part, within) => within.unwrap_or(part).to_string(),
        };
        groups
            .entry((launch.kernel, part))
            .or_default()
            .push(launch);
    }
    let mut kernels: Vec<Kernel> = groups
        .into_iter()
        .map(|((kernel, part), launches)| {
            let work: Option<Work> = launches.iter().map(|launch| launch.work).sum();
            Kernel {
                name: short_name(kernel),
                part,
                launches_per_step: launches.len() as f64 / steps,
                device_ms_per_step: device_ms(&launches).map(|total| total / steps),
                fused_operations: mean(launches.iter().filter_map(|l| l.fused_operations)),
                flops_per_step: work.map(|work| work.flops / steps),
                bytes_per_step: work.map(|work| work.bytes / steps),
            }
        })
        .collect();
    kernels.sort_by(|a, b| {
        b.device_ms_per_step
            .partial_cmp(&a.device_ms_per_step)
            .unwrap_or(std::cmp::Ordering::Equal)
            .then(b.launches_per_step.total_cmp(&a.launches_per_step))
            .then(a.name.cmp(&b.name))
            .then(a.part.cmp(&b.part))
    });
    let all: Vec<&KernelLaunch> = trace.launches.iter().collect();
    let span = span_ms(&all).filter(|_| !trace.one_by_one);
    Kernels {
        steps: trace.steps,
        launches_per_step: all.len() as f64 / steps,
        device_ms_per_step: device_ms(&all).map(|total| total / steps),
        span_ms_per_step: span.map(|total| total / steps),
        kernels,
    }
}

/// Joins counted work with the device time that the pass attributes to each part.
pub fn parts(counted: &[(Part, Work)], trace: Option<&Trace>, median_ms: Option<f64>) -> Parts {
    let device_ms = |part: Part| {
        let trace = trace.filter(|trace| !trace.partial)?;
        let launches: Vec<&KernelLaunch> = trace
            .launches
            .iter()
            .filter(|launch| launch.part == part)
            .collect();
        device_ms(&launches).map(|total| total / trace.steps.max(1) as f64)
    };
    let total: Work = counted.iter().map(|(_, work)| *work).sum();
    Parts {
        source: "counted from shapes".into(),
        parts: counted
            .iter()
            .map(|(part, work)| PartWork {
                part: part.to_string(),
                flops: work.flops,
                bytes: work.bytes,
                device_ms: device_ms(*part),
            })
            .collect(),
        flops_per_step: total.flops,
        bytes_per_step: total.bytes,
        achieved_flops_per_s: median_ms
            .filter(|ms| *ms > 0.0)
            .map(|ms| total.flops / (ms / 1e3)),
    }
}

/// Leaves out type paths and generic arguments: `fuse_on_write…` instead of a kilobyte of Rust.
pub fn short_name(kernel: &str) -> String {
    let path = kernel.split('<').next().unwrap_or(kernel);
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

/// Sums the kernels' times in milliseconds. Returns `None` if one has no time stamps, because a partial sum would look
/// complete.
fn device_ms(launches: &[&KernelLaunch]) -> Option<f64> {
    if launches.is_empty() {
        return None;
    }
    launches
        .iter()
        .map(|launch| launch.device.map(|(start, end)| (end - start) * 1e3))
        .sum()
}

fn span_ms(launches: &[&KernelLaunch]) -> Option<f64> {
    let stamps: Option<Vec<(f64, f64)>> = launches.iter().map(|launch| launch.device).collect();
    let stamps = stamps?;
    let start = stamps.iter().map(|(start, _)| *start).reduce(f64::min)?;
    let end = stamps.iter().map(|(_, end)| *end).reduce(f64::max)?;
    Some((end - start) * 1e3)
}

fn mean(values: impl Iterator<Item = usize>) -> Option<f64> {
    let (count, sum) = values.fold((0, 0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum as f64 / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(kernel: &'static str, part: Part, device: Option<(f64, f64)>) -> KernelLaunch {
        KernelLaunch {
            kernel,
            part,
            within: None,
            fused_operations: None,
            work: None,
            device,
        }
    }

    #[test]
    fn kernels_are_summed_per_part_and_the_longest_comes_first() {
        let trace = Trace {
            steps: 2,
            launches: vec![
                launch("a::matmul<f32>", Part::Head, Some((0.0, 0.001))),
                launch("a::matmul<f32>", Part::Head, Some((0.002, 0.004))),
                launch("a::matmul<f32>", Part::Backward, Some((0.004, 0.010))),
            ],
            ..Trace::default()
        };
        let table = kernels(&trace);
        assert_eq!(table.launches_per_step, 1.5);
        assert_eq!(table.kernels[0].part, "backward");
        assert_eq!(table.kernels[0].name, "matmul");
        assert!((table.kernels[1].device_ms_per_step.unwrap() - 1.5).abs() < 1e-9);
        assert!((table.span_ms_per_step.unwrap() - 5.0).abs() < 1e-9);
    }

    #[test]
    fn launches_that_are_not_all_of_a_step_time_no_part() {
        let mut trace = Trace {
            steps: 1,
            launches: vec![launch("k", Part::Loss, Some((0.0, 0.001)))],
            ..Trace::default()
        };
        let counted = [(Part::Loss, Work::default())];
        let time = |trace: &Trace| parts(&counted, Some(trace), None).parts[0].device_ms;
        assert_eq!(time(&trace), Some(1.0));
        trace.partial = true;
        assert_eq!(time(&trace), None);
    }

    #[test]
    fn a_launch_without_stamps_makes_the_sum_unknown() {
        let trace = Trace {
            steps: 1,
            launches: vec![
                launch("k", Part::Loss, Some((0.0, 0.001))),
                launch("k", Part::Loss, None),
            ],
            ..Trace::default()
        };
        assert_eq!(kernels(&trace).device_ms_per_step, None);
    }
}
