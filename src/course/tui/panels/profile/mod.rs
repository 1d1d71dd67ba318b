//! What a profiler's files say: hotspots, timeline, launches, counters, occupancy, roofline, and the files.

mod hotspots;
mod sections;
mod tables;
#[cfg(test)]
mod tests;
mod timeline;

use std::sync::Arc;

use super::sections::Sections;
use crate::profiler::read::Import;
use crate::profiler::show::parts::Parts;

/// With kernels named after the `parts` of the model that issued them, as the same run's events tell.
pub fn panel(import: Import, parts: &Parts) -> Sections {
    let sections = sections::of(&Arc::new(import), parts);
    Sections::new(
        sections,
        "No profiler wrote anything here that can be read.",
    )
}
