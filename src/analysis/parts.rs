//! Work and time of the parts of a step. Equal parts of all layers are added up.

use serde::Serialize;

use tinyllama_contract::event::{Kernels, Parts};

/// A kind of part, such as the attention of every layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartSum {
    pub part: String,
    /// Counted from shapes.
    pub flops: f64,
    /// Least bytes to move, counted from shapes.
    pub bytes: f64,
    /// Measured device time a step. Null unless it was reported for every part of this kind.
    pub device_ms: Option<f64>,
}

/// Returns the kind of a part: `layer 3 attention` is of the kind `attention`.
pub fn kind(part: &str) -> &str {
    part.strip_prefix("layer ")
        .and_then(|rest| rest.split_once(' '))
        .map_or(part, |(_, kind)| kind)
}

/// Sums parts of a kind, in the order in which the kinds first occur.
pub fn by_kind(parts: &Parts) -> Vec<PartSum> {
    let mut sums: Vec<PartSum> = Vec::new();
    for part in &parts.parts {
        let kind = kind(&part.part);
        match sums.iter_mut().find(|sum| sum.part == kind) {
            Some(sum) => {
                sum.flops += part.flops;
                sum.bytes += part.bytes;
                sum.device_ms = sum.device_ms.zip(part.device_ms).map(|(a, b)| a + b);
            }
            None => sums.push(PartSum {
                part: kind.to_string(),
                flops: part.flops,
                bytes: part.bytes,
                device_ms: part.device_ms,
            }),
        }
    }
    sums
}

/// Returns whether a part belongs to the forward pass. `layer 3 ffn backward` does not.
pub fn is_forward(part: &str) -> bool {
    let kind = kind(part);
    !(kind.ends_with("backward") || matches!(kind, "optimizer" | "other"))
}

/// Counts the kernels that the forward pass launches.
pub fn forward_launches(kernels: &Kernels) -> f64 {
    let forward = kernels
        .kernels
        .iter()
        .filter(|kernel| is_forward(&kernel.part));
    forward.map(|kernel| kernel.launches_per_step).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_contract::event::PartWork;

    fn part(part: &str, device_ms: Option<f64>) -> PartWork {
        PartWork {
            part: part.into(),
            flops: 10.0,
            bytes: 2.0,
            device_ms,
        }
    }

    #[test]
    fn layers_are_summed_and_a_missing_time_makes_the_sum_unknown() {
        let parts = Parts {
            source: String::new(),
            parts: vec![
                part("layer 0 attention", Some(1.0)),
                part("layer 0 ffn", Some(2.0)),
                part("layer 1 attention", Some(3.0)),
                part("layer 1 ffn", None),
                part("backward", Some(9.0)),
            ],
            flops_per_step: 50.0,
            bytes_per_step: 10.0,
            achieved_flops_per_s: None,
        };
        let sums = by_kind(&parts);
        let names: Vec<&str> = sums.iter().map(|sum| sum.part.as_str()).collect();
        assert_eq!(names, ["attention", "ffn", "backward"]);
        assert_eq!((sums[0].device_ms, sums[0].flops), (Some(4.0), 20.0));
        assert_eq!(sums[1].device_ms, None);
        assert!(is_forward("layer 1 ffn") && !is_forward("backward"));
        assert!(!is_forward("layer 1 ffn backward") && !is_forward("optimizer"));
    }
}
