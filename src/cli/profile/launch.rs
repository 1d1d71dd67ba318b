//! Runs a target under a profiler.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::outcome::outcome;
use super::{AnalyzeArgs, Exit, LaunchArgs, print, tools};
use tinyllama_base::file::path_text;
use tinyllama_base::push_wrapped;
use tinyllama_contract::flags::{UsageError, merged};
use tinyllama_profile::commands::installed::{Installed, find_or_assume};
use tinyllama_profile::commands::line::CommandLine;
use tinyllama_profile::commands::version::ToolVersion;
use tinyllama_profile::commands::{ProfileRequest, ProfileTask, Tool, build};
use tinyllama_profile::live::sysfs;
use tinyllama_profile::run::{ProfilerEnding, ProfilerOutput, run};
use tinyllama_runs::Launcher;

pub fn profile(task: ProfileTask, args: &LaunchArgs) -> anyhow::Result<Exit> {
    let tool = task.tool();
    let (installed, is_installed) = found_or_asked_for(tool, args.for_rocm);
    let folder = output_folder(args, tool.name())?;
    let line = build(&request(task.clone(), args, folder)?, &installed)?;
    if args.prints() {
        return show(&line, &task, args.view.json);
    }
    if !is_installed {
        return not_installed(&line, &task, args.view.json);
    }
    let parts = args.view.parts(&[])?;
    let outcome = outcome(&line, &task, args.terminal, !args.view.json)?;
    match args.view.json {
        true => print::print_result(true, &outcome.document(&line, &args.view, &parts), "")?,
        false => print::print_result(false, &Value::Null, &outcome.text(&args.view, &parts)?)?,
    };
    Ok(Exit::from_passed(outcome.succeeded()))
}

/// Prints tables of an existing workload or database.
pub fn analyze(args: &AnalyzeArgs) -> anyhow::Result<Exit> {
    let as_json = args.json;
    let (task, folder) = analysis(args)?;
    let (installed, is_installed) = found_or_asked_for(task.tool(), args.for_rocm);
    let request = ProfileRequest {
        task: task.clone(),
        target: Vec::new(),
        launcher: Vec::new(),
        folder,
        name: String::new(),
        architecture: None,
    };
    let line = build(&request, &installed)?;
    if args.print || args.for_rocm.is_some() {
        return show(&line, &task, as_json);
    }
    if !is_installed {
        return not_installed(&line, &task, as_json);
    }
    let finished = run(&line, ProfilerOutput::Terminal)?;
    Ok(Exit::from_passed(
        finished.ending == ProfilerEnding::Success,
    ))
}

/// The requested task and its folder.
fn analysis(args: &AnalyzeArgs) -> Result<(ProfileTask, PathBuf), UsageError> {
    let path = &args.workload;
    let asks_workload = args.list_stats || args.dispatch.is_some();
    if path.is_file() && !asks_workload {
        let task = match &args.query {
            Some(question) => ProfileTask::Query(path.clone(), question.clone()),
            None => ProfileTask::Summary(path.clone()),
        };
        return Ok((task, path.parent().unwrap_or(Path::new("")).to_owned()));
    }
    if !path.is_dir() || args.query.is_some() {
        let expected = match args.query {
            Some(_) => "no database; name the .db file that rocprofv3 wrote",
            None => "no folder; name the workload that `profile rocprof-compute` made",
        };
        return Err(UsageError(format!("{} is {expected}", path.display())));
    }
    let task = match args.dispatch {
        Some(number) => ProfileTask::Dispatch(number),
        None if args.list_stats => ProfileTask::ListStats,
        None => ProfileTask::Analyze,
    };
    Ok((task, path.clone()))
}

/// The tool for the ROCm version that the user names, or else the installed one, and whether it can run.
pub(super) fn found_or_asked_for(tool: Tool, rocm: Option<ToolVersion>) -> (Installed, bool) {
    match rocm {
        Some(rocm) => (Installed::assumed(tool, rocm), false),
        None => find_or_assume(tool),
    }
}

impl LaunchArgs {
    pub(super) fn prints(&self) -> bool {
        self.print || self.for_rocm.is_some()
    }
}

pub(super) fn show(line: &CommandLine, task: &ProfileTask, as_json: bool) -> anyhow::Result<Exit> {
    let mut text = line.explained(print::width());
    text.push('\n');
    let shows = format!("It shows {}.", task.shows());
    push_wrapped(&mut text, &shows, print::width());
    print::print_result(as_json, &line_document(line), &text)
}

fn not_installed(line: &CommandLine, task: &ProfileTask, as_json: bool) -> anyhow::Result<Exit> {
    let tool = task.tool();
    let mut document = line_document(line);
    document["not_installed"] = json!(tool.name());
    document["how_to_install"] = json!(tool.how_to_install());
    let mut text = format!("This would run:\n  {}\n", line.shell());
    for note in &line.notes {
        text.push('\n');
        push_wrapped(&mut text, note, print::width());
    }
    text.push_str(&tools::not_installed(tool, task.shows()));
    print::print_result(as_json, &document, &text)?;
    Ok(Exit::Environment)
}

pub(super) fn line_document(line: &CommandLine) -> Value {
    let args = |args: &[OsString]| -> Vec<String> {
        let args = args.iter().map(|word| word.to_string_lossy());
        args.map(|word| word.into_owned()).collect()
    };
    json!({
        "command": args(&line.args()),
        "shell": line.shell(),
        "parts": line.parts.iter().map(|part| json!({
            "words": args(&part.args),
            "explanation": part.explanation,
        })).collect::<Vec<_>>(),
        "files": line.files.iter().map(|(path, content)| json!({"path": path_text(path), "content": content})).collect::<Vec<_>>(),
        "notes": line.notes,
    })
}

pub(super) fn request(
    task: ProfileTask,
    args: &LaunchArgs,
    folder: PathBuf,
) -> anyhow::Result<ProfileRequest> {
    Ok(ProfileRequest {
        target: target(&task, args)?,
        launcher: launcher(args)?.profiler_prefix(),
        folder,
        name: args.target.to_string(),
        architecture: args.arch.clone().or_else(sysfs::architecture_here),
        task,
    })
}

/// The command with which this program runs a target.
pub(super) fn target(task: &ProfileTask, args: &LaunchArgs) -> anyhow::Result<Vec<OsString>> {
    let given = args.run_flags.iter().map(|word| word.to_string_lossy());
    // The flags are not checked here. If `run` refuses them, the profiler reports it.
    let flags = merged(task.run_flags().into_iter().map(Into::into).chain(given));
    Ok(launcher(args)?.program_for(args.target.name, flags))
}

fn launcher(args: &LaunchArgs) -> Result<Launcher, UsageError> {
    Launcher::from_settings(args.launcher.as_deref(), None)
}

/// The user's folder, or a new one. The user's must be empty, because otherwise old results could be taken for new
/// ones.
pub(super) fn output_folder(args: &LaunchArgs, what: &str) -> anyhow::Result<PathBuf> {
    let Some(folder) = &args.out else {
        return new_folder(Path::new("profiles"), &format!("{}-{what}", args.target));
    };
    let is_taken = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => folder.exists(),
    };
    if is_taken && !args.prints() {
        let problem = format!(
            "--out {}: the folder is not empty; name another one or empty it",
            folder.display()
        );
        return Err(UsageError(problem).into());
    }
    Ok(folder.clone())
}

/// Creates `base/name`, or `base/name-2` and so on if that exists.
fn new_folder(base: &Path, name: &str) -> anyhow::Result<PathBuf> {
    const MAX_RUNS: usize = 10_000;
    (1..MAX_RUNS)
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
