//! Lists the installed tools, and explains the tools of the past.

use std::fmt::Write;

use serde_json::json;

use super::{Exit, Ignored, print};
use tinyllama_base::file::path_text;
use tinyllama_base::push_wrapped;
use tinyllama_profile::commands::Tool;
use tinyllama_profile::commands::installed::{Installed, find};
use tinyllama_profile::commands::legacy::{MOVES, WHY};

pub fn list(as_json: bool) -> anyhow::Result<Exit> {
    let tools = Tool::ALL.map(|tool| (tool, find(tool)));
    // A tool that does not answer has only an assumed version.
    let version = |installed: &Installed| match installed.assumed_rocm {
        Some(_) => None,
        None => installed.version.map(|version| version.to_string()),
    };
    let document: Vec<_> = tools
        .iter()
        .map(|(tool, installed)| {
            json!({
                "tool": tool.name(),
                "program": installed.as_ref().map(|installed| path_text(&installed.program)),
                "version": installed.as_ref().and_then(version),
            })
        })
        .collect();
    let mut text = String::new();
    for (tool, installed) in &tools {
        match installed {
            Some(installed) => {
                let version =
                    version(installed).unwrap_or_else(|| "version not reported".to_owned());
                writeln!(text, "{tool}: {} ({version})", installed.program.display())?;
            }
            None => {
                writeln!(text, "{tool}: not installed")?;
                push_wrapped(&mut text, tool.how_to_install(), print::width());
            }
        }
    }
    print::print_result(as_json, &json!(document), &text)
}

/// Explains what a missing tool would show.
pub fn not_installed(tool: Tool, shows: &str) -> String {
    let mut text = format!("\n{tool} is not installed here.\n");
    push_wrapped(&mut text, tool.how_to_install(), print::width());
    push_wrapped(
        &mut text,
        &format!("It would show {shows}."),
        print::width(),
    );
    let about = tool.about();
    text.push_str(&format!("\nA sample, {}:\n", about.sample_from));
    for line in about.sample.lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str("\nA profile made on another machine can be read with `profile import PATH`.\n");
    text
}

/// Prints the table of replacements. It ignores all arguments of the old tool.
pub fn legacy(given: &Ignored) -> anyhow::Result<Exit> {
    let mut text = String::new();
    if !given.words.is_empty() {
        text.push_str("There is no ready command for this tool.\n\n");
    }
    push_wrapped(&mut text, WHY, print::width());
    for step in MOVES.lines() {
        let columns: Vec<&str> = step.split(" | ").collect();
        writeln!(text, "\n  {}", columns[..2].join("\n  "))?;
        push_wrapped(&mut text, columns.get(2).unwrap_or(&""), print::width());
    }
    print::print_result(false, &json!(null), &text)
}
