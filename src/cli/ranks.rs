//! A run over several GPUs: one process each, started and heard here, their events made into one stream.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};

use super::Exit;
use crate::base::foreign::plain;
use crate::run::spec::RankArgs;
use crate::run::{Line, RunExit, read_line};
use crate::train::event::{Body, Failure, FailureCode, Step, Summary};
use crate::train::{RankOptions, Reporter, StopSignal, TrainingEnd};

/// Tells a process which rank it is, from 0.
const RANK: &str = "TINYLLAMA_RANK";
/// A folder that all ranks see.
const MEETING: &str = "TINYLLAMA_MEETING";

/// How often somebody looks whether the run is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The rank that this process is, where another one started it as one.
///
/// # Errors
/// A variable that is no rank of so many.
pub fn own(args: &RankArgs) -> Result<Option<RankOptions>> {
    let (Some(ranks), Some(rank)) = (args.several(), std::env::var_os(RANK)) else {
        return Ok(None);
    };
    let number = rank.to_str().and_then(|text| text.parse().ok());
    let rank = number.filter(|rank| *rank < ranks).ok_or_else(|| {
        anyhow!(
            "{RANK} is {}, where a number below {ranks} belongs",
            rank.display()
        )
    })?;
    let meeting = std::env::var_os(MEETING).ok_or_else(|| anyhow!("{MEETING} is not set"))?;
    Ok(Some(RankOptions {
        rank,
        ranks,
        overlap: args.overlap.is_on(),
        bucket_bytes: args.bucket_bytes(),
        meeting: meeting.into(),
        check: args.check_ranks.is_on(),
    }))
}

/// A rank's process, or all that is heard of it. Dropping it ends it.
struct Process {
    child: Child,
}

