//! Reads what Slurm's programs say about jobs and steps, in their formats for other programs.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use super::events::EventWriter;
use crate::launcher::error::LaunchError;
use tinyllama_base::{die_with_parent, unix_time};

/// A job in Slurm's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlurmJob {
    /// `PENDING`, `RUNNING`, `TIMEOUT`, ….
    pub state: String,
    /// Actual or expected start, in seconds since 1970.
    pub start: Option<u64>,
    /// Slurm's word for why the job waits.
    pub reason: String,
}

/// Runs one of Slurm's programs with `input` on its standard input.
pub(super) fn ask(
    program: &str,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    input: &str,
) -> Result<Output, LaunchError> {
    let missing = |_| LaunchError::NotInstalled(program.into());
    let mut command = Command::new(program);
    command
        .args(arguments)
        // Times come as numbers, independent of the user's settings.
        .env("SLURM_TIME_FORMAT", "%s")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    die_with_parent(&mut command, libc::SIGTERM);
    let mut child = command.spawn().map_err(missing)?;
    if let Some(mut stdin) = child.stdin.take() {
        // If the program ends before it has read its input, its output says why.
        drop(stdin.write_all(input.as_bytes()));
    }
    child.wait_with_output().map_err(missing)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_string()
}

/// Finds a job. Returns `None` if Slurm has forgotten it.
pub(super) fn job(id: &str) -> Result<Option<SlurmJob>, LaunchError> {
    let jobs = format!("--jobs={id}");
    let flags = ["--noheader", "--states=all", "--format=%T|%S|%r", &jobs];
    let answer = ask("squeue", flags, "")?;
    let errors = text(&answer.stderr);
    if let Some(job) = read(&text(&answer.stdout)) {
        return Ok(Some(job));
    }
    if !answer.status.success() && !errors.to_lowercase().contains("invalid job id") {
        return Err(LaunchError::from_slurm_message(&errors));
    }
    // This works only if the site keeps accounts.
    let flags = [
        "--noheader",
        "--parsable2",
        "--allocations",
        "--format=State",
        &jobs,
    ];
    let kept = ask("sacct", flags, "")
        .map(|answer| text(&answer.stdout))
        .unwrap_or_default();
    let state = kept.split_whitespace().next().map(str::to_string);
    Ok(state.map(|state| SlurmJob {
        state,
        start: None,
        reason: String::new(),
    }))
}

fn read(line: &str) -> Option<SlurmJob> {
    let mut fields = line.lines().next()?.splitn(3, '|');
    let state = fields.next().filter(|state| !state.is_empty())?;
    Some(SlurmJob {
        state: state.into(),
        start: fields.next()?.parse().ok(),
        reason: fields.next()?.into(),
    })
}

