//! `doctor` with a launcher: says who chose it, and compares this machine with the one that computes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::analysis::AnalysisPage;
use tinyllama_base::errln;
use tinyllama_base::table::TableColumns;
use tinyllama_base::untrusted::plain;
use tinyllama_contract::event::Body;
use tinyllama_engine::device::finding::DeviceFinding;
use tinyllama_runs::{Launcher, Line, NotStarted, read_line};

/// The machine that executes runs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LauncherReport {
    /// `local`, `slurm`, or a command.
    pub launcher: String,
    pub why: String,
    /// The document of `doctor --json` from that machine. Null if runs are executed here, or without an answer.
    pub compute: Option<Value>,
    /// Reason for a missing answer.
    pub trouble: Option<String>,
}

impl LauncherReport {
    /// Asks the machine that computes, unless it is this one.
    pub(super) fn examine(launcher: &Launcher) -> Self {
        let asked = (!launcher.is_local()).then(|| ask(launcher));
        let (compute, trouble) = match asked.transpose() {
            Ok(document) => (document, None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        LauncherReport {
            launcher: launcher.kind.name(),
            why: launcher.why.clone(),
            compute,
            trouble,
        }
    }

    /// True if the workshop can run on that machine.
    pub(super) fn is_ready(&self) -> bool {
        let ready = |document: &Value| document["ready"] == true;
        self.trouble.is_none() && self.compute.as_ref().is_none_or(ready)
    }

    pub(super) fn page(&self, here: &[DeviceFinding]) -> AnalysisPage {
        let mut page = AnalysisPage::default();
        page.paragraph(&format!(
            "Runs are made by {}: {}.",
            plain(&self.launcher),
            plain(&self.why)
        ));
        if let Some(trouble) = &self.trouble {
            page.paragraph(&format!(
                "BROKEN: the machine that computes did not answer: {}",
                plain(trouble)
            ));
        }
        if let Some(there) = &self.compute {
            page.table(
                TableColumns::titled("This machine and the one that computes", &rows(here, there))
                    .left("", |[name, ..]| name.clone())
                    .left("here", |[_, here, _]| here.clone())
                    .left("there", |[.., there]| there.clone()),
            );
        }
        page
    }
}

/// Returns the other machine's document. While it waits, it prints the launcher's progress to the error stream.
fn ask(launcher: &Launcher) -> Result<Value> {
    let mut command = launcher.child(["doctor", "--json", "--launcher=local"]);
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(NotStarted::from_program(command.get_program()))?;
    let out = child.stdout.take().context("it has no output")?;
    let (mut text, mut trouble) = (String::new(), None);
    for line in BufReader::new(out).lines() {
        let line = line.context("reading its answer failed")?;
        match read_line(&line) {
            Line::Event(event) => match event.body {
                Body::Phase(phase) => errln!("{}", plain(&phase.message)),
                Body::Error(failure) => trouble = Some(failure.message),
                _ => {}
            },
            // Login messages precede the document.
            _ if text.is_empty() && line != "{" => {}
            _ => drop(writeln!(text, "{line}")),
        }
    }
    let status = child.wait().context("waiting for its answer failed")?;
    if let Some(trouble) = trouble {
        anyhow::bail!(trouble);
    }
    let document = serde_json::from_str(&text);
    document.with_context(|| {
        format!("it ended with {status} and no document; lines above may say more")
    })
}

/// One row for each finding of either machine: its name, here and there.
fn rows(here: &[DeviceFinding], there: &Value) -> Vec<[String; 3]> {
    let here = serde_json::to_value(here).unwrap_or_default();
    let sides =
        [&here, &there["findings"]].map(|side| side.as_array().map_or(&[][..], Vec::as_slice));
    let text = |finding: &Value, key: &str| plain(finding[key].as_str().unwrap_or_default());
    let name = |finding: &Value| format!("{}: {}", text(finding, "topic"), text(finding, "name"));
    let names: BTreeSet<String> = sides
        .iter()
        .flat_map(|side| side.iter().map(name))
        .collect();
    let cell = |of: &str, side: &[Value]| {
        let found = side.iter().find(|finding| name(finding) == of);
        found.map_or_else(
            || "-".into(),
            |finding| match finding["status"].as_str() {
                Some("ok") => text(finding, "detail"),
                Some("absent") => "absent".into(),
                _ => format!("BROKEN: {}", text(finding, "detail")),
            },
        )
    };
    let row = |name: String| {
        let [here, there] = sides.map(|side| cell(&name, side));
        [name, here, there]
    };
    names.into_iter().map(row).collect()
}
