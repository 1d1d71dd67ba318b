//! A learner's kernel, tried: what the faces of the tutor and the command line do with a file.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::session::{Event, StepRef};
use crate::workbench::check::{self, Checked};
use crate::workbench::{Exercise, File, place, words};

/// A file, and what its check came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Empty where the file is none that could be a kernel.
    pub file: File,
    pub checked: Checked,
}

impl Tried {
    /// Reads the file at `path` and has `check` look at it.
    ///
    /// # Errors
    /// Where the file cannot be read, or `check` fails for another reason than the kernel.
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

    /// On the stand-in, at every wave size.
    ///
    /// # Errors
    /// As [`Tried::by`].
    pub fn on_stand_in(exercise: &Exercise, path: &Path) -> Result<Tried> {
        Tried::by(exercise, path, |file| {
            check::check(exercise, file, &check::WAVES, &mut |_| {})
        })
    }

    /// As it is kept in the session.
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

/// The learner's file of an exercise in the session's folder, written where it is not there yet; and whether it was.
///
/// # Errors
/// Where it cannot be written.
pub fn begun(exercise: &Exercise, workbench: &Path) -> Result<(PathBuf, bool)> {
    let path = workbench.join(exercise.file_name());
    let is_new = place::start(exercise, &path)?;
    Ok((path, is_new))
}
