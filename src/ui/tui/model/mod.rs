//! The state of the full screen. [`super::update`] changes it, [`super::view`] draws it.

pub mod attention;
pub mod key_map;
pub mod log;
pub mod message;
pub mod occupancy;
pub mod outline;
pub mod overlay;
pub mod panel;
pub mod run;
pub mod step;
pub mod task;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use self::attention::AttentionTimer;
use self::log::LoggedCommand;
use self::outline::OutlineView;
use self::overlay::Overlay;
use self::run::{RunPhase, TutorRun};
use self::step::StepView;
use crate::tui::{
    Effect, Effects, Highlighter, KeyMap, Message, OccupancyPanel, Panel, RunId, TaskContext, Theme,
};
use tinyllama_lesson::{CaseMove, Course, Lesson, Step};
use tinyllama_runs::recording::Library;
use tinyllama_session::{MeasuredRuns, SessionState, StepProgress, StepRef};
use tinyllama_tutor_core::document::{MenuAction, MenuLine, StepContext};
use tinyllama_tutor_core::{JobRecording, recorded};

/// On a smaller terminal the tutor asks for more room.
pub const SMALLEST: (u16, u16) = (60, 20);
/// From this width on the outline and the step are shown side by side.
pub const WIDE: u16 = 100;
/// From this width on the figures get a third column.
pub const WIDEST: u16 = 120;

#[derive(Debug, Default)]
pub struct Model {
    pub course: Arc<Course>,
    pub state: Arc<SessionState>,
    pub measured: Arc<MeasuredRuns>,
    /// Recordings of other machines that the learner can play.
    pub recordings: Arc<Library>,
    /// True if runs may find a GPU. Without one, the tutor offers recordings.
    pub may_have_gpu: bool,
    /// True if Enter plays recordings instead of starting runs.
    pub plays_recordings: bool,
    /// The folder in which the learner writes kernels.
    pub workbench: PathBuf,
    pub keys: KeyMap,
    pub theme: Theme,
    /// Columns and rows.
    pub size: (u16, u16),
    /// True if the pane with the keys has the whole screen, and the others are hidden.
    pub is_zoomed: bool,
    /// Names of this program's commands.
    pub program_commands: Vec<String>,
    /// What the learner chose from the palette, by its text; the latest last.
    pub palette_history: Vec<String>,
    /// `None` until it is loaded; code stays plain until then.
    pub highlighter: Option<Arc<Highlighter>>,
    /// Time since the tutor started, by a monotonic clock. The loop updates it.
    pub now: Duration,
    pub screen: FocusedScreen,
    pub outline: OutlineView,
    pub step: Option<StepView>,
    /// The locked lesson that the learner tried to open last. A second try opens it.
    pub tried_lesson: Option<String>,
    pub overlay: Option<Overlay>,
    /// The size of the screen for which this machine is being examined.
    pub examined_for: Option<(u16, u16)>,
    /// Panels that lie under the overlay, the latest last. Closing the overlay shows the last one again.
    pub covered_panels: Vec<Box<dyn Panel>>,
    /// One line for the learner; the next key removes it.
    pub notice: Option<NoticeLine>,
    /// Runs in the order in which the learner asked for them.
    pub runs: Vec<TutorRun>,
    /// Profiles that this visit read, while another step is open.
    pub profiles: Vec<(StepRef, Box<dyn Panel>)>,
    /// The commands that this visit ran, in the order of their starts.
    pub commands: Vec<LoggedCommand>,
    pub attention: AttentionTimer,
    /// Events that are not on the disk yet.
    pub unsaved: usize,
    /// Number of instructors' messages that the learner has opened.
    pub messages_seen: usize,
    /// True if something changed since the last frame.
    pub dirty: bool,
    pub quitting: bool,
}

/// The screen that gets the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FocusedScreen {
    #[default]
    Outline,
    Step,
}

/// The open step as the course has it. It borrows the course, so the model can change meanwhile.
#[derive(Clone, Debug)]
pub struct OpenStep<'a> {
    pub lesson: &'a Lesson,
    pub step: &'a Step,
    pub at: StepRef,
}

/// A line for the learner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeLine {
    pub text: String,
    pub is_trouble: bool,
}

