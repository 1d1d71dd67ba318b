//! Decides how this machine starts runs: here, behind a command, in an allocation of Slurm, or on another machine through
//! ssh.
//!
//! Callers get a command line and need not know the difference. For Slurm and ssh the command is this program. It connects
//! to the scheduler or the host, starts the run there, and passes its stream on ([`near`], [`far`]).

mod consent;
pub mod far;
mod mark;
pub mod near;
mod settings;
mod slurm;
mod ssh;
mod stream;
mod trouble;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::round::Turn;
use crate::run::{RunSpec, Start, UsageError};
pub use settings::Settings;
pub use slurm::{array, keeper};
use tinyllama_contract::Synchronize;

/// Environment variable that names the launcher if no flag does. It may also contain the launcher as JSON.
pub const VARIABLE: &str = "TINYLLAMA_LAUNCHER";
const CLASS: &str = "TINYLLAMA_CLASS";

/// The place in which a run executes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Local,
    Slurm,
    Ssh(String),
    /// Arguments before the program, such as `srun --gres=gpu:1`.
    Command(Vec<String>),
}

/// How this machine starts runs.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Path of this program on this machine.
    pub program: PathBuf,
    pub kind: Kind,
    pub settings: Settings,
    /// Who chose the launcher, as text.
    pub why: String,
    /// Environment variables for every run.
    variables: Vec<String>,
    /// Process that holds an allocation while this process lives.
    keeper: Arc<OnceLock<Option<keeper::Keeper>>>,
}

impl Launcher {
    /// Launches `program` on this machine.
    pub fn local(program: PathBuf) -> Self {
        Launcher {
            program,
            kind: Kind::Local,
            settings: Settings::default(),
            why: "nothing says otherwise".into(),
            variables: Vec::new(),
            keeper: Arc::default(),
        }
    }

    /// Launches this program on this machine.
    pub fn of_this_program() -> Self {
        // If the system does not tell the path, the shell finds the program by name.
        Self::local(env::current_exe().unwrap_or_else(|_| "tinyllama-tutor".into()))
    }

    /// Chooses a launcher: from the flag or the environment (both are in `flag`), the user's file, or the class's file.
    ///
    /// # Errors
    /// Fails if a setting cannot be understood. The error names its place.
    pub fn choose(flag: Option<&str>, class: Option<&Path>) -> Result<Self, UsageError> {
        let launcher = Self::of_this_program();
        if let Some(json) = flag.filter(|flag| flag.starts_with('{')) {
            return launcher.of_json(json);
        }
        let class = class.map(Path::to_path_buf);
        let class = class.or_else(|| env::var_os(CLASS).map(PathBuf::from));
        let found = settings::find(class.as_deref())?;
        let named = found.settings.launcher.clone();
        let (name, why) = match (flag, named, found.named_in) {
            (Some(flag), ..) if env::var(VARIABLE).is_ok_and(|value| value == flag) => {
                (flag.to_string(), format!("{VARIABLE} says so"))
            }
            (Some(flag), ..) => (flag.to_string(), "--launcher says so".into()),
            (None, Some(name), Some(path)) => (name, format!("{} says so", path.display())),
            _ => {
                return Ok(Launcher {
                    settings: found.settings,
                    ..launcher
                });
            }
        };
        Ok(Launcher {
            kind: Kind::parse(&name)?,
            settings: found.settings,
            why,
            ..launcher
        })
    }

    /// Reads a launcher that [`Launcher::json`] wrote.
    fn of_json(self, json: &str) -> Result<Self, UsageError> {
        let wrong = |error: serde_json::Error| UsageError(format!("--launcher {json}: {error}"));
        let (kind, settings) = serde_json::from_str::<Passed>(json)
            .map(|it| (it.to, it.with))
            .map_err(wrong)?;
        Ok(Launcher {
            kind: kind.checked()?,
            settings,
            why: "the program that started this one chose it".into(),
            ..self
        })
    }

