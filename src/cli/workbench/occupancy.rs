//! `workbench occupancy`: what the compiler answers if block size, launch bounds or unrolling of the learner's kernel change.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::WorkbenchArgs;
use crate::cli::Exit;
use crate::cli::print_result::print_document;
use tinyllama_contract::flags::UsageError;
use tinyllama_workbench::KernelFile;
use tinyllama_workbench::amd::{self, Tuning};
use tinyllama_workbench::compiled::compiler::Compiler;
use tinyllama_workbench::occupancy::Occupancies;

/// Columns of the table.
const WIDTH: usize = 80;

#[derive(Debug, Args)]
pub struct OccupancyArgs {
    /// Name or number of the exercise
    exercise: String,
    /// The learner's file (default: the one in the session)
    #[arg(long, value_name = "FILE", overrides_with = "file")]
    file: Option<PathBuf>,
    /// Threads of a workgroup instead of the exercise's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    block: Option<u32>,
    /// Compile for workgroups of at most N threads, whatever `__launch_bounds__` in the file says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    launch_bounds: Option<u32>,
    /// Unroll each loop N times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    unroll: Option<u32>,
}

pub fn run(args: &WorkbenchArgs, asked: &OccupancyArgs) -> Result<Exit> {
    let (exercise, path) = args.file_of(&asked.exercise, asked.file.as_deref())?;
    let file = KernelFile::read(&path)?.map_err(|finding| UsageError(finding.message))?;
    let compiler = Compiler::find()?;
    let tuning = Tuning {
        block: asked.block,
        launch_bounds: asked.launch_bounds,
        unroll: asked.unroll,
    };
    let compile = |tuning| amd::compile(&compiler, exercise, &file, tuning, &|_| {});
    let own = compile(Tuning::default())?;
    let changed = match tuning == Tuning::default() {
        true => None,
        false => Some((tuning, compile(tuning)?)),
    };
    let answers = Occupancies {
        file: &own,
        changed: changed.as_ref().map(|(tuning, one)| (*tuning, one)),
    };
    let rows = answers.rows();
    let document = json!({ "exercise": exercise.name, "compiled": rows, "missing": own.missing });
    print_document(args.json, &document, |out| {
        let mut lines = answers.lines(WIDTH).into_iter();
        lines.try_for_each(|line| writeln!(out, "{line}"))
    })?;
    Ok(Exit::from_passed(!rows.is_empty()))
}
