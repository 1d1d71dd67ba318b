//! `doctor` where runs are made elsewhere: who chose that, and this machine beside the one that computes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::analysis::Page;
use tinyllama_base::foreign::plain;
use tinyllama_base::table::Columns;
use tinyllama_contract::event::Body;
use tinyllama_course::run::{Launcher, Line, NotStarted, read_line};
use tinyllama_engine::device::finding::Finding;

/// Where runs are made.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Launched {
    /// `local`, `slurm`, `ssh:HOST`, or the words of a command.
    pub launcher: String,
    pub why: String,
    /// What `doctor --json` says there; null where runs are made here, or where nobody answered.
    pub compute: Option<Value>,
    /// Why nobody did.
    pub trouble: Option<String>,
}

impl Launched {
    /// Asks the machine that computes, where it is another one.
    pub(super) fn examine(launcher: &Launcher) -> Self {
        let asked = (!launcher.is_local()).then(|| ask(launcher));
        let (compute, trouble) = match asked.transpose() {
            Ok(document) => (document, None),
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        Launched {
            launcher: launcher.kind.words(),
            why: launcher.why.clone(),
            compute,
            trouble,
        }
    }

    /// Whether the workshop can run there.
    pub(super) fn is_ready(&self) -> bool {
        let ready = |document: &Value| document["ready"] == true;
        self.trouble.is_none() && self.compute.as_ref().is_none_or(ready)
    }

    pub(super) fn page(&self, here: &[Finding]) -> Page {
        let mut page = Page::default();
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
                Columns::of(
                    "This machine beside the one that computes",
                    &rows(here, there),
                )
                .left("", |[name, ..]| name.clone())
                .left("here", |[_, here, _]| here.clone())
                .left("there", |[.., there]| there.clone()),
            );
        }
        page
    }
}

/// The document of the other side, and on the error stream what it waits for.
fn ask(launcher: &Launcher) -> Result<Value> {
    let words = launcher.command(["doctor", "--json", "--launcher=local"]);
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(NotStarted::of(&words[0]))?;
    let out = child.stdout.take().context("it has no output")?;
    let (mut text, mut trouble) = (String::new(), None);
    for line in BufReader::new(out).lines() {
        let line = line.context("reading its answer failed")?;
        match read_line(&line) {
            Line::Event(event) => match event.body {
                Body::Phase(phase) => eprintln!("{}", plain(&phase.message)),
                Body::Error(failure) => trouble = Some(failure.message),
                _ => {}
            },
            // What a login prints comes before the document.
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

/// Name, here and there, of every finding of either.
fn rows(here: &[Finding], there: &Value) -> Vec<[String; 3]> {
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
