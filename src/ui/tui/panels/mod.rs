//! Panels, one file or folder each, and their building blocks: tables, plots, pages, sections.

pub mod compare;
pub mod doctor;
pub mod help;
pub mod kernel;
pub mod kernels;
pub mod lesson_end;
pub mod machine;
pub mod messages;
pub mod page;
pub mod plot;
pub mod profile;
pub mod report;
pub mod roofline;
pub mod runs;
pub mod sections;
pub mod table;
pub mod text;
pub mod welcome;

use crate::tui::KeyBinding;

/// The panels that open from anywhere. Their keys and their entries in the palette and on the help page follow from
/// these lines.
pub const PANELS: &[KeyBinding] = &[
    messages::PANEL,
    kernels::PANEL,
    report::PANEL,
    runs::PANEL,
    roofline::PANEL,
    doctor::PANEL,
];
