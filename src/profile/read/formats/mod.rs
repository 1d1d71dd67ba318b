//! The formats that can be read, one file each.

mod agents;
mod allocations;
mod analysis_database;
mod analysis_text;
mod api_trace;
mod compute_ceilings;
mod compute_system;
mod counters;
mod instructions;
pub mod kernel_trace;
mod launches;
mod memory_copies;
mod nsight_compute;
mod nsight_source;
mod refused;
pub mod rocpd;
mod rocprofv3_json;
mod statistics;
mod summary_text;
mod thread_trace;
mod torch_trace;
mod wall_clock;

use super::sample::FileSample;
use super::{FileImport, RowCount};
use tinyllama_base::known_by_name;

/// A format that a profiler writes.
pub struct ProfileFormat {
    /// Name in lists of files. It is unique.
    pub name: &'static str,
    pub recognises: fn(&FileSample<'_>) -> bool,
    /// Adds a file of this format to the profile.
    pub read: fn(&mut FileImport<'_>) -> RowCount,
}

/// All formats. If several recognise a file, the first reads it.
pub static FORMATS: &[ProfileFormat] = &[
    rocpd::FORMAT,
    analysis_database::FORMAT,
    rocprofv3_json::FORMAT,
    torch_trace::FORMAT,
    nsight_source::FORMAT,
    nsight_compute::FORMAT,
    wall_clock::JSON,
    wall_clock::TEXT,
    summary_text::FORMAT,
    analysis_text::FORMAT,
    counters::FORMAT,
    kernel_trace::FORMAT,
    launches::FORMAT,
    refused::DISPATCH_LIST,
    refused::NATIVE_COUNTERS,
    refused::STREAMING_COUNTERS,
    api_trace::FORMAT,
    memory_copies::FORMAT,
    allocations::FORMAT,
    statistics::FORMAT,
    agents::FORMAT,
    instructions::FORMAT,
    thread_trace::FORMAT,
    compute_system::FORMAT,
    compute_ceilings::FORMAT,
    refused::PACKAGE,
    refused::FIRST_ROCPROF_JSON,
    refused::FIRST_ROCPROF_DATABASE,
];

/// Formats that contain all of a run. Other files of the run need not be read.
pub const TELL_ALL: [ProfileFormat; 2] = [rocpd::FORMAT, rocprofv3_json::FORMAT];

/// Tables of launches with their counters.
pub const HAVE_COUNTERS: [ProfileFormat; 2] = [counters::FORMAT, launches::FORMAT];

known_by_name!(ProfileFormat);
