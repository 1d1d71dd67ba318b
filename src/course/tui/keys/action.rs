//! What a key can do, and where.

use crate::tui::PanelAction;
use tinyllama_base::named;

named! {
    /// Where an action means something, as the file of keys calls it; in the order of the help page.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Area {
        Step = "step",
        /// A panel of data that fills the screen, over a step.
        Panel = "panel",
        Outline = "outline",
        /// A page to read over whatever is on the screen: help, a reference page, messages.
        Page = "page",
        /// What a learner sees first.
        Welcome = "welcome",
        Everywhere = "everywhere",
    }
}

impl Area {
    /// Over its actions on the help page.
    pub fn title(self) -> &'static str {
        match self {
            Area::Step => "At a step",
            Area::Panel => "In figures",
            Area::Outline => "In the outline",
            Area::Page => "On a page like this",
            Area::Welcome => "On the first page",
            Area::Everywhere => "Everywhere",
        }
    }

    /// Whether a key could be meant for both. An inner area may give a key of the one around it another meaning, but not
    /// one that holds everywhere.
    pub fn meets(self, other: Area) -> bool {
        self == other || self == Area::Everywhere || other == Area::Everywhere
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Action {
    Help,
    Palette,
    Outline,
    /// Opens the panel of this name.
    #[strum(transparent)]
    Panel(&'static str),
    /// This program's word on the machine.
    Doctor,
    /// To the learner's own clipboard.
    Copy,
    Shell,
    Redraw,
    Suspend,
    Quit,

    Open,
    Continue,
    Begin,

    Act,
    Back,
    Next,
    Previous,
    Hint,
    View,
    Flags,
    Stop,
    Play,
    Faster,
    Slower,
    Check,
    Edit,
    Solution,
    Reset,
    Bench,
    Import,
    Terminal,
    Skip,
    Search,
    NextMatch,
    PreviousMatch,
    /// On through the text, then through the course.
    Forward,
    /// Starts the run of a step that is done once more.
    Again,
    Follow,
    Explain,

    Close,
    /// Through a list, a text, figures.
    #[strum(transparent)]
    Move(PanelAction),
}

impl Action {
    /// As the file of keys calls it.
    pub fn name(self) -> String {
        self.to_string()
    }
}
