//! What lies over the screen and gets the keys first.

use ratatui_textarea::{CursorMove, TextArea};

use crate::session::StepRef;
use crate::tui::{Cursor, Effects, Model, Panel, RunId};

#[derive(Debug)]
pub enum Overlay {
    Panel(Box<dyn Panel>),
    Palette(Palette),
    Ask(Ask),
    Confirm(Confirm),
}

/// Something to choose by a part of its name.
#[derive(Debug, Default)]
pub struct Palette {
    pub query: TextArea<'static>,
    pub cursor: Cursor,
    pub list: List,
}

/// What is to be chosen from.
#[derive(Debug, Default)]
pub enum List {
    /// Commands, lessons and pages.
    #[default]
    Everything,
    /// Pages, each with what it is called where it was found.
    Pages(Vec<Shelved>),
    /// What can be copied.
    Copies(Vec<Snippet>),
}

/// Something for the learner's clipboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// Such as `the run's command`.
    pub name: String,
    pub text: String,
}

impl Snippet {
    pub fn new(name: impl Into<String>, text: impl ToString) -> Self {
        Self {
            name: name.into(),
            text: text.to_string(),
        }
    }
}

/// Something to read: what it is called, and its Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shelved {
    pub name: String,
    pub text: String,
}

/// A line, or some lines, of text from the learner.
#[derive(Debug)]
pub struct Ask {
    pub title: String,
    /// What to write, and what comes of it.
    pub explain: &'static str,
    /// Text of several lines is ended by another key than Enter.
    pub has_lines: bool,
    pub at: StepRef,
    pub then: Then,
    pub input: TextArea<'static>,
    /// What is wrong with what stands there.
    pub problem: Option<String>,
}

/// Does what the text is for, or says what is wrong with it.
pub type Then = fn(&mut Model, StepRef, &str) -> Result<Effects, String>;

/// Asks once before something that cannot be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    Stop(RunId),
    Quit,
}

impl Ask {
    pub fn new(at: StepRef, title: impl Into<String>, explain: &'static str, then: Then) -> Self {
        Self {
            title: title.into(),
            explain,
            has_lines: false,
            at,
            then,
            input: TextArea::default(),
            problem: None,
        }
    }

    /// With the cursor behind `text`.
    pub fn with(mut self, text: &str) -> Self {
        self.input = TextArea::from(text.lines());
        self.input.move_cursor(CursorMove::Bottom);
        self.input.move_cursor(CursorMove::End);
        self
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
