//! `doctor`: reports what this machine has, what is missing, and what to do about it.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use super::analysis::AnalysisPage;
use super::doctor_launcher::LauncherReport;
use super::print_result::print_prose;
use super::{Exit, collect, doctor_driver, doctor_machine};
use tinyllama_base::locale;
use tinyllama_base::terminal::Stdout;
use tinyllama_base::wrapped;
use tinyllama_contract::bounds;
use tinyllama_engine::device::finding::{DeviceFinding, FindingStatus};
use tinyllama_engine::device::{BackendChoice, diagnosis};
use tinyllama_runs::{Launcher, folder};
use tinyllama_session::class_rights::{self, PERMISSIONS};
use tinyllama_ui::plain::folded_prose;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Run all checks and versions, and write their output to this .tar.gz to send in (takes about ten minutes)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "tinyllama-tutor-facts.tar.gz")]
    collect: Option<PathBuf>,
    /// With --collect: time limit for each command, in minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 15.0, requires = "collect", value_parser = bounds::MINUTES)]
    limit: f64,
    /// With --collect: flags for every run that trains, such as a smaller model; TINYLLAMA_BACKEND sets the backend
    /// of all runs
    #[arg(last = true, requires = "collect", value_name = "FLAGS")]
    training: Vec<String>,
    /// Test a GPU's driver through HIP and CUDA: memory, copies, modules, launches, events, streams, graphs and the
    /// vendor's matrix products; compare each result with the host's
    #[arg(long, conflicts_with = "collect")]
    driver: bool,
    /// With --driver: test only rocm or cuda instead of every driver found
    #[arg(
        long,
        requires = "driver",
        value_name = "BACKEND",
        default_value = "auto"
    )]
    pub(super) backend: BackendChoice,
    /// With --driver: index of the vendor's device, from 0
    #[arg(long, requires = "driver", value_name = "INDEX")]
    pub(super) device: Option<String>,
    /// With --driver: use short vectors and few repeats, for a simulated device
    #[arg(long, requires = "driver")]
    pub(super) quick: bool,
    /// Describe another machine: a file with the output of its rocminfo, or a copy of its folder
    /// /sys/class/kfd/kfd/topology
    #[arg(long, value_name = "PATH", conflicts_with_all = ["collect", "driver"])]
    machine: Option<PathBuf>,
    /// Launcher for runs: local, slurm, or a command to put before each run; doctor examines that machine, too
    #[arg(long, value_name = "WHERE", env = "TINYLLAMA_LAUNCHER", value_parser = Launcher::check_flag)]
    launcher: Option<String>,
    /// Class folder; its site file may name the launcher
    #[arg(long, value_name = "DIR", env = "TINYLLAMA_CLASS")]
    class: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

