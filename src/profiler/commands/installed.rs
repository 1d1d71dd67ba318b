//! Which profiler is installed, and which version.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Tool;
use super::version::{Flag, Version};
use crate::base::process;

/// A tool found on this machine, or assumed.
#[derive(Clone, Debug, Default)]
pub struct Installed {
    pub program: PathBuf,
    /// rocprofv3 and rocprof-sys: the version of ROCm; rocprof-compute: its own. `None` when it does not say.
    pub version: Option<Version>,
    /// What `--help` prints; empty when it could not be asked.
    pub help: String,
}

/// Oldest version of each tool that is supported: what an unknown version is taken for.
pub const OLDEST_ROCM: Version = Version(6, 2);
pub const OLDEST_COMPUTE: Version = Version(3, 0);

impl Installed {
    /// A tool that is not there, for showing what its command line would be.
    pub fn assumed(tool: Tool) -> Self {
        Installed {
            program: PathBuf::from(tool.about().programs[0]),
            version: Some(tool.about().assumed),
            help: String::new(),
        }
    }

    /// For another program of the same tool, whose flags go by the version.
    pub fn without_help(&self) -> Self {
        Installed {
            help: String::new(),
            ..self.clone()
        }
    }

    /// Whether the tool takes `flag`: by its own help where it has one, else by the table of versions.
    pub fn knows(&self, flag: &Flag) -> bool {
        if names_flags(&self.help) {
            return mentions(&self.help, flag.name);
        }
        match self.version {
            Some(version) => flag.is_in(version),
            None => flag.until.is_none() && [OLDEST_ROCM, OLDEST_COMPUTE].contains(&flag.since),
        }
    }

    /// Whether the version is known to be at least `version`.
    pub fn is_at_least(&self, version: Version) -> bool {
        self.version.is_some_and(|installed| installed >= version)
    }
}

fn names_flags(help: &str) -> bool {
    help.matches("--").count() > 5
}

/// Whether `flag` stands in the help as a word of its own.
fn mentions(help: &str, flag: &str) -> bool {
    help.match_indices(flag).any(|(at, _)| {
        let is_part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let before = help[..at].chars().next_back();
        let after = help[at + flag.len()..].chars().next();
        !before.is_some_and(is_part_of_word) && !after.is_some_and(is_part_of_word)
    })
}

/// The tool as it is installed, on the PATH or in ROCm's folder; `None` when it is not.
pub fn find(tool: Tool) -> Option<Installed> {
    let about = tool.about();
    let program = about.programs.iter().find_map(|name| locate(name))?;
    let help = ask(&program, about.help).unwrap_or_default();
    let by_help = || match names_flags(&help) {
        true => (about.version_by_help)(&|flag| mentions(&help, flag)),
        false => None,
    };
    let version = ask(&program, &["--version"])
        .and_then(|text| version_in(tool, &text))
        .or_else(by_help)
        .or_else(|| version_of_installation(tool, &program));
    Some(Installed {
        program,
        version,
        help,
    })
}

/// The same, or what a program to come is taken for, and whether it is there.
pub fn find_or_assume(tool: Tool) -> (Installed, bool) {
    match find(tool) {
        Some(found) => (found, true),
        None => (Installed::assumed(tool), false),
    }
}

/// Where a program is: on the PATH, in `$ROCM_PATH/bin`, in `/opt/rocm/bin`.
pub fn locate(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let rocm = env::var_os("ROCM_PATH").map(|path| PathBuf::from(path).join("bin"));
    env::split_paths(&path)
        .chain(rocm)
        .chain([PathBuf::from("/opt/rocm/bin")])
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// How long a tool may take to tell its version; Python tools on a network file system are slow.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a program prints; `None` when it cannot be started or does not end.
fn ask(program: &Path, words: &[&str]) -> Option<String> {
    let (_, text) = process::ask(program, words, PATIENCE).ok()??;
    Some(text)
}

/// The version in what `--version` printed.
fn version_in(tool: Tool, text: &str) -> Option<Version> {
    let lower = text.to_lowercase();
    tool.about().version_labels.iter().find_map(|label| {
        let after = &lower[lower.find(label)? + label.len()..];
        after.trim_start_matches([' ', ':', '=', '\t']).parse().ok()
    })
}

/// ROCm notes its version in `.info/version` beside `bin`.
fn version_of_installation(tool: Tool, program: &Path) -> Option<Version> {
    let real = std::fs::canonicalize(program).ok()?;
    let root = real.parent()?.parent()?;
    let text = std::fs::read_to_string(root.join(".info/version")).ok()?;
    let version = text.parse().ok();
    version.filter(|_| tool.about().has_version_of_rocm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        let rocprofv3 =
            "             version: 1.0.0\n        git_revision: abc\n        rocm_version: 7.0.2\n";
        assert_eq!(version_in(Tool::Rocprofv3, rocprofv3), Some(Version(7, 0)));
        let compute = "----\nrocprofiler-compute version: 3.2.0 (release)\nGit revision:     dc8dc2c3\n----\n";
        assert_eq!(
            version_in(Tool::RocprofCompute, compute),
            Some(Version(3, 2))
        );
        let sys = "rocprof-sys-run v1.1.0 (rev: 1234, compiler: GNU v11.4.0, rocm: v7.0.0)";
        assert_eq!(version_in(Tool::RocprofSys, sys), Some(Version(7, 0)));
        assert_eq!(
            version_in(Tool::Rocprofv3, "error: unrecognized arguments: --version"),
            None
        );
    }

    #[test]
    fn help_decides_over_the_table() {
        let flag = Flag::new("--pmc", Version(6, 3), "");
        let help = "usage: a --kernel-trace --stats --truncate-kernels --output-format --output-file --output-directory";
        let installed = Installed {
            version: Some(Version(7, 0)),
            help: help.to_owned(),
            ..Installed::default()
        };
        assert!(!installed.knows(&flag));
        assert!(!mentions("--pmc-groups", "--pmc"));
        assert!(mentions("[--pmc [PMC ...]]", "--pmc"));
    }
}
