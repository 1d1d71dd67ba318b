//! The course, on a full screen or as lines. It starts without a subcommand.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::{Exit, kernel_inputs};
use tinyllama_lesson::CourseSource;
use tinyllama_runs::{Launcher, recording};
use tinyllama_session::{SessionLocation, class_rights};
use tinyllama_tutor_core::{TutorError, TutorOptions};
use tinyllama_ui::{plain, tui};

#[derive(Debug, Args)]
pub struct CourseArgs {
    /// Show the course as a dialogue of lines: for screen readers, simple terminals and scripts
    #[arg(long)]
    plain: bool,
    /// Use the course in this folder instead of the built-in one
    #[arg(long, value_name = "DIR", env = "TINYLLAMA_LESSONS")]
    lessons: Option<PathBuf>,
    /// Store the session in this class folder instead of the state folder
    #[arg(long, value_name = "DIR", env = "TINYLLAMA_CLASS")]
    class: Option<PathBuf>,
    /// Start with this lesson or session; a locked one is opened anyway
    #[arg(long, value_name = "LESSON")]
    from: Option<String>,
    /// Name of the learner (default: the user's name)
    #[arg(long, value_name = "NAME", env = "TINYLLAMA_LEARNER")]
    learner: Option<String>,
    /// Launcher for runs: local, slurm, or a command to put before each run, such as `srun --gpus=1`
    #[arg(long, value_name = "WHERE", env = "TINYLLAMA_LAUNCHER", value_parser = Launcher::check_flag)]
    launcher: Option<String>,
    /// Use attributes instead of colours, as with NO_COLOR
    #[arg(long)]
    no_color: bool,
    /// Use only ASCII characters, as in a locale without UTF-8
    #[arg(long)]
    ascii: bool,
    /// Let the mouse scroll; selecting text in the terminal then needs Shift
    #[arg(long)]
    mouse: bool,
    /// File with key bindings (default: tinyllama-tutor/keys.yaml in the configuration folder)
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Play the recordings in this folder instead of the built-in ones
    #[arg(long, value_name = "DIR", env = "TINYLLAMA_RECORDINGS")]
    recordings: Option<PathBuf>,
}

pub fn run(args: CourseArgs) -> Result<Exit> {
    // A dumb terminal cannot place its cursor, so it gets lines only.
    let is_plain = args.plain || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let result = options(args).and_then(|options| {
        if is_plain {
            plain::run(options)
        } else {
            tui::run(options)
        }
    });
    Ok(result.map(|()| Exit::Ok)?)
}

fn options(args: CourseArgs) -> std::result::Result<TutorOptions, TutorError> {
    let location = SessionLocation::find(args.class.as_deref(), args.learner.as_deref())?;
    if let Some(class) = &args.class {
        class_rights::check(class)?;
    }
    let launcher = Launcher::from_settings(args.launcher.as_deref(), args.class.as_deref());
    let options = TutorOptions {
        in_class: args.class.is_some(),
        course: CourseSource::new(args.lessons),
        from: args.from,
        location,
        launcher: launcher.map_err(|error| TutorError::Usage(error.to_string()))?,
        no_color: args.no_color,
        ascii: args.ascii,
        mouse: args.mouse,
        commands: super::command_names(),
        keys: args.keys,
        recordings: recording::RecordingSource::new(args.recordings),
        works: kernel_inputs::works,
    };
    Ok(options.with_environment(|name| std::env::var(name).ok()))
}
