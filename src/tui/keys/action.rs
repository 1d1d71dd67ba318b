//! What a key can do, and where.

use crate::tui::PanelAction;

/// Where an action means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    Step,
    /// A panel of data that fills the screen, over a step.
    Panel,
    Outline,
    /// A page to read over whatever is on the screen: help, a reference page, messages.
    Page,
    /// What a learner sees first.
    Welcome,
    Everywhere,
}

impl Area {
    /// In the order of the help page.
    pub const ALL: [Area; 6] = [
        Area::Step,
        Area::Panel,
        Area::Outline,
        Area::Page,
        Area::Welcome,
        Area::Everywhere,
    ];

    /// As the file of keys calls it.
    pub fn name(self) -> String {
        kebab(&format!("{self:?}"))
    }

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Help,
    Palette,
    Outline,
    /// Opens the panel of this name.
    Panel(&'static str),
    /// This program's word on the machine.
    Doctor,
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
    Move(PanelAction),
}

impl Action {
    /// As the file of keys calls it.
    pub fn name(self) -> String {
        match self {
            Action::Panel(name) => name.to_owned(),
            Action::Move(action) => kebab(&format!("{action:?}")),
            action => kebab(&format!("{action:?}")),
        }
    }
}

/// `NextMatch` as `next-match`.
fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(c.to_lowercase());
    }
    kebab
}
