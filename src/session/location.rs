//! Finds the folder of a session, and checks names that become part of a path.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use uzers::get_effective_uid;

use crate::SessionError;
use tinyllama_runs::state_folder;

const LEARNER_RULE: &str = "it is 1 to 64 letters, digits, dots, hyphens, underscores and single spaces, and starts with a letter or digit and does not end with a space";
const NAME_RULE: &str = "it is 1 to 64 ASCII letters, digits, dots, hyphens and underscores, and starts with a letter or digit";

/// A session's folder and the name of its learner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLocation {
    pub folder: PathBuf,
    pub learner: String,
}

impl SessionLocation {
    /// The session of `learner` in the folder of a class.
    pub fn new(class: impl AsRef<Path>, learner: &str) -> Self {
        Self {
            folder: class.as_ref().join(learner),
            learner: learner.into(),
        }
    }

    /// The session folder: `class/NAME` in a class, else the state folder of the user. The name is `learner`, or else
    /// the user's name.
    pub fn find(class: Option<&Path>, learner: Option<&str>) -> Result<Self, SessionError> {
        let learner = match learner {
            Some(name) => name.to_string(),
            None => user_name(),
        };
        check_learner(&learner)?;
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

    /// Orders of instructors.
    pub fn inbox(&self) -> PathBuf {
        self.folder.join("inbox")
    }

    /// Returns whether instructors can read the session: the class folder passes its group on (`chmod g+s`).
    pub fn is_shared(&self) -> bool {
        const SET_GROUP: u32 = 0o2000;
        let class = self.folder.parent().map(fs::metadata);
        class.is_some_and(|class| class.is_ok_and(|class| class.mode() & SET_GROUP != 0))
    }

    /// Creates missing folders. Only the owner has access, and in a shared class its group, too.
    pub(super) fn create(&self) -> Result<(), SessionError> {
        let shared = self.is_shared();
        for folder in [
            self.folder.clone(),
            self.runs(),
            self.workbench(),
            self.backups(),
        ] {
            create_folder(&folder, shared)?;
        }
        self.create_inbox()?;
        self.check_owner()
    }

    /// Creates the inbox. Instructors of a shared class write into it.
    pub(super) fn create_inbox(&self) -> Result<(), SessionError> {
        let inbox = self.inbox();
        if inbox.is_dir() {
            return Ok(());
        }
        let shared = self.is_shared();
        create_folder(&inbox, shared)?;
        if shared {
            add_rights(&inbox, PUT)?;
        }
        Ok(())
    }

    /// Refuses a folder of another user under this name, because that user could read and change everything in it.
    fn check_owner(&self) -> Result<(), SessionError> {
        let owner = fs::metadata(&self.folder)
            .map_err(SessionError::io("reading", &self.folder))?
            .uid();
        let user = get_effective_uid();
        if user == owner || user == ROOT {
            return Ok(());
        }
        Err(SessionError::NotYours {
            path: self.folder.clone(),
            owner,
        })
    }

    /// Returns whether this user owns the session and may write to it.
    pub fn is_own(&self) -> bool {
        fs::metadata(&self.folder).is_ok_and(|found| found.uid() == get_effective_uid())
    }

    /// Lets the group of a shared class read a file or folder that only its owner could use.
    pub(super) fn share(&self, path: &Path) -> Result<(), SessionError> {
        if !self.is_shared() {
            return Ok(());
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => add_rights(path, LOOK),
            Ok(_) => add_rights(path, READ),
            Err(_) => Ok(()),
        }
    }
}

/// Right of the group to read a file.
const READ: u32 = 0o040;

const ROOT: u32 = 0;

/// The user's name from the environment or else the password database; for a user without a name, the number.
fn user_name() -> String {
    let named = |name: &str| env::var(name).ok().filter(|name| !name.is_empty());
    named("USER")
        .or_else(|| named("LOGNAME"))
        .or_else(|| uzers::get_effective_username()?.into_string().ok())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| format!("user-{}", get_effective_uid()))
}

/// Refuses names that could lead out of a folder, or that have another meaning in it.
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

