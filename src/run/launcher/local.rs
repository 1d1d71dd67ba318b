//! Runs on this machine.

use std::ffi::OsString;

/// Nothing goes before the program.
pub(super) fn before() -> Vec<OsString> {
    Vec::new()
}
