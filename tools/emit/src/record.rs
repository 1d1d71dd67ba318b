//! Writes what the program contains of compiled kernels: the table of resources, and the sources for one architecture.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use tinyllama_workbench::compiled::facts::{self, KernelFacts, RECORDED_ARCHITECTURES};

use crate::candidates::{self, EmittedLaunch};
use crate::selection::{V4, amd_targets};
use crate::source::{SourceError, Target};
use crate::{resources, texts};

/// The architecture and the element type whose sources are recorded. V4's kernels are written by hand and are not recorded.
const ARCHITECTURE: &str = "gfx942";
const DTYPE: &str = "f32";

/// Writes the table and the sources into the project at `root`. Rows of the table for other architectures than `names` stay.
///
/// # Errors
/// If a kernel cannot be emitted or compiled, or a file cannot be written.
pub fn write(root: &Path, names: &str) -> Result<()> {
    let folder = root.join("assets/kernel-sources").join(ARCHITECTURE);
    for (path, text) in sources()? {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create {}", parent.display()))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let made = resources::compile(&amd_targets(names)?, false)?;
    let mut facts = facts::recorded()?;
    let is_old = |kernel: &KernelFacts| !made.compilers.contains_key(&kernel.architecture);
    facts.kernels.retain(is_old);
    facts.kernels.extend(made.kernels);
    facts.compilers.extend(made.compilers);
    let place = |name: &str| RECORDED_ARCHITECTURES.iter().position(|one| *one == name);
    facts
        .kernels
        .sort_by_key(|kernel| place(&kernel.architecture));
    let path = root.join("assets/kernel-resources.json");
    fs::write(&path, serde_json::to_string_pretty(&facts)? + "\n")
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Returns the recorded sources: `OPERATION/NUMBER-KERNEL.hip`, numbered in order of launches, and the text.
fn sources() -> Result<Vec<(String, String)>, SourceError> {
    let target = Target::hip(ARCHITECTURE)?;
    let mut all = candidates::candidates(&target, false)?;
    all.retain(|one| one.operation != V4 && one.dtype == DTYPE);
    let mut files = vec![];
    for launches in all.chunk_by(|one, next| one.operation == next.operation) {
        files.extend(launches.iter().enumerate().map(|(index, launch)| {
            let EmittedLaunch { operation, .. } = launch;
            let path = format!("{operation}/{}-{}.hip", index + 1, launch.launch.kernel);
            let source = candidates::normalized(&launch.launch);
            (
                path,
                texts::with_header(&target, launch, source.trim(), "//"),
            )
        }));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;

    /// The recorded sources have to be those of the current kernels. `record` writes them again.
    #[test]
    fn the_recorded_sources_are_current() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../assets/kernel-sources")
            .join(ARCHITECTURE);
        let sources = sources().unwrap();
        for (path, text) in &sources {
            let recorded = fs::read_to_string(folder.join(path)).unwrap_or_default();
            assert!(recorded == *text, "{path} is not current");
        }
        let emitted: BTreeSet<PathBuf> =
            sources.iter().map(|(path, _)| folder.join(path)).collect();
        let mut recorded = BTreeSet::new();
        for operation in fs::read_dir(&folder).unwrap() {
            let files = fs::read_dir(operation.unwrap().path()).unwrap();
            recorded.extend(files.map(|file| file.unwrap().path()));
        }
        assert_eq!(recorded, emitted);
    }
}
