//! Tries a learner's kernel: checks that the tutor and the command line share.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::{SessionEvent, StepRef};
use tinyllama_workbench::check::{self, CheckOptions, CheckProgress, ExerciseCheck};
use tinyllama_workbench::{Exercise, KernelFile, exercise_file, text};

/// A file and the result of its check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedKernel {
    /// Empty if the file cannot be a kernel.
    pub file: KernelFile,
    pub checked: ExerciseCheck,
}

impl CheckedKernel {
    /// Reads the file at `path` and calls `check` with it.
    ///
    /// # Errors
    /// If the file cannot be read, or `check` fails for another reason than the kernel.
    pub fn by_check(
        exercise: &Exercise,
        path: &Path,
        check: impl FnOnce(&KernelFile) -> Result<ExerciseCheck>,
    ) -> Result<CheckedKernel> {
        match KernelFile::read(path)? {
            Ok(file) => {
                let checked = check(&file)?;
                Ok(CheckedKernel { file, checked })
            }
            Err(finding) => Ok(CheckedKernel {
                file: KernelFile {
                    path: path.to_owned(),
                    text: String::new(),
                },
                checked: ExerciseCheck {
                    exercise: exercise.name.clone(),
                    findings: vec![finding],
                    ..ExerciseCheck::default()
                },
            }),
        }
    }

    /// Checks the kernel without a GPU, at every wave size. `say` receives what the check is doing.
    ///
    /// # Errors
    /// The same as [`CheckedKernel::by_check`].
    pub fn without_gpu(
        exercise: &Exercise,
        path: &Path,
        say: &mut dyn FnMut(CheckProgress),
    ) -> Result<CheckedKernel> {
        CheckedKernel::by_check(exercise, path, |file| {
            let options = CheckOptions {
                counts: true,
                ..CheckOptions::default()
            };
            check::check(exercise, file, &options, say)
        })
    }

    /// The event for the session.
    pub fn event(&self, at: Option<StepRef>) -> SessionEvent {
        SessionEvent::KernelChecked {
            at,
            exercise: self.checked.exercise.clone(),
            passed: self.checked.passed,
            findings: self.checked.kinds(),
            sha256: self.file.digest(),
            text: self.checked.passed.then(|| self.file.text.clone()),
        }
    }

    pub fn lines(&self) -> Vec<String> {
        text::lines(&self.checked, &self.file)
    }
}

/// Returns the learner's file of an exercise in the workbench, and whether it is new. Creates the file if it
/// is missing.
///
/// # Errors
/// If it cannot be written.
pub fn start_exercise(exercise: &Exercise, workbench: &Path) -> Result<(PathBuf, bool)> {
    let path = workbench.join(exercise.file_name());
    let is_new = exercise_file::start(exercise, &path)?;
    Ok((path, is_new))
}
