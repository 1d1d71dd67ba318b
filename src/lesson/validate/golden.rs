//! Whether a step's golden path fits its kind.

use super::lesson::LessonCheck;
use crate::lesson::course::{Golden, Step, StepKind};
use crate::lesson::locate::Part;

impl LessonCheck<'_> {
    pub(super) fn golden(&mut self, index: usize, step: &Step) {
        let Golden {
            number,
            flags,
            text,
            import,
        } = &step.golden;
        let (needed, wanted, has) = match &step.kind {
            StepKind::Predict { .. } => (true, "number", number.is_some()),
            StepKind::Run { editable, .. } | StepKind::Command { editable, .. } => {
                (*editable, "flags", flags.is_some())
            }
            StepKind::Reflect => (true, "text", text.is_some()),
            StepKind::Profile { .. } => (true, "import", import.is_some()),
            _ => (false, "", false),
        };
        let given = [
            number.is_some(),
            flags.is_some(),
            text.is_some(),
            import.is_some(),
        ];
        let count = given.iter().filter(|given| **given).count();
        if needed && !has {
            self.refuse_in_step(
                index,
                &[Part::Key("golden")],
                format!("the golden path of this step is its `{wanted}`"),
            );
        } else if count > usize::from(has) {
            let allowed = if wanted.is_empty() {
                "nothing".into()
            } else {
                format!("`{wanted}`")
            };
            self.refuse_in_step(
                index,
                &[Part::Key("golden")],
                format!("the golden path of this kind of step holds {allowed}"),
            );
        }
        if number.is_some_and(|number| !number.is_finite()) {
            self.refuse_in_step(index, &[Part::Key("golden")], "the number is not finite");
        }
        let is_goal = matches!(
            step.kind,
            StepKind::Run { editable: true, .. } | StepKind::Command { editable: true, .. }
        );
        if is_goal && step.checked().next().is_none() {
            self.refuse_in_step(
                index,
                &[],
                "flags a learner has to change need a check that tells when they are right",
            );
        }
    }
}
