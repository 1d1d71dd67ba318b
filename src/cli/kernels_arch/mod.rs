//! `kernels --arch`: the compiled kernels for an AMD GPU, on a machine without one. It shows source, instructions,
//! and what they need of a compute unit. All figures come from compilers, none from measurements.

#[cfg(feature = "gpu")]
mod generator;
#[cfg(not(feature = "gpu"))]
#[path = "no_generator.rs"]
mod generator;
mod selection;
mod table;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

pub use self::selection::KernelSelection;
use super::Exit;
use tinyllama_base::errln;
use tinyllama_contract::flags::UsageError;
use tinyllama_workbench::compiled::compiler::CompilerError;
use tinyllama_workbench::compiled::facts::ARCHITECTURES;

#[derive(Debug, Args)]
#[command(next_help_heading = "Compiled code")]
pub struct ArchArgs {
    /// Show what the kernels need of a compute unit of this architecture: gfx90a, gfx942, gfx1100, gfx1151, gfx1200,
    /// gfx1201; `all` means the first three
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Print a kernel as HIP C++ (or CUDA C++ with --arch sm_90)
    #[arg(long, value_name = "KERNEL", requires = "arch")]
    source: Option<String>,
    /// Print a kernel's instructions; needs clang
    #[arg(
        long,
        value_name = "KERNEL",
        requires = "arch",
        conflicts_with = "source"
    )]
    isa: Option<String>,
    /// Compile here with clang instead of showing recorded figures
    #[arg(long, requires = "arch")]
    compile: bool,
    /// Compiler to use; hiprtc is AMD's, from ROCm, and needs no GPU. It also compiles v4 and the workbench's
    /// solutions for gfx950
    #[arg(
        long,
        value_enum,
        value_name = "COMPILER",
        default_value = "clang",
        requires = "compile"
    )]
    with: ArchCompiler,
    /// Compile every size and block size instead of one of each kernel
    #[arg(long, requires = "compile")]
    all: bool,
    /// Fail if a kernel exceeds its budget, spills or needs scratch memory
    #[arg(long, requires = "arch")]
    budget: bool,
    /// Write the compiled table to this file
    #[arg(long, value_name = "FILE", requires = "compile")]
    record: Option<PathBuf>,
    /// Write code objects by cubecl's own LLVM to this folder; needs a build with the feature `rocm`
    #[arg(long, value_name = "FOLDER", requires = "arch", conflicts_with_all = ["source", "isa", "compile", "budget"])]
    code_objects: Option<PathBuf>,
}

/// The compiler for `--compile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ArchCompiler {
    /// Any clang that supports AMD GPUs; its assembly states registers and local memory
    Clang,
    /// AMD's run-time compiler with the options of this program; reports which kernels it refuses
    Hiprtc,
}

pub fn run(args: &ArchArgs, selection: &KernelSelection<'_>) -> Result<Exit> {
    let named = args.arch.as_deref().unwrap_or("all");
    if args.with == ArchCompiler::Hiprtc {
        if args.budget || args.record.is_some() {
            bail!(UsageError(
                "--with hiprtc only shows what compiles: --budget and --record need the assembly that clang writes".into(),
            ));
        }
        return generator::hiprtc(named, args.all, selection);
    }
    let names: Vec<&str> = match named {
        "all" => ARCHITECTURES.to_vec(),
        names => names.split(',').map(str::trim).collect(),
    };
    if let Some(folder) = &args.code_objects {
        return generator::code_objects(&names, folder, selection);
    }
    let shown = match (&args.source, &args.isa) {
        (Some(name), _) => generator::sources(&names, name, selection),
        (_, Some(name)) => generator::listings(&names, name, selection),
        _ => table::show(args, &names, selection),
    };
    let Err(error) = &shown else { return shown };
    match error.downcast_ref() {
        // A compiler that ran and refused shows a fault of the kernel, not of this machine.
        None | Some(CompilerError::Refused { .. }) => shown,
        Some(_) => {
            errln!("error: {error:#}");
            Ok(Exit::Environment)
        }
    }
}
