//! Explains why a launch failed, and what to do about it.

use thiserror::Error;

use tinyllama_base::plain;
use tinyllama_contract::{Failure, FailureCode};

/// Why a scheduler or a connection cannot carry out a run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
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
const SAID: [(&str, Trouble); 18] = [
    ("due to time limit", Trouble::TimeLimit),
    ("due to preemption", Trouble::Preempted),
    ("node failure", Trouble::NodeFailed),
    ("due to node failure", Trouble::NodeFailed),
    ("oom-kill", Trouble::Memory),
    ("oom killed", Trouble::Memory),
    ("invalid account", Trouble::Account),
    ("account not permitted", Trouble::Account),
    ("invalid partition", Trouble::Partition),
    ("not permitted to use this partition", Trouble::Partition),
    ("invalid qos", Trouble::Qos),
    ("violates accounting/qos policy", Trouble::Limit),
    ("node configuration is not available", Trouble::Nodes),
    ("invalid generic resource", Trouble::Nodes),
    ("unable to contact slurm controller", Trouble::Silent),
    ("could not establish a configuration", Trouble::Silent),
    ("execve()", Trouble::Program),
    ("no such file or directory", Trouble::Program),
];

impl Trouble {
    /// Finds the trouble for a job's state. Returns `None` for a healthy state.
    pub(super) fn of_state(state: &str) -> Option<Self> {
        Some(match state {
            "TIMEOUT" | "DEADLINE" => Trouble::TimeLimit,
            "PREEMPTED" => Trouble::Preempted,
            "NODE_FAIL" | "BOOT_FAIL" => Trouble::NodeFailed,
            "OUT_OF_MEMORY" => Trouble::Memory,
            "CANCELLED" | "REVOKED" => Trouble::Cancelled,
            _ => return None,
        })
    }

    /// Finds the trouble for the output of Slurm's programs.
    pub(super) fn of_slurms_words(words: &str) -> Self {
        let lower = words.to_lowercase();
        let known = SAID.iter().find(|(said, _)| lower.contains(said));
        known.map_or_else(|| Trouble::other(words), |(_, trouble)| trouble.clone())
    }

    pub(super) fn other(words: &str) -> Self {
        let last = words.lines().rev().find(|line| !line.trim().is_empty());
        Trouble::Other(plain(last.unwrap_or("nobody says why").trim()))
    }

    pub fn remedy(&self) -> &'static str {
        match self {
            Trouble::TimeLimit => {
                "Run it again: this requests a new allocation. A larger slurm.time in the settings makes it longer."
            }
            Trouble::Preempted => {
                "Run it again, or set slurm.partition or slurm.qos to one that is not preempted."
            }
            Trouble::NodeFailed => {
                "Run it again: Slurm takes another node. `sinfo -R` says why nodes are down."
            }
            Trouble::Memory => {
                "Lower --batch-size or --seq-len, or ask for more with slurm.options = [\"--mem=32G\"]."
            }
            Trouble::Cancelled => "Run it again; `sacct -j JOB` shows who cancelled it.",
            Trouble::Account => {
                "`sacctmgr show associations user=$USER` lists yours: write one as slurm.account."
            }
            Trouble::Partition => "`sinfo` lists partitions: write one as slurm.partition.",
            Trouble::Qos => {
                "`sacctmgr show qos` lists them: write one as slurm.qos, or remove the key."
            }
            Trouble::Limit => {
                "Wait until another of your jobs ends, or ask for less: slurm.time, slurm.gres, --jobs."
            }
            Trouble::Nodes => {
                "`sinfo -o '%P %G'` lists what partitions have: correct slurm.gres and slurm.partition."
            }
            Trouble::NeverStarts(_) => {
                "The job was withdrawn. `sinfo -o '%P %l %G'` lists what partitions allow: correct slurm.time, slurm.gres or slurm.partition."
            }
            Trouble::Silent => {
                "Ask the administrators of the cluster; `scontrol ping` shows whether it is back. --launcher local runs here."
            }
            Trouble::NotInstalled(_) => {
                "Log in to a machine of the cluster, or choose another launcher with --launcher; `doctor` says who chose this one."
            }
            Trouble::Program => {
                "Put it in a folder that both machines see, or give its path there with program = \"/path\" in the settings."
            }
            Trouble::Host(_) => "Check the name, and that `ssh HOST true` works.",
            Trouble::Login(_) => {
                "You need a key that works without a prompt, and the host's key must be accepted: run `ssh HOST` once by hand, then ssh-copy-id or ssh-agent."
            }
            Trouble::Lost => "Run it again; what it measured until then is kept.",
            Trouble::Other(_) => {
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
        let of = Trouble::of_slurms_words;
        let known = [
            (
                "srun: error: Node failure on n2\nsrun: Job step aborted",
                Trouble::NodeFailed,
            ),
            (
                "sbatch: error: invalid partition specified: none\nsbatch: error: Batch job submission failed: Invalid partition name specified",
                Trouble::Partition,
            ),
            (
                "sbatch: error: Batch job submission failed: Requested node configuration is not available",
                Trouble::Nodes,
            ),
            (
                "sbatch: error: Invalid generic resource (gres) specification",
                Trouble::Nodes,
            ),
            (
                "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
                Trouble::Account,
            ),
            (
                "sbatch: error: Batch job submission failed: Job's account not permitted to use this partition (gpu allows a not b)",
                Trouble::Account,
            ),
            (
                "slurmstepd-n1: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-11-22T22:05:04 DUE TO TIME LIMIT ***",
                Trouble::TimeLimit,
            ),
            (
                "slurmstepd: error: execve(): /no/tutor: No such file or directory",
                Trouble::Program,
            ),
        ];
        for (words, trouble) in known {
            assert_eq!(of(words), trouble, "{words}");
        }
        assert_eq!(of("a\n\u{1b}[2Jb\n"), Trouble::Other("^[[2Jb".into()));
        assert_eq!(Trouble::of_state("NODE_FAIL"), Some(Trouble::NodeFailed));
        assert_eq!(Trouble::of_state("RUNNING"), None);
    }
}
