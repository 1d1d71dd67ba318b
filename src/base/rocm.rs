//! Locates ROCm and its programs on this machine.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that may hold an installation. Those that the environment names come first.
pub fn roots() -> Vec<PathBuf> {
    named().chain(usual(Path::new("/"))).collect()
}

/// Folders that the environment names.
pub fn named() -> impl Iterator<Item = PathBuf> {
    ["ROCM_PATH", "HIP_PATH"]
        .into_iter()
        .filter_map(env::var_os)
        .map(PathBuf::from)
}

/// The usual places of an installation below `root`: AMD's packages up to 7.12, AMD's packages since then (`core` is
/// a link to the newest `core-X.Y`), and distributions.
pub fn usual(root: &Path) -> Vec<PathBuf> {
    let opt = root.join("opt/rocm");
    let entries = fs::read_dir(&opt).into_iter().flatten().flatten();
    let number = |name: &str| -> Option<Vec<u32>> {
        let version = name.strip_prefix("core-")?;
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    let mut numbered: Vec<(Vec<u32>, PathBuf)> = entries
        .filter_map(|entry| Some((number(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    numbered.sort();
    let newest_first = numbered.into_iter().rev().map(|(_, path)| path);
    let core = opt.join("core");
    [opt, core]
        .into_iter()
        .chain(newest_first)
        .chain([root.join("usr")])
        .collect()
}

/// Finds a program on the PATH or in the folder `bin` of one of [`roots`].
pub fn locate(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path);
    folders
        .chain(roots().into_iter().map(|root| root.join("bin")))
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Paths of ROCm's clang in each of `roots`.
pub fn clangs() -> Vec<PathBuf> {
    let places = ["llvm/bin/clang", "lib/llvm/bin/clang"];
    let inside = |root: PathBuf| places.map(|place| root.join(place));
    roots().into_iter().flat_map(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_amds_packages_comes_before_a_distribution() {
        let root = tempfile::tempdir().unwrap();
        for name in ["core-7.14", "core-10.2", "core-notes", "extras-7.14"] {
            fs::create_dir_all(root.path().join("opt/rocm").join(name)).unwrap();
        }
        let found = usual(root.path());
        let below = found
            .iter()
            .filter_map(|path| path.strip_prefix(root.path()).ok());
        let names: Vec<&str> = below.filter_map(Path::to_str).collect();
        assert_eq!(
            names,
            [
                "opt/rocm",
                "opt/rocm/core",
                "opt/rocm/core-10.2",
                "opt/rocm/core-7.14",
                "usr"
            ]
        );
    }
}
