//! Panels, one file or folder each, and what holds several in one: pages, sections.

pub mod compare;
pub mod doctor;
pub mod kernel;
pub mod kernels;
pub mod lesson_end;
pub mod machine;
pub mod messages;
pub mod occupancy;
pub mod page;
pub mod profile;
pub mod report;
pub mod roofline;
pub mod runs;
pub mod sections;

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