    /// Writes the launcher for another process of this program. `--launcher` accepts it.
    pub fn json(&self) -> String {
        let passed = Passed {
            to: self.kind.clone(),
            with: self.settings.clone(),
        };
        // Texts, numbers and lists always serialize.
        serde_json::to_string(&passed).unwrap_or_default()
    }

    /// Returns whether this machine makes the runs, so that devices and power can be read.
    pub fn is_local(&self) -> bool {
        self.kind == Kind::Local
    }

    /// Sets an environment variable for every run.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push(format!("{name}={value}"));
        self
    }

    /// Builds the command line of this program with `arguments`, for the place where runs are made.
    pub fn command<A: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Vec<OsString> {
        let mut words = match &self.kind {
            Kind::Local => Vec::new(),
            Kind::Command(before) => before.iter().map(OsString::from).collect(),
            Kind::Slurm | Kind::Ssh(_) => self.near(),
        };
        if !self.variables.is_empty() {
            words.push("env".into());
            words.extend(self.variables.iter().map(OsString::from));
        }
        words.push(self.program_there().into());
        words.extend(arguments.into_iter().map(Into::into));
        words
    }

    /// Path of this program on the machine that makes the runs.
    fn program_there(&self) -> PathBuf {
        let named = self.settings.program.clone();
        named.unwrap_or_else(|| self.program.clone())
    }

    /// Command line of the near end, which connects to that machine and reads the run.
    fn near(&self) -> Vec<OsString> {
        let mut words = launch(&self.program, "near");
        words.push(format!("--launcher={}", self.json()).into());
        if let Some(keeper) = self.keeper() {
            words.extend(["--allocation".into(), keeper.folder.clone().into()]);
        }
        words.push("--".into());
        words
    }

    /// Process that holds the allocations of this process and gives them back. `None` if this process requests none.
    fn keeper(&self) -> Option<&keeper::Keeper> {
        if self.kind != Kind::Slurm || slurm::is_inside() {
            return None;
        }
        let keeper = self.keeper.get_or_init(|| keeper::Keeper::start(self).ok());
        keeper.as_ref()
    }

    /// Checks that several runs at a time do not share a device.
    ///
    /// # Errors
    /// Fails if they would share one.
    pub fn check_several(&self) -> Result<(), UsageError> {
        match &self.kind {
            Kind::Slurm | Kind::Command(_) => Ok(()),
            Kind::Local | Kind::Ssh(_) => Err(UsageError(format!(
                "--jobs: runs at a time on one machine ({}) would slow each other down; use --launcher \
                 slurm, or a command that gives each run its own resources, such as \"srun --gres=gpu:1\"",
                self.kind.words()
            ))),
        }
    }

    /// Prepares runs of which at most `at_once` are active at a time. With Slurm they become a job array.
    ///
    /// # Errors
    /// Fails if the array cannot be submitted.
    pub fn several(&self, specs: &[&RunSpec], at_once: usize) -> anyhow::Result<Vec<Start>> {
        self.check_several()?;
        if self.kind != Kind::Slurm || slurm::is_inside() || specs.is_empty() {
            return Ok(specs.iter().map(|spec| self.run(spec)).collect());
        }
        let here = Launcher {
            kind: Kind::Local,
            ..self.clone()
        };
        let pieces = specs
            .iter()
            .map(|spec| here.words(spec))
            .collect::<Vec<_>>();
        let waiting = array::submit(self, &pieces, at_once)?;
        let start = |words| Start::Command {
            words,
            is_local: false,
        };
        Ok(waiting.into_iter().map(start).collect())
    }

    /// Arguments that start another program with the terminal, such as a profiler, on the machine that makes the runs.
    ///
    /// # Errors
    /// Fails if the program's arguments would pass through a shell.
    pub fn before_a_profiler(&self) -> Result<Vec<OsString>, UsageError> {
        match &self.kind {
            Kind::Local => Ok(Vec::new()),
            Kind::Command(before) => Ok(before.iter().map(OsString::from).collect()),
            Kind::Slurm => Ok([slurm::alone(&self.settings), wrap(&self.settings)].concat()),
            Kind::Ssh(host) => Err(UsageError(format!(
                "profilers do not run through ssh: log in to {host} and profile there, then `profile import` reads the files here"
            ))),
        }
    }

    /// Command line of `run` on this program, without a launcher in front.
    pub fn program_for(
        &self,
        target: &str,
        flags: impl IntoIterator<Item = String>,
    ) -> Vec<OsString> {
        let mut words = vec![self.program_there().into(), "run".into(), target.into()];
        words.extend(flags.into_iter().map(OsString::from));
        words
    }

    /// Prepares a run with its events on standard output.
    pub fn run(&self, spec: &RunSpec) -> Start {
        Start::Command {
            words: self.words(spec),
            is_local: self.is_local(),
        }
    }

    /// Prepares two runs as one round. If both are single processes on this machine that wait for the device, they are
    /// alive at once and take turns. Otherwise they run one after the other.
    pub fn in_turns(&self, runs: [&RunSpec; 2]) -> [Start; 2] {
        let takes_turns = |spec: &RunSpec| {
            let options = spec.flags.options(spec.target);
            let waits = options.is_ok_and(|options| options.synchronize != Synchronize::Never);
            waits && spec.flags.ranks.gpus.is_none()
        };
        if !self.is_local() || !runs.into_iter().all(takes_turns) {
            return runs.map(|spec| self.run(spec));
        }
        let [first, second] = runs.map(|spec| self.words(spec));
        Turn::of_both(first, second).map(Start::InTurns)
    }

    fn words(&self, spec: &RunSpec) -> Vec<OsString> {
        let before = ["run", spec.target.name, "--events"].map(str::to_owned);
        self.command(before.into_iter().chain(spec.words()))
    }
}

