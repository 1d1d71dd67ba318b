//! A training run.

use super::*;
use tinyllama_base::moment;
use tinyllama_lesson::kinds::run::RunStep;
use tinyllama_runs::MetricUnit;
use tinyllama_runs::recording::label;
use tinyllama_session::RunExit;

impl StepBehavior for RunStep {
    fn actions(&self) -> &'static [(Action, &'static str)] {
        &[
            (Action::View, "figures"),
            (Action::Again, "run again"),
            (Action::Flags, "flags"),
            (Action::Play, "recording"),
        ]
    }

    fn edits(&self) -> Option<Editable> {
        Some(Editable::Flags)
    }

    fn figures(&self) -> Option<Figures> {
        Some(Figures::Run)
    }

    fn document(&self, context: &StepContext) -> (Vec<Block>, PrimaryAction) {
        let mut blocks = vec![Block::Job(context.flags.clone())];
        if self.contest {
            blocks.push(Block::text(
                "A contest: the best step of everybody in the class is on the instructor's ladder.",
            ));
        }
        if context.step.editable {
            blocks.push(Block::Flags);
        }
        blocks.push(Block::Offer);
        blocks.extend(earlier(context));
        blocks.push(Block::RunPhase);
        (blocks, PrimaryAction::Start("start the run"))
    }
}

/// Shows how often the run was finished here, and its median step the last time.
fn earlier(context: &StepContext) -> Vec<Block> {
    let runs = context.progress.runs.iter();
    let runs: Vec<_> = runs.filter_map(|id| context.state.runs.get(id)).collect();
    let mut blocks = Vec::new();
    if let Some(run) = runs.last().filter(|run| run.exit == Some(RunExit::Lost)) {
        let text = format!(
            "The end of the run of {} was lost: the tutor ended first.",
            moment(&run.started)
        );
        blocks.push(Block::Text(Tone::Warning, text));
    }
    let finished = runs.iter().filter(|run| run.exit == Some(RunExit::SUCCESS));
    let Some(last) = finished.clone().next_back() else {
        return blocks;
    };
    let mut text = match finished.count() {
        1 => "Run once before".to_string(),
        count => format!("Run {count} times before"),
    };
    if let Some(value) = last.values.get("total_ms") {
        let shown = MetricUnit::Milliseconds.show(*value);
        text.push_str(&format!(", last with {shown} a step"));
    }
    if let Some(origin) = &last.recording {
        text.push_str(&format!(" ({})", label(origin)));
    }
    blocks.push(Block::Text(Tone::Muted, format!("{text}.")));
    blocks
}
