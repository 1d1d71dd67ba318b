//! Arguments of the `instructor` command.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use crate::cli::analysis::{Flags, Measure, Sweep};
use crate::cli::report::CourseArgs;
use tinyllama_tutor_core::instructor::class::PERMISSIONS;
use tinyllama_tutor_core::instructor::scope::ScopeName;

#[derive(Debug, Args)]
#[command(after_help = PERMISSIONS)]
pub struct InstructorArgs {
    /// Folder of the class
    #[arg(long, value_name = "DIR", global = true, env = "TINYLLAMA_CLASS")]
    pub class: Option<PathBuf>,
    /// Name that learners see (default: the user's name)
    #[arg(long, value_name = "NAME", global = true)]
    pub by: Option<String>,
    #[command(flatten)]
    pub course: CourseArgs,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Use attributes instead of colours, as with NO_COLOR
    #[arg(long)]
    pub no_color: bool,
    /// Use only ASCII characters, as in a locale without UTF-8
    #[arg(long)]
    pub ascii: bool,
    /// Without a command: the dashboard on a terminal, otherwise the list
    #[command(subcommand)]
    pub command: Option<InstructorCommand>,
}

#[derive(Debug, Subcommand)]
pub enum InstructorCommand {
    /// List everyone with position, time, attempts, hints and signs of being stuck
    List,
    /// Rank every learner's best correct run of the contest, fastest first
    Ladder,
    /// Repeat every learner's best run of the contest on one machine or cluster
    Run(AgainArgs),
    /// Show a learner's session as a report in Markdown
    Show { learner: String },
    /// Reset a learner's progress and keep a backup
    Reset(ResetArgs),
    /// Undo a reset
    Restore {
        learner: String,
        /// Name of the backup (default: the newest one that was not restored)
        backup: Option<String>,
    },
    /// Open lessons before their requirements are met
    #[command(
        override_usage = "tinyllama-tutor instructor unlock [LEARNER] <LESSON>... [--learner NAME | --everyone]"
    )]
    Unlock {
        /// The learner, unless --learner or --everyone is given; then lessons or sessions as `lessons list` names them, or `all`
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        whom: OrderRecipients,
    },
    /// Complete a step for a learner; a run trains on this machine
    Solve {
        learner: String,
        /// LESSON/STEP
        step: String,
    },
    /// Ask the whole class to work on a lesson, or to take a part of the course
    Pin {
        /// Lesson, as `lessons list` names it
        #[arg(required_unless_present_any = ["off", "path"])]
        lesson: Option<String>,
        /// Path that everyone takes, or `whole`
        #[arg(long, value_name = "NAME")]
        path: Option<String>,
        /// Let everyone continue with any lesson
        #[arg(long, conflicts_with_all = ["lesson", "path"])]
        off: bool,
    },
    /// Send a message to everyone, or to the learners that --learner names
    Message {
        #[command(flatten)]
        whom: OrderRecipients,
        /// Text of the message
        #[arg(required = true)]
        text: Vec<String>,
        /// The old name of --everyone
        #[arg(long, hide = true, conflicts_with_all = ["learners", "everyone"])]
        all: bool,
    },
    /// Export every session, for a merged report or as an archive
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

/// The learners that an order is for.
#[derive(Debug, Args)]
pub struct OrderRecipients {
    /// A learner; may be repeated
    #[arg(long = "learner", alias = "to", value_name = "NAME")]
    pub learners: Vec<String>,
    /// Every learner of the class
    #[arg(long, conflicts_with = "learners")]
    pub everyone: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).multiple(false))]
pub struct ResetArgs {
    /// Learner, same as --learner
    #[arg(conflicts_with_all = ["learners", "everyone"])]
    pub learner: Option<String>,
    #[command(flatten)]
    pub whom: OrderRecipients,
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
    /// The old name of --whole-course
    #[arg(long, group = "what", hide = true)]
    pub all: bool,
}

impl ResetArgs {
    pub fn named(&self) -> ScopeName {
        let some = |name: &Option<String>, of: fn(String) -> ScopeName| name.clone().map(of);
        some(&self.step, ScopeName::Step)
            .or_else(|| some(&self.stage, ScopeName::Stage))
            .or_else(|| some(&self.lesson, ScopeName::Lesson))
            .or_else(|| some(&self.session, ScopeName::Session))
            .unwrap_or(ScopeName::All)
    }
}
