//! Tries a learner's kernel: checks that the tutor and the command line share.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::session::{Event, StepRef};
use crate::workbench::check::{self, Checked};
use crate::workbench::{Exercise, File, place, words};

/// A file and the result of its check.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Empty if the file cannot be a kernel.
    pub file: File,
    pub checked: Checked,
}

impl Tried {
    /// Reads the file at `path` and calls `check` with it.
    ///
    /// # Errors
    /// If the file cannot be read, or `check` fails for another reason than the kernel.
    pub fn by(
        exercise: &Exercise,
        path: &Path,
        check: impl FnOnce(&File) -> Result<Checked>,
    ) -> Result<Tried> {
        match File::read(path)? {
            Ok(file) => {
                let checked = check(&file)?;
                Ok(Tried { file, checked })
            }
            Err(finding) => Ok(Tried {
                file: File {
                    path: path.to_owned(),
                    text: String::new(),
                },
                checked: Checked {
                    exercise: exercise.name.clone(),
                    findings: vec![finding],
                    ..Checked::default()
                },
            }),
        }
    }

    /// Checks the kernel on the stand-in, at every wave size.
    ///
    /// # Errors
    /// The same as [`Tried::by`].
    pub fn on_stand_in(exercise: &Exercise, path: &Path) -> Result<Tried> {
        Tried::by(exercise, path, |file| {
            check::check(exercise, file, &check::WAVES, &mut |_| {})
        })
    }

    /// The event for the session.
    pub fn event(&self, at: Option<StepRef>) -> Event {
        Event::KernelChecked {
            at,
            exercise: self.checked.exercise.clone(),
            passed: self.checked.passed,
            findings: self.checked.kinds(),
            sha256: self.file.digest(),
        }
    }

    pub fn lines(&self) -> Vec<String> {
        words::lines(&self.checked, &self.file)
    }
}

/// Returns the learner's file of an exercise in the workbench, and whether it is new. Creates the file if it
/// is missing.
///
/// # Errors
/// If it cannot be written.
pub fn begun(exercise: &Exercise, workbench: &Path) -> Result<(PathBuf, bool)> {
    let path = workbench.join(exercise.file_name());
    let is_new = place::start(exercise, &path)?;
    Ok((path, is_new))
}
