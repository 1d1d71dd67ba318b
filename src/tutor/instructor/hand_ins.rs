//! Collects a class's sessions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::instructor::{Class, ClassError};
use tinyllama_session::{SessionError, SessionLocation, archive, scan};

/// The export of one learner.
#[derive(Debug)]
pub struct CollectedExport {
    pub learner: String,
    /// The exported file, or the reason why there is none.
    pub file: Result<PathBuf, String>,
    /// What was not given away. Empty if the file was there already.
    pub withheld: Vec<String>,
}

/// Exports every session of a class to `NAME-HASH.tar.gz` in `output`. HASH begins the hash of its last record, so a
/// session that went on gets a new file, and no file is overwritten.
///
/// # Errors
/// Fails if the class cannot be read or `output` cannot be made.
pub fn collect(class: &mut Class, output: &Path) -> Result<Vec<CollectedExport>, ClassError> {
    let unusable = |why: std::io::Error| ClassError::Folder {
        path: output.to_path_buf(),
        why: why.to_string(),
    };
    fs::create_dir_all(output).map_err(unusable)?;
    let learners = class.learners()?;
    let collected = learners.iter().map(|learner| {
        let exported = match &learner.state {
            Err(why) => Err(why.clone()),
            Ok(_) => export(&learner.location, output).map_err(|error| error.to_string()),
        };
        let (file, withheld) = match exported {
            Ok((file, withheld)) => (Ok(file), withheld),
            Err(why) => (Err(why), Vec::new()),
        };
        let learner = learner.location.learner.clone();
        CollectedExport {
            learner,
            file,
            withheld,
        }
    });
    Ok(collected.collect())
}

fn export(
    location: &SessionLocation,
    output: &Path,
) -> Result<(PathBuf, Vec<String>), SessionError> {
    let hash = scan(&location.events())?.last_hash;
    let short: String = hash.chars().take(8).collect();
    let file = output.join(format!("{}-{short}.tar.gz", location.learner));
    match file.exists() {
        true => Ok((file, Vec::new())),
        false => archive::export(location, &file).map(|withheld| (file, withheld.lines())),
    }
}
