//! What a learner can do with a key. The key map decides which key it is.

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
    /// Lets Enter play recordings instead of starting runs.
    Recordings,
    Faster,
    Slower,
    Check,
    Edit,
    Solution,
    Reset,
    Bench,
    Machine,
    /// Shows the registers and waves of a kernel with other settings.
    Occupancy,
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

/// An action in a list, a text or figures. The key map decides which key triggers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum PanelAction {
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Left,
    Right,
    NextSection,
    PreviousSection,
    /// Sorts the table by the next column.
    Sort,
    /// Marks the row, or removes its mark. What follows is about all marked rows. Without rows it moves by a page.
    Mark,
    /// Deletes the marked rows for good.
    Remove,
    /// Switches to the other view of the same data: recent or whole history, by kernel or by part.
    Toggle,
    /// Opens or closes the selected row.
    Select,
}

impl PanelAction {
    /// The opposite direction, for positions that count from the end.
    pub fn reversed(self) -> Self {
        match self {
            PanelAction::Up => PanelAction::Down,
            PanelAction::Down => PanelAction::Up,
            PanelAction::PageUp => PanelAction::PageDown,
            PanelAction::PageDown => PanelAction::PageUp,
            PanelAction::Top => PanelAction::Bottom,
            PanelAction::Bottom => PanelAction::Top,
            action => action,
        }
    }
}
