//! What Enter does at a step: always the one thing the step waits for.

use super::Model;
use super::run::Phase;
use crate::lesson::quiz::Quiz;
use crate::lesson::{Lesson, Step, StepKind};
use crate::recording::Recording;
use crate::session::event::StepRef;
use crate::session::state::{Status, StepProgress};
use crate::tutor::recordings::of_step;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primary {
    Next,
    Guess,
    Answer,
    Number,
    Start,
    Watch,
    Figures,
    Profile,
    Import,
    Open,
    Kernels,
    Write,
}

impl Primary {
    /// For the command bar.
    pub fn does(self) -> &'static str {
        match self {
            Primary::Next => "next step",
            Primary::Guess => "guess",
            Primary::Answer => "answer",
            Primary::Number => "give a number",
            Primary::Start => "start the run",
            Primary::Watch => "watch the run",
            Primary::Figures => "show the figures",
            Primary::Profile => "run the profiler",
            Primary::Import => "import a file",
            Primary::Open => "open in your editor",
            Primary::Kernels => "this project's kernels",
            Primary::Write => "write",
        }
    }
}

impl Model {
    /// None while the step waits for something else.
    pub fn primary(&self) -> Option<Primary> {
        let (lesson, step, view) = self.current()?;
        let progress = self.progress_of(lesson, step);
        let is_done = progress.status == Status::Done;
        Some(match &step.kind {
            StepKind::Read => Primary::Next,
            StepKind::Predict { .. } if progress.prediction.is_some() => Primary::Next,
            StepKind::Predict { .. } => Primary::Guess,
            StepKind::Quiz(_) if is_done => Primary::Next,
            StepKind::Quiz(Quiz::Choices(_)) => Primary::Answer,
            StepKind::Quiz(Quiz::Number(_)) => Primary::Number,
            StepKind::Run { .. } => match self.run_at(&view.at).map(|run| &run.phase) {
                Some(Phase::Queued) => return None,
                Some(Phase::Running | Phase::Stopping) => Primary::Watch,
                _ if is_done => Primary::Next,
                _ => Primary::Start,
            },
            _ if is_done => Primary::Next,
            StepKind::Compare { .. } => Primary::Figures,
            StepKind::Profile { .. } => match &view.profile.prepared {
                _ if view.profile.is_running => return None,
                Some(Ok(prepared)) if prepared.is_installed => Primary::Profile,
                Some(_) => Primary::Import,
                None => return None,
            },
            StepKind::Kernel { file } if self.workbench.join(file).exists() => Primary::Open,
            StepKind::Kernel { .. } => Primary::Kernels,
            StepKind::Reflect => Primary::Write,
        })
    }

    /// The recording of a step's run with the flags it would be started with.
    pub fn recording_at(&self, at: &StepRef) -> Option<&Recording> {
        let step = self.course.step(&at.lesson, &at.step)?;
        of_step(&self.recordings, step, &self.flags_at(at))
    }

    pub fn progress_of(&self, lesson: &Lesson, step: &Step) -> StepProgress {
        self.state
            .step(&lesson.id, &step.id)
            .cloned()
            .unwrap_or_default()
    }

    /// The flags a run at this step would be started with.
    pub fn flags_at(&self, at: &StepRef) -> Vec<String> {
        let given = self
            .step
            .as_ref()
            .filter(|view| view.at == *at)
            .and_then(|view| view.flags.clone())
            .or_else(|| self.run_at(at).map(|run| run.flags.clone()));
        let own = || match self
            .course
            .step(&at.lesson, &at.step)
            .map(|step| &step.kind)
        {
            Some(StepKind::Run { flags, .. } | StepKind::Profile { flags, .. }) => flags.clone(),
            _ => Vec::new(),
        };
        given.unwrap_or_else(own)
    }
}
