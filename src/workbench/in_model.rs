//! A learner's kernel in a real training step: what of the exercises V4 has a place for.

use std::path::Path;

use anyhow::{Result, bail};

use super::exercise::{Sizes, find};
use super::file::File;
use super::gpu;
use super::problem::Problem;
use crate::run::UsageError;
use crate::train::KernelInPlace;

/// Exercises whose kernels V4 can take in place of its own.
pub const PLACES: [&str; 4] = ["rmsnorm", "swiglu", "cross-entropy", "adamw"];

/// The kernel of a file, ready to be put in place.
///
/// # Errors
/// Where there is no such place, or the file is no kernel.
pub fn kernel(operation: &str, path: &Path) -> Result<KernelInPlace> {
    if !PLACES.contains(&operation) {
        let places = PLACES.join(", ");
        bail!(UsageError(format!(
            "--kernel {operation}: v4 has places for {places}"
        )));
    }
    let exercise = find(operation)?;
    let file = File::read(path).map_err(|error| UsageError(format!("{error:#}")))?;
    let file =
        file.map_err(|finding| UsageError(format!("{}: {}", path.display(), finding.message)))?;
    if let Some(refused) = file.refused() {
        bail!(UsageError(format!(
            "{}: {}",
            path.display(),
            refused.message
        )));
    }
    let Some(launch) = exercise.launches.first() else {
        bail!("{operation} has no launch");
    };
    Ok(KernelInPlace {
        file: path.to_owned(),
        operation: operation.to_owned(),
        entry: launch.entry.clone(),
        source: gpu::source(&file),
        shape: std::sync::Arc::new(|sizes| {
            let wave = sizes
                .iter()
                .find(|(name, _)| *name == "wave")
                .map_or(64, |(_, wave)| *wave);
            let sizes: Sizes = sizes
                .iter()
                .map(|(name, size)| ((*name).to_owned(), *size as f64))
                .collect();
            Problem::launch_shape(exercise, sizes, wave as u32)
        }),
    })
}
