//! Errors of a session, with remedies.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::Holder;
use tinyllama_base::safe_path::{Refused, folder_of};

/// Explains the rights of a class folder that let instructors read sessions and keep learners out.
pub const PERMISSIONS: &str = "Rights are those of the file system. An instructor owns the class folder: \
     `chgrp GROUP DIR; chmod 3773 DIR` with a group only instructors are in, before the learners begin. Then \
     instructors can read and change sessions, and learners cannot read each other's.";

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
    #[error("{} is not a session: {why}", path.display())]
    NoSession { path: PathBuf, why: String },
    #[error("{} holds a session already", path.display())]
    Exists { path: PathBuf },
    #[error("{} is not an exported session: {why}", path.display())]
    NoExport { path: PathBuf, why: String },
    #[error("`{name}` cannot be a learner's name: {rule}")]
    Name { name: String, rule: &'static str },
    #[error("no folder for sessions: {why}")]
    NoPlace { why: String },
    #[error("no session in a class: {why}")]
    NoClass { why: String },
    #[error("{} does not keep its learners apart: {why}", path.display())]
    UnsafeClass { path: PathBuf, why: String },
    #[error("this was not saved: {} {what}, and more than that cannot be read back", path.display())]
    TooLarge { path: PathBuf, what: String },
    #[error("this cannot be recorded, because it would not read back: {0}")]
    NotRecordable(String),
    #[error("there is no backup `{0}`")]
    NoBackup(String),
    #[error("every reset was restored already, or there was none")]
    NothingToRestore,
    #[error("backup `{0}` was restored already")]
    AlreadyRestored(String),
    #[error("{} belongs to another user, number {owner}", path.display())]
    NotYours { path: PathBuf, owner: u32 },
    #[error("{} belongs to another user, number {owner}, and tutors take a class's settings from nobody else", path.display())]
    NotYourClass { path: PathBuf, owner: u32 },
    #[error("{} may be written by others than you", path.display())]
    OpenToOthers { path: PathBuf },
    #[error("{} is not where this tutor opened it: the folder was removed or moved", path.display())]
    Gone { path: PathBuf },
    #[error("{} not kept: {source}", match events {
        0 => "what was done since the tutor was opened is".to_string(),
        1 => "1 event is".to_string(),
        events => format!("{events} events are"),
    })]
    NotKept {
        events: usize,
        source: Box<SessionError>,
    },
    #[error("{action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl SessionError {
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| SessionError::Io {
            action,
            path: path.to_path_buf(),
            source,
        }
    }

    pub fn no_events(folder: &Path) -> Self {
        SessionError::NoSession {
            path: folder.to_path_buf(),
            why: "it has no events".into(),
        }
    }

    /// Returns whether the session may still be read if this error prevents writing.
    pub(super) fn allows_reading(&self) -> bool {
        matches!(
            self,
            SessionError::Io { .. } | SessionError::TooLarge { .. }
        )
    }

    /// Returns whether another try cannot help.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            SessionError::Name { .. }
                | SessionError::NotRecordable(_)
                | SessionError::TooLarge { .. }
                | SessionError::NoBackup(_)
                | SessionError::NothingToRestore
                | SessionError::AlreadyRestored(_)
        )
    }

    /// Says what a learner can do about it.
    pub fn remedy(&self) -> String {
        match self {
            SessionError::Held { .. } => {
                "Close it there first. For a second session, set XDG_STATE_HOME to another folder; in a \
                 class, use another name with --learner NAME."
                    .into()
            }
            SessionError::LockUnsupported { .. } => "The file system does not support locks, as some network file systems do \
                 not. Set XDG_STATE_HOME to a folder on a local disk, or ask for locks to be enabled."
                .into(),
            SessionError::NewerFormat { .. } => "Update tinyllama-tutor; nothing was changed.".into(),
            SessionError::NoSession { .. } => "`tinyllama-tutor` begins one. `tinyllama-tutor session path` \
                 shows where yours is expected; --class DIR and --learner NAME name another."
                .into(),
            SessionError::Exists { path } => format!(
                "Nothing was changed. Move {} away first, or set XDG_STATE_HOME to another folder; in a class, import under \
                 another name with --learner NAME.",
                path.display()
            ),
            SessionError::NoExport { .. } => "Nothing was changed. `session export FILE` writes one.".into(),
            SessionError::Name { .. } => "Give another name with --learner.".into(),
            SessionError::NoPlace { .. } => "Set HOME, or XDG_STATE_HOME, to a folder you may write to.".into(),
            SessionError::NoClass { .. } => {
                "Give the class's folder with --class DIR or TINYLLAMA_CLASS; an instructor makes it first.".into()
            }
            SessionError::UnsafeClass { .. } => format!("Ask its owner. {PERMISSIONS}"),
            SessionError::TooLarge { .. } => {
                "Everything before is kept. Enter less at once. If the log is full, `tinyllama-tutor session export FILE` keeps it; then move the folder away to start a new session.".into()
            }
            SessionError::NotRecordable(_) => "Enter a finite number.".into(),
            SessionError::NoBackup(_)
            | SessionError::NothingToRestore
            | SessionError::AlreadyRestored(_) => {
                "Nothing was changed. `session show` lists the backups and which of them were restored.".into()
            }
            SessionError::NotYours { .. } => "Only its learner may write a session. Use another name with \
                 --learner NAME, or ask the owner of the folder to remove it."
                .into(),
            SessionError::NotYourClass { .. } => "Nothing was changed. Ask the owner of the class folder.".into(),
            SessionError::OpenToOthers { path } => format!(
                "See whether its files are yours, then close it with `chmod go-w {}`.",
                path.display()
            ),
            SessionError::Gone { .. } => "Put the folder back while the tutor is open: what is not saved yet \
                 is written with the next step. If you quit first, it is lost."
                .into(),
            SessionError::NotKept { .. } => "This part is lost; what was saved before is safe. Make room, or put the folder back, before you go on.".into(),
            SessionError::Io { path, source, .. } if Refused::from_error(source).is_some() => {
                format!("Nothing was changed. Ask the owner of {}.", folder_of(path).display())
            }
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
        ErrorKind::InvalidInput => format!(
            "Something else is in the way: move {} away, and start again.",
            path.display()
        ),
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => format!(
            "You may not write to {folder}. Set XDG_STATE_HOME to a folder you may write to, or ask its owner."
        ),
        _ => "Nothing that was saved before is affected.".into(),
    }
}
