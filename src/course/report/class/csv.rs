//! Writes the class as CSV, one table a file.

use crate::report::{ClassReport, layout};

/// Returns name and content of each file.
pub fn render(class: &ClassReport) -> [(&'static str, String); 4] {
    ["learners.csv", "lessons.csv", "checks.csv", "devices.csv"]
        .map(|name| (name, layout::render(name, class)))
}
