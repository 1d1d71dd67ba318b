//! All actions: one line each, with its area, its usual keys, its description and its function.
//! The key map, the help page, the palette and the command bar are made from this table.

use std::sync::Arc;

use super::keys::Binding;
use super::panels::{PANELS, help, machine, welcome};
use super::update::act::{
    act, check, edit, flags, hint, quit, redraw, run_again, shell, skip, skip_lesson, view, zoom,
};
use super::update::copy::copy;
use super::update::kernel::{bench, reset, solution};
use super::update::log;
use super::update::navigate::{class_lesson, next, open_row, outline, previous, proceed};
use super::update::navigate::{forward, through_outline, through_step};
use super::update::palette::{find, paths};
use super::update::play::{faster, play, slower};
use super::update::profile::{import, in_terminal};
use super::update::references::{explain, follow};
use super::update::runs::ask_to_stop;
use super::update::scroll::{close, filter, next_match, panel, previous_match, search};
use crate::tui::{Area, Effect, Effects, Key, KeyMap, Model, OpenStep};
use tinyllama_tutor_core::{Action, PanelAction};

/// An action, its usual keys, its description, and its function.
pub type KeyBinding = (Action, &'static str, &'static str, Handler);

/// A movement through a list, a text or figures. Each area handles all its movements with one function.
type Motion = (PanelAction, &'static str, &'static str);

#[derive(Clone, Copy)]
pub enum Handler {
    Any(fn(&mut Model) -> Effects),
    /// Needs an open step.
    Step(fn(&mut Model, &OpenStep) -> Effects),
}

/// The actions of an area.
struct AreaActions {
    area: Area,
    bindings: &'static [&'static [KeyBinding]],
    motions: &'static [&'static [Motion]],
    moved: fn(&mut Model, PanelAction) -> Effects,
}

use Action::*;
use Handler::{Any, Step};
use PanelAction::{
    Bottom, Down, Left, Mark, NextSection, PageDown, PageUp, PreviousSection, Remove, Right,
    Select, Sort, Toggle, Top, Up,
};

const LINES: &[Motion] = &[(Up, "up k", "line up"), (Down, "down j", "line down")];

const PAGES: &[Motion] = &[
    (PageUp, "pageup ctrl-b b", "page up"),
    (PageDown, "space pagedown ctrl-f", "page down"),
    (Top, "home g", "to the top"),
    (Bottom, "end G", "to the end"),
];

/// Actions on the text of a step or a page.
const READING: &[KeyBinding] = &[
    (Search, "/", "search the text", Any(search)),
    (NextMatch, ">", "next match", Any(next_match)),
    (PreviousMatch, "<", "previous match", Any(previous_match)),
    (Follow, "L", "follow a link", Any(follow)),
    (Explain, "w", "explain a word", Any(explain)),
];

