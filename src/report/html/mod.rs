//! The report as one HTML file: no script, nothing loaded from elsewhere, light and dark, to be printed.

mod axis;
mod charts;
pub mod markup;
mod page;
mod sections;

pub use page::{Page, page};

use super::document::Report;

/// Larger files are not mailed around gladly.
pub const MOST_BYTES: usize = 500_000;

/// How much of a long session is shown; the JSON document has all of it.
#[derive(Clone, Copy, Debug)]
struct Limits {
    runs: usize,
    /// Characters of a reflection.
    reflection: usize,
}

const LIMITS: [Limits; 4] = [
    Limits {
        runs: 300,
        reflection: 20_000,
    },
    Limits {
        runs: 150,
        reflection: 5_000,
    },
    Limits {
        runs: 60,
        reflection: 1_500,
    },
    Limits {
        runs: 20,
        reflection: 300,
    },
];

/// The whole report, with as much of it as fits in [`MOST_BYTES`].
pub fn render(report: &Report) -> String {
    let mut html = String::new();
    for limits in LIMITS {
        html = sections::render(report, limits);
        if html.len() <= MOST_BYTES {
            break;
        }
    }
    html
}
