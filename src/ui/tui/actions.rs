//! All actions: one line each, with its area, its usual keys, its description and its function.
//! The key map, the help page, the palette and the command bar are made from this table.

use super::help;
use super::model::key_map::{Binding, Handler, KeyBinding};
use super::panels::{PANELS, machine, occupancy};
use super::update::act::{
    act, check, edit, flags, hint, quit, redraw, run_again, shell, skip, skip_lesson, view, zoom,
};
use super::update::copy::copy;
use super::update::kernel::{bench, reset, solution};
use super::update::log;
use super::update::navigate::{class_lesson, next, open_row, outline, previous, proceed};
use super::update::navigate::{forward, through_outline, through_step};
use super::update::palette::{find, paths};
use super::update::play::{always, faster, play, slower};
use super::update::profile::{import, in_terminal};
use super::update::references::{explain, follow};
use super::update::runs::ask_to_stop;
use super::update::scroll::{close, filter, next_match, panel, previous_match, search};
use super::update::welcome;
use crate::tui::{Area, Effect, Effects, Key, KeyMap, Model};
use tinyllama_tutor_core::{Action, PanelAction};

/// A movement through a list, a text or figures. Each area handles all its movements with one function.
type Motion = (PanelAction, &'static str, &'static str);

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
                (Recordings, "A", "all runs from recordings", Any(always)),
                (Faster, "+", "play faster", Any(faster)),
                (Slower, "-", "play slower", Any(slower)),
                (Check, "c", "check again", Step(check)),
                (Edit, "e", "edit", Step(edit)),
                (Solution, "S", "a kernel's solution", Step(solution)),
                (Reset, "N", "reset the kernel", Step(reset)),
                (Bench, "B", "time the kernel on a GPU", Step(bench)),
                (Machine, "M", "execute it step by step", Step(machine::open)),
                (
                    Occupancy,
                    "O",
                    "registers and waves it gets",
                    Step(occupancy::open),
                ),
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
            let actions = table.bindings.iter().copied().flatten().copied();
            let motions = table.motions.iter().copied().flatten();
            let motions = motions.map(|(motion, keys, does)| {
                (Move(*motion), *keys, *does, Handler::Motion(table.moved))
            });
            actions
                .chain(motions)
                .map(move |(action, keys, does, handler)| Binding {
                    area: table.area,
                    action,
                    handler,
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

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_tutor_core::PanelAction;

    #[test]
    fn the_usual_keys_are_readable_unambiguous_and_every_action_has_one() {
        let map = KeyMap::default();
        assert!(map.conflict().is_none());
        for binding in &map.bindings {
            let name = (binding.area, binding.action);
            assert!(!binding.keys.is_empty(), "{name:?}");
            let named: Vec<_> = map
                .bindings_in(binding.area)
                .filter(|other| other.action.name() == binding.action.name())
                .collect();
            assert_eq!(named.len(), 1, "{name:?}");
        }
    }

    #[test]
    fn an_inner_panel_comes_before_the_screen_around_it() {
        let map = KeyMap::default();
        let find = |areas: &[Area], key: &str| {
            let binding = map.find(areas, Key::parse(key).unwrap())?;
            Some((binding.area, binding.action))
        };
        let down = Action::Move(PanelAction::Down);
        assert_eq!(find(&[Area::Step], "down"), Some((Area::Step, down)));
        assert_eq!(
            find(&[Area::Panel, Area::Step, Area::Everywhere], "down"),
            Some((Area::Panel, down))
        );
        assert_eq!(
            find(&[Area::Step, Area::Everywhere], "q"),
            Some((Area::Everywhere, Action::Quit))
        );
        assert_eq!(find(&[Area::Step], "q"), None);
    }
}
