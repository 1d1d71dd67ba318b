//! Settings of users and sites for starting runs: TOML files, where one overrides the other.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

use super::consent;
use tinyllama_base::safe_path::{Refused, SafeFolder, folder_of};
use tinyllama_base::untrusted;
use tinyllama_contract::flags::UsageError;

/// File in a class folder. No learner can have this name, because learners' names do not begin with a dot.
pub const SITE: &str = ".site.toml";
const MOST_BYTES: u64 = 1 << 16;

/// The content of a settings file. Processes of this program exchange it as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `local`, `slurm`, or a command in front of every run.
    pub launcher: Option<String>,
    /// Path of this program on the machine that makes runs. Without it, the path on this machine.
    pub program: Option<PathBuf>,
    /// Names for `module load`.
    pub modules: Vec<String>,
    /// Command in front of the program on the compute node.
    pub container: Vec<String>,
    pub slurm: SlurmSettings,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmSettings {
    pub partition: Option<String>,
    pub account: Option<String>,
    pub qos: Option<String>,
    pub time: Option<String>,
    pub gres: Option<String>,
    pub cpus: Option<u32>,
    /// Minutes without a run after which an allocation is given back.
    pub idle_minutes: Option<u32>,
    /// Further arguments for `sbatch` and `srun`.
    pub options: Vec<String>,
}

/// Settings, and the file that named the launcher.
#[derive(Debug, Default)]
pub(super) struct LoadedSettings {
    pub settings: Settings,
    pub named_in: Option<PathBuf>,
}

/// Reads both files. The user's settings override the site's.
///
/// # Errors
/// Fails if a file has a fault, with its place, or if the learner does not agree to a site's file.
pub(super) fn find(class: Option<&Path>) -> Result<LoadedSettings, UsageError> {
    let mut found = LoadedSettings::default();
    let mut together = toml::Table::new();
    let files = [class.map(|class| class.join(SITE)), users_file()];
    for (path, is_site) in files.into_iter().zip([true, false]) {
        let Some(path) = path else { continue };
        let Some(text) = text(&path, is_site)? else {
            continue;
        };
        let settings = parse(&path, &text)?;
        if is_site {
            consent::ask(&path, &text, &settings)?;
        }
        if settings.launcher.is_some() {
            found.named_in = Some(path.clone());
        }
        override_with(&mut together, text.parse().unwrap_or_default());
    }
    // Each file was checked alone.
    found.settings = together.try_into().unwrap_or_default();
    Ok(found)
}

/// `~/.config/tinyllama-tutor/config.toml`.
fn users_file() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("tinyllama-tutor/config.toml"))
}

/// Reads a file. Returns `None` if it does not exist, or if it is a site's and another than the owner of the class folder
/// made it.
fn text(path: &Path, is_site: bool) -> Result<Option<String>, UsageError> {
    let wrong = |why: String| UsageError(format!("{}: {why}", path.display()));
    let opened = match is_site {
        true => {
            SafeFolder::open_owned(folder_of(path)).and_then(|class| class.file(OsStr::new(SITE)))
        }
        false => untrusted::open(path),
    };
    let bytes = match opened.and_then(|file| untrusted::read_from(file, MOST_BYTES)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return match Refused::from_error(&error) {
                // Any learner can put a file here. `instructor` warns of it.
                Some(Refused::Owner(_) | Refused::Link) => Ok(None),
                Some(Refused::Writable) => {
                    Err(wrong(format!("it names programs to run, and {error}")))
                }
                None => Err(wrong(error.to_string())),
            };
        }
    };
    String::from_utf8(untrusted::without_mark(&bytes).to_vec())
        .map(Some)
        .map_err(|_| wrong("it is not UTF-8 text".into()))
}

fn parse(path: &Path, text: &str) -> Result<Settings, UsageError> {
    let at = |byte: usize| text[..byte.min(text.len())].matches('\n').count() + 1;
    let settings: Settings = toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map_or(String::new(), |span| format!("{}:", at(span.start)));
        let message = error.message().replace('\n', ", ");
        UsageError(format!(
            "{}:{line} {message}; docs/guide/cluster.md lists the allowed keys",
            path.display()
        ))
    })?;
    settings
        .check()
        .map_err(|why| UsageError(format!("{}: {why}", path.display())))?;
    Ok(settings)
}

/// Merges tables key by key. Other values are replaced.
fn override_with(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => {
                override_with(under, over)
            }
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

impl Settings {
    /// Refuses values that a program cannot receive, or would misunderstand.
    pub(super) fn check(&self) -> Result<(), String> {
        let slurm = &self.slurm;
        let single = [
            ("launcher", &self.launcher),
            ("slurm.partition", &slurm.partition),
            ("slurm.account", &slurm.account),
            ("slurm.qos", &slurm.qos),
            ("slurm.time", &slurm.time),
            ("slurm.gres", &slurm.gres),
        ];
        let single = single
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let lists = [
            ("modules", &self.modules),
            ("container", &self.container),
            ("slurm.options", &slurm.options),
        ];
        let lists = lists
            .into_iter()
            .flat_map(|(key, list)| list.iter().map(move |value| (key, value)));
        for (key, value) in single.chain(lists) {
            if value.is_empty() || value.contains(char::is_control) {
                return Err(format!(
                    "{key}: {value:?} is empty or has a control character: remove the key or write a name"
                ));
            }
        }
        let first = |list: &[String]| list.first().is_some_and(|word| word.starts_with('-'));
        if first(&self.container) || self.modules.iter().any(|name| name.starts_with('-')) {
            return Err("`modules` lists names, and `container` begins with a program: neither with a hyphen".into());
        }
        let is_time = |time: &String| time.chars().all(|c| c.is_ascii_digit() || "-:".contains(c));
        if !slurm.time.iter().all(is_time) {
            return Err("slurm.time: write minutes, HOURS:MINUTES:SECONDS or DAYS-HOURS".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        parse(Path::new("site.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_named_with_their_line_and_the_allowed_values() {
        let unknown = wrong("launcher = \"slurm\"\n[slurm]\npartion = \"gpu\"\n");
        assert!(
            unknown.starts_with("site.toml:3: ")
                && unknown.contains("partion")
                && unknown.contains("partition"),
            "{unknown}"
        );
        let kind = wrong("modules = \"rocm\"\n");
        assert!(kind.starts_with("site.toml:1: "), "{kind}");
        for text in [
            "container = [\"--exec\"]",
            "modules = [\"-x\"]",
            "slurm.account = \"a\\nb\"",
            "slurm.time = \"1 hour\"",
            "launcher = \"\"",
        ] {
            assert!(wrong(text).starts_with("site.toml: "), "{text}");
        }
    }

    #[test]
    fn a_users_file_stands_over_the_sites_key_by_key() {
        let mut together: toml::Table =
            "launcher = \"slurm\"\nmodules = [\"a\"]\n[slurm]\npartition = \"gpu\"\ntime = \"10\""
                .parse()
                .unwrap();
        override_with(
            &mut together,
            "modules = []\n[slurm]\ntime = \"20\"".parse().unwrap(),
        );
        let settings: Settings = together.try_into().unwrap();
        assert_eq!(settings.slurm.partition.as_deref(), Some("gpu"));
        assert_eq!(settings.slurm.time.as_deref(), Some("20"));
        assert!(settings.modules.is_empty());
    }
}
