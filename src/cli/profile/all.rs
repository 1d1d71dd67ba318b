//! `profile profile_all`: runs every installed profiler, one after the other, and writes one folder with an index.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

use super::launch::{found_or_asked_for, output_folder, request, show, target};
use super::outcome::outcome;
use super::{Exit, LaunchArgs, print};
use tinyllama_base::{die_with_parent, push_wrapped, untrusted};
use tinyllama_profile::commands::line::CommandLine;
use tinyllama_profile::commands::{ProfileTask, build};
use tinyllama_profile::run::RunError;

/// Runs every installed tool. A tool that fails does not stop the others.
pub fn profile_all(args: &LaunchArgs) -> anyhow::Result<Exit> {
    let folder = output_folder(args, "all")?;
    let tasks = [
        ("hotspots", ProfileTask::Hotspots),
        ("runtime", ProfileTask::Runtime),
        ("counters", ProfileTask::Counters(Vec::new())),
        ("system", ProfileTask::SystemTrace),
        ("roofline", ProfileTask::Roofline),
        ("compute", ProfileTask::Profile),
    ];
    let mut lines = Vec::new();
    for (name, task) in tasks {
        let (installed, is_installed) = found_or_asked_for(task.tool(), args.for_rocm);
        let request = request(task.clone(), args, folder.join(name))?;
        lines.push((name, task, is_installed, build(&request, &installed)));
    }
    if args.prints() {
        for (_, task, _, line) in lines {
            show(&line?, &task, args.view.json)?;
        }
        return Ok(Exit::Ok);
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut index = vec![built_in(args, &folder)?];
    for (name, task, is_installed, line) in &lines {
        let tool = task.tool();
        index.push(match line {
            _ if !is_installed => {
                json!({"name": name, "tool": tool.name(), "state": "not installed", "how_to_install": tool.how_to_install()})
            }
            Ok(line) => entry(name, task, line, args),
            Err(lacks) => {
                let remedies = json!([{"trouble": lacks.to_string(), "remedy": lacks.remedy()}]);
                json!({"name": name, "tool": tool.name(), "state": "failed", "remedies": remedies})
            }
        });
    }
    let failed = index.iter().any(|entry| entry["state"] == "failed");
    write_index(&folder, &index, args)?;
    Ok(Exit::from_passed(!failed))
}

/// The tutor's own trace and its count of operations. They need no tool.
fn built_in(args: &LaunchArgs, folder: &Path) -> anyhow::Result<Value> {
    const PROFILED_STEPS: &str = "3";
    let path = folder.join("events.jsonl");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let note = target(&ProfileTask::Hotspots, args)?;
    let (program, arguments) = note.split_first().context("no program to run")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args([
            "--events",
            "--flops",
            "--profile-steps",
            PROFILED_STEPS,
            "--trace",
        ])
        .arg(folder.join("trace.json"))
        .stdout(file);
    die_with_parent(&mut command, libc::SIGTERM);
    let status = command.status();
    let status = status.context("cannot start this program again")?;
    Ok(json!({
        "name": "built-in",
        "tool": "tinyllama-tutor",
        "state": state(status.success()),
        "shows": "device time by kernel and by part of the model, counted operations, and a timeline (trace.json)",
        "path": "events.jsonl",
    }))
}

fn entry(name: &str, task: &ProfileTask, line: &CommandLine, args: &LaunchArgs) -> Value {
    let mut entry = json!({
        "name": name,
        "tool": task.tool().name(),
        "shows": task.shows(),
        "command": line.shell(),
        "path": name,
    });
    let (state, remedies) = match outcome(line, task, false, !args.view.json) {
        Ok(outcome) => {
            let remedies = outcome.finished.remedies.iter();
            let remedies = remedies.map(|it| json!({"trouble": it.trouble, "remedy": it.remedy}));
            let nothing = outcome.nothing.iter();
            let nothing =
                nothing.map(|it| json!({"trouble": it.cause, "remedy": it.remedies.join(" ")}));
            (
                state(outcome.succeeded()),
                remedies.chain(nothing).collect(),
            )
        }
        Err(error) => {
            let is_missing = matches!(error.downcast_ref(), Some(RunError::NotInstalled { .. }));
            let remedies = json!([{"trouble": format!("{error:#}"), "remedy": ""}]);
            (
                if is_missing {
                    "not installed"
                } else {
                    "failed"
                },
                remedies,
            )
        }
    };
    entry["state"] = json!(state);
    entry["remedies"] = remedies;
    entry
}

fn state(succeeded: bool) -> &'static str {
    if succeeded { "done" } else { "failed" }
}

fn write_index(folder: &Path, index: &[Value], args: &LaunchArgs) -> anyhow::Result<()> {
    let document = json!({"version": 1, "target": args.target, "profiles": index});
    let path = folder.join("index.json");
    fs::write(&path, untrusted::json(&document)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let mut text = String::new();
    for entry in index {
        let field = |name: &str| entry[name].as_str().unwrap_or_default();
        let (state, name, shows) = (field("state"), field("name"), field("shows"));
        writeln!(text, "{state:<14} {name:<10} {shows}")?;
        for remedy in entry["remedies"].as_array().into_iter().flatten() {
            let note = format!(
                "{} {}",
                remedy["trouble"].as_str().unwrap_or_default(),
                remedy["remedy"].as_str().unwrap_or_default()
            );
            push_wrapped(&mut text, &note, print::width());
        }
    }
    writeln!(text, "index in {}", path.display())?;
    print::print_result(args.view.json, &document, &text).map(drop)
}
