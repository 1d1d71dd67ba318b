//! Resets that can be undone: progress stays in the events, and workbench files are copied before they are removed.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::log::{replace, replace_json};
use crate::{Scope, Session, SessionError, SessionEvent, check_name};
use tinyllama_base::{create_private, now, untrusted};

const MANIFEST: &str = "backup.json";

/// The content of a backup.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    scope: Scope,
    by: String,
    time: String,
    workbench: Vec<String>,
}

impl Session {
    /// Copies the files that a reset will remove, and removes nothing yet. Recording the event does the rest.
    pub(super) fn prepare_reset(
        &self,
        scope: Scope,
        workbench: &[String],
        by: &str,
    ) -> Result<SessionEvent, SessionError> {
        let name = format!("reset-{}", self.state().backups.len() + 1);
        let folder = self.location.backups().join(&name);
        create_private(&folder).map_err(SessionError::io("creating", &folder))?;
        let mut kept = Vec::new();
        for file in workbench {
            check_name(file)?;
            if self.location.workbench().join(file).is_file() {
                copy(&self.location.workbench(), &folder, file)?;
                kept.push(file.clone());
            }
        }
        let manifest = Manifest {
            scope: scope.clone(),
            by: by.into(),
            time: now(),
            workbench: kept,
        };
        replace_json(&folder.join(MANIFEST), &manifest)?;
        Ok(SessionEvent::Reset {
            backup: name,
            scope,
            by: by.into(),
        })
    }

    /// Removes the workbench files of the newest reset, if they still equal their copies.
    pub(super) fn finish_resets(&mut self) -> Result<(), SessionError> {
        let newest = format!("reset-{}", self.state().backups.len());
        let folder = self.location.backups().join(&newest);
        let known = self.state().backups.get(&newest);
        if known.is_none_or(|known| known.restored) {
            return Ok(());
        }
        for file in read_manifest(&folder)?.workbench {
            check_name(&file)?;
            let path = self.location.workbench().join(&file);
            let (Ok(now), Ok(copied)) = (fs::read(&path), fs::read(folder.join(&file))) else {
                continue;
            };
            if now == copied {
                fs::remove_file(&path).map_err(SessionError::io("removing", &path))?;
            }
        }
        Ok(())
    }

    /// Restores the workbench files of a backup. Those written since are kept next to it. Recording the event does the rest.
    pub(super) fn prepare_restore(
        &self,
        backup: &str,
        by: &str,
    ) -> Result<SessionEvent, SessionError> {
        let known = self
            .state()
            .backups
            .get(backup)
            .ok_or_else(|| SessionError::NoBackup(backup.into()))?;
        if known.restored {
            return Err(SessionError::AlreadyRestored(backup.into()));
        }
        let folder = self.location.backups().join(backup);
        let manifest = read_manifest(&folder)?;
        let replaced = folder.join("replaced");
        for file in &manifest.workbench {
            check_name(file)?;
            if self.location.workbench().join(file).exists() {
                create_private(&replaced).map_err(SessionError::io("creating", &replaced))?;
                copy(&self.location.workbench(), &replaced, file)?;
            }
            copy(&folder, &self.location.workbench(), file)?;
        }
        Ok(SessionEvent::Restored {
            backup: backup.into(),
            by: by.into(),
        })
    }
}

fn read_manifest(folder: &Path) -> Result<Manifest, SessionError> {
    let path = folder.join(MANIFEST);
    untrusted::read_json(&path, untrusted::MOST_BYTES).map_err(SessionError::io("reading", &path))
}

fn copy(from: &Path, to: &Path, file: &str) -> Result<(), SessionError> {
    let (from, to) = (from.join(file), to.join(file));
    let content = untrusted::read(&from, untrusted::MOST_BYTES)
        .map_err(SessionError::io("reading", &from))?;
    replace(&to, &content)
}
