//! `kernels --arch`: what the compiled kernels need of an AMD GPU's compute unit, and their source, on a machine without
//! one. `tools/emit` has recorded both with compilers; nothing was measured.

mod sources;
mod table;

use anyhow::Result;
use clap::Args;

use super::Exit;
use tinyllama_workbench::compiled::facts::ARCHITECTURES;

#[derive(Debug, Args)]
#[command(next_help_heading = "Compiled code")]
pub struct ArchArgs {
    /// Show what the kernels need of a compute unit of this architecture: gfx90a, gfx942, gfx950 (V4's kernels), gfx1100,
    /// gfx1151, gfx1200, gfx1201; `all` means gfx90a, gfx942 and gfx1100
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,
    /// Print a kernel as HIP C++ for gfx942 in f32
    #[arg(long, value_name = "KERNEL", requires = "arch")]
    source: Option<String>,
}

/// The kernels that the command's other flags select.
pub struct KernelSelection<'a> {
    /// Operations; all if empty.
    pub operations: &'a [&'static str],
    /// `f32`, `bf16` or `f16`; all if not given.
    pub dtype: Option<&'static str>,
    pub json: bool,
}

impl KernelSelection<'_> {
    fn takes(&self, operation: &str, dtype: &str) -> bool {
        self.operations.contains(&operation) && self.dtype.is_none_or(|wanted| wanted == dtype)
    }
}

pub fn run(args: &ArchArgs, selection: &KernelSelection<'_>) -> Result<Exit> {
    let names: Vec<&str> = match args.arch.as_deref() {
        None | Some("all") => ARCHITECTURES.to_vec(),
        Some(names) => names.split(',').map(str::trim).collect(),
    };
    match &args.source {
        Some(kernel) => sources::show(&names, kernel, selection),
        None => table::show(&names, selection),
    }
}
