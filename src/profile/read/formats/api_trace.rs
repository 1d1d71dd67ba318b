//! Reads CSV with one row an API call or marker: `hip_api_trace`, `hsa_api_trace`, `marker_api_trace`, `rccl_api_trace`,
//! ….

use super::{FormatContent, ProfileFormat};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 API trace (CSV)",
    recognises: |file| file.has(&["domain", "function"]) && file.is_timed(),
    read: |reading| reading.rows(|records, row| records.call(row)),
    content: FormatContent::Part,
};
