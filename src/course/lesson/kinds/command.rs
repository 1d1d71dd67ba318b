//! A command of the tutor, whose document is checked and asked about.

use std::collections::BTreeSet;

use super::*;
use crate::lesson::document::CheckDocument;
use crate::lesson::{LessonCommand, OutputFigure, Runs};
use crate::recording::label;

#[derive(Clone, Debug)]
pub struct CommandStep {
    pub command: LessonCommand,
    /// Conditions that its document has to meet.
    pub expects: Vec<Expect>,
}

pub(super) const FACTS: Facts = Facts {
    needs: &["command"],
    may: &["flags", "editable", "recording", "checks", "golden"],
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
        let expects = expects.filter_map(|(i, check)| expect(reader, i, &step.id, check));
        let expects = expects.collect();
        Some(Self { command, expects })
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
        if let Some(document) = context.measured.document(context.at) {
            let title = match context.measured.recorded(context.at) {
                Some(origin) => format!("It says ({}):", label(origin)),
                None => "It says:".into(),
            };
            blocks.extend([Block::News, Block::Output(title, document.clone())]);
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

fn expect(
    reader: &mut StepReader,
    index: usize,
    step: &str,
    check: &CheckDocument,
) -> Option<Expect> {
    let path = format!("checks/{index}/measure");
    let figure = OutputFigure::parse(&check.measure, &reader.run_name(step));
    let figure = reader.or_refuse(&path, figure)?;
    if check.is.is_none() && check.at_least.is_none() && check.at_most.is_none() {
        reader.refuse(&path, "it needs `at_least`, `at_most` or `is`");
    }
    if check.confidence.is_some() {
        reader.refuse(&path, "a document has no spread: it takes no `confidence`");
    }
    Some(Expect {
        id: check.id.clone(),
        figure,
        at_least: check.at_least,
        at_most: check.at_most,
        is: check.is.clone(),
        required: check.required.unwrap_or(true),
        passed: reader.settled(&path, &check.passed),
        not_yet: reader.settled(&path, &check.not_yet),
    })
}
