//! Where a session lies, and which names may become part of a path.

use std::env;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::SessionError;
use crate::run::folder::state_folder;

const NAME_RULE: &str = "it is 1 to 64 ASCII letters, digits, dots, hyphens and underscores, and starts with a letter or digit";

/// A session's folder and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub folder: PathBuf,
    pub learner: String,
}

impl Place {
    /// `class/NAME` in a class, else the state folder of the user. The name is `learner`, or else that of the user.
    pub fn find(class: Option<&Path>, learner: Option<&str>) -> Result<Self, SessionError> {
        let learner = match learner {
            Some(name) => name.to_string(),
            None => env::var("USER")
                .or_else(|_| env::var("LOGNAME"))
                .unwrap_or_else(|_| "learner".into()),
        };
        check_name(&learner)?;
        let folder = match class {
            Some(class) => in_class(class, &learner)?,
            None => state_folder().map_err(|error| SessionError::NoPlace {
                why: format!("{error:#}"),
            })?,
        };
        Ok(Self { folder, learner })
    }

    pub fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    pub fn events(&self) -> PathBuf {
        self.folder.join("events.jsonl")
    }

    pub fn state(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    pub fn runs(&self) -> PathBuf {
        self.folder.join("runs")
    }

    pub fn workbench(&self) -> PathBuf {
        self.folder.join("workbench")
    }

    pub fn backups(&self) -> PathBuf {
        self.folder.join("backups")
    }

    /// Creates what is missing, readable by its owner alone.
    pub(super) fn create(&self) -> Result<(), SessionError> {
        for folder in [
            self.folder.clone(),
            self.runs(),
            self.workbench(),
            self.backups(),
        ] {
            create_private(&folder)?;
        }
        Ok(())
    }
}

/// Refuses what could leave a folder or be mistaken for something else in it.
pub fn check_name(name: &str) -> Result<(), SessionError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let good = (1..=64).contains(&name.len())
        && name.chars().all(allowed)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if good {
        Ok(())
    } else {
        Err(SessionError::Name {
            name: name.to_string(),
            rule: NAME_RULE,
        })
    }
}

pub(super) fn create_private(folder: &Path) -> Result<(), SessionError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(SessionError::io("creating", folder))
}

/// The name this machine gives itself.
pub(super) fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

fn in_class(class: &Path, learner: &str) -> Result<PathBuf, SessionError> {
    // A mistyped class must not become a new, empty one.
    if !class.is_dir() {
        let why = format!("the class folder {} does not exist", class.display());
        return Err(SessionError::NoPlace { why });
    }
    let folder = class.join(learner);
    // Others may write to a class folder: a link there could lead a learner's files anywhere.
    match fs::symlink_metadata(&folder) {
        Ok(found) if !found.is_dir() => Err(SessionError::NoPlace {
            why: format!("{} is no folder", folder.display()),
        }),
        _ => Ok(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_folder_are_refused() {
        for name in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc",
            ".hidden",
            "-rf",
            "a b",
            "ä",
            "a\0b",
            "a\nb",
            &"x".repeat(65),
        ] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        for name in ["ada", "a.b-c_1", "7of9"] {
            assert!(check_name(name).is_ok(), "{name:?}");
        }
    }

    #[test]
    fn a_class_has_one_folder_a_learner_and_is_never_created_by_mistake() {
        let class = tempfile::tempdir().unwrap();
        let place = Place::find(Some(class.path()), Some("ada")).unwrap();
        assert_eq!(place.folder, class.path().join("ada"));
        let missing = Place::find(Some(&class.path().join("clas")), Some("ada")).unwrap_err();
        assert!(missing.to_string().contains("does not exist"));
        std::os::unix::fs::symlink("/", class.path().join("eve")).unwrap();
        assert!(Place::find(Some(class.path()), Some("eve")).is_err());
    }
}
