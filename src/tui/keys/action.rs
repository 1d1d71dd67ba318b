//! Everything a key can do.

use super::list::ACTIONS;
use crate::tui::panel::PanelAction;

/// Where an action means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    Everywhere,
    Outline,
    Step,
    /// A panel of data that fills the screen, over a step.
    Panel,
    /// A page to read over whatever is on the screen: help, a reference page, messages.
    Page,
}

impl Area {
    pub const ALL: [Area; 5] = [
        Area::Everywhere,
        Area::Outline,
        Area::Step,
        Area::Panel,
        Area::Page,
    ];

    /// As the file of keys calls it.
    pub fn name(self) -> &'static str {
        match self {
            Area::Everywhere => "everywhere",
            Area::Outline => "outline",
            Area::Step => "step",
            Area::Panel => "panel",
            Area::Page => "page",
        }
    }

    /// Whether a key could be meant for both. An inner area may give a key of the one around it another meaning, but not
    /// one that holds everywhere.
    pub fn meets(self, other: Area) -> bool {
        self == other || self == Area::Everywhere || other == Area::Everywhere
    }
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    Quit,
    Help,
    Palette,
    Outline,
    Redraw,
    Suspend,
    Shell,
    Messages,
    Kernels,
    Report,
    Roofline,

    Open,
    OutlineUp,
    OutlineDown,
    OutlinePageUp,
    OutlinePageDown,
    OutlineTop,
    OutlineBottom,
    Continue,

    Act,
    Back,
    Next,
    Previous,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Hint,
    Flags,
    Stop,
    Play,
    Faster,
    Slower,
    View,
    Check,
    Skip,
    Edit,
    Import,
    Terminal,
    Search,
    NextMatch,
    PreviousMatch,

    PanelUp,
    PanelDown,
    PanelPageUp,
    PanelPageDown,
    PanelTop,
    PanelBottom,
    PanelLeft,
    PanelRight,
    NextSection,
    PreviousSection,
    Sort,
    Toggle,
    Select,
    ClosePanel,

    PageLineUp,
    PageLineDown,
    PageScrollUp,
    PageScrollDown,
    PageTop,
    PageBottom,
    ClosePage,
}

/// An action with its place, its name in files, its usual keys and what it does.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub action: Action,
    pub area: Area,
    pub name: &'static str,
    pub keys: &'static [&'static str],
    pub does: &'static str,
}

impl Action {
    /// Every action is in the list; the list is where its words are.
    pub fn spec(self) -> Option<&'static Spec> {
        ACTIONS.iter().find(|spec| spec.action == self)
    }

    pub fn does(self) -> &'static str {
        self.spec().map_or("", |spec| spec.does)
    }

    /// What it means to a panel.
    pub fn panel(self) -> Option<PanelAction> {
        Some(match self {
            Action::PanelUp => PanelAction::Up,
            Action::PanelDown => PanelAction::Down,
            Action::PanelPageUp => PanelAction::PageUp,
            Action::PanelPageDown => PanelAction::PageDown,
            Action::PanelTop => PanelAction::Top,
            Action::PanelBottom => PanelAction::Bottom,
            Action::PanelLeft => PanelAction::Left,
            Action::PanelRight => PanelAction::Right,
            Action::NextSection => PanelAction::NextSection,
            Action::PreviousSection => PanelAction::PreviousSection,
            Action::Sort => PanelAction::Sort,
            Action::Toggle => PanelAction::Toggle,
            Action::Select => PanelAction::Select,
            _ => return None,
        })
    }

    /// The action that means `action` to a panel.
    pub fn of_panel(action: PanelAction) -> Option<Action> {
        ACTIONS
            .iter()
            .map(|spec| spec.action)
            .find(|candidate| candidate.panel() == Some(action))
    }
}
