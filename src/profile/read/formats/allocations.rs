//! Reads rocprofv3's `memory_allocation_trace` and `scratch_memory_trace`.

use super::{FormatContent, ProfileFormat};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 allocations (CSV)",
    recognises: |file| file.has(&["operation"]) && file.is_timed(),
    read: |reading| reading.rows(|records, row| records.allocation(row)),
    content: FormatContent::Part,
};