impl Model {
    /// Creates a model that opens at the learner's last position.
    pub fn new(course: Arc<Course>, state: Arc<SessionState>, keys: KeyMap, theme: Theme) -> Self {
        let mut model = Self {
            may_have_gpu: true,
            size: (80, 24),
            messages_seen: state.messages.len() + state.changes.len(),
            dirty: true,
            keys,
            theme,
            course,
            state,
            ..Self::default()
        };
        if let Some(at) = model.state.position.clone()
            && model.course.step(&at.lesson, &at.step).is_some()
        {
            model.outline.select(&model.course, &at.lesson);
        } else if let Some(lesson) = model.course.lessons().next() {
            // A heading has no steps to open.
            model
                .outline
                .select(&Arc::clone(&model.course), &lesson.id.clone());
            model.outline.open = None;
        }
        model
    }

    /// The recording that Enter plays at this step, because the learner asked for recordings or because only a GPU can show
    /// the effect and none was found.
    pub fn recording_instead(&self, at: &StepRef) -> Option<JobRecording> {
        let step = self.course.step(&at.lesson, &at.step)?;
        let is_asked = self.plays_recordings || step.on_gpu && !self.may_have_gpu;
        is_asked.then(|| self.recording_at(at)).flatten()
    }

    /// Returns whether the outline and the step are shown side by side.
    pub fn is_wide(&self) -> bool {
        self.size.0 >= WIDE && !self.is_zoomed
    }

    pub fn is_too_small(&self) -> bool {
        self.size.0 < SMALLEST.0 || self.size.1 < SMALLEST.1
    }

