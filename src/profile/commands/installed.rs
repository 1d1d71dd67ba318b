//! Finds the installed profilers and their versions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Tool;
use super::version::{ToolFlag, ToolVersion};
use tinyllama_base::{process, rocm};

/// A tool that was found on this machine, or that is assumed.
#[derive(Clone, Debug, Default)]
pub struct Installed {
    pub program: PathBuf,
    /// For rocprofv3 and rocprof-sys the version of ROCm, for rocprof-compute its own version. `None` if the tool does not
    /// say.
    pub version: Option<ToolVersion>,
    /// Output of `--help`. Empty if the tool could not be asked.
    pub help: String,
    /// The assumed version of ROCm, if no tool reported one.
    pub assumed_rocm: Option<ToolVersion>,
}

/// The oldest version whose commands are known.
pub const OLDEST_ROCM: ToolVersion = ToolVersion(6, 2);

/// Version for a command line if the tool is not installed and no version is requested.
pub const ASSUMED_ROCM: ToolVersion = ToolVersion(7, 2);

impl Installed {
    /// A tool that is not installed, with the flags of `rocm`, to show what its command line would be.
    pub fn assumed(tool: Tool, rocm: ToolVersion) -> Self {
        let about = tool.about();
        // Before ROCm 6.3 the tools were called omnitrace and omniperf.
        let old_names = rocm < ToolVersion(6, 3);
        let name = match old_names {
            true => about.programs.last(),
            false => about.programs.first(),
        };
        Installed {
            program: PathBuf::from(name.copied().unwrap_or(about.name)),
            version: Some((about.version_in)(rocm)),
            help: String::new(),
            assumed_rocm: Some(rocm),
        }
    }

    /// For another program of the same tool. Its flags are chosen by version, because this help is not its own.
    pub fn without_help(&self) -> Self {
        Installed {
            help: String::new(),
            ..self.clone()
        }
    }

    /// Returns the tool's spelling of `flag`: from its help if it has one, otherwise from the table of versions.
    pub fn spelling(&self, flag: &ToolFlag) -> Option<&'static str> {
        let mut spellings = flag.spellings.iter();
        if names_flags(&self.help) {
            let named = spellings.find(|spelling| mentions(&self.help, spelling.word));
            return named.map(|spelling| spelling.word);
        }
        match self.version {
            Some(version) => flag.spelling_in(version),
            None => {
                let of_today = spellings.find(|spelling| spelling.removed_in.is_none());
                of_today.map(|spelling| spelling.word)
            }
        }
    }

    pub fn knows(&self, flag: &ToolFlag) -> bool {
        self.spelling(flag).is_some()
    }

    /// Returns whether the version is known to be at least `version`.
    pub fn is_at_least(&self, version: ToolVersion) -> bool {
        self.version.is_some_and(|installed| installed >= version)
    }
}

fn names_flags(help: &str) -> bool {
    help.matches("--").count() > 5
}

/// Returns whether the help contains `flag` as a separate word.
fn mentions(help: &str, flag: &str) -> bool {
    help.match_indices(flag).any(|(at, _)| {
        let is_part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let before = help[..at].chars().next_back();
        let after = help[at + flag.len()..].chars().next();
        !before.is_some_and(is_part_of_word) && !after.is_some_and(is_part_of_word)
    })
}

/// Finds the installed tool on the PATH or in ROCm's folders. `None` if it is not installed.
pub fn find(tool: Tool) -> Option<Installed> {
    let about = tool.about();
    let program = about.programs.iter().find_map(|name| rocm::locate(name))?;
    let help = full_help(&program, about.help);
    let by_help = || match names_flags(&help) {
        true => (about.version_by_help)(&|flag| mentions(&help, flag)),
        false => None,
    };
    let version = ask(&program, &["--version"])
        .and_then(|(_, text)| version_in(tool, &text))
        .or_else(by_help)
        .or_else(|| version_of_installation(tool, &program));
    let says_nothing = version.is_none() && help.is_empty();
    Some(Installed {
        version: match says_nothing {
            true => Some((about.version_in)(ASSUMED_ROCM)),
            false => version,
        },
        program,
        help,
        assumed_rocm: says_nothing.then_some(ASSUMED_ROCM),
    })
}

/// As [`find`], but assumes a tool if there is none. The second value is true if it is installed.
pub fn find_or_assume(tool: Tool) -> (Installed, bool) {
    match find(tool) {
        Some(found) => (found, true),
        None => (Installed::assumed(tool, ASSUMED_ROCM), false),
    }
}

/// Returns the first answer that names flags. Some versions show all flags only for a special question, and others refuse
/// that question.
fn full_help(program: &Path, questions: &[&[&str]]) -> String {
    let mut answers = questions.iter().filter_map(|args| ask(program, args));
    let full = answers.find(|(succeeded, text)| *succeeded && names_flags(text));
    full.map(|(_, text)| text).unwrap_or_default()
}

/// How long a tool may take to print its version. Python tools on a network file system are slow.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns whether a program succeeds, and its output. `None` if it cannot be started or does not end.
fn ask(program: &Path, args: &[&str]) -> Option<(bool, String)> {
    let (status, text) = process::ask(program, args, ANSWER_TIMEOUT).ok()??;
    Some((status.success(), text))
}

/// Finds the version in the output of `--version`.
fn version_in(tool: Tool, text: &str) -> Option<ToolVersion> {
    let lower = text.to_lowercase();
    tool.about().version_labels.iter().find_map(|label| {
        let after = &lower[lower.find(label)? + label.len()..];
        after.trim_start_matches([' ', ':', '=', '\t']).parse().ok()
    })
}

/// Finds the version of the ROCm installation that contains the program. ROCm notes it in `.info/version`, next to `bin`
/// and `libexec`.
fn version_of_installation(tool: Tool, program: &Path) -> Option<ToolVersion> {
    let real = std::fs::canonicalize(program).ok()?;
    let read = |root: &Path| std::fs::read_to_string(root.join(".info/version")).ok();
    let text = real.ancestors().skip(1).find_map(read)?;
    Some((tool.about().version_in)(text.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::version::flags;

    #[test]
    fn versions_are_found_in_what_tools_print() {
        let rocprofv3 =
            "             version: 1.0.0\n        git_revision: abc\n        rocm_version: 7.0.2\n";
        assert_eq!(
            version_in(Tool::Rocprofv3, rocprofv3),
            Some(ToolVersion(7, 0))
        );
        let compute = "----\nrocprofiler-compute version: 3.2.0 (release)\nGit revision:     dc8dc2c3\n----\n";
        assert_eq!(
            version_in(Tool::RocprofCompute, compute),
            Some(ToolVersion(3, 2))
        );
        let sys = "rocprof-sys-run v1.1.0 (rev: 1234, compiler: GNU v11.4.0, rocm: v7.0.0)";
        assert_eq!(version_in(Tool::RocprofSys, sys), Some(ToolVersion(7, 0)));
        assert_eq!(
            version_in(Tool::Rocprofv3, "error: unrecognized arguments: --version"),
            None
        );
    }

    #[test]
    fn help_decides_over_the_table() {
        flags! { FLAG = "--pmc" (6, 3): ""; }
        let help = "usage: a --kernel-trace --stats --truncate-kernels --output-format --output-file --output-directory";
        let installed = Installed {
            version: Some(ToolVersion(7, 0)),
            help: help.to_owned(),
            ..Installed::default()
        };
        assert!(!installed.knows(&FLAG));
        assert!(!mentions("--pmc-groups", "--pmc"));
        assert!(mentions("[--pmc [PMC ...]]", "--pmc"));
    }
}
