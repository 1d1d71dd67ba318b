//! A run over several GPUs. The leader starts one process for each and merges their events into one stream.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};

use super::Exit;
use tinyllama_base::file::{create_private, create_private_file};
use tinyllama_base::untrusted::plain;
use tinyllama_base::{ScratchFolder, die_with_parent, errln};
use tinyllama_contract::event::{Body, Failure, FailureCode, Step, Summary};
use tinyllama_contract::flags::{RankArgs, UsageError};
use tinyllama_engine::train::{RankOptions, Reporter, StopSignal, TrainingEnd};
use tinyllama_runs::{Line, RunExit, each_line, read_line};

/// Environment variable with a process's rank, from 0.
const RANK: &str = "TINYLLAMA_RANK";
/// Environment variable with the rank's device on its machine.
const DEVICE: &str = "TINYLLAMA_RANK_DEVICE";
/// Environment variable with a folder that all ranks can access. Set it if a scheduler starts tasks in folders that
/// they do not share.
const MEETING: &str = "TINYLLAMA_MEETING";
/// File in the meeting folder with which the first task ends the others.
const STOP: &str = "stop";
/// Prefix of the last line that a task writes about its rank.
const ENDED: &str = "rank ended, ";

/// Maximum number of processes on one machine.
const MOST_HERE: usize = 64;

/// Interval between checks for the end of the run.
const LOOK: Duration = Duration::from_millis(100);

/// The rank of this process, if another process started it as a rank.
///
/// # Errors
/// If a variable does not contain a valid rank.
pub fn from_environment(args: &RankArgs) -> Result<Option<(RankOptions, String)>> {
    let (Some(ranks), Some(rank)) = (args.gpu_count(), std::env::var_os(RANK)) else {
        return Ok(None);
    };
    let number: Option<usize> = rank.to_str().and_then(|text| text.parse().ok());
    let rank = number.filter(|rank| *rank < ranks).ok_or_else(|| {
        anyhow!(
            "{RANK} is {}, but must be a number below {ranks}",
            rank.display()
        )
    })?;
    let meeting = std::env::var_os(MEETING).ok_or_else(|| anyhow!("{MEETING} is not set"))?;
    let device = std::env::var(DEVICE).unwrap_or_else(|_| rank.to_string());
    let options = RankOptions {
        rank,
        ranks,
        flags: args.clone(),
        meeting: meeting.into(),
    };
    Ok(Some((options, device)))
}

/// One of several tasks that a scheduler (`srun`) started, one for each rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerTask {
    rank: usize,
    device: usize,
    meeting: PathBuf,
}

impl SchedulerTask {
    /// The task of this process.
    ///
    /// # Errors
    /// If a scheduler's variable is not a number.
    pub fn from_environment(ranks: usize) -> Result<Option<Self>> {
        SchedulerTask::from(ranks, &|name| std::env::var(name).ok())
    }

