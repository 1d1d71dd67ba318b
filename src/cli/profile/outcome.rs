//! The result of a profiler's run: its exit status, its recordings, and remedies for what is missing.

use std::fmt::Write;

use serde_json::{Value, json};

use super::launch::line_document;
use super::{ViewArgs, import, print};
use tinyllama_base::table::push_wrapped;
use tinyllama_profile::commands::line::CommandLine;
use tinyllama_profile::commands::{ProfileTask, Tool};
use tinyllama_profile::read::formats::{kernel_trace, rocpd};
use tinyllama_profile::read::{Import, import as read};
use tinyllama_profile::run::remedy::{DATABASE_ONLY, NOTHING_RECORDED, Remedy};
use tinyllama_profile::run::{FinishedProfiler, ProfilerEnding, ProfilerOutput, run};
use tinyllama_profile::show::parts::KernelParts;

/// A finished run with its recordings.
pub(super) struct ProfileOutcome {
    tool: Tool,
    pub finished: FinishedProfiler,
    import: Option<Import>,
}

pub(super) fn outcome(
    line: &CommandLine,
    task: &ProfileTask,
    terminal: bool,
    show_lines: bool,
) -> anyhow::Result<ProfileOutcome> {
    let mut list = |text: &str| {
        if show_lines {
            eprintln!("{text}");
        }
    };
    let output = if terminal {
        ProfilerOutput::Terminal
    } else {
        ProfilerOutput::Lines(&mut list)
    };
    let mut finished = run(line, output)?;
    let import = read(&line.folder).ok();
    if finished.ending == ProfilerEnding::Success
        && let Some(import) = &import
    {
        finished.remedies.extend(what_is_missing(import, task));
    }
    Ok(ProfileOutcome {
        tool: task.tool(),
        finished,
        import,
    })
}

fn what_is_missing(import: &Import, task: &ProfileTask) -> Option<Remedy> {
    let wants_kernels = matches!(
        task,
        ProfileTask::Hotspots | ProfileTask::Counters(_) | ProfileTask::Profile
    );
    let profile = &import.profile;
    let has_kernels = !profile.dispatches.is_empty()
        || !profile.counters.is_empty()
        || !profile.statistics.is_empty();
    if wants_kernels && !has_kernels && import.damage.is_empty() {
        return Some(NOTHING_RECORDED);
    }
    let is_database_only = import.took(&rocpd::FORMAT) && !import.took(&kernel_trace::FORMAT);
    (*task == ProfileTask::Hotspots && is_database_only).then_some(DATABASE_ONLY)
}

impl ProfileOutcome {
    pub fn succeeded(&self) -> bool {
        let is_sound = self
            .import
            .as_ref()
            .is_none_or(|import| import.damage.is_empty());
        let is_complete = self.finished.remedies.iter().all(|remedy| remedy.harmless);
        self.finished.ending == ProfilerEnding::Success && is_sound && is_complete
    }

    pub fn text(&self, view: &ViewArgs, parts: &KernelParts) -> anyhow::Result<String> {
        let mut text = match self.finished.ending {
            ProfilerEnding::Success => String::new(),
            ProfilerEnding::Failed(code) => format!("{} ended with code {code}.\n", self.tool),
            ProfilerEnding::Killed(signal) => {
                format!("{} was ended by signal {signal}.\n", self.tool)
            }
        };
        for remedy in &self.finished.remedies {
            push_wrapped(&mut text, remedy.trouble, print::width());
            push_wrapped(&mut text, &format!("-> {}", remedy.remedy), print::width());
        }
        if let Some(log) = &self.finished.log {
            writeln!(text, "log   {}", log.display())?;
        }
        if let Some(import) = &self.import {
            text.push_str(&import::text(import, view, parts)?);
        }
        Ok(text)
    }

    pub fn document(&self, line: &CommandLine, view: &ViewArgs, parts: &KernelParts) -> Value {
        let mut document = line_document(line);
        document["tool"] = json!(self.tool.name());
        document["ending"] = match self.finished.ending {
            ProfilerEnding::Success => json!("success"),
            ProfilerEnding::Failed(code) => json!({"failed": code}),
            ProfilerEnding::Killed(signal) => json!({"killed": signal}),
        };
        document["log"] = json!(self.finished.log);
        document["remedies"] = json!(self.finished.remedies);
        document["profile"] = match &self.import {
            Some(import) => import::document(import, view, parts),
            None => Value::Null,
        };
        document
    }
}
