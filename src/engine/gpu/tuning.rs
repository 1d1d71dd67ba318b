//! Progress of tuning: the runtime writes one line for every tuned operation, and this module counts the lines.

use std::path::PathBuf;
use std::sync::OnceLock;

use burn::cubecl::config::CubeClRuntimeConfig;

static DECISIONS: OnceLock<PathBuf> = OnceLock::new();

/// Makes the runtime write its decisions to a file, unless the user's configuration already sends them elsewhere.
pub(super) fn record_decisions(config: &mut CubeClRuntimeConfig) {
    if config.autotune.decisions_enabled() || DECISIONS.get().is_some() {
        return;
    }
    let file = tempfile::Builder::new()
        .prefix("tinyllama-tuning-")
        .suffix(".jsonl")
        .tempfile()
        .and_then(|file| Ok(file.into_temp_path().keep()?));
    // Without the file the first step is reported without a count, which is no reason to fail.
    if let Ok(path) = file {
        config.autotune.decisions.file = Some(path.clone());
        drop(DECISIONS.set(path));
    }
}

/// Returns the number of operations tuned by this process so far; `None` if they are not counted.
pub fn tuned_operations() -> Option<usize> {
    let text = std::fs::read(DECISIONS.get()?).ok()?;
    Some(text.iter().filter(|byte| **byte == b'\n').count())
}

/// Removes the record. Operations tuned later are not counted.
pub fn forget_decisions() {
    if let Some(path) = DECISIONS.get() {
        drop(std::fs::remove_file(path));
    }
}
