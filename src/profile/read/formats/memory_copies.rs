//! Reads rocprofv3's `memory_copy_trace`.

use super::{FormatContent, ProfileFormat};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 memory copies (CSV)",
    recognises: |file| file.has(&["direction"]) && file.is_timed(),
    read: |reading| reading.rows(|records, row| records.copy(row)),
    content: FormatContent::Part,
};
