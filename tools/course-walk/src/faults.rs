//! Values that a check must not accept, because they mean that something went wrong.
//!
//! A check that passes on a good run may still be worthless if its bound is so wide that nothing can miss it. So each
//! check also gets the values that a plausible fault would produce.

use tinyllama_lesson::{Check, Term};
use tinyllama_runs::{Metric, Statistic};

/// Loss of a model that gives each of the 1000 tokens of the usual vocabulary the same probability: ln 1000.
const IGNORANT_LOSS: f64 = 6.907_755;
/// Losses and counts repeat closely: a tenth off is wrong.
const OFF_BY_A_TENTH: f64 = 1.1;
/// Times scatter, so only half as much again is wrong.
const OFF_BY_HALF: f64 = 1.5;

/// A wrong value, and what would be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fault {
    pub value: f64,
    pub meaning: &'static str,
}

/// The faults for this check; `golden` is the value of a good run.
pub(crate) fn faults(check: &Check, golden: Option<f64>) -> Vec<Fault> {
    let numerator = &check.measure.numerator;
    match &check.measure.denominator {
        Some(denominator) => of_ratio(check, numerator, denominator, golden),
        None => of_figure(check, numerator, golden),
    }
}

/// The faults that the check accepts although it should not.
pub(crate) fn accepted_faults(check: &Check, golden: Option<f64>) -> Vec<Fault> {
    let mut faults = faults(check, golden);
    faults.retain(|fault| check.accepts(fault.value));
    faults
}

fn of_ratio(
    check: &Check,
    numerator: &Term,
    denominator: &Term,
    golden: Option<f64>,
) -> Vec<Fault> {
    match (numerator.metric, denominator.metric) {
        (Metric::FinalLoss, Metric::FirstLoss) => vec![fault(1.0, "a loss that did not fall")],
        (Metric::ParametersWithGradient, Metric::ParameterTensors) => {
            vec![fault(0.99, "a parameter without a gradient")]
        }
        (above, below) if above.unit() == below.unit() => match (check.at_least, check.at_most) {
            (Some(_), Some(_)) => faults_around(check, numerator, golden),
            (Some(_), None) => vec![fault(1.0, "no difference at all")],
            (None, Some(bound)) if bound < 1.0 => vec![fault(1.0, "no difference at all")],
            _ => vec![fault(2.0, "twice as much")],
        },
        _ => Vec::new(),
    }
}

fn of_figure(check: &Check, term: &Term, golden: Option<f64>) -> Vec<Fault> {
    if term.statistic == Statistic::Spread {
        return vec![fault(2.0, "steps that differ by twice their median")];
    }
    match (term.metric, check.at_least, check.at_most) {
        (_, Some(_), Some(_)) => faults_around(check, term, golden),
        (Metric::FirstLoss | Metric::FinalLoss, ..) => {
            vec![fault(
                IGNORANT_LOSS,
                "the loss of a model that knows nothing",
            )]
        }
        (Metric::LossDifference | Metric::GradientDifference, ..) => {
            vec![fault(1e-3, "repeats that differ by a thousandth")]
        }
        (Metric::ParametersWithGradient, None, Some(_)) => {
            vec![fault(2.0, "one more tensor with a gradient")]
        }
        (metric, Some(_), None) if is_counted(metric) => golden
            .map(|value| fault(value / 100.0, "a hundredth of what a good run gives"))
            .into_iter()
            .collect(),
        (metric, None, Some(_)) if is_counted(metric) => golden
            .map(|value| fault(value * 100.0, "a hundred times what a good run gives"))
            .into_iter()
            .collect(),
        // Times and rates of one run depend as much on the machine as on the program.
        _ => Vec::new(),
    }
}

/// Returns whether the figure follows from the model's shape alone.
fn is_counted(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::FlopsPerStep | Metric::BytesPerStep | Metric::Parameters | Metric::ParameterTensors
    )
}

/// Values a little above and below the right one. The right one is the value of a good run; for times it is the
/// middle of the bounds, because times depend as much on the machine.
fn faults_around(check: &Check, term: &Term, golden: Option<f64>) -> Vec<Fault> {
    let middle = check
        .at_least
        .zip(check.at_most)
        .map(|(least, most)| (least + most) / 2.0);
    let measured = golden.filter(|value| check.accepts(*value) && !term.metric.is_per_step());
    let Some(value) = measured.or(middle) else {
        return Vec::new();
    };
    let (factor, more, less) = match term.metric.is_per_step() {
        true => (OFF_BY_HALF, "half as much again", "a third less"),
        false => (OFF_BY_A_TENTH, "a tenth more", "a tenth less"),
    };
    vec![fault(value * factor, more), fault(value / factor, less)]
}

fn fault(value: f64, meaning: &'static str) -> Fault {
    Fault { value, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_lesson::{Course, CourseSource, Quantity};

    fn check(measure: &str, at_least: Option<f64>, at_most: Option<f64>) -> Check {
        let course = Course::load(&CourseSource::BuiltIn).unwrap();
        let known = course.steps().find_map(|(_, step)| step.checks.first());
        Check {
            measure: Quantity::parse(measure, "lesson").unwrap(),
            at_least,
            at_most,
            confidence: None,
            ..known.unwrap().clone()
        }
    }

    /// A correct bound, and the same with two characters wrong, which a good run would still pass.
    #[test]
    fn a_bound_that_lets_a_fault_through_is_noticed() {
        for (measure, golden, right, wrong) in [
            (
                "a.final_loss / a.first_loss",
                0.75,
                (None, Some(0.95)),
                (None, Some(9.5)),
            ),
            (
                "a.first_loss",
                6.95,
                (Some(6.7), Some(7.3)),
                (Some(0.7), Some(7.3)),
            ),
            ("a.first_loss", 250.0, (Some(15.0), None), (Some(1.5), None)),
            (
                "a.parameters_with_gradient / a.parameter_tensors",
                1.0,
                (Some(1.0), None),
                (Some(0.1), None),
            ),
            (
                "a.final_loss / b.final_loss",
                1.0,
                (Some(0.99), Some(1.01)),
                (Some(0.09), Some(1.01)),
            ),
            (
                "a.total_ms / b.total_ms",
                2.0,
                (Some(1.1), None),
                (Some(0.1), None),
            ),
            (
                "a.total_ms / b.total_ms",
                1.0,
                (None, Some(1.05)),
                (None, Some(10.5)),
            ),
            (
                "a.gradient_difference",
                0.0,
                (None, Some(0.0)),
                (None, Some(10.0)),
            ),
            (
                "a.flops_per_step",
                1.7e10,
                (Some(1e9), None),
                (Some(1e1), None),
            ),
            (
                "a.parameters_with_gradient",
                1.0,
                (None, Some(1.0)),
                (None, Some(11.0)),
            ),
            (
                "a.total_ms.spread",
                0.1,
                (None, Some(0.25)),
                (None, Some(2.5)),
            ),
        ] {
            let accepted =
                |(least, most)| accepted_faults(&check(measure, least, most), Some(golden));
            assert_eq!(accepted(right), [], "{measure}");
            assert!(
                check(measure, right.0, right.1).accepts(golden),
                "{measure}"
            );
            assert!(!accepted(wrong).is_empty(), "{measure} with {wrong:?}");
        }
    }
}
