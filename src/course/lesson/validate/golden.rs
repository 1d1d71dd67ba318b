//! Checks whether a step's golden path fits its kind.

use super::lesson::LessonCheck;
use crate::lesson::{Golden, Step, StepKind};

impl LessonCheck<'_> {
    pub(super) fn golden(&mut self, at: &str, step: &Step) {
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
        let given = [number.is_some(), flags.is_some(), text.is_some()];
        let given = given.into_iter().chain([import.is_some()]);
        let count = given.filter(|given| *given).count();
        let path = format!("{at}/golden");
        if needed && !has {
            let message = format!("the golden path of this step is its `{wanted}`");
            self.refuse(&path, message);
        } else if count > usize::from(has) {
            let allowed = match wanted {
                "" => "nothing".into(),
                wanted => format!("`{wanted}`"),
            };
            let message = format!("the golden path of this kind of step holds {allowed}");
            self.refuse(&path, message);
        }
        if number.is_some_and(|number| !number.is_finite()) {
            self.refuse(&path, "the number is not finite");
        }
        let is_goal = matches!(
            step.kind,
            StepKind::Run { editable: true, .. } | StepKind::Command { editable: true, .. }
        );
        if is_goal && step.checked().next().is_none() {
            let message =
                "flags a learner has to change need a check that tells when they are right";
            self.refuse(at, message);
        }
    }
}
