//! Explains why a launch failed, and what to do about it.

use thiserror::Error;

use tinyllama_base::plain;
use tinyllama_contract::{Failure, FailureCode};

/// Why a scheduler or a connection cannot carry out a run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LaunchError {
    #[error("the allocation's time limit was reached")]
    TimeLimit,
    #[error("Slurm gave the node to a job with a higher priority")]
    Preempted,
    #[error("the node failed, or Slurm lost it")]
    NodeFailed,
    #[error("the run took more memory than the allocation has")]
    Memory,
    #[error("the job was cancelled")]
    Cancelled,
    #[error("Slurm does not accept this account here")]
    Account,
    #[error("Slurm does not have this partition, or you may not use it")]
    Partition,
    #[error("Slurm does not have this quality of service, or you may not use it")]
    Qos,
    #[error("Slurm's limits for you, or for your account, are reached")]
    Limit,
    #[error("no node of the partition has the requested resources")]
    Nodes,
    #[error("the job can never start: {0}")]
    NeverStarts(String),
    #[error("Slurm does not answer")]
    Silent,
    #[error("`{0}` is not installed here")]
    NotInstalled(String),
    #[error("this program is not on the machine of the run")]
    Program,
    #[error("{0} does not answer")]
    Host(String),
    #[error("{0} does not let you log in without a prompt")]
    Login(String),
    #[error("the run left no status: its machine failed, or someone ended it")]
    Lost,
    #[error("it was not started there: {0}")]
    Other(String),
}

/// Messages of Slurm's programs, in lower case.
const SAID: [(&str, LaunchError); 18] = [
    ("due to time limit", LaunchError::TimeLimit),
    ("due to preemption", LaunchError::Preempted),
    ("node failure", LaunchError::NodeFailed),
    ("due to node failure", LaunchError::NodeFailed),
    ("oom-kill", LaunchError::Memory),
    ("oom killed", LaunchError::Memory),
    ("invalid account", LaunchError::Account),
    ("account not permitted", LaunchError::Account),
    ("invalid partition", LaunchError::Partition),
    (
        "not permitted to use this partition",
        LaunchError::Partition,
    ),
    ("invalid qos", LaunchError::Qos),
    ("violates accounting/qos policy", LaunchError::Limit),
    ("node configuration is not available", LaunchError::Nodes),
    ("invalid generic resource", LaunchError::Nodes),
    ("unable to contact slurm controller", LaunchError::Silent),
    ("could not establish a configuration", LaunchError::Silent),
    ("execve()", LaunchError::Program),
    ("no such file or directory", LaunchError::Program),
];

impl LaunchError {
    /// Finds the trouble for a job's state. Returns `None` for a healthy state.
    pub(super) fn of_state(state: &str) -> Option<Self> {
        Some(match state {
            "TIMEOUT" | "DEADLINE" => LaunchError::TimeLimit,
            "PREEMPTED" => LaunchError::Preempted,
            "NODE_FAIL" | "BOOT_FAIL" => LaunchError::NodeFailed,
            "OUT_OF_MEMORY" => LaunchError::Memory,
            "CANCELLED" | "REVOKED" => LaunchError::Cancelled,
            _ => return None,
        })
    }

    /// Finds the trouble for the output of Slurm's programs.
    pub(super) fn from_slurm_message(message: &str) -> Self {
        let lower = message.to_lowercase();
        let known = SAID.iter().find(|(said, _)| lower.contains(said));
        known.map_or_else(
            || LaunchError::from_stderr(message),
            |(_, trouble)| trouble.clone(),
        )
    }

    pub(super) fn from_stderr(message: &str) -> Self {
        let last = message.lines().rev().find(|line| !line.trim().is_empty());
        LaunchError::Other(plain(last.unwrap_or("nobody says why").trim()))
    }

