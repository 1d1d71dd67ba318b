//! A command of the tutor, whose document is checked and asked about.

use super::*;
use crate::{LessonCommand, OutputView};

#[derive(Clone, Debug)]
pub struct CommandStep {
    pub command: LessonCommand,
    /// Conditions that its document has to meet.
    pub expects: Vec<Expect>,
    /// Parts of its document that are shown; all of it if there are none.
    pub shows: Vec<OutputView>,
}

pub(super) const KEYS: StepKeys = StepKeys {
    needs: &["command"],
    may: &[
        "shows",
        "flags",
        "editable",
        "recording",
        "on_gpu",
        "checks",
        "golden",
    ],
    golden: "flags",
};

impl StepContent for CommandStep {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let command = LessonCommand::parse(step.command.as_deref()?);
        let command = reader.or_refuse("command", command)?;
        let expects = step.checks.iter().enumerate();
        let expects = expects.filter_map(|(i, check)| Expect::read(reader, i, &step.id, check));
        let expects = expects.collect();
        let shows = step.shows.iter().flatten();
        let shows = shows.map(|view| OutputView::parse(view)).collect();
        let shows = reader.or_refuse("shows", shows)?;
        Some(Self {
            command,
            expects,
            shows,
        })
    }

    fn minutes(&self, step: &Step) -> (f64, f64) {
        (if step.editable { 2.5 } else { RUN_MINUTES }, 0.0)
    }

    fn job(&self, _: &Step) -> Option<Job> {
        Some(Job::Command(self.command))
    }

    fn expects(&self) -> &[Expect] {
        &self.expects
    }
}
