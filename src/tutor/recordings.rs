//! Which recording stands in for a run.

use crate::lesson::{Step, StepKind};
use crate::recording::{Library, Recording};

/// The one that a run step's lesson names, as long as the flags are the step's own; else one of the same switches.
pub fn of_step<'a>(library: &'a Library, step: &Step, flags: &[String]) -> Option<&'a Recording> {
    let StepKind::Run {
        target, flags: own, ..
    } = &step.kind
    else {
        return None;
    };
    let named = step.recording.as_deref().filter(|_| flags == own);
    named
        .and_then(|id| library.find(id).ok())
        .or_else(|| library.of_run(target, flags))
}
