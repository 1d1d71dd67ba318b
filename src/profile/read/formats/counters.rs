//! Reads CSV with one row a launch and counter: rocprofv3's `counter_collection`, rocprof-compute's long `pmc_perf`.

use super::{FormatContent, ProfileFormat};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "counters, one row each (CSV)",
    recognises: |file| file.names_kernels() && file.has(&["counter_name", "counter_value"]),
    read: |reading| reading.rows(|records, row| records.counter(row)),
    content: FormatContent::Counters,
};
