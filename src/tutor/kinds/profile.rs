//! A profiler's command, run here or elsewhere.

use super::*;
use tinyllama_lesson::kinds::profile::ProfileStep;

impl StepBehavior for ProfileStep {
    fn actions(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::View, "figures"),
            (Action::Edit, "edit"),
            (Action::Import, "import"),
            (Action::Terminal, "with the terminal"),
            (Action::Copy, "copy"),
        ]
    }

    fn edits(&self) -> Option<Editable> {
        Some(Editable::ProfilerCommand)
    }

    fn figures(&self) -> Option<Figures> {
        Some(Figures::Profile)
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
                        "{} is not installed here; the last hint says how to install it. Or run the command above on \
                         a machine that has it, copy the folder here and import it.",
                        prepared.tool.name()
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
        blocks.extend(
            profile
                .ending
                .iter()
                .chain(&profile.nothing)
                .map(Block::text),
        );
        (blocks, PrimaryAction::Profile)
    }
}
