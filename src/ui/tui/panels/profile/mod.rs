//! Shows what a profiler's files contain: hotspots, timeline, launches, counters, occupancy, roofline, and the files.

mod hotspots;
mod memory_chart;
mod sections;
mod tables;
#[cfg(test)]
mod tests;
mod timeline;

use std::sync::Arc;

use super::sections::Sections;
use tinyllama_profile::read::Import;
use tinyllama_profile::show::parts::KernelParts;
use tinyllama_profile::show::triage::triage;

/// The panel of an import. `parts` come from the events of the same run and name kernels after the model part that
/// issued them.
pub fn panel(import: Import, parts: &KernelParts) -> Sections {
    let pace = triage(&import.profile).map(|triage| format!("Sets the pace: {triage}"));
    let sections = sections::profile_sections(&Arc::new(import), parts);
    Sections::new(sections, "There is no profile here that can be read.").with_head(pace)
}
