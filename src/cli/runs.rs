//! `runs`: lists and manages every stored run, from the course or the command line.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use serde_json::json;

use super::Exit;
use super::analysis::{AnalysisPage, plural, stored_run};
use super::compare::compare_stored;
use super::print_result::{print_document, print_page, print_text};
use super::run_printers::LinePrinter;
use super::session::SessionCommandArgs;
use tinyllama_base::table::TableColumns;
use tinyllama_base::terminal::Stdout;
use tinyllama_base::units::number;
use tinyllama_contract::bounds;
use tinyllama_contract::event::Body;
use tinyllama_contract::flags::UsageError;
use tinyllama_engine::train::EventSink;
use tinyllama_runs::recording::label;
use tinyllama_runs::{FinishedRun, steps};
use tinyllama_session::stored_runs::{StoredRun, kept, prunable, remove};
use tinyllama_session::{SessionError, SessionLocation, SessionState, read_only};

/// Default number of runs in the list.
const USUAL: usize = 20;

#[derive(Debug, Subcommand)]
#[command(after_help = r"Examples:
  tinyllama-tutor runs list --all
      every run, newest first
  tinyllama-tutor runs compare RUN RUN
      two of them side by side
  tinyllama-tutor runs prune --older-than 30 --keep 100
      deletes runs older than 30 days, but keeps the 100 newest")]
pub enum RunsCommand {
    /// List runs, newest first
    List {
        /// List all runs instead of the newest
        #[arg(long = "all")]
        all_runs: bool,
    },
    /// Show a run: setup, figures, kernels, parts
    Show {
        /// Id of the run, or `last`
        run: String,
        /// Show every step, too: loss, times, memory
        #[arg(long)]
        steps: bool,
    },
    /// Compare two runs
    Compare {
        /// Run to compare with: an id, or `last`
        base: String,
        other: String,
    },
    /// Delete runs that nothing depends on; runs that the session, its checks or its report use always stay
    Prune {
        /// Delete only runs older than this many days
        #[arg(long, value_name = "DAYS", required_unless_present = "keep", value_parser = bounds::DAYS)]
        older_than: Option<u32>,
        /// Keep this many of the newest runs
        #[arg(long, value_name = "N", required_unless_present = "older_than", value_parser = bounds::RUNS)]
        keep: Option<usize>,
        /// List the runs to delete without deleting them
        #[arg(long)]
        dry_run: bool,
    },
}

impl SessionCommandArgs<RunsCommand> {
    pub fn run(&self) -> Result<Exit> {
        let location = self.place.find()?;
        match &self.command {
            RunsCommand::List { all_runs } => self.list(&location, *all_runs),
            RunsCommand::Show { run, steps } => self.show(&location, run, *steps),
            RunsCommand::Compare { base, other } => {
                let paths = [path(&location, base)?, path(&location, other)?];
                compare_stored(&paths, self.json)
            }
            RunsCommand::Prune {
                older_than,
                keep,
                dry_run,
            } => {
                let days = u64::from(older_than.unwrap_or(0));
                let older = Duration::from_secs(days * 24 * 3600);
                let go = prunable(all_runs(&location)?, keep.unwrap_or(0), older);
                self.prune(&go, *dry_run)
            }
        }
    }

    fn list(&self, location: &SessionLocation, whole: bool) -> Result<Exit> {
        let runs = all_runs(location)?;
        let shown = if whole { runs.len() } else { USUAL };
        let title = format!("{}, newest first", plural(runs.len(), "run"));
        let mut table = TableColumns::titled(title, &runs)
            .first(shown)
            .left("run", |run| run.id.clone())
            .left("started (UTC)", |run| run.day())
            .left("target", |run| run.target.clone())
            .right("step ms", |run| number(run.step_ms, 2))
            .left("ended", |run| run.ending())
            .left("checks", StoredRun::judged)
            .left("size", StoredRun::size)
            .left("at", |run| {
                let at = run.at.as_ref();
                at.map(|at| format!("{}/{}", at.lesson, at.step))
            });
        if runs.len() > shown {
            let rest = runs.len() - shown;
            table = table.note(format!("{rest} older ones: `runs list --all`"));
        }
        let mut page = AnalysisPage::default();
        page.first_table(table);
        print_page(self.json, &json!({ "runs": runs }), &page)
    }