impl Drop for Process {
    fn drop(&mut self) {
        // A rank that is asked politely ends after its step, which never ends where the others are gone.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

enum Heard {
    Line(usize, Vec<u8>),
    End(usize),
}

/// Starts `ranks` of this very command and reports what they say as one run.
///
/// # Errors
/// When a process cannot be started.
pub fn lead(
    ranks: usize,
    reporter: &Reporter,
    stop: &StopSignal,
) -> Result<(TrainingEnd, Option<Exit>)> {
    let meeting = tempfile::tempdir().context("no folder for ranks to meet in")?;
    let (tell, heard) = channel();
    let mut processes = (0..ranks)
        .map(|rank| start(rank, meeting.path(), &tell))
        .collect::<Result<Vec<_>>>()?;
    drop(tell);
    let mut merge = Merge::new(ranks);
    let mut failed = false;
    while let Some(next) = next(&heard, stop) {
        match next {
            Heard::Line(rank, line) => merge.hear(rank, &line, reporter),
            Heard::End(rank) => {
                let status = processes[rank].child.wait();
                let exit: RunExit = status.context("waiting for a rank failed")?.into();
                failed |= !exit.is_success();
                if !merge.complete[rank] {
                    return Ok((
                        TrainingEnd::Complete,
                        Some(merge.fail(rank, exit, reporter)),
                    ));
                }
            }
        }
    }
    if let Some(reason) = stop.reason() {
        return Ok((TrainingEnd::Stopped(reason), None));
    }
    merge.sum_up(reporter);
    Ok(match failed {
        true => (TrainingEnd::RanksDiffer, None),
        false => (TrainingEnd::Complete, None),
    })
}

/// Waits for the next word; `None` when all have ended or the run is to stop.
fn next(heard: &Receiver<Heard>, stop: &StopSignal) -> Option<Heard> {
    while stop.reason().is_none() {
        match heard.recv_timeout(LOOK) {
            Ok(next) => return Some(next),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}

fn start(rank: usize, meeting: &Path, tell: &Sender<Heard>) -> Result<Process> {
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let mut command = Command::new(program);
    command
        .args(std::env::args_os().skip(1))
        .env(RANK, rank.to_string())
        .env(MEETING, meeting)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Signals of the terminal are for the leader, which ends all ranks at once.
        .process_group(0);
    // SAFETY: the closure only makes one system call, which is allowed between fork and exec.
    #[cfg(target_os = "linux")]
    unsafe {
        command.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let mut child = command.spawn().context("cannot start a rank")?;
    if let Some(stderr) = child.stderr.take() {
        thread::spawn(move || each_line(stderr, |line| pass_on(rank, &line)));
    }
    if let Some(stdout) = child.stdout.take() {
        let tell = tell.clone();
        // Nobody hears it any more where the run was ended.
        thread::spawn(move || {
            each_line(stdout, |line| drop(tell.send(Heard::Line(rank, line))));
            drop(tell.send(Heard::End(rank)));
        });
    }
    Ok(Process { child })
}

fn each_line(from: impl Read, mut hear: impl FnMut(Vec<u8>)) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        match from.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => hear(line),
        }
    }
}

/// What a rank or its libraries say beside events.
fn pass_on(rank: usize, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    eprintln!("rank {rank}: {}", plain(line.trim_end()));
}

/// What was heard of the ranks of one run.
struct Merge {
    /// Steps that not all have told yet.
    steps: BTreeMap<usize, Vec<Option<Step>>>,
    devices: Vec<Option<String>>,
    failures: Vec<Option<Failure>>,
    complete: Vec<bool>,
    /// Of the first rank.
    summary: Option<Summary>,
}

impl Merge {
    fn new(ranks: usize) -> Self {
        Merge {
            steps: BTreeMap::new(),
            devices: vec![None; ranks],
            failures: vec![None; ranks],
            complete: vec![false; ranks],
            summary: None,
        }
    }

    fn hear(&mut self, rank: usize, line: &[u8], reporter: &Reporter) {
        let event = match read_line(String::from_utf8_lossy(line).trim_end()) {
            Line::Event(event) => event,
            _ => return pass_on(rank, line),
        };
        match event.body {
            Body::Hello(hello) => {
                self.devices[rank] = Some(hello.device.clone());
                if rank == 0 {
                    reporter.emit(Body::Hello(hello));
                } else if self.devices[0]
                    .as_ref()
                    .is_some_and(|device| *device != hello.device)
                {
                    reporter.note(format!("rank {rank} computes on {}", hello.device));
                }
            }
            Body::Step(step) => self.step(rank, step, reporter),
            Body::Summary(summary) => {
                self.complete[rank] = summary.complete;
                if rank == 0 {
                    self.summary = Some(*summary);
                }
            }
            Body::Error(failure) => self.failures[rank] = Some(failure),
            body if rank == 0 => reporter.emit(body),
            _ => {}
        }
    }

    /// Keeps a rank's step, and reports it once all have told theirs.
    fn step(&mut self, rank: usize, step: Step, reporter: &Reporter) {
        let (n, ranks) = (step.n, self.devices.len());
        let all = self.steps.entry(n).or_insert_with(|| vec![None; ranks]);
        all[rank] = Some(step);
        if all.iter().all(Option::is_some) {
            let all: Vec<Step> = self
                .steps
                .remove(&n)
                .into_iter()
                .flatten()
                .flatten()
                .collect();
            if let Some(step) = merged(&all) {
                reporter.step(step);
            }
        }
    }

    /// Ends the stream where `rank` did not come to its end.
    fn fail(&self, rank: usize, exit: RunExit, reporter: &Reporter) -> Exit {
        let device = self.devices[rank].as_deref();
        let who = match device {
            Some(device) => format!("rank {rank} (device {rank}, {device})"),
            None => format!("rank {rank} (device {rank})"),
        };
        let mut failure = self.failures[rank].clone().unwrap_or(Failure {
            code: FailureCode::Device,
            message: "it did not say why".into(),
            remedy: "Look at its lines above. A process that is killed without a word often ran out of the host's memory."
                .into(),
        });
        failure.message = format!("{who} ended the run, {exit}: {}", failure.message);
        eprintln!("error: {}\n       {}", failure.message, failure.remedy);
        reporter.fail(failure);
        match exit {
            RunExit::Status(2) => Exit::Usage,
            RunExit::Status(3) => Exit::Environment,
            _ => Exit::Failed,
        }
    }

    fn sum_up(self, reporter: &Reporter) {
        reporter.update(|tally| {
            if let Some(summary) = self.summary {
                tally.parameters_with_gradient = summary.parameters_with_gradient;
                tally.repeatability = summary.repeatability;
                tally.rank_check = summary.rank_check;
            }
        });
    }
}

/// A step of all ranks: the mean of their losses, since their shares are equal, and the time until the last was done.
fn merged(all: &[Step]) -> Option<Step> {
    let first = all.first()?;
    let mut ranks: Vec<_> = all.iter().flat_map(|step| step.ranks.clone()).collect();
    let last = ranks.iter().map(|rank| rank.began).fold(f64::MIN, f64::max);
    for rank in &mut ranks {
        rank.waited_ms = Some(((last - rank.began) * 1e3).clamp(0.0, rank.total_ms));
    }
    let total_ms = all.iter().map(|step| step.total_ms).fold(0.0, f64::max);
    let most = |figure: fn(&Step) -> Option<u64>| all.iter().filter_map(figure).max();
    Some(Step {
        loss: all.iter().map(|step| step.loss).sum::<f64>() / all.len() as f64,
        samples_per_s: first.samples_per_s * first.total_ms / total_ms,
        total_ms,
        bytes_in_use: most(|step| step.bytes_in_use),
        bytes_reserved: most(|step| step.bytes_reserved),
        ranks,
        ..first.clone()
    })
}