static TABLES: [AreaActions; 6] = [
    AreaActions {
        area: Area::Step,
        bindings: &[
            &[
                (Act, "enter", "do what the step asks", Step(act)),
                (Forward, "space", "page down, then next step", Step(forward)),
                (Again, "a", "run again", Step(run_again)),
                (Back, "esc", "to the outline", Any(outline)),
                (Next, "n right", "next step", Step(next)),
                (Previous, "p left", "previous step", Step(previous)),
                (Hint, "h", "hint", Step(hint)),
                (View, "v tab", "figures", Step(view)),
                (Flags, "f", "change flags", Step(flags)),
                (Stop, "x", "stop the run", Any(ask_to_stop)),
                (Play, "r", "play a recording", Step(play)),
                (Faster, "+", "play faster", Any(faster)),
                (Slower, "-", "play slower", Any(slower)),
                (Check, "c", "check again", Step(check)),
                (Edit, "e", "edit", Step(edit)),
                (Solution, "S", "a kernel's solution", Step(solution)),
                (Reset, "N", "reset the kernel", Step(reset)),
                (Bench, "B", "time the kernel on a GPU", Step(bench)),
                (Machine, "M", "execute it step by step", Step(machine::open)),
                (Import, "i", "import a file", Step(import)),
                (Terminal, "t", "run with the terminal", Step(in_terminal)),
                (Skip, "s", "skip with a note", Step(skip)),
                (SkipLesson, "X", "skip the whole lesson", Step(skip_lesson)),
            ],
            READING,
        ],
        motions: &[
            LINES,
            &[
                (PageUp, "pageup ctrl-b b", "page up"),
                (PageDown, "pagedown ctrl-f", "page down"),
                (Top, "home g", "to the top"),
                (Bottom, "end G", "to the end"),
            ],
        ],
        moved: through_step,
    },
    AreaActions {
        area: Area::Panel,
        bindings: &[&[
            (Close, "esc v", "back to the text", Any(close)),
            (Search, "/", "filter the rows", Any(filter)),
        ]],
        motions: &[
            &[
                (NextSection, "tab", "next section"),
                (PreviousSection, "shift-tab", "previous section"),
                (Sort, "s", "sort by the next column"),
                (Toggle, "t", "toggle"),
                (Select, "enter", "select"),
            ],
            LINES,
            &[(Left, "left", "left"), (Right, "right", "right")],
            &[
                (Mark, "space", "mark the row, or page down"),
                (Remove, "delete", "delete marked runs"),
                (PageUp, "pageup ctrl-b b", "page up"),
                (PageDown, "pagedown ctrl-f", "page down"),
                (Top, "home g", "to the top"),
                (Bottom, "end G", "to the end"),
            ],
        ],
        moved: panel,
    },
    AreaActions {
        area: Area::Outline,
        bindings: &[&[
            (Open, "enter right", "open", Any(open_row)),
            (Continue, "c esc", "continue where you were", Any(proceed)),
            (Search, "/", "filter lessons and steps", Any(filter)),
        ]],
        motions: &[
            LINES,
            &[
                (PageUp, "pageup ctrl-b", "page up"),
                (PageDown, "pagedown ctrl-f", "page down"),
                (Top, "home g", "first line"),
                (Bottom, "end G", "last line"),
            ],
        ],
        moved: through_outline,
    },
    AreaActions {
        area: Area::Page,
        bindings: &[&[(Close, "esc enter", "close", Any(close))], READING],
        motions: &[LINES, PAGES],
        moved: panel,
    },
    AreaActions {
        area: Area::Welcome,
        bindings: &[&[
            (Begin, "enter", "train the model now", Any(welcome::begin)),
            (Close, "esc", "all lessons", Any(close)),
        ]],
        motions: &[LINES, PAGES],
        moved: panel,
    },
    AreaActions {
        area: Area::Everywhere,
        bindings: &[
            &[
                (Help, "? f1", "help", Any(help::open)),
                (Palette, ": ctrl-p", "find a command or lesson", Any(find)),
                (Outline, "o", "outline", Any(outline)),
                (Path, "P", "take a part of the course", Any(paths)),
                (
                    ClassLesson,
                    "C",
                    "the lesson of your class",
                    Any(class_lesson),
                ),
            ],
            PANELS,
            &[
                (Copy, "y", "copy a command, path or table", Any(copy)),
                (Log, "@", "commands of this visit", Any(log::open)),
                (Zoom, "z", "this pane alone, or side by side", Any(zoom)),
                (Shell, "!", "a shell; `exit` returns", Any(shell)),
                (Redraw, "ctrl-l", "draw everything again", Any(redraw)),
                (
                    Suspend,
                    "ctrl-z",
                    "to the shell; `fg` returns",
                    Any(|_| Some(vec![Effect::Suspend])),
                ),
                (Quit, "q ctrl-c", "quit", Any(quit)),
            ],
        ],
        motions: &[],
        moved: panel,
    },
];

impl Default for KeyMap {
    fn default() -> Self {
        let bindings = TABLES.iter().flat_map(|table| {
            let case_moves = table.bindings.iter().copied().flatten();
            let case_moves = case_moves.map(|(action, keys, does, _)| (*action, *keys, *does));
            let motions = table.motions.iter().copied().flatten();
            let motions = motions.map(|(motion, keys, does)| (Move(*motion), *keys, *does));
            case_moves
                .chain(motions)
                .map(move |(action, keys, does)| Binding {
                    area: table.area,
                    action,
                    keys: keys
                        .split(' ')
                        .filter_map(|key| Key::parse(key).ok())
                        .collect(),
                    does,
                })
        });
        KeyMap::new(bindings.collect())
    }
}

/// Carries out an action of an area, for a key or for the palette.
pub fn carry_out(model: &mut Model, area: Area, action: Action) -> Effects {
    let table = TABLES.iter().find(|table| table.area == area)?;
    if let Move(motion) = action {
        return (table.moved)(model, motion);
    }
    let mut case_moves = table.bindings.iter().copied().flatten();
    match case_moves
        .find(|case_move| case_move.0 == action)
        .map(|case_move| case_move.3)
    {
        Some(Any(act)) => act(model),
        Some(Step(act)) => {
            let course = Arc::clone(&model.course);
            let here = model.open_step(&course)?;
            act(model, &here)
        }
        None => None,
    }
}
