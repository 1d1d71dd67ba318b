//! The report as one HTML file: no script, nothing loaded from elsewhere, light and dark, to be printed.

mod axis;
mod charts;
pub(super) mod pictures;

use super::shown::shown;
use crate::report::{Limits, Report, layout};

/// Larger files are not mailed around gladly.
pub const MOST_BYTES: usize = 500_000;

/// Runs, and characters of a reflection.
const LIMITS: [(usize, usize); 4] = [(300, 20_000), (150, 5_000), (60, 1_500), (20, 300)];

/// The whole report, with as much of it as fits in [`MOST_BYTES`].
pub fn render(report: &Report) -> String {
    let mut html = String::new();
    for (runs, reflection) in LIMITS {
        html = layout::render("report.html", &shown(report, Limits { runs, reflection }));
        if html.len() <= MOST_BYTES {
            break;
        }
    }
    html
}
