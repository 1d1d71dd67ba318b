//! The view of an open step.

use std::cell::Cell;
use std::sync::Arc;

use crate::tui::{Panel, Scroll};
use tinyllama_lesson::MarkedAnswer;
use tinyllama_session::{
    AnswerGiven, CheckResultText, HintStage, StepProgress, StepRef, StepStatus,
};
use tinyllama_tutor_core::profile::ProfileView;
use tinyllama_workbench::KernelFinding;

#[derive(Debug, Default)]
pub struct StepView {
    pub at: StepRef,
    pub scroll: Scroll,
    /// The part of the text that the next frame has to show, wherever the learner scrolled.
    pub reveal: Cell<Option<Reveal>>,
    /// True if the figures fill the screen instead of the text.
    pub panel_open: bool,
    /// The selected line of a menu, in the order shown; `None` before the learner moved to one.
    pub choice: Option<usize>,
    /// True if the learner came back from the lesson's end. Going on from here leads to the next open step.
    pub is_leftover: bool,
    /// The last answer with its explanation.
    pub marked: Option<MarkedAnswer>,
    /// Questions that are asked again, while the open step is one of them.
    pub recall: Option<Recall>,
    pub hints: Vec<HintStage>,
    /// Verdicts of this step's checks that were asked for since it was opened.
    pub outcomes: Vec<CheckResultText>,
    /// Flags that the learner gave last; `None` while they are the step's default.
    pub flags: Option<Vec<String>>,
    pub search: Option<String>,
    /// Figures of the step itself; figures of its runs belong to the runs.
    pub panel: Option<Box<dyn Panel>>,
    pub profile: ProfileView,
    /// The first mistake with a line in the last check of the kernel.
    pub finding: Option<KernelFinding>,
    /// While this is held, the watcher of the kernel file works.
    pub watched: Option<Arc<()>>,
}

/// Earlier questions that are asked again.
#[derive(Clone, Debug)]
pub struct Recall {
    /// Questions after the open one.
    pub left: Vec<StepRef>,
    pub of: usize,
    /// Number of questions that got an answer so far.
    pub answered: usize,
    /// Number of right answers so far.
    pub right: usize,
    /// The step to open afterwards.
    pub then: Option<StepRef>,
}

impl StepView {
    /// Returns the progress of a question that is asked again: earlier answers do not count.
    pub fn recalled(&self) -> Option<StepProgress> {
        self.recall.as_ref()?;
        let given = self.marked.iter().map(|marked| AnswerGiven {
            answer: marked.answer.as_number(),
            correct: marked.correct,
        });
        let status = match &self.marked {
            Some(_) => StepStatus::Done,
            None => StepStatus::Open,
        };
        Some(StepProgress {
            status,
            answers: given.collect(),
            ..StepProgress::default()
        })
    }
}

/// A part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reveal {
    /// The choice under the cursor.
    Choice,
    /// The lines just added at the end.
    News,
}