/// The document that `doctor --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
struct DoctorReport {
    version: &'static str,
    /// True if the workshop can run here.
    ready: bool,
    findings: Vec<DeviceFinding>,
    terminal: TerminalFacts,
    #[serde(flatten)]
    launched: LauncherReport,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TerminalFacts {
    is_terminal: bool,
    columns: Option<u16>,
    rows: Option<u16>,
    term: Option<String>,
    no_color: bool,
    utf8: bool,
}

/// Parses minutes, up to a day.
pub fn run(args: &DoctorArgs) -> Result<Exit> {
    if let Some(path) = &args.collect {
        collect::check_name(path)?;
        let limit = Duration::from_secs_f64(60.0 * args.limit);
        return collect::collect(path, &args.training, limit);
    }
    if args.driver {
        return doctor_driver::run(args);
    }
    if let Some(path) = &args.machine {
        return doctor_machine::run(path, args.json);
    }
    let launcher = Launcher::from_settings(args.launcher.as_deref(), args.class.as_deref())?;
    let mut findings = diagnosis::examine();
    findings.push(state_folder());
    findings.extend(args.class.as_deref().map(class_folder));
    // The CPU backend is always available. So only a missing place to store its work can stop the workshop.
    let mut all = findings.iter();
    let keeps = all.all(|finding| finding.topic != "state" || finding.status == FindingStatus::Ok);
    let launched = LauncherReport::examine(&launcher);
    let ready = keeps && launched.is_ready();
    let report = DoctorReport {
        version: env!("CARGO_PKG_VERSION"),
        ready,
        findings,
        terminal: terminal(),
        launched,
    };
    print_prose(args.json, &report, |out| print(out, &report))?;
    let exit = if ready { Exit::Ok } else { Exit::Environment };
    let mut findings = report.findings.iter();
    if findings.any(|one| one.status == FindingStatus::Hangs) {
        Stdout.flush()?;
        // SAFETY: ends the process. It skips the driver's exit handlers, which would hang as well.
        unsafe { libc::_exit(i32::from(exit.code())) };
    }
    Ok(exit)
}

fn print(out: &mut impl Write, report: &DoctorReport) -> io::Result<()> {
    writeln!(out, "tinyllama-tutor {}", report.version)?;
    let mut topic = "";
    for finding in &report.findings {
        print_finding(out, finding, &mut topic, ["ok", "absent", "BROKEN"])?;
    }
    let terminal = &report.terminal;
    writeln!(out, "\nterminal")?;
    match (terminal.is_terminal, terminal.columns, terminal.rows) {
        (true, Some(columns), Some(rows)) => {
            let small = match columns < 80 || rows < 24 {
                true => "; 80x24 shows everything",
                false => "",
            };
            writeln!(out, "  {columns}x{rows}{small}")?;
        }
        _ => writeln!(out, "  the output is not a terminal; its size is not known")?,
    }
    let term = terminal.term.as_deref().unwrap_or("not set");
    let colours = ["16 colours", "no colours (NO_COLOR)"][usize::from(terminal.no_color)];
    let drawing = ["ASCII drawing", "UTF-8"][usize::from(terminal.utf8)];
    writeln!(out, "  TERM {term}, {colours}, {drawing}")?;
    write!(out, "\n{}", report.launched.page(&report.findings))?;
    let verdict = match report.ready {
        true => "\nThe workshop can run here.",
        false => "\nThe workshop cannot run here yet: see what is marked above.",
    };
    writeln!(out, "{verdict}")
}

/// Prints a finding with its remedy below. If the topic differs from the last one, it prints the topic first. `marks`
/// stand for findings that are ok, absent, and broken.
pub(super) fn print_finding(
    out: &mut impl Write,
    finding: &DeviceFinding,
    topic: &mut &'static str,
    marks: [&str; 3],
) -> io::Result<()> {
    if finding.topic != *topic {
        *topic = finding.topic;
        writeln!(out, "\n{topic}")?;
    }
    let mark = match finding.status {
        FindingStatus::Ok => marks[0],
        FindingStatus::Absent => marks[1],
        FindingStatus::Broken | FindingStatus::Hangs => marks[2],
    };
    let width = marks.map(str::len).into_iter().max().unwrap_or(0) + 1;
    let DeviceFinding { name, detail, .. } = finding;
    let columns = AnalysisPage::default().width;
    let head = format!("  {mark:<width$} {name:<24} ");
    hanging(out, &head, detail, columns)?;
    match &finding.remedy {
        Some(remedy) => hanging(out, &format!("  {:width$} ", ""), remedy, columns),
        None => Ok(()),
    }
}

/// Prints text behind a head, with a hanging indent on further lines. A head with little room behind it, such as the
/// path of a folder, has its own line.
fn hanging(out: &mut impl Write, head: &str, text: &str, columns: usize) -> io::Result<()> {
    let length = head.chars().count();
    let is_alone = length + text.chars().count() > columns && length > columns / 2;
    let indent = if is_alone { 10 } else { length };
    let blank = " ".repeat(indent);
    if is_alone {
        writeln!(out, "{}", head.trim_end())?;
    }
    let room = columns.saturating_sub(indent).max(20);
    let lines = match io::stdout().is_terminal() {
        // Commands are there to be copied.
        true => folded_prose(text, room).lines().map(String::from).collect(),
        false => wrapped(text, room),
    };
    for (at, line) in lines.iter().enumerate() {
        writeln!(
            out,
            "{}{line}",
            if at == 0 && !is_alone { head } else { &blank }
        )?;
    }
    Ok(())
}

/// Checks whether runs and progress can be stored.
fn state_folder() -> DeviceFinding {
    let found = folder::state_folder().and_then(|path| {
        folder::check_writable(&path)?;
        Ok(path)
    });
    match found {
        Ok(path) => {
            let detail = "can be written; TINYLLAMA_TUTOR_LOG=debug keeps a log there, tutor.log";
            DeviceFinding::ok("state", path.display().to_string(), detail)
        }
        Err(error) => {
            let remedy = "Set XDG_STATE_HOME to a folder you can write to.";
            DeviceFinding::ok("state", "state folder", format!("{error:#}"))
                .needs(FindingStatus::Broken, remedy)
        }
    }
}

/// Whether the class folder is there, and its rights keep learners apart.
fn class_folder(class: &Path) -> DeviceFinding {
    let dangers = class_rights::for_instructor(class);
    let finding = |detail: String| DeviceFinding::ok("class", class.display().to_string(), detail);
    match (class.is_dir(), dangers.is_empty()) {
        (false, _) => {
            finding("there is no such folder".into()).needs(FindingStatus::Absent, PERMISSIONS)
        }
        (true, true) => finding(
            "no learner can replace another's session, or read it through the folder's group"
                .into(),
        ),
        (true, false) => finding(dangers.join("; ")).needs(FindingStatus::Broken, PERMISSIONS),
    }
}

fn terminal() -> TerminalFacts {
    let size = console::Term::stdout().size_checked();
    let screen = locale::screen();
    let size = size.map(|(rows, columns)| (columns, rows)).or(screen);
    TerminalFacts {
        is_terminal: io::stdout().is_terminal() || screen.is_some(),
        columns: size.map(|(columns, _)| columns),
        rows: size.map(|(_, rows)| rows),
        term: locale::variable("TERM"),
        no_color: locale::no_color(locale::variable),
        utf8: locale::is_utf8(locale::variable),
    }
}
