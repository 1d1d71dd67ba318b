//! Reads the files of profilers: one file or a whole folder, recognised by content.
//!
//! A new format needs one file in [`formats`] and a line in its list.

mod bounded;
mod budget;
mod damage;
mod database;
mod durations;
mod fields;
mod file_import;
mod file_name;
mod finish;
pub mod formats;
mod guids;
mod json;
mod outcome;
pub mod private_copy;
mod records;
mod refusal;
mod runs;
mod sample;
mod selection;
mod table;
mod text_table;

use std::path::{Path, PathBuf};

use self::damage::DamageLog;
pub use self::damage::{Damage, FileLocation};
pub use self::file_import::{FileImport, ReadRefusal, RowCount};
use self::formats::{FORMATS, ProfileFormat};
pub use self::guids::RunGuids;
pub use self::outcome::{FileRead, LeftOut, PassedOver};
pub use self::refusal::EMPTY;
use self::refusal::refusal;
use self::sample::FileSample;
use crate::model::Profile;

/// The result of an import.
#[derive(Debug)]
pub struct Import {
    pub profile: Profile,
    pub taken: Vec<FileRead>,
    pub passed_over: Vec<PassedOver>,
    /// Damaged places. Everything around them is in the profile.
    pub damage: Vec<Damage>,
    guids: RunGuids,
}

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("{}: {error}", path.display())]
    Unreadable {
        path: PathBuf,
        error: std::io::Error,
    },
}

/// Reads a file, or every file below a folder.
///
/// # Errors
/// Fails if the file or folder cannot be read. A file that no format knows, or a damaged one, is part of the result.
pub fn import(path: &Path) -> Result<Import, ImportError> {
    let files = selection::files(path).map_err(|error| ImportError::Unreadable {
        path: path.to_owned(),
        error,
    })?;
    let mut import = Import {
        profile: Profile::default(),
        taken: Vec::new(),
        passed_over: Vec::new(),
        damage: Vec::new(),
        guids: RunGuids::default(),
    };
    for file in selection::in_order(files) {
        import.add(&file);
    }
    finish::finish(&mut import.profile);
    Ok(import)
}

impl Import {
    /// The files that were not read. Those with the same reason are one entry, because a thread trace has hundreds.
    pub fn left_out(&self) -> Vec<LeftOut<'_>> {
        let mut groups: Vec<LeftOut<'_>> = Vec::new();
        for PassedOver { path, reason } in &self.passed_over {
            match groups.iter_mut().find(|group| group.reason == reason) {
                Some(group) => {
                    let mut folders = group.path.ancestors();
                    let common = folders.find(|folder| path.starts_with(folder) && *folder != path);
                    group.path = common.unwrap_or(Path::new(""));
                    group.files += 1;
                }
                None => groups.push(LeftOut {
                    path,
                    files: 1,
                    reason,
                }),
            }
        }
        groups
    }

    /// Returns whether a file of this format was read.
    pub fn took(&self, format: &ProfileFormat) -> bool {
        self.taken.iter().any(|taken| taken.format == format)
    }

    fn add(&mut self, path: &Path) {
        let mut log = DamageLog::default();
        let outcome = self.read(path, &mut log);
        self.damage.append(&mut log.found);
        let path = path.to_owned();
        match outcome {
            Ok((format, rows)) => self.taken.push(FileRead { path, format, rows }),
            Err(ReadRefusal::PassedOver(reason)) => {
                self.passed_over.push(PassedOver { path, reason })
            }
            Err(ReadRefusal::Damaged(damage)) => self.damage.push(damage),
        }
    }

    fn read(
        &mut self,
        path: &Path,
        log: &mut DamageLog,
    ) -> Result<(&'static ProfileFormat, u64), ReadRefusal> {
        let mut sample = FileSample::read(path)?;
        let find = |sample: &FileSample<'_>| FORMATS.iter().find(|it| (it.recognises)(sample));
        let mut known = find(&sample);
        if known.is_none() {
            sample.read_on()?;
            known = find(&sample);
        }
        let format = known.ok_or_else(|| refusal(&sample))?;
        if let Some(reason) = selection::told_already(path, &self.taken) {
            return Err(ReadRefusal::PassedOver(reason));
        }
        let mut reading = FileImport {
            path,
            profile: &mut self.profile,
            log,
            guids: &mut self.guids,
        };
        Ok((format, (format.read)(&mut reading)?))
    }
}
