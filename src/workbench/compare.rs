//! Compares what a kernel wrote with the correct results.

use itertools::Itertools;

use super::exercise::Exercise;
use super::finding::{FindingKind, KernelAccess, KernelFinding};
use super::judge::KernelOutput;

/// Numbers below this count as 0, because f32 loses digits there.
const SMALLEST: f64 = 1e-30;

/// Largest number of wrong elements that a finding lists.
const TOLD: usize = 3;

/// Compares an output with the expected elements.
pub fn compare(
    exercise: &Exercise,
    name: &str,
    output: &KernelOutput,
    expected: &[f64],
) -> Option<KernelFinding> {
    let is_float = exercise
        .argument(name)
        .is_none_or(|one| one.kind.is_float());
    // Whole numbers are right or wrong.
    let tolerance = if is_float { exercise.tolerance } else { 0.0 };
    let got = |i: usize| match output.words.get(i) {
        Some(bits) if is_float => f64::from(f32::from_bits(*bits)),
        Some(bits) => f64::from(bits.cast_signed()),
        None => f64::NAN,
    };
    let written = |i: usize| output.lines.get(i).copied().unwrap_or(0);
    let typical =
        (expected.iter().map(|x| x * x).sum::<f64>() / expected.len().max(1) as f64).sqrt();
    let right = |i: usize| {
        let distance = (got(i) - expected[i]).abs();
        distance <= tolerance * (expected[i].abs() + typical) + SMALLEST
    };
    let wrong: Vec<usize> = (0..expected.len()).filter(|i| !right(*i)).collect();
    let first = *wrong.first()?;
    // An element that was never written holds a NaN, which should not count as a computed one.
    let nan = wrong
        .iter()
        .copied()
        .find(|i| got(*i).is_nan() && written(*i) > 0);
    let kind = nan.map_or(FindingKind::Wrong, |_| FindingKind::Nan);
    let elements = nan.into_iter().chain(wrong.iter().copied()).unique();
    let short = |value: f64| match is_float {
        true => short(value),
        false => format!("{value:.0}"),
    };
    let elements = elements.take(TOLD).map(|i| match written(i) {
        0 => format!(
            "{name}[{i}]: expected {}, never written",
            short(expected[i])
        ),
        _ if got(i).is_nan() => format!("{name}[{i}] is NaN, expected {}", short(expected[i])),
        _ => format!(
            "{name}[{i}]: expected {}, got {}",
            short(expected[i]),
            short(got(i))
        ),
    });
    let elements = itertools::join(elements, "; ");
    let chosen = nan.unwrap_or(first);
    let message = format!(
        "{} of {} elements of {name} are wrong. {elements}",
        wrong.len(),
        expected.len()
    );
    Some(KernelFinding {
        access: Box::new(KernelAccess {
            element: Some((name.to_owned(), chosen as u64)),
            ..KernelAccess::default()
        }),
        ..KernelFinding::new(kind, Some(written(chosen)), message)
    })
}

/// Formats six digits, as many as f32 holds.
fn short(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        0.0 => "0".into(),
        1e-3..1e6 => {
            let digits = (5 - magnitude.log10().floor() as i32).clamp(0, 8) as usize;
            let text = format!("{value:.digits$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
        _ => format!("{value:.5e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(values: &[f32], lines: &[u32]) -> KernelOutput {
        KernelOutput {
            words: values.iter().map(|value| value.to_bits()).collect(),
            lines: lines.to_vec(),
        }
    }

    #[test]
    fn wrong_elements_are_told_with_the_line_that_wrote_them() {
        let any = crate::find("rmsnorm").unwrap();
        let right = output(&[1.0, 2.0], &[4, 4]);
        assert_eq!(compare(any, "y", &right, &[1.0, 2.000_001]), None);
        let found = compare(any, "y", &output(&[1.0, 2.5], &[4, 5]), &[1.0, 2.0]).unwrap();
        assert_eq!((found.kind, found.line), (FindingKind::Wrong, Some(5)));
        assert!(
            found.message.contains("y[1]: expected 2, got 2.5"),
            "{}",
            found.message
        );
        let found = compare(any, "y", &output(&[1.0, f32::NAN], &[4, 0]), &[1.0, 2.0]).unwrap();
        assert_eq!((found.kind, found.line), (FindingKind::Wrong, None));
        assert!(found.message.contains("never written"), "{}", found.message);
        let found = compare(any, "y", &output(&[0.0, f32::NAN], &[4, 7]), &[1.0, 2.0]).unwrap();
        assert_eq!((found.kind, found.line), (FindingKind::Nan, Some(7)));
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (2.0, "2"),
            (0.1234567, "0.123457"),
            (123456.7, "123457"),
            (1e-9, "1.00000e-9"),
            (100.0, "100"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
