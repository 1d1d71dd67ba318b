//! Running a target under a profiler.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::{Value, json};

use super::outcome::outcome;
use super::{LaunchArgs, UsageError, print, tools};
use crate::base::table::push_wrapped;
use crate::profiler::commands::installed::{Installed, OLDEST_COMPUTE, find};
use crate::profiler::commands::line::CommandLine;
use crate::profiler::commands::version::Version;
use crate::profiler::commands::{Request, Task, Tool, build};
use crate::profiler::live::sysfs;
use crate::profiler::run::{Ending, Output, run};

/// The version a command line is shown for where the tool is not installed.
pub(super) fn newest_common(tool: Tool) -> Version {
    match tool {
        Tool::RocprofV3 | Tool::RocprofSys => Version(7, 0),
        Tool::RocprofCompute => OLDEST_COMPUTE,
    }
}

pub fn profile(task: Task, args: &LaunchArgs) -> anyhow::Result<ExitCode> {
    let tool = task.tool();
    let found = find(tool);
    let installed = match &found {
        Some(installed) => installed.clone(),
        None => Installed::assumed(tool, newest_common(tool)),
    };
    let folder = output_folder(args, tool.name())?;
    let line = build(&request(task.clone(), args, folder)?, &installed);
    if args.print {
        return show(&line, &task, args.view.json);
    }
    if found.is_none() {
        return not_installed(&line, &task, args.view.json);
    }
    let parts = args.view.parts(&[])?;
    let outcome = outcome(&line, &task, args.terminal, !args.view.json)?;
    if args.view.json {
        print::json(&outcome.document(&line, &args.view, &parts))?;
    } else {
        print::out(&outcome.text(&args.view, &parts)?)?;
    }
    Ok(outcome.exit_code())
}

/// Tables of a workload that is already there.
pub fn analyze(
    task: Task,
    workload: PathBuf,
    print_only: bool,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    if !workload.is_dir() {
        let problem = format!(
            "{} is no folder; name the workload that `profile rocprof-compute` made",
            workload.display()
        );
        return Err(UsageError(problem).into());
    }
    let found = find(Tool::RocprofCompute);
    let installed = match &found {
        Some(installed) => installed.clone(),
        None => Installed::assumed(Tool::RocprofCompute, OLDEST_COMPUTE),
    };
    let request = Request {
        task: task.clone(),
        target: Vec::new(),
        launcher: Vec::new(),
        folder: workload,
        name: String::new(),
        architecture: None,
    };
    let line = build(&request, &installed);
    if print_only {
        return show(&line, &task, as_json);
    }
    if found.is_none() {
        return not_installed(&line, &task, as_json);
    }
    let finished = run(&line, Output::Terminal)?;
    Ok(match finished.ending {
        Ending::Success => ExitCode::SUCCESS,
        _ => ExitCode::from(print::FAILED),
    })
}

pub(super) fn show(line: &CommandLine, task: &Task, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        print::json(&line_document(line))?;
    } else {
        let mut text = line.explained(print::WIDTH);
        text.push('\n');
        push_wrapped(
            &mut text,
            &format!("It shows {}.", task.shows()),
            print::WIDTH,
        );
        print::out(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn not_installed(line: &CommandLine, task: &Task, as_json: bool) -> anyhow::Result<ExitCode> {
    let tool = task.tool();
    if as_json {
        let mut document = line_document(line);
        document["not_installed"] = json!(tool.name());
        document["how_to_install"] = json!(tool.how_to_install());
        print::json(&document)?;
    } else {
        print::out(&format!(
            "This would run:\n  {}\n{}",
            line.shell(),
            tools::not_installed(tool, task.shows())
        ))?;
    }
    Ok(ExitCode::from(print::ENVIRONMENT))
}

pub(super) fn line_document(line: &CommandLine) -> Value {
    json!({
        "command": line.words().iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
        "shell": line.shell(),
        "parts": line.parts.iter().map(|part| json!({
            "words": part.words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
            "explanation": part.explanation,
        })).collect::<Vec<_>>(),
        "files": line.files.iter().map(|(path, content)| json!({"path": path, "content": content})).collect::<Vec<_>>(),
        "notes": line.notes,
    })
}

pub(super) fn request(task: Task, args: &LaunchArgs, folder: PathBuf) -> anyhow::Result<Request> {
    let launcher = match &args.launcher {
        Some(words) => match shlex::split(words) {
            Some(words) => words.into_iter().map(OsString::from).collect(),
            None => {
                return Err(UsageError(format!(
                    "--launcher {words}: a quotation mark is not closed"
                ))
                .into());
            }
        },
        None => Vec::new(),
    };
    Ok(Request {
        target: target(&args.target, task.steps(), &args.run_flags)?,
        launcher,
        folder,
        name: args.target.clone(),
        architecture: args.arch.clone().or_else(architecture),
        task,
    })
}

/// This program with the subcommand that runs a target.
pub(super) fn target(
    name: &str,
    steps: Option<usize>,
    flags: &[OsString],
) -> anyhow::Result<Vec<OsString>> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut words = vec![program.into_os_string(), "run".into(), name.into()];
    let says_steps = flags
        .iter()
        .any(|flag| flag == "--num-steps" || flag.to_string_lossy().starts_with("--num-steps="));
    if let Some(steps) = steps.filter(|_| !says_steps) {
        words.extend(["--num-steps".into(), steps.to_string().into()]);
    }
    words.extend(flags.iter().cloned());
    Ok(words)
}

/// Architecture of the first GPU the kernel's driver knows.
fn architecture() -> Option<String> {
    let gpus = sysfs::gpus(Path::new("/sys"));
    gpus.into_iter().next().map(|gpu| gpu.architecture)
}

/// The folder the user named, which must be empty so that results of another run are not taken for this one's, or a new one.
pub(super) fn output_folder(args: &LaunchArgs, what: &str) -> anyhow::Result<PathBuf> {
    let Some(folder) = &args.out else {
        return new_folder(Path::new("profiles"), &format!("{}-{what}", args.target));
    };
    let is_taken = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => folder.exists(),
    };
    if is_taken && !args.print {
        let problem = format!(
            "--out {}: is not empty; name another folder or empty it",
            folder.display()
        );
        return Err(UsageError(problem).into());
    }
    Ok(folder.clone())
}

/// `base/name`, or `base/name-2` and so on where that is taken.
fn new_folder(base: &Path, name: &str) -> anyhow::Result<PathBuf> {
    const MOST: usize = 10_000;
    (1..MOST)
        .map(|number| match number {
            1 => base.join(name),
            _ => base.join(format!("{name}-{number}")),
        })
        .find(|folder| !folder.exists())
        .with_context(|| {
            format!(
                "{} is full of profiles; name a folder with --out",
                base.display()
            )
        })
}
