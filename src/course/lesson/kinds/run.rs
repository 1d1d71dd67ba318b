//! A training run.

use super::*;
use crate::analysis::MetricUnit;
use crate::recording::label;
use crate::session::RunExit;
use tinyllama_base::moment;

#[derive(Clone, Debug)]
pub struct RunStep {
    /// True if the class competes for the fastest correct step.
    pub contest: bool,
}

pub(super) const FACTS: Facts = Facts {
    needs: &["target"],
    may: &[
        "flags",
        "editable",
        "contest",
        "recording",
        "checks",
        "golden",
    ],
    golden: "flags",
    actions: &[
        (Action::View, "figures"),
        (Action::Again, "run again"),
        (Action::Flags, "flags"),
        (Action::Play, "recording"),
    ],
    edits: Some(Editable::Flags),
    figures: Some(Figures::Run),
};

impl StepBehavior for RunStep {
    fn read(_: &mut StepReader, step: &StepDocument) -> Option<Self> {
        let contest = step.contest.unwrap_or(false);
        Some(Self { contest })
    }

    fn minutes(&self, step: &Step) -> (f64, f64) {
        let minutes = match (self.contest, step.editable) {
            (true, _) => 10.0,
            (false, true) => 3.0,
            (false, false) => RUN_MINUTES,
        };
        (minutes, 0.0)
    }

    fn is_done(&self, progress: &StepProgress, state: &SessionState) -> bool {
        progress.has_run(state)
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

    fn job(&self, step: &Step) -> Option<Job> {
        step.target.clone().map(Job::Run)
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