    fn from(ranks: usize, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let number = |name: &str| -> Result<Option<usize>> {
            let read = variable(name).map(|text| text.parse());
            read.transpose()
                .with_context(|| format!("{name} is not a whole number"))
        };
        if number("SLURM_NTASKS")? != Some(ranks) {
            return Ok(None);
        }
        let Some(rank) = number("SLURM_PROCID")? else {
            return Ok(None);
        };
        let local = number("SLURM_LOCALID")?.unwrap_or(0);
        // A task may see only its own GPU, or those of all tasks on its machine.
        let lists = [
            "CUDA_VISIBLE_DEVICES",
            "ROCR_VISIBLE_DEVICES",
            "HIP_VISIBLE_DEVICES",
        ];
        let seen = lists.iter().filter_map(|name| variable(name));
        let seen = seen.filter(|list| !list.is_empty());
        let least = seen.map(|list| list.split(',').count()).min();
        let step = [variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID")];
        let step: Vec<String> = step.into_iter().flatten().collect();
        let name = format!(".tinyllama-ranks-{}", step.join("."));
        Ok(Some(SchedulerTask {
            rank,
            device: least.map_or(local, |devices| local % devices),
            meeting: Path::new(&variable(MEETING).unwrap_or_default()).join(name),
        }))
    }

    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    fn events_of(&self, rank: usize) -> PathBuf {
        self.meeting.join(format!("rank-{rank}.jsonl"))
    }

    /// Trains as one of the later ranks and writes its events to a file for the first task. Returns the rank's exit
    /// status.
    ///
    /// # Errors
    /// If it cannot write to the meeting folder, or cannot start the rank.
    pub fn run_follower(&self) -> Result<Exit> {
        create_private(&self.meeting)
            .with_context(|| format!("cannot create {}", self.meeting.display()))?;
        let path = self.events_of(self.rank);
        let cannot = || format!("cannot write {}", path.display());
        let mut file = create_private_file(&path).with_context(cannot)?;
        let (tell, output) = channel();
        let mut process = start(self.rank, self.device, &self.meeting, &tell)?;
        drop(tell);
        // The first task removes the folder at its end.
        let stopped = || self.meeting.join(STOP).exists() || !path.exists();
        loop {
            match output.recv_timeout(LOOK) {
                Ok(RankOutput::Line(_, line)) => file.write_all(&line).with_context(cannot)?,
                Ok(RankOutput::End(..)) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if stopped() => {
                    return Ok(Exit::Signal(libc::SIGTERM));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let exit = process.end()?;
        // The rank may notice the first one's end before this task checks for it.
        if !exit.is_success() && stopped() {
            return Ok(Exit::Signal(libc::SIGTERM));
        }
        writeln!(file, "{ENDED}{exit}").with_context(cannot)?;
        Ok(exit.into())
    }

    /// Follows the file of another task's rank until its last line or the end of the run.
    fn follow_rank(&self, rank: usize, tell: &Sender<RankOutput>) {
        let mut file = None;
        let mut unread = Vec::new();
        while self.meeting.exists() {
            file = file.or_else(|| File::open(self.events_of(rank)).ok());
            // On a read error, the next iteration tries again.
            drop(file.as_mut().map(|file| file.read_to_end(&mut unread)));
            let end = unread.iter().rposition(|byte| *byte == b'\n');
            let whole: Vec<u8> = unread.drain(..end.map_or(0, |at| at + 1)).collect();
            for line in whole.split_inclusive(|byte| *byte == b'\n') {
                let text = String::from_utf8_lossy(line);
                let exit = text.trim_end().strip_prefix(ENDED).map(str::parse);
                let output = match exit {
                    Some(exit) => RankOutput::End(rank, Some(exit.unwrap_or(RunExit::Lost))),
                    None => RankOutput::Line(rank, line.to_vec()),
                };
                let is_last = matches!(output, RankOutput::End(..));
                if tell.send(output).is_err() || is_last {
                    return;
                }
            }
            thread::sleep(LOOK / 4);
        }
    }
}

/// The ranks that this process started, and the task's meeting folder. Dropping it removes the folder, which tells
/// the other tasks.
struct Meeting {
    folder: Option<PathBuf>,
    processes: Vec<RankProcess>,
}

impl Drop for Meeting {
    fn drop(&mut self) {
        let Some(folder) = &self.folder else { return };
        // The file tells the other tasks about the end before their ranks lose these ones.
        drop(std::fs::write(folder.join(STOP), []));
        self.processes.clear();
        // The other tasks may write into the folder until they have seen the file.
        thread::sleep(2 * LOOK);
        drop(std::fs::remove_dir_all(folder));
    }
}

/// A rank's process. Dropping it ends it.
struct RankProcess(Child);

impl RankProcess {
    fn end(&mut self) -> Result<RunExit> {
        let status = self.0.wait().context("waiting for a rank failed")?;
        Ok(status.into())
    }
}

impl Drop for RankProcess {
    fn drop(&mut self) {
        // A polite signal would make the rank finish its step, which never ends without the other ranks.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

enum RankOutput {
    Line(usize, Vec<u8>),
    /// A rank's end, with its exit status if another task waited for it.
    End(usize, Option<RunExit>),
}

/// Starts this command `ranks` times and reports the ranks' events as one run. In the first `task` of a scheduler it
/// starts only one rank.
///
/// # Errors
/// If a process cannot be started.
pub fn run_ranks(
    ranks: usize,
    task: Option<&SchedulerTask>,
    reporter: &Reporter,
    stop: &StopSignal,
) -> Result<(TrainingEnd, Option<Exit>)> {
    if task.is_none() && ranks > MOST_HERE {
        bail!(UsageError(format!(
            "--gpus {ranks}: no machine has more than {MOST_HERE}; for several machines start it with `srun --ntasks={ranks}`"
        )));
    }
    let here = ScratchFolder::new().context("cannot create a folder for the ranks")?;
    let (tell, output) = channel();
    let mut meeting = Meeting {
        folder: task.map(|task| task.meeting.clone()),
        processes: Vec::new(),
    };
    meeting.processes = match task {
        None => (0..ranks)
            .map(|rank| start(rank, rank, here.path(), &tell))
            .collect::<Result<Vec<_>>>()?,
        Some(task) => {
            let made = create_private(&task.meeting);
            made.with_context(|| format!("cannot create {}", task.meeting.display()))?;
            vec![start(0, task.device, &task.meeting, &tell)?]
        }
    };
    for rank in meeting.processes.len()..ranks {
        let (tell, task) = (tell.clone(), task.cloned());
        thread::spawn(move || task.map(|task| task.follow_rank(rank, &tell)));
    }
    drop(tell);
    let mut merge = Merge::new(ranks);
    let mut failed = false;
    while let Some(next) = next(&output, stop) {
        match next {
            RankOutput::Line(rank, line) => merge.on_line(rank, &line, reporter),
            RankOutput::End(rank, exit) => {
                let exit = match exit {
                    Some(exit) => exit,
                    None => meeting.processes[rank].end()?,
                };
                failed |= !exit.is_success();
                if !merge.complete[rank] {
                    return Ok((
                        TrainingEnd::Complete,
                        Some(merge.end_stream(rank, exit, reporter)),
                    ));
                }
            }
        }
    }
    if let Some(reason) = stop.reason() {
        return Ok((TrainingEnd::Stopped(reason), None));
    }
    merge.write_summary(reporter);
    Ok(match failed {
        true => (TrainingEnd::RanksDiffer, None),
        false => (TrainingEnd::Complete, None),
    })
}

/// Waits for the next output of a rank. Returns `None` if all have ended, or if the run must stop.
fn next(output: &Receiver<RankOutput>, stop: &StopSignal) -> Option<RankOutput> {
    while stop.reason().is_none() {
        match output.recv_timeout(LOOK) {
            Ok(next) => return Some(next),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}

fn start(
    rank: usize,
    device: usize,
    meeting: &Path,
    tell: &Sender<RankOutput>,
) -> Result<RankProcess> {
    let program = std::env::current_exe().context("cannot find this program's own path")?;
    let mut command = Command::new(program);
    command
        .args(std::env::args_os().skip(1))
        .env(RANK, rank.to_string())
        .env(DEVICE, device.to_string())
        .env(MEETING, meeting)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A separate process group, because the leader handles the terminal's signals and ends all ranks together.
        .process_group(0);
    die_with_parent(&mut command, libc::SIGKILL);
    let mut child = command.spawn().context("cannot start a rank")?;
    if let Some(stderr) = child.stderr.take() {
        thread::spawn(move || {
            each_line(stderr, |line| {
                line.map(|line| print_line(rank, &line)).is_ok()
            });
        });
    }
    if let Some(stdout) = child.stdout.take() {
        let tell = tell.clone();
        // If the run has ended, there is no receiver, and sending fails.
        thread::spawn(move || {
            each_line(stdout, |line| {
                line.map(|line| drop(tell.send(RankOutput::Line(rank, line))))
                    .is_ok()
            });
            drop(tell.send(RankOutput::End(rank, None)));
        });
    }
    Ok(RankProcess(child))
}

/// Prints a line from a rank or its libraries that is not an event.
fn print_line(rank: usize, line: &[u8]) {
    let line = String::from_utf8_lossy(line);
    errln!("rank {rank}: {}", plain(line.trim_end()));
}

/// Collects the output of all ranks of a run.
struct Merge {
    /// Steps that some ranks have not reported yet.
    steps: BTreeMap<usize, Vec<Option<Step>>>,
    devices: Vec<Option<String>>,
    failures: Vec<Option<Failure>>,
    complete: Vec<bool>,
    /// The first rank's summary.
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

    fn on_line(&mut self, rank: usize, line: &[u8], reporter: &Reporter) {
        let event = match read_line(String::from_utf8_lossy(line).trim_end()) {
            Line::Event(event) => event,
            _ => return print_line(rank, line),
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

    /// Stores a rank's step and reports the step once all ranks have sent theirs.
    fn step(&mut self, rank: usize, step: Step, reporter: &Reporter) {
        let (n, ranks) = (step.n, self.devices.len());
        let all = self.steps.entry(n).or_insert_with(|| vec![None; ranks]);
        all[rank] = Some(step);
        if let Some(step) = merged(all) {
            self.steps.remove(&n);
            reporter.step(step);
        }
    }

    /// Ends the stream because `rank` did not complete.
    fn end_stream(&self, rank: usize, exit: RunExit, reporter: &Reporter) -> Exit {
        let device = self.devices[rank].as_ref();
        let device = device.map_or(String::new(), |device| format!(", {device}"));
        let who = format!("rank {rank} (device {rank}{device})");
        let mut failure = self.failures[rank].clone().unwrap_or(Failure {
            code: FailureCode::Device,
            message: "it did not say why".into(),
            remedy: "Look at its lines above. A process that is killed without a message often ran out of the host's memory."
                .into(),
        });
        failure.message = format!("{who} ended the run, {exit}: {}", failure.message);
        errln!("error: {}\n       {}", failure.message, failure.remedy);
        reporter.fail(failure);
        exit.into()
    }

    fn write_summary(self, reporter: &Reporter) {
        reporter.update(|tally| {
            if let Some(summary) = self.summary {
                tally.parameters_with_gradient = summary.parameters_with_gradient;
                tally.repeatability = summary.repeatability;
                tally.rank_check = summary.rank_check;
            }
        });
    }
}

/// Merges a step of all ranks: the mean of their losses, since their shares are equal, and the longest time. Returns
/// `None` if one is missing.
fn merged(all: &[Option<Step>]) -> Option<Step> {
    let all: Vec<&Step> = all.iter().map(Option::as_ref).collect::<Option<_>>()?;
    let first = *all.first()?;
    let total_ms = all.iter().map(|step| step.total_ms).fold(0.0, f64::max);
    let most = |figure: fn(&Step) -> Option<u64>| all.iter().filter_map(|step| figure(step)).max();
    Some(Step {
        loss: all.iter().map(|step| step.loss).sum::<f64>() / all.len() as f64,
        samples_per_s: first.samples_per_s * first.total_ms / total_ms,
        total_ms,
        bytes_in_use: most(|step| step.bytes_in_use),
        bytes_reserved: most(|step| step.bytes_reserved),
        ranks: all.iter().flat_map(|step| step.ranks.clone()).collect(),
        ..first.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(ranks: usize, variables: &[(&str, &str)]) -> Option<SchedulerTask> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        SchedulerTask::from(ranks, &variable).unwrap()
    }

    #[test]
    fn a_task_of_as_many_as_there_are_ranks_is_one_of_them() {
        let third = [
            ("SLURM_NTASKS", "4"),
            ("SLURM_PROCID", "3"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_JOB_ID", "17"),
            ("SLURM_STEP_ID", "0"),
        ];
        let found = task(4, &third).unwrap();
        assert_eq!((found.rank, found.device), (3, 1));
        assert_eq!(found.meeting, PathBuf::from(".tinyllama-ranks-17.0"));
        // A job step with a single task, which has to start the ranks itself.
        assert_eq!(task(2, &third), None);
        assert_eq!(task(4, &[]), None);
        // The task sees only its own GPU, so the index is 0.
        let alone = [
            &third[..],
            &[("CUDA_VISIBLE_DEVICES", "1"), (MEETING, "/shared")],
        ]
        .concat();
        let found = task(4, &alone).unwrap();
        assert_eq!(
            (found.device, found.meeting),
            (0, PathBuf::from("/shared/.tinyllama-ranks-17.0"))
        );
    }
}
