//! Prints a kernel's recorded source.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use include_dir::{Dir, File, include_dir};
use serde::Serialize;

use super::KernelSelection;
use crate::cli::Exit;
use crate::cli::print_result::print_document;
use tinyllama_contract::flags::UsageError;

/// `ARCHITECTURE/OPERATION/NUMBER-KERNEL.hip`, a launch each.
static RECORDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/kernel-sources");

/// The element type of every recorded source.
const DTYPE: &str = "f32";

/// A launch's recorded source.
#[derive(Serialize)]
struct KernelSource {
    architecture: &'static str,
    operation: &'static str,
    kernel: &'static str,
    text: &'static str,
}

/// Prints the launches of the kernel or operation called `name`.
pub(super) fn show(names: &[&str], name: &str, selection: &KernelSelection<'_>) -> Result<Exit> {
    let recorded: Vec<KernelSource> = recorded()?;
    let wanted = |one: &&KernelSource| {
        names.contains(&one.architecture) && selection.takes(one.operation, DTYPE)
    };
    let wanted: Vec<&KernelSource> = recorded.iter().filter(wanted).collect();
    if wanted.is_empty() {
        bail!(UsageError(format!(
            "sources are recorded for gfx942 in {DTYPE} only; `cargo run -p tinyllama-emit --features vulkan -- source {name}` emits others"
        )));
    }
    let is_named = |one: &&&KernelSource| [one.kernel, one.operation].contains(&name);
    let named: Vec<&&KernelSource> = wanted.iter().filter(is_named).collect();
    if named.is_empty() {
        let kernels = itertools::join(wanted.iter().map(|one| one.kernel), ", ");
        bail!(UsageError(format!(
            "there is no source of a kernel `{name}`; there are: {kernels}"
        )));
    }
    print_document(selection.json, &named, |out| {
        named
            .iter()
            .try_for_each(|one| writeln!(out, "{}", one.text))?;
        Ok::<_, io::Error>(())
    })
}

/// Lists every recorded source, in order of launches.
fn recorded() -> Result<Vec<KernelSource>> {
    let mut files: Vec<&File<'_>> = vec![];
    for architecture in RECORDED.dirs() {
        files.extend(architecture.dirs().flat_map(Dir::files));
    }
    files.sort_by_key(|file| file.path());
    let sources = files.into_iter().map(|file| {
        let mut path = file.path().iter().filter_map(|part| part.to_str());
        let (architecture, operation, name) = (path.next()?, path.next()?, path.next()?);
        let (_, kernel) = name.strip_suffix(".hip")?.split_once('-')?;
        Some(KernelSource {
            architecture,
            operation,
            kernel,
            text: file.contents_utf8()?,
        })
    });
    sources
        .collect::<Option<_>>()
        .context("a recorded source is not called NUMBER-KERNEL.hip")
}
