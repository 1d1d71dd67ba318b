//! Markdown to read.

use super::*;

#[derive(Clone, Debug)]
pub struct ReadStep;

pub(super) const KEYS: StepKeys = StepKeys::NONE;

impl StepContent for ReadStep {
    fn read(_: &mut StepReader, _: &StepDocument) -> Option<Self> {
        Some(Self)
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (0.0, 0.0)
    }
}
