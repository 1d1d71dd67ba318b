//! Making the runs of a command, with progress on the error stream: a line that changes on a terminal, a line a run elsewhere.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::flags::{Flags, Sweep};
use crate::cli::Exit;
use crate::cli::output::spinner;
use tinyllama_contract::event::{Body, Event};
use tinyllama_course::analysis::{Pool, Runner, Stop};
use tinyllama_course::run::{Launcher, folder};

/// Where runs are made, one at a time, and who looks on.
pub struct Lab {
    pub runner: Runner,
    pub(super) watch: Console,
    /// How many runs of a series are made at a time; none where each waits for the one before.
    pub jobs: Option<usize>,
    /// Machines and devices that runs were made on, as far as a launcher named them.
    pub places: BTreeSet<(String, String)>,
}

impl Lab {
    /// Starts runs of this program, through the launcher where one is given, and ends them on a signal.
    ///
    /// # Errors
    /// When the launcher's words cannot be read, there is no place for the runs' files, or nobody listens to signals.
    pub fn open(flags: &Flags) -> Result<Self> {
        let stop = Stop::default();
        let runner = Runner {
            launcher: Launcher::choose(flags.launcher.as_deref(), None)?,
            root: folder::state_folder()?,
            stop: stop.clone(),
            pool: Pool::default(),
        };
        end_on_signals(stop)?;
        Ok(Lab {
            runner,
            watch: Console::default(),
            jobs: None,
            places: BTreeSet::new(),
        })
    }

    /// The same, several runs at a time where that is asked for.
    ///
    /// # Errors
    /// As [`Lab::open`], and where runs would share a device.
    pub fn open_for(flags: &Flags, sweep: &Sweep) -> Result<Self> {
        let mut lab = Self::open(flags)?;
        if sweep.jobs.is_some() {
            lab.runner.launcher.check_several()?;
        }
        lab.jobs = sweep.jobs;
        Ok(lab)
    }

    /// What a reader has to know of figures that were not made on one machine; none where they were.
    pub fn places(&self) -> Option<String> {
        let mut nodes: Vec<&str> = self.places.iter().map(|(node, _)| node.as_str()).collect();
        nodes.dedup();
        let devices: BTreeSet<&str> = self.places.iter().map(|(_, device)| &**device).collect();
        let devices: Vec<&str> = devices.into_iter().collect();
        (nodes.len() > 1).then(|| {
            let what = match &devices[..] {
                [device] => format!("each with {device}; no two are quite the same, so small differences may be theirs"),
                several => format!(
                    "with different devices ({}), so their figures are not those of one device",
                    several.join(", ")
                ),
            };
            format!("warning: these runs were made on {} nodes ({}), {what}", nodes.len(), nodes.join(", "))
        })
    }

    /// A line that stays.
    pub fn say(&self, text: &str) {
        match &self.watch.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }
}

/// The run in progress is asked to end, and no further one starts. A second signal does not wait.
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

/// Says what runs and how long it may still take.
#[derive(Debug)]
pub struct Console {
    bar: Option<ProgressBar>,
    started: Instant,
    pub(super) ended: usize,
    /// What runs, and the estimate of the rest.
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
    /// From the runs so far; nothing to say before the first has ended.
    fn left(&self, (run, of): (usize, usize)) -> String {
        if self.ended == 0 || of < run {
            return String::new();
        }
        let each = self.started.elapsed() / u32::try_from(self.ended).unwrap_or(u32::MAX);
        let runs = u32::try_from(of - run + 1).unwrap_or(u32::MAX);
        format!(", about {} left", in_words(each.saturating_mul(runs)))
    }

    /// The how manieth run, counted from 1, and of how many: 0 where a search does not know how many it will take.
    pub(super) fn starts(&mut self, turn: (usize, usize), name: &str) {
        let (run, left) = (turn.0, self.left(turn));
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
            None => eprintln!("{}", self.now),
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

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        0 => "1 s".into(),
        seconds @ ..=99 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
