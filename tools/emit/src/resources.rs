//! Compiles kernels with clang, and checks what they take of a compute unit against their budgets.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tinyllama_base::errln;
use tinyllama_base::terminal::Stdout;
use tinyllama_workbench::compiled::compiler::Compiler;
use tinyllama_workbench::compiled::facts::{Facts, KernelFacts};

use crate::selection::KernelSelection;
use crate::source::Target;
use crate::{budget, candidates};

/// Prints the selected rows, and with `checks_budget` each broken budget. Returns whether all are kept.
///
/// # Errors
/// If there is no compiler, or a kernel cannot be emitted or compiled.
pub fn print(
    targets: &[Target],
    all: bool,
    checks_budget: bool,
    selection: &KernelSelection,
) -> Result<bool> {
    let facts = compile(targets, all)?;
    let violations = match checks_budget {
        true => budget::violations(&facts.kernels),
        false => Vec::new(),
    };
    let mut out = Stdout;
    let takes = |kernel: &&KernelFacts| selection.takes(&kernel.operation, &kernel.dtype);
    for kernel in facts.kernels.iter().filter(takes) {
        writeln!(out, "{}", serde_json::to_string(kernel)?)?;
    }
    for violation in &violations {
        errln!("over budget: {violation}");
    }
    Ok(violations.is_empty())
}

/// Compiles the kernels for AMD's `targets`, for typical sizes or for all.
///
/// # Errors
/// If there is no compiler, or a kernel cannot be emitted or compiled.
pub fn compile(targets: &[Target], all: bool) -> Result<Facts> {
    let compiler = Compiler::find()?;
    let progress = io::stderr().is_terminal();
    let mut facts = Facts {
        compilers: BTreeMap::new(),
        kernels: Vec::new(),
    };
    for target in targets {
        let candidates = candidates::candidates(target, all)?;
        let finished = AtomicUsize::new(0);
        let done = || {
            let finished = finished.fetch_add(1, Ordering::Relaxed) + 1;
            if progress {
                let all = candidates.len();
                eprint!("\rcompiling for {target}: {finished} of {all}");
            }
        };
        let version = compiler.version.clone();
        facts.compilers.insert(target.to_string(), version);
        facts
            .kernels
            .extend(candidates::compile(&compiler, target, &candidates, &done)?);
        if progress {
            errln!("");
        }
    }
    Ok(facts)
}
