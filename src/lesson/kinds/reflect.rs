//! A question without one right answer: the learner writes for the report.

use super::*;

#[derive(Clone, Debug)]
pub struct ReflectStep;

pub(super) const KEYS: StepKeys = StepKeys {
    needs: &["golden"],
    golden: "text",
    ..StepKeys::NONE
};

impl StepContent for ReflectStep {
    fn read(_: &mut StepReader, _: &StepDocument) -> Option<Self> {
        Some(Self)
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (1.5, 0.0)
    }
}
