//! Decides how this machine starts runs: here, behind a command, or in an allocation of Slurm.
//!
//! Callers get a command line and need not know the difference. For Slurm the command is this program. It waits for the
//! allocation, starts the run there, and passes its stream on ([`step`]).

mod consent;
mod error;
mod settings;
mod slurm;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::round::RoundRun;
use crate::RunStart;
pub use settings::{SITE, Settings};
pub use slurm::{keeper, step};
use tinyllama_base::die_with_parent;
use tinyllama_contract::Synchronize;
use tinyllama_contract::flags::{RunSpec, UsageError};

/// Environment variable that names the launcher if no flag does. It may also contain the launcher as JSON.
pub const VARIABLE: &str = "TINYLLAMA_LAUNCHER";
/// Environment variable with the folder of the class.
pub const CLASS: &str = "TINYLLAMA_CLASS";
/// Environment variable with the name of the learner.
pub const LEARNER: &str = "TINYLLAMA_LEARNER";

/// The place in which a run executes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LauncherKind {
    Local,
    Slurm,
    /// Arguments before the program, such as `srun --gres=gpu:1`.
    Command(Vec<String>),
}

/// How this machine starts runs.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// Path of this program on this machine.
    pub program: PathBuf,
    pub kind: LauncherKind,
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
            kind: LauncherKind::Local,
            settings: Settings::default(),
            why: "no other launcher is set".into(),
            variables: Vec::new(),
            keeper: Arc::default(),
        }
    }

    /// Launches this program on this machine.
    pub fn local_program() -> Self {
        // If the system does not tell the path, the shell finds the program by name.
        Self::local(env::current_exe().unwrap_or_else(|_| "tinyllama-tutor".into()))
    }

    /// Chooses a launcher: from the flag or the environment (both are in `flag`), the user's file, or the class's file.
    ///
    /// # Errors
    /// Fails if a setting cannot be understood. The error names its place.
    pub fn from_settings(flag: Option<&str>, class: Option<&Path>) -> Result<Self, UsageError> {
        let launcher = Self::local_program();
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
            kind: LauncherKind::parse(&name)?,
            settings: found.settings,
            why,
            ..launcher
        })
    }

    /// Checks the text of a launcher's flag, without starting anything.
    ///
    /// # Errors
    /// Fails if the text is no launcher.
    pub fn check_flag(text: &str) -> Result<String, UsageError> {
        if !text.starts_with('{') {
            LauncherKind::parse(text)?;
        }
        Ok(text.into())
    }

    /// Reads a launcher that [`Launcher::json`] wrote.
    fn of_json(self, json: &str) -> Result<Self, UsageError> {
        let wrong = |error: serde_json::Error| UsageError(format!("--launcher {json}: {error}"));
        let passed: PassedFlags = serde_json::from_str(json).map_err(wrong)?;
        Ok(Launcher {
            kind: passed.to,
            settings: passed.with,
            why: "the program that started this one chose it".into(),
            ..self
        })
    }

    /// Writes the launcher for another process of this program. `--launcher` accepts it.
    pub fn json(&self) -> String {
        let passed = PassedFlags {
            to: self.kind.clone(),
            with: self.settings.clone(),
        };
        // Texts, numbers and lists always serialize.
        serde_json::to_string(&passed).unwrap_or_default()
    }

    /// Returns whether this machine makes the runs, so that devices and power can be read.
    pub fn is_local(&self) -> bool {
        self.kind == LauncherKind::Local
    }

    /// Sets an environment variable for every run.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push(format!("{name}={value}"));
        self
    }

    /// Builds the command line of this program with `arguments`, for the place where runs are made.
    pub fn command(&self, arguments: impl IntoIterator<Item: Into<OsString>>) -> Vec<OsString> {
        let mut argv = match &self.kind {
            LauncherKind::Local => Vec::new(),
            LauncherKind::Command(before) => before.iter().map(OsString::from).collect(),
            LauncherKind::Slurm => self.step_arguments(),
        };
        if !self.variables.is_empty() {
            argv.push("env".into());
            argv.extend(self.variables.iter().map(OsString::from));
        }
        argv.push(self.remote_program().into());
        argv.extend(arguments.into_iter().map(Into::into));
        argv
    }

    /// The child that carries out this line of the program. It has no input and ends with this process.
    pub fn child(&self, arguments: impl IntoIterator<Item: Into<OsString>>) -> Command {
        let argv = self.command(arguments);
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).stdin(Stdio::null());
        die_with_parent(&mut command, libc::SIGTERM);
        command
    }

    /// Path of this program on the machine that makes the runs.
    fn remote_program(&self) -> PathBuf {
        let named = self.settings.program.clone();
        named.unwrap_or_else(|| self.program.clone())
    }

    /// Command line of this program that makes a step.
    fn step_arguments(&self) -> Vec<OsString> {
        let mut argv: Vec<OsString> =
            vec![self.program.clone().into(), "launch".into(), "step".into()];
        argv.push(format!("--launcher={}", self.json()).into());
        if let Some(keeper) = self.keeper() {
            argv.extend(["--allocation".into(), keeper.folder.clone().into()]);
        }
        argv.push("--".into());
        argv
    }

    /// Process that holds the allocations of this process and gives them back. `None` if this process requests none.
    fn keeper(&self) -> Option<&keeper::Keeper> {
        if self.kind != LauncherKind::Slurm || slurm::is_inside() {
            return None;
        }
        let idle_minutes = self.settings.slurm.idle_minutes;
        let start = || keeper::Keeper::start(&self.program, idle_minutes).ok();
        self.keeper.get_or_init(start).as_ref()
    }

    /// Checks that several runs at a time do not share a device.
    ///
    /// # Errors
    /// Fails if they would share a device.
    pub fn check_several(&self) -> Result<(), UsageError> {
        match &self.kind {
            LauncherKind::Command(_) => Ok(()),
            LauncherKind::Local | LauncherKind::Slurm => Err(UsageError(format!(
                "--jobs: runs at a time in one place ({}) would slow each other down; use a launcher that gives each \
                 run its own resources, such as \"srun --gres=gpu:1\"",
                self.kind.name()
            ))),
        }
    }

    /// Arguments that start another program with the terminal, such as a profiler, on the machine that makes the runs.
    pub fn profiler_prefix(&self) -> Vec<OsString> {
        match &self.kind {
            LauncherKind::Local => Vec::new(),
            LauncherKind::Command(before) => before.iter().map(OsString::from).collect(),
            LauncherKind::Slurm => slurm::job_prefix(&self.settings),
        }
    }

    /// Command line of `run` on this program, without a launcher in front.
    pub fn program_for(
        &self,
        target: &str,
        flags: impl IntoIterator<Item = String>,
    ) -> Vec<OsString> {
        let mut argv = vec![self.remote_program().into(), "run".into(), target.into()];
        argv.extend(flags.into_iter().map(OsString::from));
        argv
    }

    /// Prepares a run with its events on standard output.
    pub fn run(&self, spec: &RunSpec) -> RunStart {
        RunStart::Command {
            argv: self.run_command(spec),
            is_local: self.is_local(),
        }
    }

    /// Prepares two runs as one round. If both are single processes on this machine that wait for the device, they are
    /// alive at once and take turns. Otherwise they run one after the other.
    pub fn start_in_turns(&self, runs: [&RunSpec; 2]) -> [RunStart; 2] {
        let takes_turns = |spec: &RunSpec| {
            let options = spec.flags.options(spec.target);
            let waits = options.is_ok_and(|options| options.synchronize != Synchronize::Never);
            waits && spec.flags.ranks.gpus.is_none()
        };
        if !self.is_local() || !runs.into_iter().all(takes_turns) {
            return runs.map(|spec| self.run(spec));
        }
        let [first, second] = runs.map(|spec| self.run_command(spec));
        RoundRun::of_both(first, second).map(RunStart::InTurns)
    }

    fn run_command(&self, spec: &RunSpec) -> Vec<OsString> {
        let before = ["run", spec.target.name, "--events"].map(str::to_owned);
        self.command(before.into_iter().chain(spec.args()))
    }
}

/// The settings that one process of this program passes to the next.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PassedFlags {
    to: LauncherKind,
    #[serde(default)]
    with: Settings,
}

impl LauncherKind {
    /// Parses a launcher's name.
    ///
    /// # Errors
    /// Fails if the name cannot be parsed.
    fn parse(name: &str) -> Result<Self, UsageError> {
        match name.trim() {
            "local" => Ok(LauncherKind::Local),
            "slurm" => Ok(LauncherKind::Slurm),
            name => match shlex::split(name) {
                Some(argv) if argv.first().is_some_and(|program| !program.is_empty()) => {
                    Ok(LauncherKind::Command(argv))
                }
                Some(_) => Err(UsageError(
                    "no launcher is named; write local, slurm, or a command".into(),
                )),
                None => Err(UsageError(format!(
                    "{name}: a quotation mark is not closed"
                ))),
            },
        }
    }

    /// Text for `doctor`.
    pub fn name(&self) -> String {
        match self {
            LauncherKind::Local => "local".into(),
            LauncherKind::Slurm => "slurm".into(),
            LauncherKind::Command(argv) => {
                shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests;
