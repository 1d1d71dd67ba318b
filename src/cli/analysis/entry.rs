//! What a command line names: a target with flags of its own, or a run that was kept.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};

use crate::analysis::Variant;
use crate::cli::training_args::UsageError;
use crate::model::Target;

/// A target, with flags after a colon: `v1`, `v2:--graph-fusion=off`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub target: String,
    pub flags: Vec<OsString>,
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (target, flags) = text.split_once(':').unwrap_or((text, ""));
        check_target(target)?;
        let flags = shlex::split(flags)
            .ok_or_else(|| format!("`{text}`: a quotation mark is not closed"))?;
        Ok(Entry {
            target: target.to_lowercase(),
            flags: flags.into_iter().map(OsString::from).collect(),
        })
    }
}

impl Entry {
    /// As it is written on a command line.
    pub fn text(&self) -> String {
        if self.flags.is_empty() {
            return self.target.clone();
        }
        let flags: Vec<String> = self.flag_words();
        let quoted = shlex::try_join(flags.iter().map(String::as_str));
        format!(
            "{}:{}",
            self.target,
            quoted.unwrap_or_else(|_| flags.join(" "))
        )
    }

    fn flag_words(&self) -> Vec<String> {
        self.flags
            .iter()
            .map(|flag| flag.to_string_lossy().into_owned())
            .collect()
    }

    /// Named by its target and its own flags; `common` flags come first, so that its own override them.
    pub fn variant(&self, common: &[OsString]) -> Variant {
        let mut name = vec![self.target.clone()];
        name.extend(self.flag_words());
        Variant {
            name: name.join(" "),
            target: self.target.clone(),
            flags: [common, &self.flags].concat(),
        }
    }
}

fn check_target(name: &str) -> Result<(), String> {
    name.parse::<Target>().map(|_| ())
}

/// A run on disk, by its folder, its event stream, or its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub path: PathBuf,
}

/// The kept run called `text`; none when it reads as a target instead.
///
/// # Errors
/// When it is neither.
pub fn kept_run(text: &str, root: &Path) -> Result<Option<Kept>> {
    let given = PathBuf::from(text);
    if given.is_file() || given.join("events.jsonl").is_file() {
        return Ok(Some(Kept { path: given }));
    }
    // An id is one word; what has a separator was meant as a path.
    if given.components().count() == 1 {
        let kept = root.join("runs").join(text);
        if kept.join("events.jsonl").is_file() {
            return Ok(Some(Kept { path: kept }));
        }
        return match text.parse::<Entry>() {
            Ok(_) => Ok(None),
            Err(no_target) => bail!(UsageError(format!(
                "`{text}` is no kept run (there is no {}), and {no_target}",
                kept.join("events.jsonl").display()
            ))),
        };
    }
    match text.parse::<Entry>() {
        Ok(_) => Ok(None),
        Err(_) => bail!(UsageError(format!(
            "`{text}` holds no run: a run's folder has a file `events.jsonl`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entrys_own_flags_come_after_the_common_ones() {
        let entry: Entry = "v2:--graph-fusion=off --seed=3".parse().unwrap();
        let variant = entry.variant(&["--seed=1".into()]);
        assert_eq!(variant.name, "v2 --graph-fusion=off --seed=3");
        assert_eq!(
            variant.flags,
            ["--seed=1", "--graph-fusion=off", "--seed=3"]
        );
        assert!("v9".parse::<Entry>().unwrap_err().contains("v9"));
        assert!("v1:--data='x".parse::<Entry>().is_err());
    }

    #[test]
    fn runs_are_found_by_id_and_by_path_and_a_wrong_name_says_what_was_tried() {
        let root = tempfile::tempdir().unwrap();
        let run = root.path().join("runs/0001-abc");
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("events.jsonl"), "").unwrap();
        let found = |text: &str| kept_run(text, root.path());
        assert_eq!(found("0001-abc").unwrap().unwrap().path, run);
        let path = run.to_string_lossy().into_owned();
        assert_eq!(found(&path).unwrap().unwrap().path, run);
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
