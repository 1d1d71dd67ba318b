//! What lies over the screen and gets the keys first.

use ratatui_textarea::TextArea;

use crate::session::event::StepRef;
use crate::tui::message::RunId;
use crate::tui::panel::Panel;
use crate::tui::panels::kernels::KernelsPanel;
use crate::tui::panels::report::ReportPanel;
use crate::tui::panels::roofline::RooflinePanel;

#[derive(Debug)]
pub enum Overlay {
    Page(Page),
    Figures(Box<Figures>),
    Palette(Palette),
    Ask(Ask),
    Confirm(Confirm),
}

/// A panel that belongs to no step.
#[derive(Debug)]
pub enum Figures {
    Kernels(KernelsPanel),
    Report(ReportPanel),
    Roofline(RooflinePanel),
}

impl Figures {
    pub fn title(&self) -> &'static str {
        match self {
            Figures::Kernels(_) => "Kernels",
            Figures::Report(_) => "Your report",
            Figures::Roofline(_) => "Roofline",
        }
    }

    pub fn panel(&self) -> &dyn Panel {
        match self {
            Figures::Kernels(panel) => panel,
            Figures::Report(panel) => panel,
            Figures::Roofline(panel) => panel,
        }
    }

    pub fn panel_mut(&mut self) -> &mut dyn Panel {
        match self {
            Figures::Kernels(panel) => panel,
            Figures::Report(panel) => panel,
            Figures::Roofline(panel) => panel,
        }
    }
}

/// Something to read.
#[derive(Debug)]
pub struct Page {
    pub title: String,
    pub content: PageContent,
    pub scroll: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub enum PageContent {
    /// The keys, from the key map.
    Help,
    Markdown(String),
}

/// Commands and lessons by a part of their name.
#[derive(Debug, Default)]
pub struct Palette {
    pub query: TextArea<'static>,
    pub cursor: usize,
}

/// A line, or some lines, of text from the learner.
#[derive(Debug)]
pub struct Ask {
    pub question: Question,
    pub input: TextArea<'static>,
    /// What is wrong with what stands there.
    pub problem: Option<String>,
}

/// What the text is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A guess, in this unit.
    Guess(StepRef, String),
    /// A quiz's number, in this unit.
    Number(StepRef, String),
    Flags(StepRef),
    Skip(StepRef),
    Search,
    Reflection(StepRef),
    ProfileCommand(StepRef),
    Import(StepRef),
}

impl Question {
    /// Text of several lines is ended by another key than Enter.
    pub fn has_lines(&self) -> bool {
        matches!(self, Question::Reflection(_))
    }
}

/// Asks once before something that cannot be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirm {
    Stop(RunId),
    Quit,
}

impl Ask {
    /// With the cursor behind `text`.
    pub fn new(question: Question, text: &str) -> Self {
        let mut input = TextArea::from(text.lines());
        input.move_cursor(ratatui_textarea::CursorMove::Bottom);
        input.move_cursor(ratatui_textarea::CursorMove::End);
        Self {
            question,
            input,
            problem: None,
        }
    }

    pub fn text(&self) -> String {
        self.input.lines().join("\n")
    }
}

impl Palette {
    pub fn text(&self) -> String {
        self.query.lines().join(" ")
    }
}
