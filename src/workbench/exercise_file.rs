//! Finds, creates and resets the kernel file of a learner.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::exercise::Exercise;
use super::file::MOST_BYTES;
use tinyllama_base::safe_path::folder_of;
use tinyllama_base::untrusted;
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
/// Fails if there is no file, if it is not one of an exercise, or if it cannot be written.
pub fn reset(exercise: &Exercise, path: &Path) -> Result<PathBuf> {
    let name = path.display();
    let found = fs::symlink_metadata(path).map_err(|error| {
        let start = format!("`workbench start {}` writes it", exercise.name);
        UsageError(format!("{name}: {error}; {start}"))
    })?;
    if !found.is_file() || !is_of_exercise(exercise, path) {
        let why = "it is not the file of an exercise, so it stays as it is: name a regular file with a kernel";
        bail!(UsageError(format!(
            "{name}: {why}, such as {}",
            exercise.file_name()
        )));
    }
    let kept = (1..1000)
        .map(|n| path.with_extension(format!("{n}.hip")))
        .find(|kept| !kept.exists());
    let Some(kept) = kept else {
        bail!("{name}: there are too many earlier versions next to it");
    };
    fs::rename(path, &kept).map_err(|error| UsageError(format!("{name}: {error}")))?;
    write(path, exercise.starter()?)?;
    Ok(kept)
}

/// Whether a file is one that learners write a kernel in: by its name, or by a kernel in it.
fn is_of_exercise(exercise: &Exercise, path: &Path) -> bool {
    let has_kernel = || {
        let text = untrusted::read_text(path, MOST_BYTES);
        text.is_ok_and(|text| text.contains("__global__"))
    };
    let name = path
        .file_name()
        .is_some_and(|name| name == exercise.file_name().as_str());
    let is_hip = path.extension().is_some_and(|extension| extension == "hip");
    name || is_hip && has_kernel()
}

/// Writes a new file, and does not follow a link in its place.
fn write(path: &Path, text: &str) -> Result<()> {
    let describe = || format!("{}", path.display());
    fs::create_dir_all(folder_of(path)).with_context(describe)?;
    let mut file = fs::File::create_new(path).with_context(describe)?;
    file.write_all(text.as_bytes()).with_context(describe)
}
