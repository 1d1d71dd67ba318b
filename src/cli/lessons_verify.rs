//! `lessons verify`: walks through every lesson with real runs, as a learner would who makes no mistake.

use anyhow::Result;
use clap::Args;

use super::Exit;
use super::lessons::{error_style, named};
use super::print_result::print_document;
use tinyllama_base::errln;
use tinyllama_contract::flags::UsageError;
use tinyllama_course_walk::{VerifyOptions, print_progress, verify};
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_runs::Launcher;

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Ids of lessons (default: the whole course)
    #[arg(value_name = "LESSON")]
    chosen: Vec<String>,
    /// Walk only this path, as its learner would
    #[arg(long, value_name = "NAME")]
    path: Option<String>,
    /// Shrink the model until a run takes under a second; checks that depend on its size are skipped
    #[arg(long)]
    fast: bool,
    /// Flags for every run, such as `-- --backend cpu`, instead of the lessons' flags
    #[arg(last = true, value_name = "RUN FLAGS")]
    flags: Vec<String>,
}

pub fn run(
    args: &VerifyArgs,
    course: &Course,
    source: &CourseSource,
    as_json: bool,
) -> Result<Exit> {
    let mut chosen = args.chosen.iter();
    chosen.try_for_each(|id| named(course, id).map(drop))?;
    let path = args.path.as_deref().map(|name| course.path(name));
    let path = path.transpose().map_err(UsageError)?.flatten();
    let options = VerifyOptions {
        path: path.cloned(),
        launcher: Launcher::local_program(),
        fast: args.fast,
        flags: args.flags.clone(),
    };
    let report = verify(course, source, &args.chosen, &options, &mut print_progress)?;
    if let Some(path) = path {
        let (taken, planned) = (course.minutes_of_path(path), path.minutes);
        errln!("path {}: {taken:.0} of {planned} planned minutes", path.id);
    }
    print_document(as_json, &report.document(), |out| {
        report.print(out, error_style())
    })?;
    Ok(Exit::from_passed(report.is_sound()))
}
