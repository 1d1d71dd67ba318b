//! Reads rocprofv3's `kernel_trace`: CSV with one row a launch.

use super::Format;

pub const FORMAT: Format = Format {
    name: "rocprofv3 kernel trace (CSV)",
    recognises: |file| file.names_kernels() && file.has(&["kind"]) && file.is_timed(),
    read: |reading| super::launches::read(reading, false),
};
