//! Settings of a whole class: `.class.json` in the class folder. The instructor writes it, every tutor reads it.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{SessionError, SessionLocation};
use tinyllama_base::safe_path::{Refused, SafeFolder};
use tinyllama_base::untrusted;
use tinyllama_lesson::LearningPath;

/// No learner can have this name, because names do not begin with a dot.
pub(super) const NAME: &str = ".class.json";

/// A larger file was not written by this program.
const MOST_BYTES: u64 = 1 << 16;

/// The lesson a class works on, and its path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassSettings {
    /// `None` if every learner may choose.
    pub lesson: Option<String>,
    /// The path that the class takes; `None` for the whole course.
    #[serde(default)]
    pub path: Option<LearningPath>,
    pub by: String,
}

/// Pins the class to a lesson, or lifts the pin. Learners are other users and have to read the file.
///
/// # Errors
/// Fails if this user does not own the class folder, because tutors would ignore the file.
pub fn write(class: &Path, pin: &ClassSettings) -> Result<(), SessionError> {
    let io = |action| SessionError::io(action, class);
    let folder = SafeFolder::open_owned(class).map_err(io("opening"))?;
    if !folder.is_own() {
        let (path, owner) = (class.to_path_buf(), folder.owner());
        return Err(SessionError::NotYourClass { path, owner });
    }
    let text = serde_json::to_vec(pin).map_err(|error| io("writing in")(error.into()))?;
    folder
        .replace(OsStr::new(NAME), &text, 0o644)
        .map_err(io("writing in"))
}

/// The pin of the class that contains this session; `None` outside a class or without a pin.
pub(super) fn read_for(location: &SessionLocation) -> Result<Option<ClassSettings>, SessionError> {
    location.folder.parent().map_or(Ok(None), read)
}

/// The pin of a class. Others may write into a class folder, so the file only counts if the folder's owner owns it.
pub fn read(class: &Path) -> Result<Option<ClassSettings>, SessionError> {
    let file = SafeFolder::open_owned(class).and_then(|folder| folder.file(OsStr::new(NAME)));
    match file.and_then(|file| untrusted::read_from(file, MOST_BYTES)) {
        // A damaged file, or one of a newer program, must not stop a learner.
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if is_no_setting(&error) => Ok(None),
        Err(error) => Err(SessionError::io("reading", &class.join(NAME))(error)),
    }
}

/// Whether an error means that the class has no such file of its owner.
fn is_no_setting(error: &io::Error) -> bool {
    use ErrorKind::{FileTooLarge, InvalidInput, NotFound, PermissionDenied};
    let kinds = [FileTooLarge, InvalidInput, NotFound, PermissionDenied];
    kinds.contains(&error.kind()) || Refused::from_error(error).is_some()
}
