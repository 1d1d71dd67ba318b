//! The result of a profiler's run: its exit status, its recordings, and remedies for what is missing.

use std::fmt::Write;

use serde_json::{Value, json};

use super::launch::line_document;
use super::{ViewArgs, import, print};
use tinyllama_base::errln;
use tinyllama_base::file::path_text;
use tinyllama_profile::NothingRecorded;
use tinyllama_profile::commands::line::CommandLine;
use tinyllama_profile::commands::{ProfileTask, Tool};
use tinyllama_profile::read::{Import, import as read};
use tinyllama_profile::run::{FinishedProfiler, ProfilerEnding, ProfilerOutput, run};
use tinyllama_profile::show::parts::KernelParts;

/// A finished run with its recordings.
pub(super) struct ProfileOutcome {
    tool: Tool,
    pub finished: FinishedProfiler,
    import: Option<Import>,
    /// Set if the run went well and recorded nothing of a GPU, although its task does.
    pub nothing: Option<NothingRecorded>,
}

pub(super) fn outcome(
    line: &CommandLine,
    task: &ProfileTask,
    terminal: bool,
    show_lines: bool,
) -> anyhow::Result<ProfileOutcome> {
    let mut list = |text: &str| {
        if show_lines {
            errln!("{text}");
        }
    };
    let output = if terminal {
        ProfilerOutput::Terminal
    } else {
        ProfilerOutput::Lines(&mut list)
    };
    let finished = run(line, output)?;
    let import = read(&line.folder).ok();
    let records = finished.ending == ProfilerEnding::Success && *task != ProfileTask::Configuration;
    let recorded = import.as_ref().filter(|_| records);
    Ok(ProfileOutcome {
        tool: task.tool(),
        nothing: recorded.and_then(NothingRecorded::explain),
        finished,
        import,
    })
}

impl ProfileOutcome {
    pub fn succeeded(&self) -> bool {
        let is_sound = self
            .import
            .as_ref()
            .is_none_or(|import| import.damage.is_empty());
        let is_complete = self.finished.remedies.iter().all(|remedy| remedy.harmless);
        let has_recorded = self.nothing.is_none();
        self.finished.ending == ProfilerEnding::Success && is_sound && is_complete && has_recorded
    }

    pub fn text(&self, view: &ViewArgs, parts: &KernelParts) -> anyhow::Result<String> {
        let mut text = match &self.finished.ending {
            ProfilerEnding::Success => String::new(),
            ending => format!("{} {ending}.\n", self.tool),
        };
        for remedy in &self.finished.remedies {
            print::push_prose(&mut text, remedy.trouble);
            print::push_prose(&mut text, &format!("-> {}", remedy.remedy));
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
        document["log"] = json!(self.finished.log.as_deref().map(path_text));
        document["remedies"] = json!(self.finished.remedies);
        document["nothing_recorded"] = json!(self.nothing);
        document["profile"] = match &self.import {
            Some(import) => import::document(import, view, parts),
            None => Value::Null,
        };
        document
    }
}
