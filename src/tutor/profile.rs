//! Completes the command of a profile step for this machine.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::TutorOptions;
use tinyllama_base::inside;
use tinyllama_contract::flags::RunSpec;
use tinyllama_lesson::Step;
use tinyllama_profile::commands::installed::find_or_assume;
use tinyllama_profile::commands::line::CommandLine;
use tinyllama_profile::commands::{ProfileRequest, Tool, build};
use tinyllama_profile::live::sysfs;
use tinyllama_profile::read::Import;
use tinyllama_profile::show::hotspots::GroupBy;
use tinyllama_profile::show::parts::KernelParts;
use tinyllama_profile::show::report::{ReportOptions, report};
use tinyllama_runs::{FinishedRuns, RunExit, RunFolder, RunRecord};
use tinyllama_session::{Session, SessionError, StepRef};

/// Most rows of each table of an import.
const TABLE_ROWS: usize = 15;

/// A profiler's command line, and whether its tool is installed.
#[derive(Clone, Debug)]
pub struct PreparedProfile {
    pub line: CommandLine,
    pub tool: Tool,
    pub is_installed: bool,
    /// Describes what the profile will show.
    pub shows: &'static str,
}

/// A profile step's command and what came of it.
#[derive(Debug, Default)]
pub struct ProfileView {
    pub prepared: Option<Result<PreparedProfile, String>>,
    /// The command after the learner's changes; `None` without any.
    pub edited: Option<CommandLine>,
    pub is_running: bool,
    /// Last lines of the profiler's output.
    pub log: Vec<String>,
    /// How it ended and what it complained of.
    pub ending: Vec<String>,
    /// Why the last import holds nothing of a GPU, and what to try. Empty if it holds something.
    pub nothing: Vec<String>,
}

impl ProfileView {
    /// Returns the command that would run now.
    pub fn line(&self) -> Option<&CommandLine> {
        match (&self.edited, &self.prepared) {
            (Some(line), _) => Some(line),
            (None, Some(Ok(prepared))) => Some(&prepared.line),
            _ => None,
        }
    }
}

/// Finds the tool and completes its command, with output into `folder`. It starts programs to ask for their versions,
/// so do not call it on the thread that draws.
///
/// # Errors
/// Fails if `run` does not take the flags, or the installed tool lacks a feature that the task needs.
pub fn prepare(
    options: &TutorOptions,
    step: &Step,
    folder: PathBuf,
) -> anyhow::Result<PreparedProfile> {
    let profile = step.as_profile().context("this step asks for no profile")?;
    let task = &profile.task;
    let target = step.target.as_deref().unwrap_or_default();
    let tool = task.tool();
    let (installed, is_installed) = find_or_assume(tool);
    let spec = RunSpec::parse(target, &step.flags)?.surrounded_by(&task.run_flags(), &[])?;
    let launcher = &options.launcher;
    let request = ProfileRequest {
        task: task.clone(),
        target: launcher.program_for(spec.target.name, spec.args()),
        launcher: launcher.profiler_prefix(),
        folder,
        name: target.into(),
        architecture: sysfs::architecture_here(),
    };
    Ok(PreparedProfile {
        line: build(&request, &installed)?,
        tool,
        is_installed,
        shows: task.shows(),
    })
}

/// Returns a folder that does not exist yet for a step's profile: `profiles/lesson-step`, or with a number after it.
pub fn folder_for(root: &Path, at: &StepRef) -> PathBuf {
    let base = root.join("profiles");
    let name = format!("{}-{}", at.lesson, at.step);
    let mut folder = base.join(&name);
    let mut number = 2;
    while folder.exists() {
        folder = base.join(format!("{name}-{number}"));
        number += 1;
    }
    folder
}

/// Maps kernels to the model part that issued them, from the newest run of `target` that timed its kernels. The map is
/// empty without such a run. All runs of a target on one machine use the same kernel names.
pub fn kernel_parts(runs: &FinishedRuns, target: &str) -> KernelParts {
    // The folders' names begin with the time.
    let folders = inside(&runs.folder).unwrap_or_default();
    let newest = folders.iter().rev().find_map(|folder| {
        let hello = RunRecord::read(folder)?.hello?;
        let id = folder.file_name()?.to_str()?;
        let run = (hello.target == target).then(|| runs.get(id))?.ok()??;
        run.reported.kernels.is_some().then_some(run)
    });
    KernelParts::of_kernels(
        newest
            .iter()
            .filter_map(|run| run.reported.kernels.as_ref()),
    )
}

/// Records a profile that was made or imported for a step. It counts as a run, and its folder names its origin.
pub fn note_profile(
    session: &mut Session,
    at: StepRef,
    target: &str,
    command: Vec<String>,
) -> Result<(), SessionError> {
    let folder = RunFolder::create(&session.location.folder, command.clone())
        .and_then(|folder| folder.finish(&RunExit::SUCCESS.to_string(), None));
    let run = folder.map_err(|error| SessionError::NoPlace {
        why: format!("{error:#}"),
    })?;
    session.start_run(&run.id(), Some(at), target, command)?;
    session.run_ended(&run.id(), RunExit::SUCCESS)
}

/// Formats the imported profile as tables of at most `width` columns.
pub fn tables(import: &Import, width: usize) -> String {
    let options = ReportOptions {
        group: GroupBy::ShortName,
        rows: TABLE_ROWS,
    };
    let mut text = String::new();
    for table in report(&import.profile, &KernelParts::default(), options) {
        text.push_str(&table.render(width));
        text.push('\n');
    }
    for damage in &import.damage {
        text.push_str(&format!("damaged: {damage}\n"));
    }
    text
}
