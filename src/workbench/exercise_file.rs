//! Finds, creates and resets the kernel file of a learner.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::exercise::Exercise;
use tinyllama_contract::flags::UsageError;

/// Path of an exercise's file in the `folder` of the session. The current folder is not searched, because its files may be
/// anyone's.
pub fn exercise_path(exercise: &Exercise, folder: &Path) -> PathBuf {
    folder.join(exercise.file_name())
}

/// Writes the starter if there is no file yet, and returns whether it did.
///
/// # Errors
/// Fails if it cannot be written.
pub fn start(exercise: &Exercise, path: &Path) -> Result<bool> {
    if path.exists() {
        return Ok(false);
    }
    write(path, exercise.starter()?)?;
    Ok(true)
}

/// Puts the starter back. The old file is kept in the same folder under the returned name.
///
/// # Errors
/// Fails if there is no file, or it cannot be written.
pub fn reset(exercise: &Exercise, path: &Path) -> Result<PathBuf> {
    let kept = (1..1000)
        .map(|n| path.with_extension(format!("{n}.hip")))
        .find(|kept| !kept.exists());
    let Some(kept) = kept else {
        bail!(
            "{}: there are too many earlier versions next to it",
            path.display()
        );
    };
    fs::rename(path, &kept).map_err(|error| {
        UsageError(format!(
            "{}: {error}; `workbench start {}` writes it",
            path.display(),
            exercise.name
        ))
    })?;
    write(path, exercise.starter()?)?;
    Ok(kept)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let describe = || format!("{}", path.display());
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder).with_context(describe)?;
    }
    fs::write(path, text).with_context(describe)
}
