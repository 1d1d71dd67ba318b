//! The report as Markdown.

use super::document::Report;
use super::shown::{Limits, shown};

/// The whole report.
pub fn render(report: &Report) -> String {
    super::layout::render("report.md", &shown(report, Limits::NONE))
}
