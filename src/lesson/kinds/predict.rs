//! A number to guess before it is measured.

use super::*;
use crate::Quantity;

#[derive(Clone, Debug)]
pub struct PredictStep {
    pub measure: Quantity,
}

pub(super) const KEYS: StepKeys = StepKeys {
    needs: &["measure", "golden"],
    golden: "number",
    ..StepKeys::NONE
};

impl StepContent for PredictStep {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let measure = reader.quantity("measure", step.measure.as_deref()?)?;
        Some(Self { measure })
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (0.5, 0.0)
    }

    fn demands(&self) -> Vec<Demand<'_>> {
        vec![Demand::RunAfter(&self.measure)]
    }

    fn looks_back(&self) -> Vec<&StepRef> {
        self.measure.runs().collect()
    }
}
