//! Running a target under a profiler.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use serde_json::{Value, json};

use super::{LaunchArgs, UsageError, ViewArgs, import, print, tools};
use crate::profiler::commands::installed::{Installed, OLDEST_COMPUTE, find};
use crate::profiler::commands::line::CommandLine;
use crate::profiler::commands::version::Version;
use crate::profiler::commands::{Request, Task, Tool, build};
use crate::profiler::live::sysfs;
use crate::profiler::read::{Format, Import, import as read};
use crate::profiler::run::remedy::{DATABASE_ONLY, NOTHING_RECORDED, Remedy};
use crate::profiler::run::{Ending, Finished, Output, RunError, run};
use crate::profiler::show::parts::Parts;
use crate::profiler::show::text::push_wrapped;

/// The version a command line is shown for where the tool is not installed.
fn newest_common(tool: Tool) -> Version {
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
    let parts = args.view.parts()?;
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

fn show(line: &CommandLine, task: &Task, as_json: bool) -> anyhow::Result<ExitCode> {
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

fn line_document(line: &CommandLine) -> Value {
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

fn request(task: Task, args: &LaunchArgs, folder: PathBuf) -> anyhow::Result<Request> {
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
fn target(name: &str, steps: Option<usize>, flags: &[OsString]) -> anyhow::Result<Vec<OsString>> {
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
fn output_folder(args: &LaunchArgs, what: &str) -> anyhow::Result<PathBuf> {
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

/// A finished run with what it recorded.
struct Outcome {
    tool: Tool,
    finished: Finished,
    import: Option<Import>,
}

fn outcome(
    line: &CommandLine,
    task: &Task,
    terminal: bool,
    show_lines: bool,
) -> anyhow::Result<Outcome> {
    let mut list = |text: &str| {
        if show_lines {
            eprintln!("{text}");
        }
    };
    let output = if terminal {
        Output::Terminal
    } else {
        Output::Lines(&mut list)
    };
    let mut finished = run(line, output)?;
    let import = read(&line.folder).ok();
    if finished.ending == Ending::Success
        && let Some(import) = &import
    {
        finished.remedies.extend(what_is_missing(import, task));
    }
    Ok(Outcome {
        tool: task.tool(),
        finished,
        import,
    })
}

fn what_is_missing(import: &Import, task: &Task) -> Option<Remedy> {
    let wants_kernels = matches!(task, Task::Hotspots | Task::Counters(_) | Task::Profile);
    let profile = &import.profile;
    let has_kernels = !profile.dispatches.is_empty()
        || !profile.counters.is_empty()
        || !profile.statistics.is_empty();
    if wants_kernels && !has_kernels && import.damage.is_empty() {
        return Some(NOTHING_RECORDED);
    }
    let formats: Vec<Format> = import.taken.iter().map(|taken| taken.format).collect();
    let is_database_only =
        formats.contains(&Format::Rocpd) && !formats.contains(&Format::KernelTrace);
    (*task == Task::Hotspots && is_database_only).then_some(DATABASE_ONLY)
}

impl Outcome {
    fn succeeded(&self) -> bool {
        let is_sound = self
            .import
            .as_ref()
            .is_none_or(|import| import.damage.is_empty());
        let is_complete = self.finished.remedies.iter().all(|remedy| remedy.harmless);
        self.finished.ending == Ending::Success && is_sound && is_complete
    }

    fn exit_code(&self) -> ExitCode {
        if self.succeeded() {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(print::FAILED)
        }
    }

    fn text(&self, view: &ViewArgs, parts: &Parts) -> anyhow::Result<String> {
        let mut text = match self.finished.ending {
            Ending::Success => String::new(),
            Ending::Failed(code) => format!("{} ended with code {code}.\n", self.tool),
            Ending::Killed(signal) => format!("{} was ended by signal {signal}.\n", self.tool),
        };
        for remedy in &self.finished.remedies {
            push_wrapped(&mut text, remedy.trouble, print::WIDTH);
            push_wrapped(&mut text, &format!("-> {}", remedy.remedy), print::WIDTH);
        }
        if let Some(log) = &self.finished.log {
            writeln!(text, "log   {}", log.display())?;
        }
        if let Some(import) = &self.import {
            text.push_str(&import::text(import, view, parts)?);
        }
        Ok(text)
    }

    fn document(&self, line: &CommandLine, view: &ViewArgs, parts: &Parts) -> Value {
        let mut document = line_document(line);
        document["tool"] = json!(self.tool.name());
        document["ending"] = match self.finished.ending {
            Ending::Success => json!("success"),
            Ending::Failed(code) => json!({"failed": code}),
            Ending::Killed(signal) => json!({"killed": signal}),
        };
        document["log"] = json!(self.finished.log);
        document["remedies"] = self
            .finished
            .remedies
            .iter()
            .map(|remedy| json!({"trouble": remedy.trouble, "remedy": remedy.remedy, "harmless": remedy.harmless}))
            .collect();
        document["profile"] = match &self.import {
            Some(import) => import::document(import, view, parts),
            None => Value::Null,
        };
        document
    }
}

/// Everything that is installed, into one folder; a tool that fails does not stop the others.
pub fn all(args: &LaunchArgs) -> anyhow::Result<ExitCode> {
    let folder = output_folder(args, "all")?;
    let tasks = [
        ("hotspots", Task::Hotspots),
        ("runtime", Task::Runtime),
        ("counters", Task::Counters(Vec::new())),
        ("system", Task::SystemTrace),
        ("roofline", Task::Roofline),
        ("compute", Task::Profile),
    ];
    let mut lines = Vec::new();
    for (name, task) in tasks {
        let found = find(task.tool());
        let assumed = || Installed::assumed(task.tool(), newest_common(task.tool()));
        let request = request(task.clone(), args, folder.join(name))?;
        let line = build(&request, &found.clone().unwrap_or_else(assumed));
        lines.push((name, task, found.is_some(), line));
    }
    if args.print {
        for (_, task, _, line) in &lines {
            show(line, task, args.view.json)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut index = vec![built_in(args, &folder)?];
    for (name, task, is_installed, line) in &lines {
        index.push(if *is_installed {
            entry(name, task, line, args)
        } else {
            json!({"name": name, "tool": task.tool().name(), "state": "not installed", "how_to_install": task.tool().how_to_install()})
        });
    }
    let failed = index.iter().any(|entry| entry["state"] == "failed");
    write_index(&folder, &index, args)?;
    Ok(if failed {
        ExitCode::from(print::FAILED)
    } else {
        ExitCode::SUCCESS
    })
}

/// The tutor's own trace and its count of operations, which need no tool.
fn built_in(args: &LaunchArgs, folder: &Path) -> anyhow::Result<Value> {
    const PROFILED_STEPS: &str = "3";
    let path = folder.join("events.jsonl");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let words = target(&args.target, Task::Hotspots.steps(), &args.run_flags)?;
    let (program, arguments) = words.split_first().context("no program to run")?;
    let status = Command::new(program)
        .args(arguments)
        .args([
            "--events",
            "--flops",
            "--profile-steps",
            PROFILED_STEPS,
            "--trace",
        ])
        .arg(folder.join("trace.json"))
        .stdout(file)
        .status()
        .context("cannot start this program again")?;
    Ok(json!({
        "name": "built-in",
        "tool": "tinyllama-tutor",
        "state": if status.success() { "done" } else { "failed" },
        "shows": "device time by kernel and by part of the model, counted operations, and a timeline (trace.json)",
        "path": "events.jsonl",
    }))
}

fn entry(name: &str, task: &Task, line: &CommandLine, args: &LaunchArgs) -> Value {
    let mut entry = json!({
        "name": name,
        "tool": task.tool().name(),
        "shows": task.shows(),
        "command": line.shell(),
        "path": name,
    });
    match outcome(line, task, false, !args.view.json) {
        Ok(outcome) => {
            entry["state"] = json!(if outcome.succeeded() {
                "done"
            } else {
                "failed"
            });
            entry["remedies"] = outcome
                .finished
                .remedies
                .iter()
                .map(|remedy| json!({"trouble": remedy.trouble, "remedy": remedy.remedy}))
                .collect();
        }
        Err(error) => {
            let is_missing = matches!(error.downcast_ref(), Some(RunError::NotInstalled { .. }));
            entry["state"] = json!(if is_missing {
                "not installed"
            } else {
                "failed"
            });
            entry["remedies"] = json!([{"trouble": format!("{error:#}"), "remedy": ""}]);
        }
    }
    entry
}

fn write_index(folder: &Path, index: &[Value], args: &LaunchArgs) -> anyhow::Result<()> {
    let document = json!({"version": 1, "target": args.target, "profiles": index});
    let path = folder.join("index.json");
    fs::write(&path, serde_json::to_string_pretty(&document)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    if args.view.json {
        return print::json(&document);
    }
    let mut text = String::new();
    for entry in index {
        let field = |name: &str| entry[name].as_str().unwrap_or_default();
        writeln!(
            text,
            "{:<14} {:<10} {}",
            field("state"),
            field("name"),
            field("shows")
        )?;
        for remedy in entry["remedies"].as_array().into_iter().flatten() {
            let words = format!(
                "{} {}",
                remedy["trouble"].as_str().unwrap_or_default(),
                remedy["remedy"].as_str().unwrap_or_default()
            );
            push_wrapped(&mut text, &words, print::WIDTH);
        }
    }
    writeln!(text, "index in {}", path.display())?;
    print::out(&text)?;
    Ok(())
}
