//! Counted work against what hardware counters saw.

use serde::Serialize;

use super::points::plain;
use super::{Grain, Roofline};
use crate::profiler::model::Profile;
use crate::profiler::show::roofline::points;

/// A kernel counted both ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterCheck {
    /// As the profiler names it.
    pub kernel: String,
    /// The point it was matched with.
    pub point: String,
    /// A launch, counted from shapes.
    pub counted_flops: f64,
    pub counted_bytes: f64,
    /// A launch, from counters.
    pub counter_flops: f64,
    pub counter_bytes: f64,
}

/// Matches kernels of a profile that collected counters with the roofline's, by name. A pass that takes several kernels has no
/// single one to be compared with and is left out.
pub fn against_counters(roofline: &Roofline, profile: &Profile) -> Vec<CounterCheck> {
    let mut checks = Vec::new();
    for seen in points(profile) {
        let name = plain(&seen.kernel);
        let matching = roofline
            .points
            .iter()
            .filter(|point| point.grain == Grain::Kernel)
            .filter(|point| name.contains(&plain(&point.name)))
            .max_by_key(|point| point.name.len());
        let Some((point, launches)) =
            matching.and_then(|point| Some((point, point.launches.filter(|n| *n > 0.0)?)))
        else {
            continue;
        };
        checks.push(CounterCheck {
            kernel: seen.kernel.clone(),
            point: point.name.clone(),
            counted_flops: point.flops / launches,
            counted_bytes: point.bytes / launches,
            counter_flops: seen.operations,
            counter_bytes: seen.bytes,
        });
    }
    checks
}
