//! Writes the report as one HTML file: no script, no external resources, light and dark, printable.

mod axis;
mod charts;
pub(super) mod pictures;

use super::shown::shown;
use crate::{ListLimits, Report, layout};

/// Larger files are a burden in mail.
pub const MOST_BYTES: usize = 500_000;

/// Limits of runs, and of characters per reflection, in the order in which they are tried.
const LIMITS: [(usize, usize); 4] = [(300, 20_000), (150, 5_000), (60, 1_500), (20, 300)];

/// Renders the report, shortened until it fits into [`MOST_BYTES`].
pub fn render(report: &Report) -> String {
    let mut html = String::new();
    for (runs, reflection) in LIMITS {
        html = layout::render(
            "report.html",
            &shown(report, ListLimits { runs, reflection }),
        );
        if html.len() <= MOST_BYTES {
            break;
        }
    }
    html
}
