//! The tutor on a full screen.

pub mod actions;
pub mod desk;
pub mod highlight;
pub mod instructor_screen;
pub mod keys;
pub mod markdown;
pub mod message;
pub mod model;
pub mod pane;
pub mod panel;
pub mod panels;
pub mod run_view;
mod runtime;
#[cfg(test)]
pub mod tests;
pub mod theme;
pub mod update;
pub mod view;

pub use actions::{Deed, Do};
pub use desk::{Desk, Work};
pub use highlight::Highlighter;
pub use keys::{Action, Area, Key, KeyMap};
pub use markdown::wrap::{hanging, wrap, wrap_plain};
pub use message::{
    Effect, Effects, HandOver, Message, News, ProfileMessage, Reply, Request, RunId, both,
};
pub use model::outline::Row;
pub use model::overlay::{Ask, Confirm, List, Overlay, Palette, Shelved, Snippet};
pub use model::run::{Phase, Played, Run};
pub use model::step::{Reveal, StepView};
pub use model::{Here, Model, Screen};
pub use pane::Pane;
pub use panel::{Command, Cursor, Panel, PanelAction, Scroll, Tabs};
pub use panels::compare::{ComparePanel, ComparedRun};
pub use panels::page::{Page, Text};
pub use panels::plot::{Axis, Plot, Scale, Series, Shape};
pub use panels::roofline::RooflinePanel;
pub use panels::table::{Cell, Table, Tone};
pub use panels::text::{
    NOT_REPORTED, PARTS_OF_A_STEP, bar, bare, both_ends, count, cut, duration, grouped, labelled,
    milliseconds, name_lines, paragraph, width,
};
pub use run_view::{Prediction, Round, RunContext, RunView};
pub use runtime::Screenful;
pub use theme::Theme;
pub use view::{text_area, verdict};

pub use runtime::run;
#[cfg(test)]
pub use tests::{script, sheet};
