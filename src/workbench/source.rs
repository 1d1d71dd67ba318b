//! Builds the text of a learner's kernel for the compiler.

use super::file::KernelFile;
use crate::compiled::compiler::HAND_WRITTEN;

/// File name under which the compiler and the emulator report lines.
pub const SOURCE: &str = "kernel.hip";

/// Returns declarations, then the file.
pub(super) fn source(file: &KernelFile) -> String {
    format!(
        "#line 1 \"hand_written.h\"\n{HAND_WRITTEN}\n#line 1 \"{SOURCE}\"\n{}",
        // A mark of UTF-8 belongs to the begin of a file only.
        file.text.trim_start_matches('\u{feff}')
    )
}
