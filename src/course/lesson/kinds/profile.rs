//! A profiler's command, run here or elsewhere.

use super::*;
use crate::profiler::commands::ProfileTask;

#[derive(Clone, Debug)]
pub struct ProfileStep {
    pub task: ProfileTask,
}

pub(super) const FACTS: Facts = Facts {
    needs: &["tool", "target", "golden"],
    may: &["task", "flags", "checks"],
    golden: "import",
    actions: &[
        (Action::View, "figures"),
        (Action::Edit, "edit"),
        (Action::Import, "import"),
        (Action::Terminal, "with the terminal"),
        (Action::Copy, "copy"),
    ],
    edits: Some(Editable::ProfilerCommand),
    figures: Some(Figures::Profile),
};

impl StepBehavior for ProfileStep {
    fn read(reader: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let tool = step.tool?;
        let task = reader.or_refuse("task", tool.task(step.task.as_deref()))?;
        Some(Self { task })
    }

    fn minutes(&self, _: &Step) -> (f64, f64) {
        (4.0, 0.0)
    }

    fn is_done(&self, progress: &StepProgress, _: &SessionState) -> bool {
        progress.attempts > 0
    }

    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let profile = context.profile;
        let mut blocks = Vec::new();
        match &profile.prepared {
            None => blocks.push(Block::text("Looking for the profiler…")),
            Some(Err(problem)) => blocks.push(Block::text(problem)),
            Some(Ok(prepared)) => {
                if let Some(line) = profile.line() {
                    blocks.push(Block::Code(line.shell()));
                    blocks.extend(line.notes.iter().map(Block::text));
                }
                blocks.push(Block::text(format!("It shows {}.", prepared.shows)));
                if !prepared.is_installed {
                    let text = format!(
                        "{} is not installed here. {} Or run the command above on a machine that has it, copy the \
                         folder here and import it.",
                        prepared.tool.name(),
                        prepared.tool.how_to_install()
                    );
                    blocks.extend([Block::Blank, Block::Text(Tone::Warning, text)]);
                    let has_sample = context.step.golden.import.is_some();
                    blocks.extend(has_sample.then_some(Block::Sample));
                }
            }
        }
        if profile.is_running || !profile.log.is_empty() {
            let title = match profile.is_running {
                true => "The profiler is running:",
                false => "Its last lines:",
            };
            blocks.extend([Block::News, Block::strong(title)]);
            let lines = profile.log.iter();
            blocks.extend(lines.map(|line| Block::Quote(Tone::Muted, line.clone())));
        }
        blocks.extend(profile.ending.iter().map(Block::text));
        (blocks, PrimaryAction::Profile)
    }
}