/// The settings that one process of this program passes to the next.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Passed {
    to: Kind,
    #[serde(default)]
    with: Settings,
}

impl Kind {
    /// Parses a launcher's name.
    ///
    /// # Errors
    /// Fails if the name cannot be parsed.
    fn parse(name: &str) -> Result<Self, UsageError> {
        match name.trim() {
            "" | "local" => Ok(Kind::Local),
            "slurm" => Ok(Kind::Slurm),
            name => match name.strip_prefix("ssh:") {
                Some(host) => Kind::Ssh(host.into()).checked(),
                None => shlex::split(name).map(Kind::Command).ok_or_else(|| {
                    UsageError(format!("--launcher {name}: a quotation mark is not closed"))
                }),
            },
        }
    }

    fn checked(self) -> Result<Self, UsageError> {
        if let Kind::Ssh(host) = &self {
            ssh::check_host(host)?;
        }
        Ok(self)
    }

    /// Text for `doctor`.
    pub fn words(&self) -> String {
        match self {
            Kind::Local => "local".into(),
            Kind::Slurm => "slurm".into(),
            Kind::Ssh(host) => format!("ssh:{host}"),
            Kind::Command(words) => {
                shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
            }
        }
    }
}

/// Command line that starts a part of a launch with this program.
fn launch(program: &Path, part: &str) -> Vec<OsString> {
    vec![program.into(), "launch".into(), part.into()]
}

/// Command that loads modules and enters a container on the compute node, before the program.
fn wrap(settings: &Settings) -> Vec<OsString> {
    /// `module` is a function of the login shell. Names stay separate arguments.
    const LOAD: &str =
        "while [ \"$1\" != -- ]; do module load \"$1\" || exit 3; shift; done; shift; exec \"$@\"";
    let mut words: Vec<OsString> = Vec::new();
    if !settings.modules.is_empty() {
        words.extend(["bash", "-lc", LOAD, "modules"].map(OsString::from));
        words.extend(settings.modules.iter().map(OsString::from));
        words.push("--".into());
    }
    words.extend(settings.container.iter().map(OsString::from));
    words
}

#[cfg(test)]
mod tests;
