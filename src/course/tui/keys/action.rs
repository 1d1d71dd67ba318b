//! The actions of keys, and the areas in which they apply.

use crate::tui::PanelAction;
use tinyllama_base::named;

named! {
    /// The area in which an action applies, under its name in the file of keys. The help page keeps this order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Area {
        Step = "step",
        /// A panel of data that fills the screen, over a step.
        Panel = "panel",
        Outline = "outline",
        /// A page over the screen: help, a reference page, messages.
        Page = "page",
        /// The welcome page of a first visit.
        Welcome = "welcome",
        Everywhere = "everywhere",
    }
}

impl Area {
    /// Heading of its actions on the help page.
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

    /// Returns whether a key could mean both. An inner area may redefine a key of the area around it, but no key that
    /// applies everywhere.
    pub fn overlaps(self, other: Area) -> bool {
        self == other || self == Area::Everywhere || other == Area::Everywhere
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Action {
    Help,
    Palette,
    Outline,
    /// Opens the list of paths.
    Path,
    /// Opens the lesson on which the class works.
    ClassLesson,
    /// Opens the panel of this name.
    #[strum(transparent)]
    Panel(&'static str),
    /// Shows what `doctor` reports about this machine.
    Doctor,
    /// Copies to the learner's own clipboard.
    Copy,
    /// Lists the commands that this visit ran.
    Log,
    /// Gives the whole screen to the pane with the keys, or shares it again.
    Zoom,
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
    Machine,
    Import,
    Terminal,
    Skip,
    SkipLesson,
    Search,
    NextMatch,
    PreviousMatch,
    /// Moves on through the text, then through the course.
    Forward,
    /// Runs a finished step once more.
    Again,
    Follow,
    Explain,

    Close,
    /// Moves through a list, a text or figures.
    #[strum(transparent)]
    Move(PanelAction),
}

impl Action {
    /// Its name in the file of keys.
    pub fn name(self) -> String {
        self.to_string()
    }
}
