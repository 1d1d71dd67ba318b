//! Finds the folder of a session, and checks names that become part of a path.

use std::env;
use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use uzers::get_effective_uid;

use crate::SessionError;
use tinyllama_runs::state_folder;

use tinyllama_base::file::{create_folder, group_rights};
use tinyllama_base::safe_path::{self, folder_of};
use tinyllama_base::{create_private, inside, unix_time};

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
            Some(class) => in_class(&safe_path::as_named(class), &learner)?,
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
    fn is_shared(&self) -> bool {
        group_rights(folder_of(&self.folder)) != 0
    }

    /// Creates missing folders. Only the owner has access, and in a shared class its group, too.
    pub(super) fn create(&self) -> Result<(), SessionError> {
        create_private(&self.folder).map_err(SessionError::io("creating", &self.folder))?;
        self.check_owner()?;
        for folder in [self.runs(), self.workbench(), self.backups()] {
            create_private(&folder).map_err(SessionError::io("creating", &folder))?;
        }
        self.create_inbox()
    }

    /// Creates the inbox. Instructors of a shared class write into it.
    pub(super) fn create_inbox(&self) -> Result<(), SessionError> {
        let inbox = self.inbox();
        let mode = if self.is_shared() { 0o770 } else { 0o700 };
        match create_folder(&inbox, mode) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && inbox.is_dir() => Ok(()),
            made => made.map_err(SessionError::io("creating", &inbox)),
        }
    }

    /// Lets instructors of a shared class read what other programs made in the session, such as an editor or a profiler.
    pub(super) fn share(&self) {
        if self.is_shared() {
            share_below(&self.folder);
        }
    }

    /// Refuses a folder of another user under this name, because that user could read and change everything in it. Root
    /// is refused as well: it would follow the other user's links, and its files would lock that user out.
    fn check_owner(&self) -> Result<(), SessionError> {
        // The folder itself, and not what a link in its place leads to.
        let found = fs::symlink_metadata(&self.folder);
        let found = found.map_err(SessionError::io("reading", &self.folder))?;
        let (path, owner) = (self.folder.clone(), found.uid());
        match owner == get_effective_uid() {
            true if self.is_shared() && found.mode() & OTHERS_WRITE != 0 => {
                Err(SessionError::OpenToOthers { path })
            }
            true => Ok(()),
            false => Err(SessionError::NotYours { path, owner }),
        }
    }

    /// Returns whether this user owns the session and may write to it.
    pub fn is_own(&self) -> bool {
        fs::symlink_metadata(&self.folder).is_ok_and(|found| found.uid() == get_effective_uid())
    }
}

const OTHERS_WRITE: u32 = 0o022;

/// Lets the group read this user's files and folders below a folder. What cannot be changed is left as it is, and
/// `instructor collect` names it.
fn share_below(folder: &Path) {
    for path in inside(folder).unwrap_or_default() {
        let found = fs::symlink_metadata(&path);
        let Some(found) = found
            .ok()
            .filter(|found| found.uid() == get_effective_uid())
        else {
            continue;
        };
        let rights = match () {
            () if found.is_dir() => 0o050,
            () if found.is_file() => 0o040,
            () => continue,
        };
        let mode = found.mode();
        if mode & rights != rights {
            drop(fs::set_permissions(
                &path,
                Permissions::from_mode(mode | rights),
            ));
        }
        if found.is_dir() {
            share_below(&path);
        }
    }
}

/// The user's name from the environment or else the password database; for a user without a name, the number.
fn user_name() -> String {
    let named = |name: &str| env::var(name).ok().filter(|name| !name.is_empty());
    named("USER")
        .or_else(|| named("LOGNAME"))
        .or_else(|| uzers::get_effective_username()?.into_string().ok())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| format!("user-{}", get_effective_uid()))
}

/// A name for an order or a session. Names sort by the time they were made. Two names of the same moment differ in
/// the process or the nanosecond.
pub fn new_name() -> String {
    let now = unix_time();
    format!(
        "{:012}-{:09}-{}",
        now.as_secs(),
        now.subsec_nanos(),
        std::process::id()
    )
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
