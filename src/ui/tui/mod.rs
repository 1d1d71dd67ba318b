//! The tutor on a full screen.

pub mod actions;
pub mod help;
pub mod highlight;
pub mod instructor_screen;
pub mod keys;
pub mod markdown;
pub mod model;
pub mod pane;
pub mod panels;
pub mod run_view;
mod runtime;
#[cfg(test)]
pub mod tests;
pub mod theme;
pub mod update;
pub mod view;
pub mod widgets;

pub use highlight::Highlighter;
pub use keys::{Area, Key};
pub use markdown::wrap::{LONGEST_LINE, hanging, wrap, wrap_plain};
pub use model::key_map::{Handler, KeyBinding, KeyMap};
pub use model::message::{Effect, Effects, HandOver, Message, ProfileMessage, RunId, both_effects};
pub use model::occupancy::{OccupancyAnswer, OccupancyPanel};
pub use model::outline::OutlineRow;
pub use model::overlay::{Ask, ChoiceList, Confirm, Overlay, PageEntry, Palette};
pub use model::panel::Panel;
pub use model::run::{PlayedRecording, RunPhase, TutorRun};
pub use model::step::{Reveal, StepView};
pub use model::task::{BackgroundTask, TaskContext};
pub use model::{FocusedScreen, Model, OpenStep};
pub use pane::Pane;
pub use panels::compare::{ComparePanel, ComparedRun};
pub use panels::page::{PageText, TextPage};
pub use panels::roofline::{RooflinePanel, picture_in_ascii};
pub use run_view::{LearnerPrediction, Round, RunContext, RunView};
pub use runtime::Screenful;
pub use theme::Theme;
pub use tinyllama_tutor_core::document::Tone;
pub use tinyllama_tutor_core::request::{News, Reply, SessionRequest};
pub use view::text_area;
pub use widgets::cursor::{Cursor, PanelCommand, Scroll, Tabs, first_shown};
pub use widgets::plot::{Plot, PlotAxis, PlotSeries, PlotShape, Scale};
pub use widgets::snippet::Snippet;
pub use widgets::table::{Cell, TableView};
pub use widgets::text::{
    NOT_REPORTED, PARTS_OF_A_STEP, bar, both_ends, count, cut, duration, grouped, labelled,
    milliseconds, name_lines, paragraph, plain_number, width,
};
pub use widgets::verdict::verdict;

pub use runtime::run;
#[cfg(test)]
pub use tests::{script, sheet};
