//! Finds a stored run by its text on the command line.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use tinyllama_contract::flags::{RunSpec, UsageError};
use tinyllama_runs::finished::EVENTS_FILE;

use tinyllama_base::safe_path::as_named;

/// The stored run that `text` names by its folder, its event stream, or its id. Returns `None` if it reads as a
/// target.
///
/// # Errors
/// If it is neither a run nor a target.
pub fn stored_run(text: &str, root: &Path) -> Result<Option<PathBuf>> {
    let given = PathBuf::from(text);
    if given.is_file() || given.join(EVENTS_FILE).is_file() {
        return Ok(Some(as_named(&given)));
    }
    // An id is a single word, so a separator means a path.
    let kept = root.join("runs").join(text);
    let stream = kept.join(EVENTS_FILE);
    let is_one_word = given.components().count() == 1;
    if is_one_word && stream.is_file() {
        return Ok(Some(kept));
    }
    match text.parse::<RunSpec>() {
        Ok(_) => Ok(None),
        Err(no_target) if is_one_word => bail!(UsageError(format!(
            "`{text}` is not a kept run (there is no {}), and {no_target}",
            stream.display()
        ))),
        Err(_) => bail!(UsageError(format!(
            "`{text}` holds no run: a run's folder has a file `events.jsonl`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_by_id_and_by_path_and_a_wrong_name_says_what_was_tried() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("runs/0001-abc");
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("events.jsonl"), "").unwrap();
        let found = |text: &str| stored_run(text, root.path());
        assert_eq!(found("0001-abc").unwrap(), Some(run.clone()));
        let path = run.to_string_lossy().into_owned();
        assert_eq!(found(&path).unwrap(), Some(run));
        assert_eq!(found("v1").unwrap(), None);
        assert_eq!(found("v2:--data=/some/file").unwrap(), None);
        let error = found("0002-abd").unwrap_err().to_string();
        assert!(
            error.contains("0002-abd") && error.contains("v1"),
            "{error}"
        );
        assert!(found("some/where").is_err());
    }
}
