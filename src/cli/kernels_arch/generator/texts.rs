//! Prints a kernel's source or instructions.

use std::io::{self, Write};

use anyhow::{Result, bail};
use serde::Serialize;
use tinyllama_kernels::source::Target;

use super::super::KernelSelection;
use crate::cli::Exit;
use crate::cli::print_result::print_document;
use crate::emitted::candidates::{self, EmittedLaunch};
use tinyllama_contract::flags::UsageError;
use tinyllama_workbench::compiled::assembly;
use tinyllama_workbench::compiled::compiler::Compiler;

/// The typical launches of a kernel or an operation called `name`.
fn named(
    target: &Target,
    name: &str,
    selection: &KernelSelection<'_>,
) -> Result<Vec<EmittedLaunch>> {
    let mut all = candidates::candidates(target, false)?;
    all.retain(|candidate| selection.takes(candidate.operation, candidate.dtype));
    let mut kernels: Vec<String> = all.iter().map(|one| one.launch.kernel.clone()).collect();
    kernels.dedup();
    all.retain(|candidate| candidate.launch.kernel == name || candidate.operation == name);
    if all.is_empty() {
        bail!(UsageError(format!(
            "there is no kernel `{name}` here; there are: {}",
            kernels.join(", ")
        )));
    }
    // Shows one element type unless the user asked for another.
    if selection.dtype.is_none() {
        let first = all[0].dtype;
        all.retain(|candidate| candidate.dtype == first);
    }
    Ok(all)
}

/// A kernel's text with its properties.
#[derive(Serialize)]
struct KernelText {
    architecture: String,
    kernel: String,
    dtype: &'static str,
    case: String,
    entry: String,
    threads: [u32; 3],
    shared_memory_bytes: usize,
    text: String,
}

impl KernelText {
    fn new(target: &Target, candidate: &EmittedLaunch, text: String) -> KernelText {
        KernelText {
            architecture: target.to_string(),
            kernel: candidate.launch.kernel.clone(),
            dtype: candidate.dtype,
            case: candidate.case.clone(),
            entry: candidate.launch.entry.clone(),
            threads: candidate.launch.cube_dim,
            shared_memory_bytes: candidate.launch.shared_memory_bytes,
            text,
        }
    }
}

pub(super) fn sources(
    targets: &[Target],
    name: &str,
    selection: &KernelSelection<'_>,
) -> Result<Exit> {
    let mut texts = Vec::new();
    for target in targets {
        for candidate in named(target, name, selection)? {
            let text = candidate.launch.source.trim().to_owned();
            texts.push(KernelText::new(target, &candidate, text));
        }
    }
    print_texts(&texts, "//", selection.json)
}

pub(super) fn listings(
    targets: &[Target],
    name: &str,
    selection: &KernelSelection<'_>,
) -> Result<Exit> {
    let compiler = Compiler::find()?;
    let mut texts = Vec::new();
    for target in targets {
        for candidate in named(target, name, selection)? {
            let launch = &candidate.launch;
            let assembly =
                compiler.assembly(&launch.kernel, &candidate.text(), &target.to_string())?;
            let text = assembly::instructions(&assembly, &launch.entry)?;
            texts.push(KernelText::new(
                target,
                &candidate,
                text.trim_end().to_owned(),
            ));
        }
    }
    print_texts(&texts, ";", selection.json)
}

fn print_texts(texts: &[KernelText], comment: &str, json: bool) -> Result<Exit> {
    print_document(json, &texts, |out| {
        for text in texts {
            let [x, y, z] = text.threads;
            writeln!(
                out,
                "{comment} {} in {}, {} configuration, for {}: {x} x {y} x {z} threads, {} bytes of dynamic local memory",
                text.kernel, text.dtype, text.case, text.architecture, text.shared_memory_bytes
            )?;
            writeln!(out, "{}\n", text.text)?;
        }
        Ok::<_, io::Error>(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: KernelSelection<'static> = KernelSelection {
        operations: &["rmsnorm", "flash_attention"],
        dtype: None,
        json: false,
    };

    #[test]
    fn kernels_are_found_by_their_own_name_and_by_operation() {
        let target = Target::hip("gfx1100").unwrap();
        let kernels = |name| -> Vec<String> {
            named(&target, name, &ALL)
                .unwrap()
                .into_iter()
                .map(|candidate| format!("{} {}", candidate.launch.kernel, candidate.dtype))
                .collect()
        };
        assert_eq!(kernels("rmsnorm_forward"), ["rmsnorm_forward f32"]);
        assert_eq!(
            kernels("rmsnorm"),
            [
                "rmsnorm_forward f32",
                "rmsnorm_backward f32",
                "column_sums f32"
            ]
        );
        let error = named(&target, "rmsnorm_sideways", &ALL).unwrap_err();
        assert!(
            error.to_string().contains("flash_attention_forward"),
            "{error}"
        );
    }
}
