//! All the full screen knows. [`super::update`] changes it, [`super::view`] draws it.

pub mod attention;
pub mod outline;
pub mod overlay;
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
use crate::lesson::{Course, Deed, Lesson, Step, StepKind};
use crate::recording::Library;
use crate::session::case::Item;
use crate::session::{MeasuredRuns, Standing, State, StepProgress, StepRef};
use crate::tui::{Desk, Effect, Effects, Highlighter, KeyMap, Message, Panel, RunId, Theme};
use crate::tutor::{Recorded, own_flags, recorded};

/// Smaller terminals are asked for room.
pub const SMALLEST: (u16, u16) = (60, 20);
/// From this width on the outline stands beside the step.
pub const WIDE: u16 = 100;
/// From this one on the figures do, too.
pub const WIDEST: u16 = 120;

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
    /// Panels that the overlay was opened from, the latest last: closing it goes back to them.
    pub behind: Vec<Box<dyn Panel>>,
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

/// The step that is open, as the course has it: the model can be changed meanwhile.
#[derive(Clone, Debug)]
pub struct Here<'a> {
    pub lesson: &'a Lesson,
    pub step: &'a Step,
    pub at: StepRef,
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
            behind: Vec::new(),
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
        } else if let Some(lesson) = model.course.lessons().next() {
            // A heading leads nowhere.
            model
                .outline
                .select(&Arc::clone(&model.course), &lesson.id.clone());
            model.outline.open = None;
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

    /// The step that is open.
    pub fn here<'a>(&self, course: &'a Course) -> Option<Here<'a>> {
        let at = self.step.as_ref()?.at.clone();
        let (lesson, step) = course.at(&at)?;
        Some(Here { lesson, step, at })
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

    /// Says something to the learner; nothing else is to be done.
    pub fn tell(&mut self, text: impl Into<String>) -> Effects {
        self.note(text.into(), false)
    }

    pub fn warn(&mut self, text: impl Into<String>) -> Effects {
        self.note(text.into(), true)
    }

    fn note(&mut self, text: String, is_trouble: bool) -> Effects {
        self.notice = Some(Notice { text, is_trouble });
        None
    }

    pub fn unread_messages(&self) -> usize {
        self.state.messages.len().saturating_sub(self.messages_seen)
    }

    pub fn lay(&mut self, overlay: Overlay) -> Effects {
        if let Some(Overlay::Panel(panel)) = self.overlay.replace(overlay) {
            self.behind.push(panel);
        }
        None
    }

    /// Takes the overlay away and goes back to what it was opened from; false where nothing lay over the screen.
    pub fn lift(&mut self) -> bool {
        let was_there = self.overlay.is_some();
        self.overlay = self.behind.pop().map(Overlay::Panel);
        was_there
    }

    /// Back to the screen itself.
    pub fn lift_all(&mut self) {
        self.overlay = None;
        self.behind.clear();
    }

    /// The panel over the screen, if something else lies over that, too.
    pub fn panel_over(&self) -> Option<&dyn Panel> {
        match &self.overlay {
            Some(Overlay::Panel(panel)) => Some(panel.as_ref()),
            _ => self.behind.last().map(Box::as_ref),
        }
    }

    /// Opens a panel over whatever is on the screen.
    pub fn open(&mut self, panel: impl Panel + 'static) -> Effects {
        self.lay(Overlay::Panel(Box::new(panel)))
    }

    /// The same for one that has to read files first.
    pub fn open_later(
        &mut self,
        meanwhile: &'static str,
        load: impl FnOnce(&Desk) -> Result<Box<dyn Panel>, String> + Send + 'static,
    ) -> Effects {
        Some(vec![Effect::work(meanwhile, |desk| {
            Message::Opened(load(desk))
        })])
    }

    /// Whether figures stand beside the step's text.
    pub fn has_figures_beside(&self) -> bool {
        self.size.0 >= WIDEST && self.step_panel().is_some()
    }

    /// A number that no run has.
    pub fn next_run(&self) -> RunId {
        RunId(self.runs.iter().map(|run| run.id.0).max().unwrap_or(0) + 1)
    }

    /// The figures of the step that is open: its own, or those of its run.
    pub fn step_panel(&self) -> Option<&dyn Panel> {
        let view = self.step.as_ref()?;
        match &view.panel {
            Some(panel) => Some(panel.as_ref()),
            None => Some(&self.run_at(&view.at)?.view),
        }
    }

    /// The panel that gets the keys, if one does.
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

    pub fn has_panel_open(&self) -> bool {
        self.step.as_ref().is_some_and(|view| view.panel_open)
    }

    /// The view of a step, as long as it is the one that is open.
    pub fn view_at(&mut self, at: &StepRef) -> Option<&mut StepView> {
        self.step.as_mut().filter(|view| view.at == *at)
    }

    /// The recording of a step's run with the flags it would be started with.
    pub fn recording_at(&self, at: &StepRef) -> Option<Recorded> {
        let step = self.course.step(&at.lesson, &at.step)?;
        recorded(&self.recordings, step, &self.flags_at(at), self.deed())
    }

    /// The choices of a step's question in the order this learner sees them.
    pub fn order_at(&self, at: &StepRef) -> Vec<usize> {
        match self.course.step(&at.lesson, &at.step).map(|it| &it.kind) {
            Some(StepKind::Quiz(quiz)) => quiz.order(&self.state.identity, at),
            _ => Vec::new(),
        }
    }

    /// What can be done about the case that is open.
    pub fn menu(&self) -> Vec<Item> {
        let here = self.here(&self.course);
        match here.map(|here| (&here.step.kind, here.at)) {
            Some((StepKind::Investigate(case), at)) => {
                Standing::of(case, &self.progress_at(&at), &self.state).menu(case)
            }
            _ => Vec::new(),
        }
    }

    /// What the cursor is on in the menu of a case.
    pub fn deed(&self) -> Option<Deed> {
        let place = self.step.as_ref()?.choice?;
        self.menu().get(place).map(|item| item.deed)
    }

    pub fn progress_at(&self, at: &StepRef) -> StepProgress {
        let progress = self.state.step(&at.lesson, &at.step);
        progress.cloned().unwrap_or_default()
    }

    /// The flags a run at this step would be started with.
    pub fn flags_at(&self, at: &StepRef) -> Vec<String> {
        let view = self.step.as_ref().filter(|view| view.at == *at);
        let given = view.and_then(|view| view.flags.clone());
        let last = || self.run_at(at).map(|run| run.flags.clone());
        given.or_else(last).unwrap_or_else(|| {
            let step = self.course.step(&at.lesson, &at.step);
            step.map_or(Vec::new(), |step| own_flags(step).to_vec())
        })
    }
}