    fn show(&self, location: &SessionLocation, name: &str, with_steps: bool) -> Result<Exit> {
        let path = path(location, name)?;
        let known = all_runs(location)?.into_iter().find(|run| run.path == path);
        let (mut events, mut steps) = (Vec::new(), Vec::new());
        let run = FinishedRun::read_with(&path, |event| match &event.body {
            Body::Step(step) if with_steps => steps.push(step.clone()),
            Body::Step(_) | Body::Phase(_) => {}
            _ => events.push(event.clone()),
        });
        let run = run.with_context(|| format!("cannot read {}", path.display()))?;
        if known.is_none() && events.is_empty() && run.losses.is_empty() && steps.is_empty() {
            bail!(UsageError(format!(
                "{} holds no event of a run; `runs list` shows the kept runs",
                path.display()
            )));
        }
        let document = json!({
            "run": known,
            "hello": run.reported.hello,
            "summary": run.reported.summary,
            "parts": run.reported.parts,
            "kernels": run.reported.kernels,
            "error": run.reported.error,
            "steps": with_steps.then_some(&steps),
        });
        print_document(self.json, &document, |out| {
            if let Some(run) = &known {
                let (id, day, ending) = (&run.id, run.day(), run.ending());
                writeln!(out, "{id}, started {day} UTC, {ending}")?;
                writeln!(out, "  {}", run.command.join(" "))?;
                if let Some(at) = &run.at {
                    writeln!(out, "  at {}/{}", at.lesson, at.step)?;
                }
                if let Some(origin) = &run.recording {
                    writeln!(out, "  {}", label(origin))?;
                }
            }
            let mut lines = LinePrinter::new(Stdout);
            events.iter().try_for_each(|event| lines.event(event))?;
            if with_steps {
                let mut page = AnalysisPage::default();
                page.table(steps::table(plural(steps.len(), "step"), &steps));
                write!(out, "{page}")?;
            }
            let mut failed = run.reported.error.iter();
            failed.try_for_each(|it| writeln!(out, "error: {}\n       {}", it.message, it.remedy))
        })
    }

    fn prune(&self, go: &[StoredRun], dry_run: bool) -> Result<Exit> {
        let mut gone = Vec::new();
        for run in go {
            if !dry_run {
                remove(run)?;
            }
            gone.push(&run.id);
        }
        let did = if dry_run { "would go" } else { "removed" };
        let text = format!("{} {did}", plural(gone.len(), "run"));
        let document = json!({ "removed": gone, "dry_run": dry_run });
        print_text(self.json, &document, &text)
    }
}

/// Lists the runs of the session at `place`, and of commands that stored runs there. Without a session it lists only
/// the latter.
fn all_runs(location: &SessionLocation) -> Result<Vec<StoredRun>> {
    let state = match read_only(location) {
        Ok((state, _)) => state,
        Err(SessionError::NoSession { .. }) => SessionState::default(),
        Err(error) => return Err(error.into()),
    };
    let runs = location.runs();
    kept(&runs, &state).with_context(|| format!("cannot read {}", runs.display()))
}

/// The folder of a run, which `name` gives as `last`, an id, or a path.
fn path(location: &SessionLocation, name: &str) -> Result<PathBuf> {
    if name == "last" {
        let newest = all_runs(location)?.into_iter().next();
        let none = || UsageError("no run is kept yet".into());
        return Ok(newest.ok_or_else(none)?.path);
    }
    let unknown = |error| match name.contains('/') {
        true => error,
        false => UsageError(format!(
            "`{name}` is not a kept run; `runs list` shows the ids of runs"
        ))
        .into(),
    };
    let found = stored_run(name, &location.folder).map_err(unknown)?;
    let no_run = || {
        UsageError(format!(
            "`{name}` is a target; `runs list` shows the ids of runs"
        ))
    };
    Ok(found.ok_or_else(no_run)?)
}
