//! A command of the tutor, whose document is checked and asked about.

use std::collections::BTreeSet;

use super::*;
use crate::lesson::{LessonCommand, Runs};
use crate::recording::label;
use crate::session::MeasuredRuns;
use crate::tutor::output::OutputView;

#[derive(Clone, Debug)]
pub struct CommandStep {
    pub command: LessonCommand,
    /// Conditions that its document has to meet.
    pub expects: Vec<Expect>,
    /// Parts of its document that are shown; all of it if there are none.
    shows: Vec<OutputView>,
}

pub(super) const FACTS: Facts = Facts {
    needs: &["command"],
    may: &[
        "shows",
        "flags",
        "editable",
        "recording",
        "checks",
        "golden",
    ],
    golden: "flags",
    actions: &[(Action::Flags, "flags"), (Action::Play, "recording")],
    edits: Some(Editable::Flags),
    figures: None,
};

impl StepBehavior for CommandStep {
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

    fn is_done(&self, progress: &StepProgress, state: &SessionState) -> bool {
        progress.has_run(state)
    }

    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let mut blocks = vec![Block::Job(context.flags.clone())];
        if context.step.editable {
            blocks.push(Block::Flags);
        }
        blocks.extend([Block::Offer, Block::RunPhase]);
        if let Some(output) = self.output("It says", context.at, context.measured) {
            blocks.extend([Block::News, output]);
        }
        (blocks, PrimaryAction::Start("run the command"))
    }

    fn validate(&self, check: &mut LessonCheck, at: &str, _: usize) {
        let mut ids = BTreeSet::new();
        for (e, expect) in self.expects.iter().enumerate() {
            check.id(&expect.id, &mut ids, "check", &format!("{at}/checks/{e}"));
        }
    }

    fn job(&self, _: &Step) -> Option<Job> {
        Some(Job::Command(self.command))
    }

    fn expects(&self) -> &[Expect] {
        &self.expects
    }
}

impl CommandStep {
    /// Returns what the command of the step at `at` wrote; `None` before its first run.
    pub(crate) fn output(
        &self,
        title: &str,
        at: &StepRef,
        measured: &MeasuredRuns,
    ) -> Option<Block> {
        let document = measured.document(at)?.clone();
        let origin = measured.recorded(at);
        let origin = origin.map_or(String::new(), |origin| format!(" ({})", label(origin)));
        let title = format!("{title}{origin}:");
        Some(Block::Output(title, document, self.shows.clone()))
    }
}
