//! Overlays: they cover the screen and get the keys first.

use ratatui_textarea::{CursorMove, TextArea};

use crate::tui::{Cursor, Effects, Model, Panel, RunId, Snippet};
use tinyllama_session::StepRef;

#[derive(Debug)]
pub enum Overlay {
    Panel(Box<dyn Panel>),
    Palette(Palette),
    Ask(Ask),
    Confirm(Confirm),
}

/// A list from which the learner chooses by typing part of a name.
#[derive(Debug, Default)]
pub struct Palette {
    pub query: TextArea<'static>,
    pub cursor: Cursor,
    pub list: ChoiceList,
    /// Number of texts of the history that Up went back.
    pub recalled: usize,
    /// What Enter copies together, in the order of marking.
    pub marked: Vec<Snippet>,
}

/// The entries to choose from.
#[derive(Debug, Default)]
pub enum ChoiceList {
    /// Commands, lessons and pages.
    #[default]
    Everything,
    /// Pages, each under the name that its link has.
    Pages(Vec<PageEntry>),
    /// The learning paths.
    Paths,
    /// Texts that can be copied.
    Copies(Vec<Snippet>),
    /// The commands that this visit ran.
    Commands,
    /// What can be done with one of them, by its index.
    Command(usize),
}

impl ChoiceList {
    /// Returns whether entries can be marked and copied together.
    pub fn takes_marks(&self) -> bool {
        matches!(self, ChoiceList::Copies(_) | ChoiceList::Commands)
    }

    /// Explains what can be typed here.
    pub fn help(&self) -> String {
        let more = match self {
            ChoiceList::Everything => {
                "A command of this program with its flags also runs; Up above the first line brings back what you typed."
            }
            ChoiceList::Paths => "The page \"Paths through the course\" says what each leaves out.",
            list if list.takes_marks() => "Space marks rows, and Enter copies all of them.",
            _ => "",
        };
        format!(
            "Letters of a name shorten this list. Up and down choose, Enter takes, Esc closes. {more}"
        )
    }
}

/// A page: its name and its Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEntry {
    pub name: String,
    pub text: String,
}

/// An input of one or more lines from the learner.
#[derive(Debug)]
pub struct Ask {
    pub title: String,
    /// Explains what to write and what follows from it.
    pub explain: &'static str,
    /// True if the text may have several lines. Another key than Enter then ends the input.
    pub has_lines: bool,
    pub at: StepRef,
    pub then: SubmitText,
    pub input: TextArea<'static>,
    /// The problem with the current input.
    pub problem: Option<String>,
}

/// Uses the text, or returns the problem with it.
pub type SubmitText = fn(&mut Model, StepRef, &str) -> Result<Effects, String>;

/// A question before an action that cannot be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    Stop(RunId),
    Quit,
    /// Delete the marked rows.
    Remove,
}

impl Ask {
    pub fn new(
        at: StepRef,
        title: impl Into<String>,
        explain: &'static str,
        then: SubmitText,
    ) -> Self {
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

    /// Fills the input with `text` and puts the cursor at its end.
    pub fn with_text(mut self, text: &str) -> Self {
        self.input = TextArea::from(text.lines());
        self.input.move_cursor(CursorMove::Bottom);
        self.input.move_cursor(CursorMove::End);
        self
    }

    pub fn text(&self) -> String {
        self.input.lines().join("\n")
    }
}

impl Model {
    /// Opens a list from which the learner chooses.
    pub fn open_list(&mut self, list: ChoiceList) -> Effects {
        self.push_overlay(Overlay::Palette(Palette {
            list,
            ..Palette::default()
        }))
    }
}

impl Palette {
    pub fn text(&self) -> String {
        self.query.lines().join(" ")
    }
}
