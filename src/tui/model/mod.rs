//! All the full screen knows. [`super::update`] changes it, [`super::view`] draws it.

pub mod attention;
pub mod outline;
pub mod overlay;
pub mod primary;
pub mod run;
pub mod step;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use self::attention::Attention;
use self::outline::OutlineView;
use self::overlay::Overlay;
use self::run::{Phase, Run};
use self::step::StepView;
use super::highlight::Highlighter;
use super::keys::KeyMap;
use super::message::RunId;
use super::theme::Theme;
use crate::lesson::{Course, Lesson, Step};
use crate::recording::Library;
use crate::session::State;
use crate::session::event::StepRef;
use crate::session::runs::MeasuredRuns;

/// Smaller terminals are asked for room.
pub const SMALLEST: (u16, u16) = (60, 20);
/// From this width on the outline stands beside the step.
pub const WIDE: u16 = 100;

#[derive(Debug)]
pub struct Model {
    pub course: Arc<Course>,
    pub state: Arc<State>,
    pub measured: Arc<MeasuredRuns>,
    /// Runs of other machines that can be played.
    pub recordings: Arc<Library>,
    /// Whether runs may find a GPU: without one, recordings are offered.
    pub may_have_gpu: bool,
    /// Where kernels are written.
    pub workbench: PathBuf,
    pub keys: KeyMap,
    pub theme: Theme,
    /// Columns and rows.
    pub size: (u16, u16),
    /// None until it is loaded: code is plain so long.
    pub highlighter: Option<Arc<Highlighter>>,
    /// Since the tutor was started, by a clock that cannot be set; the loop keeps it.
    pub now: Duration,
    pub screen: Screen,
    pub outline: OutlineView,
    pub step: Option<StepView>,
    pub overlay: Option<Overlay>,
    /// One line for the learner; gone with the next key.
    pub notice: Option<Notice>,
    /// In the order they were asked for.
    pub runs: Vec<Run>,
    pub attention: Attention,
    /// Events the disk did not take.
    pub unsaved: usize,
    /// Messages of instructors the learner has opened.
    pub messages_seen: usize,
    /// Whether something changed since the last frame.
    pub dirty: bool,
    pub quitting: bool,
}

/// What gets the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    Outline,
    Step,
}

/// A line for the learner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub is_trouble: bool,
}

impl Model {
    /// A tutor that opens where the learner was.
    pub fn new(course: Arc<Course>, state: Arc<State>, keys: KeyMap, theme: Theme) -> Self {
        let mut model = Self {
            measured: Arc::default(),
            recordings: Arc::default(),
            may_have_gpu: true,
            workbench: PathBuf::new(),
            keys,
            theme,
            size: (80, 24),
            highlighter: None,
            now: Duration::ZERO,
            screen: Screen::Outline,
            outline: OutlineView::default(),
            step: None,
            overlay: None,
            notice: None,
            runs: Vec::new(),
            attention: Attention::default(),
            unsaved: 0,
            messages_seen: state.messages.len(),
            dirty: true,
            quitting: false,
            course,
            state,
        };
        if let Some(at) = model.state.position.clone()
            && model.course.step(&at.lesson, &at.step).is_some()
        {
            model.outline.select(&model.course, &at.lesson);
        }
        model
    }

    /// Whether outline and step stand side by side.
    pub fn is_wide(&self) -> bool {
        self.size.0 >= WIDE
    }

    pub fn is_too_small(&self) -> bool {
        self.size.0 < SMALLEST.0 || self.size.1 < SMALLEST.1
    }

    /// The lesson and step that are open.
    pub fn current(&self) -> Option<(&Lesson, &Step, &StepView)> {
        let view = self.step.as_ref()?;
        let lesson = self.course.lesson(&view.at.lesson)?;
        let step = lesson.step(&view.at.step)?;
        Some((lesson, step, view))
    }

    /// The last run asked for at a step.
    pub fn run_at(&self, at: &StepRef) -> Option<&Run> {
        self.runs.iter().rev().find(|run| run.at == *at)
    }

    pub fn run_mut(&mut self, id: RunId) -> Option<&mut Run> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    /// The run whose process is alive.
    pub fn running(&self) -> Option<&Run> {
        self.runs.iter().find(|run| run.phase.is_alive())
    }

    pub fn queued(&self) -> usize {
        self.runs
            .iter()
            .filter(|run| run.phase == Phase::Queued)
            .count()
    }

    pub fn tell(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            is_trouble: false,
        });
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            is_trouble: true,
        });
    }

    pub fn unread_messages(&self) -> usize {
        self.state.messages.len().saturating_sub(self.messages_seen)
    }
}
