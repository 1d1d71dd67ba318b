//! Command line of the tool; the library's front page says what it is for.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use tinyllama_base::errln;
use tinyllama_emit::selection::{KernelSelection, amd_targets, targets};
use tinyllama_emit::{hiprtc, objects, record, resources, texts};
use tinyllama_workbench::compiled::facts::RECORDED_ARCHITECTURES;

/// Emits the kernels as C++ and compiles them for GPUs that need not exist
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a kernel as HIP C++, or CUDA C++ with --arch sm_90
    Source(Named),
    /// Print a kernel's instructions; needs clang
    Isa(Named),
    /// Compile with clang and print what each kernel takes of a compute unit, one JSON object a line
    Resources {
        #[command(flatten)]
        scope: Scope,
        /// Compile every size and block size instead of one of each kernel
        #[arg(long)]
        all: bool,
        /// Fail if a kernel exceeds its budget, spills or needs scratch memory
        #[arg(long)]
        budget: bool,
    },
    /// Compile with AMD's run-time compiler and this project's options, v4 and the workbench's solutions too; needs ROCm
    Hiprtc {
        #[command(flatten)]
        scope: Scope,
        /// Compile every size and block size instead of one of each kernel
        #[arg(long)]
        all: bool,
    },
    /// Write code objects by cubecl's own LLVM to a folder; needs the feature `rocm`
    CodeObjects {
        folder: PathBuf,
        #[command(flatten)]
        scope: Scope,
    },
    /// Write assets/kernel-resources.json and assets/kernel-sources again; needs clang, and clang 20 or later for gfx950
    Record {
        /// Architectures between commas whose rows are written again; the others stay
        #[arg(long, default_value_t = RECORDED_ARCHITECTURES.join(","))]
        arch: String,
    },
}

#[derive(Debug, Args)]
struct Named {
    /// A kernel or an operation
    kernel: String,
    #[command(flatten)]
    scope: Scope,
}

#[derive(Debug, Args)]
struct Scope {
    /// Architectures between commas; `all` means gfx90a, gfx942 and gfx1100
    #[arg(long, default_value = "all")]
    arch: String,
    #[command(flatten)]
    selection: KernelSelection,
}

fn main() -> ExitCode {
    match run(&Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            errln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether everything that was checked is in order.
fn run(command: &Command) -> Result<bool> {
    match command {
        Command::Source(Named { kernel, scope }) => {
            texts::sources(&targets(&scope.arch)?, kernel, &scope.selection).map(|()| true)
        }
        Command::Isa(Named { kernel, scope }) => {
            texts::listings(&amd_targets(&scope.arch)?, kernel, &scope.selection).map(|()| true)
        }
        Command::Resources { scope, all, budget } => {
            resources::print(&amd_targets(&scope.arch)?, *all, *budget, &scope.selection)
        }
        Command::Hiprtc { scope, all } => hiprtc::compile(&scope.arch, *all, &scope.selection),
        Command::CodeObjects { folder, scope } => {
            objects::write(&amd_targets(&scope.arch)?, folder, &scope.selection).map(|()| true)
        }
        Command::Record { arch } => {
            let tool = Path::new(env!("CARGO_MANIFEST_DIR"));
            record::write(&tool.join("../.."), arch).map(|()| true)
        }
    }
}
