//! The tutor on a full screen.

pub mod actions;
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
pub mod task;
#[cfg(test)]
pub mod tests;
pub mod theme;
pub mod update;
pub mod view;

pub use actions::{Handler, KeyBinding};
pub use highlight::Highlighter;
pub use keys::{Area, Key, KeyMap};
pub use markdown::wrap::{LONGEST_LINE, hanging, wrap, wrap_plain};
pub use message::{
    Effect, Effects, HandOver, Message, News, ProfileMessage, Reply, RunId, SessionRequest,
    both_effects,
};
pub use model::outline::OutlineRow;
pub use model::overlay::{Ask, ChoiceList, Confirm, Overlay, PageEntry, Palette, Snippet};
pub use model::run::{PlayedRecording, RunPhase, TutorRun};
pub use model::step::{Reveal, StepView};
pub use model::{FocusedScreen, Model, OpenStep};
pub use pane::Pane;
pub use panel::{Cursor, Panel, PanelCommand, Scroll, Tabs, first_shown};
pub use panels::compare::{ComparePanel, ComparedRun};
pub use panels::page::{PageText, TextPage};
pub use panels::plot::{Plot, PlotAxis, PlotSeries, PlotShape, Scale};
pub use panels::roofline::RooflinePanel;
pub use panels::table::{Cell, TableView, Tone};
pub use panels::text::{
    NOT_REPORTED, PARTS_OF_A_STEP, bar, both_ends, count, cut, duration, grouped, labelled,
    milliseconds, name_lines, paragraph, plain_number, width,
};
pub use run_view::{LearnerPrediction, Round, RunContext, RunView};
pub use runtime::{Screenful, hyperlinks};
pub use task::{BackgroundTask, TaskContext};
pub use theme::Theme;
pub use view::{text_area, verdict};

pub use runtime::run;
#[cfg(test)]
pub use tests::{script, sheet};
