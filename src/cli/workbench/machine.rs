//! `workbench machine`: compiles the file for an AMD GPU, executes its instructions in the emulator and lists them.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::WorkbenchArgs;
use crate::cli::Exit;
use crate::cli::print_result::print_document;
use tinyllama_base::untrusted::PlainWriter;
use tinyllama_workbench::compiled::compiler::Compiler;
use tinyllama_workbench::machine::ARCHITECTURES;
use tinyllama_workbench::machine::listing::inspect;
use tinyllama_workbench::{KernelFile, KernelFinding, text};

#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Name or number of the exercise
    exercise: String,
    /// The file, instead of the session's
    #[arg(long, value_name = "FILE", overrides_with = "file")]
    file: Option<PathBuf>,
    /// Architecture to compile for
    #[arg(long, value_parser = ARCHITECTURES, default_value = "gfx942")]
    arch: String,
}

pub fn run(args: &WorkbenchArgs, asked: &MachineArgs) -> Result<Exit> {
    let (exercise, path) = args.file_of(&asked.exercise, asked.file.as_deref())?;
    let file = match KernelFile::read(&path)? {
        Ok(file) => file,
        Err(finding) => return refused(args, &finding, None),
    };
    let compiler = Compiler::find()?;
    match inspect(&compiler, exercise, &file, &asked.arch)? {
        Ok(listing) => {
            print_document(args.json, &listing, |out| {
                let out = &mut PlainWriter(out);
                let mut lines = listing.render(&file).into_iter();
                lines.try_for_each(|line| writeln!(out, "{line}"))
            })?;
            Ok(Exit::from_passed(listing.findings.is_empty()))
        }
        Err(finding) => refused(args, &finding, Some(&file)),
    }
}

fn refused(
    args: &WorkbenchArgs,
    finding: &KernelFinding,
    file: Option<&KernelFile>,
) -> Result<Exit> {
    print_document(args.json, &json!({ "findings": [finding] }), |out| {
        let out = &mut PlainWriter(out);
        let lines = match file {
            Some(file) => text::finding_lines(finding, file),
            None => vec![finding.message.clone()],
        };
        let mut lines = lines.into_iter();
        lines.try_for_each(|line| writeln!(out, "{line}"))?;
        Ok::<_, io::Error>(())
    })?;
    Ok(Exit::Failed)
}
