//! A profile step's command, filled in for this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::options::Options;
use crate::lesson::course::Tool as LessonTool;
use crate::profiler::commands::installed::{Installed, OLDEST_COMPUTE, find};
use crate::profiler::commands::line::CommandLine;
use crate::profiler::commands::version::Version;
use crate::profiler::commands::{Request, Task, Tool, build};
use crate::profiler::live::sysfs;
use crate::profiler::read::Import;
use crate::profiler::show::hotspots::GroupBy;
use crate::profiler::show::parts::Parts;
use crate::profiler::show::report::{ReportOptions, report};
use crate::run::folder::RunRecord;
use crate::session::event::StepRef;

/// Lines of each table of an import.
const TABLE_ROWS: usize = 15;
/// Columns they may take.
const TABLE_WIDTH: usize = 100;

/// A profiler's command line, and whether it can be run here.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub line: CommandLine,
    pub tool: Tool,
    pub is_installed: bool,
    /// What one sees afterwards.
    pub shows: &'static str,
}

/// Looks for the tool and fills its command in. `folder` is where its output goes. Starts programs to ask for versions:
/// not for a thread that draws.
///
/// # Errors
/// When the path of this program cannot be found out.
pub fn prepare(
    options: &Options,
    tool: LessonTool,
    target: &str,
    flags: &[String],
    folder: PathBuf,
) -> Result<Prepared> {
    let task = task(tool);
    let tool = task.tool();
    let found = find(tool);
    let is_installed = found.is_some();
    let installed = found.unwrap_or_else(|| Installed::assumed(tool, newest_common(tool)));
    let command = options.run_command(target, flags)?;
    let mut words: Vec<OsString> = vec![command.program.into(), "run".into(), target.into()];
    let says_steps = flags.iter().any(|flag| flag.starts_with("--num-steps"));
    if let Some(steps) = task.steps().filter(|_| !says_steps) {
        words.extend(["--num-steps".into(), steps.to_string().into()]);
    }
    words.extend(command.flags);
    let request = Request {
        task: task.clone(),
        target: words,
        launcher: command.launcher,
        folder,
        name: target.into(),
        architecture: sysfs::gpus(Path::new("/sys"))
            .into_iter()
            .next()
            .map(|gpu| gpu.architecture),
    };
    Ok(Prepared {
        line: build(&request, &installed),
        tool,
        is_installed,
        shows: task.shows(),
    })
}

fn task(tool: LessonTool) -> Task {
    match tool {
        LessonTool::Rocprofv3 => Task::Hotspots,
        LessonTool::RocprofSys => Task::SystemTrace,
        LessonTool::RocprofCompute => Task::Profile,
    }
}

/// The version a command line is shown for where the tool is not installed.
fn newest_common(tool: Tool) -> Version {
    match tool {
        Tool::RocprofV3 | Tool::RocprofSys => Version(7, 0),
        Tool::RocprofCompute => OLDEST_COMPUTE,
    }
}

/// A folder for a step's profile that is not there yet: `profiles/lesson-step`, or with a number behind it.
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

/// Which part of the model issued which kernel, as the newest run of `target` that timed its kernels tells; empty where
/// there is none. Kernels are called the same in every run of a target on a machine.
pub fn parts_of(root: &Path, target: &str) -> Parts {
    let Ok(folders) = std::fs::read_dir(root.join("runs")) else {
        return Parts::default();
    };
    let mut runs: Vec<PathBuf> = folders.flatten().map(|folder| folder.path()).collect();
    // Their names begin with the time.
    runs.sort();
    let mut told = runs.iter().rev().filter_map(|run| {
        let record = std::fs::read(run.join("run.json")).ok()?;
        let record: RunRecord = serde_json::from_slice(&record).ok()?;
        (record.hello?.target == target).then_some(())?;
        let events = std::fs::read_to_string(run.join("events.jsonl")).ok()?;
        Some(Parts::from_events(&events)).filter(|parts| !parts.is_empty())
    });
    told.next().unwrap_or_default()
}

/// What was imported, as tables.
pub fn tables(import: &Import) -> String {
    let options = ReportOptions {
        group: GroupBy::ShortName,
        rows: TABLE_ROWS,
    };
    let mut text = String::new();
    for table in report(&import.profile, &Parts::default(), options) {
        text.push_str(&table.render(TABLE_WIDTH));
        text.push('\n');
    }
    for damage in &import.damage {
        text.push_str(&format!("damaged: {damage}\n"));
    }
    text
}
