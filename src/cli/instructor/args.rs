//! What the `instructor` command takes.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use crate::cli::analysis::{Flags, Measure, Sweep};
use crate::cli::report::CourseArgs;
use tinyllama_course::instructor::class::PERMISSIONS;
use tinyllama_course::instructor::scope::Named;

#[derive(Debug, Args)]
#[command(after_help = PERMISSIONS)]
pub struct InstructorArgs {
    /// Folder of the class
    #[arg(long, value_name = "DIR", global = true, env = "TINYLLAMA_CLASS")]
    pub class: Option<PathBuf>,
    /// Name learners see (default: the user's)
    #[arg(long, value_name = "NAME", global = true)]
    pub by: Option<String>,
    #[command(flatten)]
    pub course: CourseArgs,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Attributes instead of colours, as with NO_COLOR
    #[arg(long)]
    pub no_color: bool,
    /// Only ASCII characters, as in a locale that is not UTF-8
    #[arg(long)]
    pub ascii: bool,
    /// Without one: the dashboard, where there is a terminal, else the list
    #[command(subcommand)]
    pub command: Option<InstructorCommand>,
}

#[derive(Debug, Subcommand)]
pub enum InstructorCommand {
    /// Everyone with position, time, attempts, hints and signs of being stuck
    List {
        /// Print again whenever something changed
        #[arg(long)]
        watch: bool,
    },
    /// The contest: everybody's best correct run, the fastest first
    Ladder,
    /// Run everybody's best of the contest again, side by side on one machine or cluster
    Run(AgainArgs),
    /// One learner's session, as a report in Markdown
    Show { learner: String },
    /// Take back progress; a backup is kept
    Reset(ResetArgs),
    /// Undo a reset
    Restore {
        learner: String,
        /// Name of the backup (default: the newest that was not restored)
        backup: Option<String>,
    },
    /// Open a lesson whose requirements are not met
    #[command(allow_missing_positional = true)]
    Unlock {
        /// Learner, as --learner
        #[arg(conflicts_with_all = ["learners", "everyone"])]
        learner: Option<String>,
        lesson: String,
        #[command(flatten)]
        whom: Whom,
    },
    /// Do a step for a learner; a run is trained on this machine
    Solve {
        learner: String,
        /// LESSON/STEP
        step: String,
    },
    /// Ask the whole class to work on a lesson
    Pin {
        #[arg(required_unless_present = "off")]
        lesson: Option<String>,
        /// Let everybody go on where they like
        #[arg(long, conflicts_with = "lesson")]
        off: bool,
    },
    /// Write to learners, or to everyone
    Message {
        #[command(flatten)]
        whom: Whom,
        #[arg(required = true)]
        text: Vec<String>,
        /// What --everyone was called
        #[arg(long, hide = true, conflicts_with_all = ["learners", "everyone"])]
        all: bool,
    },
    /// Export every session, to be merged or kept
    Collect {
        /// Folder to write to
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
    },
}

#[derive(Debug, Args)]
#[command(mut_arg("rounds", |rounds| rounds.default_value("1")))]
pub struct AgainArgs {
    #[command(flatten)]
    pub measure: Measure,
    #[command(flatten)]
    pub sweep: Sweep,
    #[command(flatten)]
    pub flags: Flags,
}

/// Whom an order is for.
#[derive(Debug, Args)]
pub struct Whom {
    /// A learner; give it again for each further one
    #[arg(long = "learner", alias = "to", value_name = "NAME")]
    pub learners: Vec<String>,
    /// Every learner of the class
    #[arg(long, conflicts_with = "learners")]
    pub everyone: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(false))]
pub struct ResetArgs {
    /// Learner, as --learner
    #[arg(conflicts_with_all = ["learners", "everyone"])]
    pub learner: Option<String>,
    #[command(flatten)]
    pub whom: Whom,
    /// One step: LESSON/STEP
    #[arg(long, group = "what", value_name = "LESSON/STEP")]
    step: Option<String>,
    /// The steps of a debugging stage, such as 3
    #[arg(long, group = "what", value_name = "N")]
    stage: Option<String>,
    /// A lesson
    #[arg(long, group = "what", value_name = "LESSON")]
    lesson: Option<String>,
    /// The lessons of a session of the course
    #[arg(long, group = "what", value_name = "SESSION")]
    session: Option<String>,
    /// All progress in the whole course
    #[arg(long, group = "what")]
    whole_course: bool,
    /// What --whole-course was called
    #[arg(long, group = "what", hide = true)]
    pub all: bool,
}

impl ResetArgs {
    pub fn named(&self) -> Named {
        let some = |name: &Option<String>, of: fn(String) -> Named| name.clone().map(of);
        some(&self.step, Named::Step)
            .or_else(|| some(&self.stage, Named::Stage))
            .or_else(|| some(&self.lesson, Named::Lesson))
            .or_else(|| some(&self.session, Named::Session))
            .unwrap_or(Named::All)
    }
}
