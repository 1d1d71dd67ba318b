//! Where ROCm and its programs are on this machine.

use std::cmp::Reverse;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Where packages of ROCm put it.
const OPT: &str = "/opt/rocm";

/// A program on the PATH or in ROCm's folders: `$ROCM_PATH/bin`, `/opt/rocm/bin`, and below `/opt/rocm` as packages since
/// ROCm 7.13 have it, `core/bin` and `core-X.Y/bin`.
pub fn locate(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path);
    let rocm = folders_of_programs(env::var_os("ROCM_PATH").as_deref(), Path::new(OPT));
    folders
        .chain(rocm)
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

/// ROCm's folders of programs, the one the user names first and the newest version before older ones.
fn folders_of_programs(named: Option<&OsStr>, opt: &Path) -> Vec<PathBuf> {
    let named = named.map(PathBuf::from);
    let packages = [opt.to_owned(), opt.join("core")];
    let mut versions: Vec<(Reverse<Vec<u32>>, PathBuf)> = fs::read_dir(opt)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.strip_prefix("core-")?;
            let numbers = version.split('.').map(str::parse).collect::<Result<_, _>>();
            Some((Reverse(numbers.ok()?), path))
        })
        .collect();
    versions.sort();
    let versions = versions.into_iter().map(|(_, path)| path);
    let roots = named.into_iter().chain(packages).chain(versions);
    roots.map(|root| root.join("bin")).collect()
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_every_version_are_looked_into_the_newest_first() {
        let opt = tempfile::tempdir().unwrap();
        for name in ["core-7.13", "core-7.9", "core-10.2", "core-broken", "lib"] {
            fs::create_dir(opt.path().join(name)).unwrap();
        }
        let named = OsStr::new("/sw/rocm");
        let folders = folders_of_programs(Some(named), opt.path());
        let at = |name: &str| opt.path().join(name);
        let expected = [
            PathBuf::from("/sw/rocm/bin"),
            at("bin"),
            at("core/bin"),
            at("core-10.2/bin"),
            at("core-7.13/bin"),
            at("core-7.9/bin"),
        ];
        assert_eq!(folders, expected);
    }
}
