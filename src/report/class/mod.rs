//! A class on one page: the summary of its members' reports.

pub mod document;
mod merge;
pub mod sources;

pub use document::ClassReport;
pub use merge::merge;

use serde_json::json;

use super::{CheckRow, layout};

/// Largest number of rows in lists that could become very long.
const MOST_ROWS: usize = 40;

/// Writes the class as one page.
pub fn page(class: &ClassReport) -> String {
    let missed = |row: &&CheckRow| row.missed_by > 0 || row.passed < row.learners;
    let missed: Vec<_> = class.checks.iter().filter(missed).collect();
    let mut shown = json!(class);
    shown["missed_checks"] = json!(missed);
    shown["most_rows"] = json!(MOST_ROWS);
    layout::render("class.html", &shown)
}

/// Writes the class as CSV, one table a file. Returns name and content of each.
pub fn tables(class: &ClassReport) -> [(&'static str, String); 4] {
    ["learners.csv", "lessons.csv", "checks.csv", "devices.csv"]
        .map(|name| (name, layout::render(name, class)))
}
