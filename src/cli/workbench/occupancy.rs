//! `workbench occupancy`: what the compiler answers if block size, launch bounds or unrolling of the learner's kernel change.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;

use super::WorkbenchArgs;
use crate::cli::Exit;
use crate::cli::print_result::print_document;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::wrapped;
use tinyllama_contract::flags::UsageError;
use tinyllama_workbench::KernelFile;
use tinyllama_workbench::amd::{self, Tuning};
use tinyllama_workbench::compiled::compiler::Compiler;

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
    let mut compiled = vec![(
        "the file",
        amd::compile(&compiler, exercise, &file, Tuning::default())?,
    )];
    if tuning != Tuning::default() {
        compiled.push(("changed", amd::compile(&compiler, exercise, &file, tuning)?));
    }
    let rows = compiled
        .iter()
        .flat_map(|(what, one)| one.kernels.iter().map(move |kernel| (*what, kernel)));
    let rows: Vec<_> = rows
        .sorted_by_key(|(_, kernel)| (kernel.architecture.clone(), kernel.kernel.clone()))
        .collect();
    let missing = &compiled[0].1.missing;
    let document = json!({ "exercise": exercise.name, "compiled": rows, "missing": missing });
    print_document(args.json, &document, |out| {
        let table = TableColumns::titled("Compiled for AMD GPUs (nothing was run)", &rows)
            .left("architecture", |(_, kernel)| kernel.architecture.clone())
            .left("kernel", |(_, kernel)| kernel.kernel.clone())
            .left("of", |(what, _)| (*what).to_owned())
            .right("threads", |(_, kernel)| kernel.threads.to_string())
            .right("registers", |(_, kernel)| {
                kernel.resources.vgprs.to_string()
            })
            .right("spills", |(_, kernel)| {
                kernel.resources.vgpr_spills.to_string()
            })
            .right("LDS", |(_, kernel)| kernel.lds_bytes.to_string())
            .right("waves", |(_, kernel)| kernel.waves_text());
        write!(out, "{}", TextTable::from(table).render(WIDTH))?;
        for (what, kernel) in &rows {
            if let Some(more) = kernel.remedy() {
                writeln!(out, "{}, {what}: {more}", kernel.architecture)?;
            }
        }
        for (architecture, why) in missing {
            let text = format!("{architecture}: not reported, because {why}");
            wrapped(&text, WIDTH)
                .iter()
                .try_for_each(|line| writeln!(out, "{line}"))?;
        }
        Ok::<_, io::Error>(())
    })?;
    Ok(Exit::from_passed(!rows.is_empty()))
}
