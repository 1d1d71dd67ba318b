//! Writes the report as Markdown.

use super::shown::shown;
use crate::report::{ListLimits, Report};

/// Renders the whole report.
pub fn render(report: &Report) -> String {
    super::layout::render("report.md", &shown(report, ListLimits::NONE))
}
