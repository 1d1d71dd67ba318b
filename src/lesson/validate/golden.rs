//! Checks whether a step's golden path fits its kind.

use super::lesson::LessonCheck;
use crate::Step;

impl LessonCheck<'_> {
    pub(super) fn golden(&mut self, at: &str, step: &Step) {
        let golden = &step.golden;
        let given = [
            ("number", golden.number.is_some()),
            ("flags", golden.flags.is_some()),
            ("text", golden.text.is_some()),
            ("import", golden.import.is_some()),
        ];
        let keys = step.kind().keys();
        let wanted = keys.golden;
        let needed = step.editable || keys.needs.contains(&"golden");
        let has = given.contains(&(wanted, true));
        let count = given.iter().filter(|(_, is_given)| *is_given).count();
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
        if golden.number.is_some_and(|number| !number.is_finite()) {
            self.refuse(&path, "the number is not finite");
        }
        if step.editable && step.checked().next().is_none() {
            let message =
                "flags a learner has to change need a check that tells when they are right";
            self.refuse(at, message);
        }
    }
}
