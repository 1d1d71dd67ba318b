//! Everything a key can do.

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

const fn spec(
    action: Action,
    area: Area,
    name: &'static str,
    keys: &'static [&'static str],
    does: &'static str,
) -> Spec {
    Spec {
        action,
        area,
        name,
        keys,
        does,
    }
}

/// Every action, in the order the help page lists them.
pub const ACTIONS: &[Spec] = &[
    spec(Action::Help, Area::Everywhere, "help", &["?", "f1"], "help"),
    spec(
        Action::Palette,
        Area::Everywhere,
        "palette",
        &[":", "ctrl-p"],
        "find a command or lesson",
    ),
    spec(
        Action::Outline,
        Area::Everywhere,
        "outline",
        &["o"],
        "outline",
    ),
    spec(
        Action::Messages,
        Area::Everywhere,
        "messages",
        &["m"],
        "messages",
    ),
    spec(
        Action::Kernels,
        Area::Everywhere,
        "kernels",
        &["K"],
        "kernels of this project",
    ),
    spec(
        Action::Shell,
        Area::Everywhere,
        "shell",
        &["!"],
        "a shell; `exit` returns",
    ),
    spec(
        Action::Redraw,
        Area::Everywhere,
        "redraw",
        &["ctrl-l"],
        "draw everything again",
    ),
    spec(
        Action::Suspend,
        Area::Everywhere,
        "suspend",
        &["ctrl-z"],
        "to the shell; `fg` returns",
    ),
    spec(
        Action::Quit,
        Area::Everywhere,
        "quit",
        &["q", "ctrl-c"],
        "quit",
    ),
    spec(
        Action::Open,
        Area::Outline,
        "open",
        &["enter", "right"],
        "open",
    ),
    spec(
        Action::Continue,
        Area::Outline,
        "continue",
        &["c", "esc"],
        "continue where you were",
    ),
    spec(
        Action::OutlineUp,
        Area::Outline,
        "up",
        &["up", "k"],
        "line up",
    ),
    spec(
        Action::OutlineDown,
        Area::Outline,
        "down",
        &["down", "j"],
        "line down",
    ),
    spec(
        Action::OutlinePageUp,
        Area::Outline,
        "page-up",
        &["pageup", "ctrl-b"],
        "page up",
    ),
    spec(
        Action::OutlinePageDown,
        Area::Outline,
        "page-down",
        &["pagedown", "ctrl-f"],
        "page down",
    ),
    spec(
        Action::OutlineTop,
        Area::Outline,
        "top",
        &["home", "g"],
        "first line",
    ),
    spec(
        Action::OutlineBottom,
        Area::Outline,
        "bottom",
        &["end", "G"],
        "last line",
    ),
    spec(
        Action::Act,
        Area::Step,
        "act",
        &["enter"],
        "do what the step asks",
    ),
    spec(Action::Back, Area::Step, "back", &["esc"], "to the outline"),
    spec(
        Action::Next,
        Area::Step,
        "next",
        &["n", "right"],
        "next step",
    ),
    spec(
        Action::Previous,
        Area::Step,
        "previous",
        &["p", "left"],
        "previous step",
    ),
    spec(Action::Hint, Area::Step, "hint", &["h"], "hint"),
    spec(Action::View, Area::Step, "view", &["v", "tab"], "figures"),
    spec(Action::Flags, Area::Step, "flags", &["f"], "change flags"),
    spec(Action::Stop, Area::Step, "stop", &["x"], "stop the run"),
    spec(Action::Check, Area::Step, "check", &["c"], "check again"),
    spec(Action::Edit, Area::Step, "edit", &["e"], "edit"),
    spec(
        Action::Import,
        Area::Step,
        "import",
        &["i"],
        "import a file",
    ),
    spec(
        Action::Terminal,
        Area::Step,
        "terminal",
        &["t"],
        "run with the terminal",
    ),
    spec(Action::Skip, Area::Step, "skip", &["s"], "skip with a note"),
    spec(
        Action::Search,
        Area::Step,
        "search",
        &["/"],
        "search the text",
    ),
    spec(
        Action::NextMatch,
        Area::Step,
        "next-match",
        &[">"],
        "next match",
    ),
    spec(
        Action::PreviousMatch,
        Area::Step,
        "previous-match",
        &["<"],
        "previous match",
    ),
    spec(Action::Up, Area::Step, "up", &["up", "k"], "line up"),
    spec(
        Action::Down,
        Area::Step,
        "down",
        &["down", "j"],
        "line down",
    ),
    spec(
        Action::PageUp,
        Area::Step,
        "page-up",
        &["pageup", "ctrl-b", "b"],
        "page up",
    ),
    spec(
        Action::PageDown,
        Area::Step,
        "page-down",
        &["pagedown", "ctrl-f", "space"],
        "page down",
    ),
    spec(Action::Top, Area::Step, "top", &["home", "g"], "to the top"),
    spec(
        Action::Bottom,
        Area::Step,
        "bottom",
        &["end", "G"],
        "to the end",
    ),
    spec(
        Action::ClosePanel,
        Area::Panel,
        "close",
        &["v", "esc"],
        "back to the text",
    ),
    spec(
        Action::NextSection,
        Area::Panel,
        "next-section",
        &["tab"],
        "next section",
    ),
    spec(
        Action::PreviousSection,
        Area::Panel,
        "previous-section",
        &["shift-tab"],
        "previous section",
    ),
    spec(Action::Sort, Area::Panel, "sort", &["s"], "sort"),
    spec(Action::Toggle, Area::Panel, "toggle", &["t"], "toggle"),
    spec(Action::Select, Area::Panel, "select", &["enter"], "select"),
    spec(Action::PanelUp, Area::Panel, "up", &["up", "k"], "line up"),
    spec(
        Action::PanelDown,
        Area::Panel,
        "down",
        &["down", "j"],
        "line down",
    ),
    spec(Action::PanelLeft, Area::Panel, "left", &["left"], "left"),
    spec(
        Action::PanelRight,
        Area::Panel,
        "right",
        &["right"],
        "right",
    ),
    spec(
        Action::PanelPageUp,
        Area::Panel,
        "page-up",
        &["pageup", "ctrl-b", "b"],
        "page up",
    ),
    spec(
        Action::PanelPageDown,
        Area::Panel,
        "page-down",
        &["pagedown", "ctrl-f", "space"],
        "page down",
    ),
    spec(
        Action::PanelTop,
        Area::Panel,
        "top",
        &["home", "g"],
        "to the top",
    ),
    spec(
        Action::PanelBottom,
        Area::Panel,
        "bottom",
        &["end", "G"],
        "to the end",
    ),
    spec(
        Action::ClosePage,
        Area::Page,
        "close",
        &["esc", "enter"],
        "close",
    ),
    spec(
        Action::PageLineUp,
        Area::Page,
        "up",
        &["up", "k"],
        "line up",
    ),
    spec(
        Action::PageLineDown,
        Area::Page,
        "down",
        &["down", "j"],
        "line down",
    ),
    spec(
        Action::PageScrollUp,
        Area::Page,
        "page-up",
        &["pageup", "ctrl-b", "b"],
        "page up",
    ),
    spec(
        Action::PageScrollDown,
        Area::Page,
        "page-down",
        &["pagedown", "ctrl-f", "space"],
        "page down",
    ),
    spec(
        Action::PageTop,
        Area::Page,
        "top",
        &["home", "g"],
        "to the top",
    ),
    spec(
        Action::PageBottom,
        Area::Page,
        "bottom",
        &["end", "G"],
        "to the end",
    ),
];

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