    pub fn remedy(&self) -> &'static str {
        match self {
            LaunchError::TimeLimit => {
                "Run it again: this requests a new allocation. A larger slurm.time in the settings makes it longer."
            }
            LaunchError::Preempted => {
                "Run it again, or set slurm.partition or slurm.qos to one that is not preempted."
            }
            LaunchError::NodeFailed => {
                "Run it again: Slurm takes another node. `sinfo -R` says why nodes are down."
            }
            LaunchError::Memory => {
                "Lower --batch-size or --seq-len, or ask for more with slurm.options = [\"--mem=32G\"]."
            }
            LaunchError::Cancelled => "Run it again; `sacct -j JOB` shows who cancelled it.",
            LaunchError::Account => {
                "`sacctmgr show associations user=$USER` lists yours: write one as slurm.account."
            }
            LaunchError::Partition => "`sinfo` lists partitions: write one as slurm.partition.",
            LaunchError::Qos => {
                "`sacctmgr show qos` lists them: write one as slurm.qos, or remove the key."
            }
            LaunchError::Limit => {
                "Wait until another of your jobs ends, or ask for less: slurm.time, slurm.gres, --jobs."
            }
            LaunchError::Nodes => {
                "`sinfo -o '%P %G'` lists what partitions have: correct slurm.gres and slurm.partition."
            }
            LaunchError::NeverStarts(_) => {
                "The job was withdrawn. `sinfo -o '%P %l %G'` lists what partitions allow: correct slurm.time, slurm.gres or slurm.partition."
            }
            LaunchError::Silent => {
                "Ask the administrators of the cluster; `scontrol ping` shows whether it is back. --launcher local runs here."
            }
            LaunchError::NotInstalled(_) => {
                "Log in to a machine of the cluster, or choose another launcher with --launcher; `doctor` says who chose this one."
            }
            LaunchError::Program => {
                "Put it in a folder that both machines see, or give its path there with program = \"/path\" in the settings."
            }
            LaunchError::Host(_) => "Check the name, and that `ssh HOST true` works.",
            LaunchError::Login(_) => {
                "You need a key that works without a prompt, and the host's key must be accepted: run `ssh HOST` once by hand, then ssh-copy-id or ssh-agent."
            }
            LaunchError::Lost => "Run it again; what it measured until then is kept.",
            LaunchError::Other(_) => {
                "The lines below say more. `tinyllama-tutor doctor` tries the launcher."
            }
        }
    }

    pub(super) fn failure(&self) -> Failure {
        Failure {
            code: FailureCode::Launcher,
            message: self.to_string(),
            remedy: self.remedy().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of Slurm 22.05.
    #[test]
    fn slurms_words_are_understood() {
        let of = LaunchError::from_slurm_message;
        let known = [
            (
                "srun: error: Node failure on n2\nsrun: Job step aborted",
                LaunchError::NodeFailed,
            ),
            (
                "sbatch: error: invalid partition specified: none\nsbatch: error: Batch job submission failed: Invalid partition name specified",
                LaunchError::Partition,
            ),
            (
                "sbatch: error: Batch job submission failed: Requested node configuration is not available",
                LaunchError::Nodes,
            ),
            (
                "sbatch: error: Invalid generic resource (gres) specification",
                LaunchError::Nodes,
            ),
            (
                "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
                LaunchError::Account,
            ),
            (
                "sbatch: error: Batch job submission failed: Job's account not permitted to use this partition (gpu allows a not b)",
                LaunchError::Account,
            ),
            (
                "slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22T22:05:04 DUE TO TIME LIMIT ***",
                LaunchError::TimeLimit,
            ),
            (
                "slurmstepd: error: execve(): /no/tutor: No such file or directory",
                LaunchError::Program,
            ),
        ];
        for (message, trouble) in known {
            assert_eq!(of(message), trouble, "{message}");
        }
        assert_eq!(of("a\n\u{1b}[2Jb\n"), LaunchError::Other("^[[2Jb".into()));
        assert_eq!(
            LaunchError::of_state("NODE_FAIL"),
            Some(LaunchError::NodeFailed)
        );
        assert_eq!(LaunchError::of_state("RUNNING"), None);
    }
}
