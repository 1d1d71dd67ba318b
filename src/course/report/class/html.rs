//! Writes the class as one page.

use serde::Serialize;

use crate::report::{CheckRow, ClassReport, layout};

/// Data of the page.
#[derive(Serialize)]
struct ClassPage<'a> {
    #[serde(flatten)]
    class: &'a ClassReport,
    missed_checks: Vec<&'a CheckRow>,
    /// Largest number of rows in lists that could become very long.
    most_rows: usize,
}

pub fn render(class: &ClassReport) -> String {
    let missed = |row: &&CheckRow| row.missed_by > 0 || row.passed < row.learners;
    let shown = ClassPage {
        class,
        missed_checks: class.checks.iter().filter(missed).collect(),
        most_rows: 40,
    };
    layout::render("class.html", &shown)
}
