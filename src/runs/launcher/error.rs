//! Explains why a launch failed, and what to do about it.

use thiserror::Error;

use tinyllama_base::plain;
use tinyllama_contract::{Failure, FailureCode};

/// Defines the errors. A row has a message and a remedy.
macro_rules! launch_errors {
    ($($error:ident $(($what:ty))? = $message:tt => $remedy:tt;)+) => {
        /// Why a scheduler or a connection cannot carry out a run.
        #[derive(Clone, Debug, PartialEq, Eq, Error)]
        pub enum LaunchError { $(#[error($message)] $error $(($what))?,)+ }

        impl LaunchError {
            pub fn remedy(&self) -> &'static str {
                match self { $(LaunchError::$error { .. } => $remedy,)+ }
            }
        }
    };
}

launch_errors! {
    TimeLimit = "the allocation's time limit was reached" => "Run it again: this requests a new allocation. A larger slurm.time in the settings makes it longer.";
    Preempted = "Slurm gave the node to a job with a higher priority" => "Run it again, or set slurm.partition or slurm.qos to one that is not preempted.";
    NodeFailed = "the node failed, or Slurm lost it" => "Run it again: Slurm takes another node. `sinfo -R` says why nodes are down.";
    Memory = "the run took more memory than the allocation has" => "Lower --batch-size or --seq-len, or ask for more with slurm.options = [\"--mem=32G\"].";
    Cancelled = "the job was cancelled" => "Run it again; `sacct -j JOB` shows who cancelled it.";
    Account = "Slurm does not accept this account here" => "`sacctmgr show associations user=$USER` lists yours: write one as slurm.account.";
    Partition = "Slurm does not have this partition, or you may not use it" => "`sinfo` lists partitions: write one as slurm.partition.";
    Qos = "Slurm does not have this quality of service, or you may not use it" => "`sacctmgr show qos` lists them: write one as slurm.qos, or remove the key.";
    Limit = "Slurm's limits for you, or for your account, are reached" => "Wait until another of your jobs ends, or ask for less: slurm.time, slurm.gres, --jobs.";
    Nodes = "no node of the partition has the requested resources" => "`sinfo -o '%P %G'` lists what partitions have: correct slurm.gres and slurm.partition.";
    NeverStarts(String) = "the job can never start: {0}" => "The job was withdrawn. `sinfo -o '%P %l %G'` lists what partitions allow: correct slurm.time, slurm.gres or slurm.partition.";
    Silent = "Slurm does not answer" => "Ask the administrators of the cluster; `scontrol ping` shows whether it is back. --launcher local runs here.";
    NotInstalled(String) = "`{0}` is not installed here" => "Log in to a machine of the cluster, or choose another launcher with --launcher; `doctor` says who chose this one.";
    Program = "this program is not on the machine of the run" => "Put it in a folder that both machines see, or give its path there with program = \"/path\" in the settings.";
    Lost = "the run left no status: its machine failed, or someone ended it" => "Run it again; what it measured until then is kept.";
    Other(String) = "it was not started there: {0}" => "The lines below say more. `tinyllama-tutor doctor` tries the launcher.";
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
