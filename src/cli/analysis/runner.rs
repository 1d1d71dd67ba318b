//! Executes the runs of a command and shows progress on the error stream: one changing line on a terminal, one line
//! per run elsewhere.

use std::collections::BTreeSet;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::flags::{Flags, Sweep};
use crate::cli::Exit;
use crate::cli::run_printers::spinner;
use tinyllama_analysis::{Pool, Runner, Stop};
use tinyllama_base::{duration, errln};
use tinyllama_contract::event::{Body, Event};
use tinyllama_runs::{Launcher, folder};

/// Executes runs one at a time, and shows their progress.
pub struct AnalysisRunner {
    pub runner: Runner,
    pub(super) watch: Console,
    /// Number of parallel runs of a series; `None` for one after the other.
    pub jobs: Option<usize>,
    /// Machines and devices of the runs, if a launcher named them.
    pub nodes_note: BTreeSet<(String, String)>,
}

impl AnalysisRunner {
    /// Starts runs of this program, through the launcher if there is one, and ends them on a signal.
    ///
    /// # Errors
    /// If the launcher's text is invalid, the runs' folder cannot be created, or signals cannot be caught.
    pub fn open(flags: &Flags) -> Result<Self> {
        let stop = Stop::default();
        let runner = Runner {
            launcher: Launcher::from_settings(flags.launcher.as_deref(), None)?,
            root: folder::state_folder()?,
            stop: stop.clone(),
            pool: Pool::default(),
        };
        end_on_signals(stop)?;
        Ok(AnalysisRunner {
            runner,
            watch: Console::default(),
            jobs: None,
            nodes_note: BTreeSet::new(),
        })
    }

    /// The same with parallel runs if the flags ask for them.
    ///
    /// # Errors
    /// As [`AnalysisRunner::open`], and if runs would share a device.
    pub fn open_for(flags: &Flags, sweep: &Sweep) -> Result<Self> {
        let mut runner = Self::open(flags)?;
        if sweep.jobs.is_some() {
            runner.runner.launcher.check_several()?;
        }
        runner.jobs = sweep.jobs;
        Ok(runner)
    }

    /// A note for figures from several machines; `None` if one machine made all of them.
    pub fn nodes_note(&self) -> Option<String> {
        let mut nodes: Vec<&str> = self
            .nodes_note
            .iter()
            .map(|(node, _)| node.as_str())
            .collect();
        nodes.dedup();
        let devices: BTreeSet<&str> = self
            .nodes_note
            .iter()
            .map(|(_, device)| &**device)
            .collect();
        let devices: Vec<&str> = devices.into_iter().collect();
        (nodes.len() > 1).then(|| {
            let what = match &devices[..] {
                [device] => format!("each with {device}; no two are exactly alike, so they may cause small differences"),
                several => format!(
                    "with different devices ({}), so their figures are not those of one device",
                    several.join(", ")
                ),
            };
            format!("warning: these runs were made on {} nodes ({}), {what}", nodes.len(), nodes.join(", "))
        })
    }

    /// Prints a permanent line.
    pub fn print_line(&self, text: &str) {
        match &self.watch.bar {
            Some(bar) => bar.suspend(|| errln!("{text}")),
            None => errln!("{text}"),
        }
    }
}

/// On a signal it asks the current run to end and starts no more. A second signal ends the program immediately.
fn end_on_signals(stop: Stop) -> Result<()> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot listen for signals")?;
    thread::spawn(move || {
        let mut asked = false;
        for signal in signals.forever() {
            stop.stop(signal);
            if asked {
                std::process::exit(Exit::Signal(signal).code().into());
            }
            asked = true;
        }
    });
    Ok(())
}

/// Shows the current run and the estimated time left.
#[derive(Debug)]
pub struct Console {
    bar: Option<ProgressBar>,
    started: Instant,
    pub(super) ended: usize,
    /// The current run with the estimate.
    now: String,
}

impl Default for Console {
    fn default() -> Self {
        Console {
            bar: spinner(),
            started: Instant::now(),
            ended: 0,
            now: String::new(),
        }
    }
}

impl Console {
    /// Estimates the time left from the runs so far; empty before the first has ended.
    fn time_left(&self, (run, of): (usize, usize)) -> String {
        if self.ended == 0 || of < run {
            return String::new();
        }
        let each = self.started.elapsed().as_secs_f64() / self.ended as f64;
        format!(", about {} left", duration(each * (of - run + 1) as f64))
    }

    /// `turn` is the run's number from 1 and the number of runs, or 0 if a search does not know it.
    pub(super) fn on_run_start(&mut self, turn: (usize, usize), name: &str) {
        let (run, left) = (turn.0, self.time_left(turn));
        let of = match turn.1 {
            0 => String::new(),
            of => format!(" of {of}"),
        };
        self.now = format!("run {run}{of}: {name}{left}");
        match &self.bar {
            Some(bar) => {
                bar.set_message(self.now.clone());
                bar.tick();
            }
            None => errln!("{}", self.now),
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        let Some(bar) = &self.bar else { return };
        match &event.body {
            Body::Step(step) => {
                bar.set_message(format!("{}; step {} of {}", self.now, step.n, step.of));
            }
            Body::Phase(phase) => bar.set_message(format!("{}; {}", self.now, phase.message)),
            _ => {}
        }
        bar.tick();
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
