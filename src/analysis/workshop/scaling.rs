//! Statements of the workshop's documents about growth with sequence length and batch size, compared with measurements.

use std::collections::BTreeSet;

use super::{ClaimComparison, FIGURES, version};
use crate::scaling::{GrowthExponent, ScalingPoint, Size, SizeAxis, TargetScale};
use tinyllama_base::times;

/// Notes next to the table.
pub const NOTES: [&str; 3] = [
    "Workshop: as printed in the original's documents, on their AMD GPU. Measured: on this machine, exponents between the two largest sizes, where constant costs weigh least.",
    "O(S log S) cannot be right for time: flash attention computes all S x S scores like the others. What it lowers to O(S) is memory. Linear layers grow as S, so an exponent between 1 and 2 is what to expect.",
    "The original's versions 3 and 4 compute a gradient for 1 of 74 parameters; their times are those of a program that does not train. Every version here trains.",
];

/// Compares every claim that the measured sizes of `scales` allow.
pub fn compare_with_claims(scales: &[TargetScale]) -> Vec<ClaimComparison> {
    let stated = &FIGURES.growth;
    let mut confronted = Vec::new();
    for scale in scales {
        let Some(version) = version(&scale.target) else {
            continue;
        };
        let mut grows = |of: &str, claimed: &[String], source: &str| {
            let at_the_end = last_exponent(&scale.growths, of);
            if let Some((claimed, exponent)) = claimed.get(version).zip(at_the_end) {
                let what = format!("{of} with sequence length S");
                confronted.push(ClaimComparison {
                    measured_text: format!("S^{exponent:.2}"),
                    ..claim(what, scale, claimed.clone(), source, exponent)
                });
            }
        };
        grows("time", &stated.time_with_length, "A.2.1");
        grows("memory", &stated.memory_with_length, "V2 document");
        confronted.extend(batches(scale, version));
    }
    confronted.extend(ultra_over_baseline(scales));
    confronted
}

/// A ratio of times and the workshop's statement of it.
fn claim(
    what: String,
    scale: &TargetScale,
    workshop: String,
    source: &str,
    ratio: f64,
) -> ClaimComparison {
    ClaimComparison {
        what,
        version: scale.name.clone(),
        workshop,
        source: source.into(),
        measured: Some(ratio),
        measured_text: times(ratio),
    }
}

/// The exponent in the sequence length between the two largest sizes.
fn last_exponent(growths: &[GrowthExponent], of: &str) -> Option<f64> {
    let growth = growths
        .iter()
        .find(|growth| growth.of == of && growth.axis == SizeAxis::SequenceLength)?;
    let last = growth
        .between_neighbours
        .iter()
        .max_by_key(|local| (local.to.sequence_length, local.to.batch_size))?;
    Some(last.exponent)
}

/// Ratios of time from one batch size of the workshop's table to the next one that ran, at the same sequence length.
fn batches(scale: &TargetScale, version: usize) -> Vec<ClaimComparison> {
    let measured = scale.measured();
    let at = |batch_size: usize, sequence_length: usize| {
        let size = Size {
            sequence_length,
            batch_size,
        };
        measured.iter().find(|cell| cell.size == size)
    };
    let lengths = measured.iter().map(|cell| cell.size.sequence_length);
    let lengths: BTreeSet<usize> = lengths.collect();
    let mut found = Vec::new();
    for length in lengths {
        let stated = FIGURES.growth.time_by_batch.iter();
        let ran: Vec<_> = stated
            .filter_map(|(batch, claimed)| {
                Some((*batch, claimed.get(version)?, at(*batch, length)?))
            })
            .collect();
        for ((small, claimed_small, from), (large, claimed_large, to)) in
            ran.iter().zip(ran.iter().skip(1))
        {
            let what = format!("time from batch {small} to {large}, S {length}");
            let claimed = times(**claimed_large / **claimed_small);
            let ratio = to.step_ms / from.step_ms;
            found.push(claim(what, scale, claimed, "A.2.2", ratio));
        }
    }
    found
}

fn ultra_over_baseline(scales: &[TargetScale]) -> Vec<ClaimComparison> {
    let find = |name: &str| scales.iter().find(|scale| scale.target == name);
    let (Some(baseline), Some(ultra)) = (find("v1"), find("v4")) else {
        return vec![];
    };
    let slow = baseline.measured();
    let beside = |cell: &ScalingPoint| {
        let (length, batch) = (cell.size.sequence_length, cell.size.batch_size);
        let slow = slow.iter().find(|slow| slow.size == cell.size)?;
        let mut stated = FIGURES.growth.v4_by_length.iter();
        let (_, claimed) = stated.find(|(longest, _)| length <= *longest)?;
        let what = format!("speed-up over v1, S {length}, batch {batch}");
        let ratio = slow.step_ms / cell.step_ms;
        Some(claim(what, ultra, claimed.clone(), "V4 document", ratio))
    };
    ultra.measured().into_iter().filter_map(beside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::{ScalingCell, Size, growths};

    fn scale(target: &str, ms: impl Fn(f64, f64) -> f64) -> TargetScale {
        let sizes = [(128, 1), (128, 4), (128, 5), (128, 16), (512, 1), (1024, 1)];
        let cells = sizes.map(|(sequence_length, batch_size)| {
            let step_ms = ms(f64::from(sequence_length), f64::from(batch_size));
            ScalingPoint {
                size: Size {
                    sequence_length: sequence_length as usize,
                    batch_size: batch_size as usize,
                },
                step_ms,
                step_ms_of_rounds: vec![step_ms],
                samples_per_s: 1.0,
                tokens_per_s: 1.0,
                peak_bytes: None,
                launches: None,
                flops: None,
                runs: vec![],
            }
        });
        let growths = growths(&cells, 0.95);
        TargetScale {
            name: target.into(),
            target: target.into(),
            cells: cells.into_iter().map(ScalingCell::Measured).collect(),
            growths,
        }
    }

    #[test]
    fn claims_stand_beside_what_ran_and_nothing_is_said_of_what_did_not() {
        let scales = [
            scale("v1", |length, batch| length.powf(1.5) * batch),
            scale("v4", |length, batch| 0.25 * length.powf(1.5) * batch),
            scale("stage2", |length, batch| length * batch),
        ];
        let found = compare_with_claims(&scales);
        let measured = |what: &str, version: &str| {
            let claim = found
                .iter()
                .find(|claim| claim.what == what && claim.version == version);
            claim.map(|claim| (claim.workshop.clone(), claim.measured.unwrap()))
        };
        let (claimed, exponent) = measured("time with sequence length S", "v4").unwrap();
        assert!(
            claimed == "O(S)" && (exponent - 1.5).abs() < 1e-9,
            "{exponent}"
        );
        let (claimed, ratio) = measured("time from batch 4 to 16, S 128", "v1").unwrap();
        assert!(
            claimed == "3.84x" && (ratio - 4.0).abs() < 1e-9,
            "{claimed} {ratio}"
        );
        let (claimed, ratio) = measured("speed-up over v1, S 512, batch 1", "v4").unwrap();
        assert!(
            claimed == "3.5-4.5x" && (ratio - 4.0).abs() < 1e-9,
            "{claimed} {ratio}"
        );
        // Memory was not reported, batch 5 is in no table, and the documents do not mention stage 2.
        let claims = found
            .iter()
            .map(|claim| format!("{}, {}: {}", claim.version, claim.what, claim.workshop));
        insta::assert_snapshot!(claims.collect::<Vec<_>>().join("\n"));
        assert!(!found.iter().any(|claim| claim.version == "stage2"));
    }
}