/// Waits until a job runs or has ended. Reports what it waits for, and returns early if the end is requested.
pub(super) fn wait_for(id: &str, events: &mut EventWriter) -> Result<(), LaunchError> {
    const LONGEST_PAUSE: Duration = Duration::from_secs(5);
    let mut pause = Duration::from_millis(250);
    loop {
        // If the job has ended, its stream is complete, and there is nothing to wait for.
        let Some(found) = job(id)?.filter(|job| job.state != "RUNNING" && job.is_alive()) else {
            return Ok(());
        };
        if let Some(trouble) = found.fatal_reason() {
            cancel(id);
            return Err(trouble);
        }
        let message = match found.state.as_str() {
            "PENDING" => format!("job {id} waits: {}", found.waiting_reason()),
            state => format!("job {id}: {}", state.to_lowercase()),
        };
        events.report_phase(&message, found.seconds_left());
        if !events.wait(pause) {
            return Ok(());
        }
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}

impl SlurmJob {
    /// Returns whether the job has not ended yet.
    pub(super) fn is_alive(&self) -> bool {
        const ALIVE: [&str; 5] = [
            "PENDING",
            "CONFIGURING",
            "RUNNING",
            "SUSPENDED",
            "COMPLETING",
        ];
        ALIVE.contains(&self.state.as_str())
    }

    /// Describes why the job waits, or returns Slurm's word for it.
    pub(super) fn waiting_reason(&self) -> String {
        match self.reason.as_str() {
            "None" | "" => "Slurm has not looked at it yet".into(),
            "Resources" => "nodes that suit are busy (Resources)".into(),
            "Priority" => "other jobs go first (Priority)".into(),
            "ReqNodeNotAvail" => "nodes that suit are down or reserved (ReqNodeNotAvail)".into(),
            "BeginTime" => "its time has not come (BeginTime)".into(),
            reason if reason.contains("Limit") => {
                format!("one of your limits is reached ({reason})")
            }
            reason => reason.into(),
        }
    }

    /// Returns the reason if waiting cannot help. `None` if the job may still start.
    pub(super) fn fatal_reason(&self) -> Option<LaunchError> {
        match self.reason.as_str() {
            "InvalidAccount" | "AccountNotAllowed" => Some(LaunchError::Account),
            "InvalidQOS" | "QOSNotAllowed" => Some(LaunchError::Qos),
            "PartitionConfig" | "PartitionTimeLimit" | "PartitionNodeLimit" | "BadConstraints" => {
                Some(LaunchError::NeverStarts(self.waiting_reason()))
            }
            _ => None,
        }
    }

    pub(super) fn seconds_left(&self) -> Option<f64> {
        let left = self.start?.checked_sub(unix_time().as_secs())?;
        Some(left as f64)
    }
}

/// Finds the number of a job's step by its name.
pub(super) fn step(job: &str, name: &str) -> Result<Option<String>, LaunchError> {
    let jobs = format!("--jobs={job}");
    let flags = ["--steps", "--noheader", "--format=%i|%j", &jobs];
    let answer = text(&ask("squeue", flags, "")?.stdout);
    let mut steps = answer
        .lines()
        .filter_map(|line| line.trim().split_once('|'));
    Ok(steps
        .find(|(_, of)| *of == name)
        .map(|(id, _)| id.to_string()))
}

/// Submits a script and returns the job's number.
pub(super) fn submit(flags: &[OsString], script: &str) -> Result<String, LaunchError> {
    let answer = ask("sbatch", flags, script)?;
    let output = text(&answer.stdout);
    // With several clusters the answer is `NUMBER;CLUSTER`.
    let job = output.split(';').next().unwrap_or_default();
    match answer.status.success() && job.parse::<u64>().is_ok() {
        true => Ok(job.to_string()),
        false => Err(LaunchError::from_slurm_message(&text(&answer.stderr))),
    }
}

pub(super) fn cancel(job: &str) {
    // A job that cannot be cancelled has ended, or Slurm does not answer.
    drop(ask("scancel", ["--quiet", job], ""));
}

pub(super) fn signal(what: &str, signal: &str) {
    drop(ask(
        "scancel",
        ["--quiet", &format!("--signal={signal}"), what],
        "",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_with_its_expected_start_and_why_it_waits() {
        let job = read("PENDING|1795385110|Resources\n").unwrap();
        assert_eq!(job.start, Some(1_795_385_110));
        assert!(job.waiting_reason().contains("busy"));
        let waiting = read("PENDING|N/A|(Nodes required | for job are DOWN)").unwrap();
        assert_eq!(waiting.start, None);
        assert_eq!(
            waiting.waiting_reason(),
            "(Nodes required | for job are DOWN)"
        );
        for (reason, trouble) in [
            ("Resources", None),
            ("AssocGrpCpuLimit", None),
            (
                "PartitionTimeLimit",
                Some(LaunchError::NeverStarts(
                    "one of your limits is reached (PartitionTimeLimit)".into(),
                )),
            ),
            ("AccountNotAllowed", Some(LaunchError::Account)),
            ("InvalidAccount", Some(LaunchError::Account)),
            ("QOSNotAllowed", Some(LaunchError::Qos)),
        ] {
            let job = read(&format!("PENDING|N/A|{reason}")).unwrap();
            assert_eq!(job.fatal_reason(), trouble, "{reason}");
        }
        assert_eq!(read(""), None);
    }
}
