//! What can go wrong with a session, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::lock::Holder;

#[derive(Debug, Error)]
pub enum SessionError {
    #[error("another tutor has this session open: {holder}")]
    Held { holder: Holder },
    #[error("{} cannot be locked: {source}", path.display())]
    LockUnsupported { path: PathBuf, source: io::Error },
    #[error("{} is of format {found}; this program reads up to format {known}", path.display())]
    NewerFormat {
        path: PathBuf,
        found: u32,
        known: u32,
    },
    #[error("{} is no session: {why}", path.display())]
    NoSession { path: PathBuf, why: String },
    #[error("`{name}` cannot be a learner's name: {rule}")]
    Name { name: String, rule: &'static str },
    #[error("no folder for sessions: {why}")]
    NoPlace { why: String },
    #[error("this cannot be recorded, because it would not read back: {0}")]
    NotRecordable(String),
    #[error("there is no backup `{0}`")]
    NoBackup(String),
    #[error("backup `{0}` was restored already")]
    AlreadyRestored(String),
    #[error("{} belongs to another user, number {owner}", path.display())]
    NotYours { path: PathBuf, owner: u32 },
    #[error("{action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl SessionError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| SessionError::Io {
            action,
            path: path.to_path_buf(),
            source,
        }
    }

    /// Whether trying again cannot help.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            SessionError::Name { .. }
                | SessionError::NotRecordable(_)
                | SessionError::NoBackup(_)
                | SessionError::AlreadyRestored(_)
        )
    }

    /// What a learner can do about it.
    pub fn remedy(&self) -> String {
        match self {
            SessionError::Held { .. } => {
                "Close it there first, or use a session of your own with --learner NAME.".into()
            }
            SessionError::LockUnsupported { .. } => "The file system does not support locks, as some network file systems do \
                 not. Set XDG_STATE_HOME to a folder on a local disk, or ask for locks to be enabled."
                .into(),
            SessionError::NewerFormat { .. } => "Update tinyllama-tutor; nothing was changed.".into(),
            SessionError::NoSession { .. } => "Nothing was changed. `session verify` says more.".into(),
            SessionError::Name { .. } => "Give another name with --learner.".into(),
            SessionError::NoPlace { .. } => "Set HOME, or XDG_STATE_HOME, to a folder you may write to.".into(),
            SessionError::NotRecordable(_) => "Enter a finite number.".into(),
            SessionError::NoBackup(_) | SessionError::AlreadyRestored(_) => {
                "`session show` lists the backups.".into()
            }
            SessionError::NotYours { .. } => "A session is written by its learner alone. Use a name of your own with \
                 --learner NAME, or ask whoever owns the folder to remove it."
                .into(),
            SessionError::Io { path, source, .. } => io_remedy(source.kind(), path),
        }
    }
}

fn io_remedy(kind: ErrorKind, path: &Path) -> String {
    let folder = path.parent().unwrap_or(path).display();
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => format!(
            "The disk or your quota is full. Free some space; what is not saved yet is kept in memory and \
             written with the next step. `du -sh {folder}` shows what the session takes."
        ),
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => format!(
            "You may not write to {folder}. Set XDG_STATE_HOME to a folder you may write to, or ask whoever owns it."
        ),
        _ => "Nothing that was saved before is affected.".into(),
    }
}