    /// Returns the open step.
    pub fn open_step<'a>(&self, course: &'a Course) -> Option<OpenStep<'a>> {
        let view = self.step.as_ref()?;
        let at = view.at.clone();
        let (lesson, mut step) = course.find_step(&at)?;
        if view.recall.is_some() {
            step = step.asked_again();
        }
        Some(OpenStep { lesson, step, at })
    }

    /// Returns the latest run of a step.
    pub fn run_at(&self, at: &StepRef) -> Option<&TutorRun> {
        self.runs.iter().rev().find(|run| run.at == *at)
    }

    pub fn run_mut(&mut self, id: RunId) -> Option<&mut TutorRun> {
        self.runs.iter_mut().find(|run| run.id == id)
    }

    /// Returns the run whose process is alive.
    pub fn running(&self) -> Option<&TutorRun> {
        self.runs.iter().find(|run| run.phase.is_alive())
    }

    pub fn queued(&self) -> usize {
        self.runs
            .iter()
            .filter(|run| run.phase == RunPhase::Queued)
            .count()
    }

    /// Shows a line to the learner and returns no effects.
    pub fn notify(&mut self, text: impl Into<String>) -> Effects {
        self.note(text.into(), false)
    }

    pub fn warn(&mut self, text: impl Into<String>) -> Effects {
        self.note(text.into(), true)
    }

    fn note(&mut self, text: String, is_trouble: bool) -> Effects {
        self.notice = Some(NoticeLine { text, is_trouble });
        None
    }

    pub fn unread_messages(&self) -> usize {
        let all = self.state.messages.len() + self.state.changes.len();
        all.saturating_sub(self.messages_seen)
    }

    pub fn push_overlay(&mut self, overlay: Overlay) -> Effects {
        if let Some(Overlay::Panel(panel)) = self.overlay.replace(overlay) {
            self.covered_panels.push(panel);
        }
        None
    }

    /// Closes the overlay and shows the panel under it again. Returns false if there was no overlay.
    pub fn pop_overlay(&mut self) -> bool {
        let was_there = self.overlay.is_some();
        self.overlay = self.covered_panels.pop().map(Overlay::Panel);
        was_there
    }

    /// Closes all overlays.
    pub fn clear_overlays(&mut self) {
        self.overlay = None;
        self.covered_panels.clear();
    }

    /// Returns the panel over the screen, also if another overlay covers it.
    pub fn top_panel(&self) -> Option<&dyn Panel> {
        match &self.overlay {
            Some(Overlay::Panel(panel)) => Some(panel.as_ref()),
            _ => self.covered_panels.last().map(Box::as_ref),
        }
    }

    /// Returns whether the panel over the screen has this title.
    pub fn is_on_top(&self, title: &str) -> bool {
        self.top_panel().is_some_and(|top| top.title() == title)
    }

    /// Opens a panel over the screen.
    pub fn open(&mut self, panel: impl Panel + 'static) -> Effects {
        self.push_overlay(Overlay::Panel(Box::new(panel)))
    }

    /// Opens a panel that has to read files first.
    pub fn open_later(
        &mut self,
        meanwhile: &'static str,
        load: impl FnOnce(&TaskContext) -> Result<Box<dyn Panel>, String> + Send + 'static,
    ) -> Effects {
        Some(vec![Effect::background_work(meanwhile, |context| {
            Message::Opened(load(context))
        })])
    }

    /// Returns whether the figures have a column next to the step's text.
    pub fn has_figures_beside(&self) -> bool {
        self.size.0 >= WIDEST && !self.is_zoomed && self.step_panel().is_some()
    }

    /// Returns a number that no run has.
    pub fn next_run(&self) -> RunId {
        RunId(self.runs.iter().map(|run| run.id.0).max().unwrap_or(0) + 1)
    }

    /// Returns the figures of the open step: its own panel, or that of its run.
    pub fn step_panel(&self) -> Option<&dyn Panel> {
        let view = self.step.as_ref()?;
        match &view.panel {
            Some(panel) => Some(panel.as_ref()),
            None => Some(&self.run_at(&view.at)?.view),
        }
    }

    /// Returns the panel that gets the keys, if any.
    pub fn panel_mut(&mut self) -> Option<&mut dyn Panel> {
        if let Some(Overlay::Panel(panel)) = &mut self.overlay {
            return Some(panel.as_mut());
        }
        let view = self.step.as_mut().filter(|view| view.panel_open)?;
        match &mut view.panel {
            Some(panel) => Some(panel.as_mut()),
            None => {
                let mut runs = self.runs.iter_mut().rev();
                Some(&mut runs.find(|run| run.at == view.at)?.view)
            }
        }
    }

    /// Returns the occupancy panel if it is open, also if another overlay covers it.
    pub fn occupancy_panel_mut(&mut self) -> Option<&mut OccupancyPanel> {
        let top = match &mut self.overlay {
            Some(Overlay::Panel(panel)) => Some(panel),
            _ => None,
        };
        let mut panels = top.into_iter().chain(&mut self.covered_panels);
        panels.find_map(|panel| panel.as_occupancy())
    }

    pub fn has_panel_open(&self) -> bool {
        self.step.as_ref().is_some_and(|view| view.panel_open)
    }

    /// Returns the view of a step, if that step is open.
    pub fn view_at(&mut self, at: &StepRef) -> Option<&mut StepView> {
        self.step.as_mut().filter(|view| view.at == *at)
    }

    /// Returns the recording of the run that a step would start with its current flags.
    pub fn recording_at(&self, at: &StepRef) -> Option<JobRecording> {
        let step = self.course.step(&at.lesson, &at.step)?;
        recorded(&self.recordings, step, &self.flags_at(at), self.case_move())
    }

    /// Returns the context that a step's kind reads, as long as the step is open.
    pub(crate) fn context<'a>(&'a self, here: &'a OpenStep) -> Option<StepContext<'a>> {
        let view = self.step.as_ref()?;
        Some(StepContext {
            lesson: here.lesson,
            step: here.step,
            at: &here.at,
            progress: self.progress_at(&here.at),
            state: &self.state,
            measured: &self.measured,
            marked: view.marked.as_ref(),
            flags: self.flags_at(&here.at),
            profile: &view.profile,
            workbench: &self.workbench,
        })
    }

    /// Returns the lines that can be chosen at the open step.
    pub(crate) fn menu(&self) -> Vec<MenuLine> {
        let here = self.open_step(&self.course);
        let menu = here.and_then(|here| Some(self.context(&here)?.menu()));
        menu.unwrap_or_default()
    }

    /// Returns the line of the menu under the cursor.
    pub(crate) fn line(&self) -> Option<MenuLine> {
        let place = self.step.as_ref()?.choice?;
        self.menu().into_iter().nth(place)
    }

    /// Returns the run of a case under the cursor.
    pub fn case_move(&self) -> Option<CaseMove> {
        match self.line()?.act {
            MenuAction::Run(case_move, _) => Some(case_move),
            _ => None,
        }
    }

    pub fn progress_at(&self, at: &StepRef) -> StepProgress {
        let view = self.step.as_ref().filter(|view| view.at == *at);
        let kept = || self.state.step(&at.lesson, &at.step).cloned();
        view.and_then(StepView::recalled)
            .or_else(kept)
            .unwrap_or_default()
    }

    /// Returns the flags with which a run at this step would start.
    pub fn flags_at(&self, at: &StepRef) -> Vec<String> {
        let view = self.step.as_ref().filter(|view| view.at == *at);
        let given = view.and_then(|view| view.flags.clone());
        let last = || self.run_at(at).map(|run| run.flags.clone());
        given.or_else(last).unwrap_or_else(|| {
            let step = self.course.step(&at.lesson, &at.step);
            step.map_or(Vec::new(), |step| step.flags.clone())
        })
    }
}