/// Refuses a learner's name that is no name of a folder. Unlike other names, it has the letters of any language and
/// spaces between its words.
pub fn check_learner(name: &str) -> Result<(), SessionError> {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ');
    // A file's name has at most 255 bytes, and exports add to this one.
    let fits = (1..=64).contains(&name.chars().count()) && name.len() <= 200;
    let is_good = fits
        && name.chars().all(allowed)
        && name.starts_with(char::is_alphanumeric)
        && !name.ends_with(' ')
        && !name.contains("  ");
    is_good.then_some(()).ok_or_else(|| SessionError::Name {
        name: name.to_string(),
        rule: LEARNER_RULE,
    })
}

pub(super) fn create_private(folder: &Path) -> Result<(), SessionError> {
    create_folder(folder, false)
}

/// Creates a folder for its owner alone or, if `shared`, for its group to read. Leaves an existing folder unchanged.
pub(super) fn create_folder(folder: &Path, shared: bool) -> Result<(), SessionError> {
    if folder.is_dir() {
        return Ok(());
    }
    // The mode is set at creation. Changing it later would clear the set-group bit if the learner is not in
    // that group.
    DirBuilder::new()
        .recursive(true)
        .mode(if shared { 0o770 } else { 0o700 })
        .create(folder)
        .map_err(SessionError::io("creating", folder))?;
    if shared {
        add_rights(folder, LOOK)?;
    }
    Ok(())
}

/// Rights of the group: to read a folder, and to put files into it.
const LOOK: u32 = 0o050;
const PUT: u32 = 0o070;

/// Adds missing rights.
fn add_rights(path: &Path, rights: u32) -> Result<(), SessionError> {
    let io = || SessionError::io("sharing", path);
    let mode = fs::metadata(path).map_err(io())?.mode();
    if mode & rights == rights {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode | rights)).map_err(io())
}

fn in_class(class: &Path, learner: &str) -> Result<PathBuf, SessionError> {
    // A mistyped class must not become a new, empty one.
    if !class.is_dir() {
        let why = format!("the class folder {} does not exist", class.display());
        return Err(SessionError::NoClass { why });
    }
    let folder = class.join(learner);
    // Others may write to a class folder, and a link in it could lead a learner's files anywhere.
    match fs::symlink_metadata(&folder) {
        Ok(found) if !found.is_dir() => Err(SessionError::NoClass {
            why: format!("{} is not a folder", folder.display()),
        }),
        _ => Ok(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_folder_are_refused() {
        let long = "x".repeat(65);
        let unsafe_names = [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc",
            ".hidden",
            "-rf",
            " a",
            "a ",
            "a  b",
            "a\0b",
            "a\nb",
            "a\u{a0}b",
            "a\u{202e}b",
            "z\u{307}",
            &long,
        ];
        for name in unsafe_names {
            assert!(
                check_name(name).is_err() && check_learner(name).is_err(),
                "{name:?}"
            );
        }
        for name in ["ada", "a.b-c_1", "7of9"] {
            assert!(
                check_name(name).is_ok() && check_learner(name).is_ok(),
                "{name:?}"
            );
        }
        // Only learners have these.
        for name in ["a b", "ä", "Łucja Żółkiewska", "山田 太郎", "Зоя"] {
            assert!(
                check_name(name).is_err() && check_learner(name).is_ok(),
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_class_has_one_folder_a_learner_and_is_never_created_by_mistake() {
        let class = tempfile::tempdir().unwrap();
        let location = SessionLocation::find(Some(class.path()), Some("ada")).unwrap();
        assert_eq!(location.folder, class.path().join("ada"));
        let missing =
            SessionLocation::find(Some(&class.path().join("clas")), Some("ada")).unwrap_err();
        assert!(
            matches!(missing, SessionError::NoClass { .. }),
            "{missing:?}"
        );
        std::os::unix::fs::symlink("/", class.path().join("eve")).unwrap();
        assert!(SessionLocation::find(Some(class.path()), Some("eve")).is_err());
    }
}
