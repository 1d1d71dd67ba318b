//! Settings of a whole class: `.class.json` in the class folder. The instructor writes it, every tutor reads it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::log::replace_json;
use crate::{SessionError, SessionLocation};
use tinyllama_base::untrusted;
use tinyllama_lesson::LearningPath;

/// No learner can have this name, because names do not begin with a dot.
const NAME: &str = ".class.json";

/// A larger file was not written by this program.
const MOST_BYTES: u64 = 1 << 16;

/// The lesson a class works on, and its path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    /// `None` if every learner may choose.
    pub lesson: Option<String>,
    /// The path that the class takes; `None` for the whole course.
    #[serde(default)]
    pub path: Option<LearningPath>,
    pub by: String,
}

fn path(class: &Path) -> PathBuf {
    class.join(NAME)
}

/// Pins the class to a lesson, or lifts the pin.
pub fn write(class: &Path, pin: &Pin) -> Result<(), SessionError> {
    let path = path(class);
    replace_json(&path, pin)?;
    // Learners are other users and have to read the file.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644))
        .map_err(SessionError::io("writing", &path))
}

/// The pin of the class that contains this session; `None` outside a class or without a pin.
///
/// Others may write into a class folder, so the file only counts if the folder's owner owns it.
pub(super) fn read_for(location: &SessionLocation) -> Result<Option<Pin>, SessionError> {
    location.folder.parent().map_or(Ok(None), read)
}

/// The pin of a class.
pub fn read(class: &Path) -> Result<Option<Pin>, SessionError> {
    let path = path(class);
    let found = match fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::PermissionDenied
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(SessionError::io("reading", &path)(error)),
    };
    let owner = fs::metadata(class)
        .map_err(SessionError::io("reading", class))?
        .uid();
    if !found.is_file() || found.len() > MOST_BYTES || found.uid() != owner {
        return Ok(None);
    }
    let text = untrusted::read(&path, MOST_BYTES).map_err(SessionError::io("reading", &path))?;
    // A damaged file, or one of a newer program, must not stop a learner.
    Ok(serde_json::from_slice(&text).ok())
}
