//! `doctor`: what this machine has, what is missing, and what to do about it.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Exit, collect};
use crate::base::locale;
use crate::device::diagnosis::{self, Finding, Status};
use crate::run::folder;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Run every check and every version, and write what they say to this .tar.gz, to be sent in (about ten minutes)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "tinyllama-tutor-facts.tar.gz")]
    collect: Option<PathBuf>,
    /// With --collect: the longest that one of its commands may take, in minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 15.0, requires = "collect", value_parser = minutes)]
    limit: f64,
    /// With --collect: flags for every run that trains, such as a smaller model; TINYLLAMA_BACKEND names the backend of all
    #[arg(last = true, requires = "collect", value_name = "FLAGS")]
    training: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Everything `doctor --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
struct Report {
    version: &'static str,
    /// Whether the workshop can run here.
    ready: bool,
    findings: Vec<Finding>,
    terminal: Terminal,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Terminal {
    is_terminal: bool,
    columns: Option<u16>,
    rows: Option<u16>,
    term: Option<String>,
    no_color: bool,
    utf8: bool,
}

/// Minutes, up to a day.
fn minutes(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_string())?;
    if value > 0.0 && value <= 24.0 * 60.0 {
        Ok(value)
    } else {
        Err("more than 0 and at most 1440".into())
    }
}

pub fn run(args: &DoctorArgs) -> Result<Exit> {
    if let Some(path) = &args.collect {
        collect::check_name(path)?;
        return collect::collect(
            path,
            &args.training,
            Duration::from_secs_f64(60.0 * args.limit),
        );
    }
    let mut findings = diagnosis::examine();
    findings.push(state_folder());
    // The CPU backend is always there, so what can stop the workshop is a place to keep its work.
    let ready = findings
        .iter()
        .all(|finding| finding.topic != "state" || finding.status == Status::Ok);
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        ready,
        findings,
        terminal: terminal(),
    };
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        print(&mut out, &report)?;
    }
    Ok(if ready { Exit::Ok } else { Exit::Environment })
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "tinyllama-tutor {}", report.version)?;
    let mut topic = "";
    for finding in &report.findings {
        if finding.topic != topic {
            topic = finding.topic;
            writeln!(out, "\n{topic}")?;
        }
        let mark = match finding.status {
            Status::Ok => "ok     ",
            Status::Absent => "absent ",
            Status::Broken => "BROKEN ",
        };
        writeln!(out, "  {mark} {:<24} {}", finding.name, finding.detail)?;
        if let Some(remedy) = &finding.remedy {
            writeln!(out, "          {remedy}")?;
        }
    }
    let terminal = &report.terminal;
    writeln!(out, "\nterminal")?;
    match (terminal.is_terminal, terminal.columns, terminal.rows) {
        (true, Some(columns), Some(rows)) => {
            let small = if columns < 80 || rows < 24 {
                "; 80x24 shows everything"
            } else {
                ""
            };
            writeln!(out, "  {columns}x{rows}{small}")?;
        }
        _ => writeln!(out, "  the output is no terminal; its size is not known")?,
    }
    writeln!(
        out,
        "  TERM {}, {}, {}",
        terminal.term.as_deref().unwrap_or("not set"),
        if terminal.no_color {
            "no colours (NO_COLOR)"
        } else {
            "16 colours"
        },
        if terminal.utf8 {
            "UTF-8"
        } else {
            "ASCII drawing"
        },
    )?;
    let verdict = if report.ready {
        "\nThe workshop can run here."
    } else {
        "\nThe workshop cannot run here yet: see what is marked above."
    };
    writeln!(out, "{verdict}")
}

/// Whether runs and progress can be kept.
fn state_folder() -> Finding {
    let (status, name, detail, remedy) = match folder::state_folder().and_then(|path| {
        folder::check_writable(&path)?;
        Ok(path)
    }) {
        Ok(path) => (
            Status::Ok,
            path.display().to_string(),
            "can be written".to_string(),
            None,
        ),
        Err(error) => (
            Status::Broken,
            "state folder".to_string(),
            format!("{error:#}"),
            Some("Set XDG_STATE_HOME to a folder you can write to.".to_string()),
        ),
    };
    Finding {
        topic: "state",
        name,
        status,
        detail,
        remedy,
    }
}

fn terminal() -> Terminal {
    let size = window_size();
    Terminal {
        is_terminal: io::stdout().is_terminal(),
        columns: size.map(|(columns, _)| columns),
        rows: size.map(|(_, rows)| rows),
        term: locale::variable("TERM"),
        no_color: locale::no_color(locale::variable),
        utf8: locale::is_utf8(locale::variable),
    }
}

/// Columns and rows of the terminal behind the output.
fn window_size() -> Option<(u16, u16)> {
    let (rows, columns) = console::Term::stdout().size_checked()?;
    Some((columns, rows))
}
