//! A class folder and its learners.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use thiserror::Error;

use tinyllama_base::safe_path;
pub use tinyllama_session::class_rights::PERMISSIONS;
use tinyllama_session::{
    LogDamage, SessionError, SessionLocation, SessionState, check_learner, store,
};

#[derive(Debug, Error)]
pub enum ClassError {
    #[error("the class folder {} cannot be read: {why}", path.display())]
    Folder { path: PathBuf, why: String },
    #[error("there is no learner `{name}` in {}; there are: {known}", path.display())]
    NoLearner {
        name: String,
        path: PathBuf,
        known: String,
    },
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl ClassError {
    /// Advice about the error: what to do.
    pub fn remedy(&self) -> String {
        match self {
            ClassError::Folder { .. } => {
                format!("Give the folder with --class DIR or TINYLLAMA_CLASS. {PERMISSIONS}")
            }
            ClassError::NoLearner { .. } => "`instructor list` shows everyone.".into(),
            ClassError::Session(error) => error.remedy(),
        }
    }
}

/// A class, with the sessions that were read before.
#[derive(Debug)]
pub struct Class {
    pub folder: PathBuf,
    known: HashMap<String, CachedSession>,
}

/// The content of a session, read when its log had this length and modification time.
#[derive(Debug)]
struct CachedSession {
    stamp: (u64, Option<SystemTime>),
    state: SessionState,
    damage: Vec<LogDamage>,
}

/// A learner's session, or the reason why it cannot be read.
#[derive(Debug)]
pub struct Learner<'a> {
    pub location: SessionLocation,
    pub state: Result<(&'a SessionState, &'a [LogDamage]), String>,
}

impl Class {
    /// Opens a class folder.
    ///
    /// # Errors
    /// Fails if the folder is missing or may not be read.
    pub fn open(folder: &Path) -> Result<Self, ClassError> {
        let folder = safe_path::as_named(folder);
        names(&folder)?;
        Ok(Self {
            folder,
            known: HashMap::new(),
        })
    }

    /// Lists every learner with a session, sorted by name. A session that did not change since the last call is not read
    /// again.
    ///
    /// # Errors
    /// Fails if the folder may no longer be read.
    pub fn learners(&mut self) -> Result<Vec<Learner<'_>>, ClassError> {
        let names = names(&self.folder)?;
        let refreshed = names.into_iter().map(|name| (self.refresh(&name), name));
        let refreshed: Vec<(Result<(), String>, String)> = refreshed.collect();
        let learners = refreshed.into_iter().filter_map(|(refreshed, name)| {
            let location = SessionLocation::new(&self.folder, &name);
            let state = match (refreshed, self.known.get(&name)) {
                (Err(why), _) => Err(why),
                (Ok(()), known) => known.map(|known| Ok((&known.state, &*known.damage)))?,
            };
            Some(Learner { location, state })
        });
        Ok(learners.collect())
    }

    /// Finds the session folder of a learner. A name is only used after a check that it belongs to this class.
    ///
    /// # Errors
    /// Fails if no learner has this name.
    pub fn place(&self, name: &str) -> Result<SessionLocation, ClassError> {
        check_learner(name)?;
        let names = names(&self.folder)?;
        if names.iter().any(|known| known == name) {
            return Ok(SessionLocation::new(&self.folder, name));
        }
        Err(ClassError::NoLearner {
            name: name.into(),
            path: self.folder.clone(),
            known: match names.is_empty() {
                true => "nobody yet".into(),
                false => names.join(", "),
            },
        })
    }

    /// Reads a session if its log changed. A folder without a session is not a learner.
    fn refresh(&mut self, name: &str) -> Result<(), String> {
        let location = SessionLocation::new(&self.folder, name);
        let opened = safe_path::open(&location.events());
        let found = match opened.and_then(|file| file.metadata()) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.known.remove(name);
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Err("you may not read this session".into());
            }
            Err(error) => return Err(error.to_string()),
        };
        let stamp = (found.len(), found.modified().ok());
        if self
            .known
            .get(name)
            .is_some_and(|known| known.stamp == stamp)
        {
            return Ok(());
        }
        let (state, damage) = store::read_only(&location).map_err(|error| error.to_string())?;
        let known = CachedSession {
            stamp,
            state,
            damage,
        };
        self.known.insert(name.into(), known);
        Ok(())
    }
}

/// Names of folders that can belong to learners, sorted. Links are not followed, because they could lead anywhere.
fn names(folder: &Path) -> Result<Vec<String>, ClassError> {
    let entries = fs::read_dir(folder).map_err(|error| ClassError::Folder {
        path: folder.to_path_buf(),
        why: error.to_string(),
    })?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| check_learner(name).is_ok())
        .collect();
    names.sort();
    Ok(names)
}
