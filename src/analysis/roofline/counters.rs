//! Compares counted work with hardware counters.

use serde::Serialize;

use super::points::{is_product, plain};
use tinyllama_base::roofline::{Point, Roofline};
use tinyllama_profile::model::Profile;
use tinyllama_profile::show::roofline::points;

/// FLOP and bytes of one launch of a kernel, counted both ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterCheck {
    /// Name in the profile.
    pub kernel: String,
    /// The matching point of the roofline.
    pub point: String,
    /// From shapes.
    pub counted_flops: f64,
    pub counted_bytes: f64,
    pub counter_flops: f64,
    pub counter_bytes: f64,
}

/// Matches kernels of a profile with counters to the roofline's points by name. A point that sums several kernels, such as
/// all matrix products, has no single kernel to compare with and is left out.
pub fn against_counters(roofline: &Roofline, profile: &Profile) -> Vec<CounterCheck> {
    points(profile)
        .iter()
        .filter_map(|seen| check(roofline, seen))
        .collect()
}

fn check(roofline: &Roofline, seen: &Point) -> Option<CounterCheck> {
    let kernel = seen.kernels.first()?;
    let name = plain(kernel);
    let (point, _) = roofline
        .points
        .iter()
        .filter_map(|point| match point.kernels.as_slice() {
            [single] if !is_product(&point.name) => Some((point, plain(single))),
            _ => None,
        })
        .filter(|(_, single)| name.contains(single.as_str()))
        // The longest name wins, because a naive kernel's name may contain that of another kernel.
        .max_by_key(|(_, single)| single.len())?;
    let launches = point.launches.filter(|launches| *launches > 0.0)?;
    Some(CounterCheck {
        kernel: kernel.clone(),
        point: point.name.clone(),
        counted_flops: point.flops / launches,
        counted_bytes: point.bytes / launches,
        counter_flops: seen.flops,
        counter_bytes: seen.bytes,
    })
}
