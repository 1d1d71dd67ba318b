//! Reads rocprofv3's `kernel_trace`: CSV with one row a launch.

use super::{FormatContent, ProfileFormat};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 kernel trace (CSV)",
    recognises: |file| file.names_kernels() && file.has(&["kind"]) && file.is_timed(),
    read: |reading| super::launches::read(reading, false),
    content: FormatContent::Part,
};
