//! The job that a step starts: a run of a target, or a command of the tutor.

use super::LessonCommand;

/// A run or a command that the tutor starts and watches until it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Job {
    /// A run of this target.
    Run(String),
    Command(LessonCommand),
}

impl Job {
    /// Returns the name of the target or of the command.
    pub fn name(&self) -> &str {
        match self {
            Job::Run(target) => target,
            Job::Command(command) => command.name,
        }
    }

    /// Returns the command line as a learner would type it.
    pub fn line(&self, flags: &[String]) -> String {
        let flags = shlex::try_join(flags.iter().map(String::as_str)).unwrap_or_default();
        let line = match self {
            Job::Run(target) => format!("tinyllama-tutor run {target} {flags}"),
            Job::Command(command) => format!("tinyllama-tutor {} {flags}", command.name),
        };
        line.trim_end().to_string()
    }
}
