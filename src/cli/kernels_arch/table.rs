//! A table of what kernels need of a compute unit.

use std::io::{self, Write};

use anyhow::{Result, bail};
use itertools::Itertools as _;
use serde::Serialize;

use super::KernelSelection;
use crate::cli::Exit;
use crate::cli::print_result::print_document;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{Percentage, number};
use tinyllama_contract::flags::UsageError;
use tinyllama_workbench::compiled::facts::{self, Facts, KernelFacts, RECORDED_ARCHITECTURES};

/// Width of a table if the terminal's width does not help.
const WIDTH: usize = 118;

pub(super) fn show(names: &[&str], selection: &KernelSelection<'_>) -> Result<Exit> {
    let mut facts = recorded(names)?;
    facts
        .kernels
        .retain(|kernel| selection.takes(&kernel.operation, &kernel.dtype));
    let document = KernelsDocument {
        compiled_with: compilers(&facts, names),
        measured: false,
        kernels: facts
            .kernels
            .iter()
            .map(KernelFactsRow::from_facts)
            .collect(),
    };
    print_document(selection.json, &document, |out| {
        for name in names {
            let table = text_table(&facts, name);
            writeln!(out, "{}", table.render(WIDTH))?;
        }
        Ok::<_, io::Error>(())
    })
}

/// The recorded rows of the named architectures.
fn recorded(names: &[&str]) -> Result<Facts> {
    let mut facts = facts::recorded()?;
    for name in names {
        let mut kernels = facts.kernels.iter();
        if kernels.all(|kernel| kernel.architecture != *name) {
            bail!(UsageError(format!(
                "no figures are recorded for {name}, only for {}; `cargo run -p tinyllama-emit --features vulkan -- resources --arch {name}` compiles for others",
                RECORDED_ARCHITECTURES.join(", ")
            )));
        }
    }
    let is_wanted = |kernel: &KernelFacts| names.contains(&kernel.architecture.as_str());
    facts.kernels.retain(is_wanted);
    Ok(facts)
}

/// Names the compilers of these architectures, each once.
fn compilers(facts: &Facts, names: &[&str]) -> String {
    let compilers = names.iter().filter_map(|name| facts.compilers.get(*name));
    compilers.unique().join(", ")
}

#[derive(Serialize)]
struct KernelsDocument<'a> {
    compiled_with: String,
    /// Always false, because the figures come from a compiler.
    measured: bool,
    kernels: Vec<KernelFactsRow<'a>>,
}

/// A kernel's figures with the values derived from them.
#[derive(Serialize)]
struct KernelFactsRow<'a> {
    #[serde(flatten)]
    kernel: &'a KernelFacts,
    waves_per_simd: Option<f64>,
    occupancy_percent: Option<Percentage>,
    limited_by: Option<String>,
}

impl KernelFactsRow<'_> {
    fn from_facts(kernel: &KernelFacts) -> KernelFactsRow<'_> {
        let occupancy = kernel.occupancy();
        KernelFactsRow {
            kernel,
            waves_per_simd: kernel.waves_per_simd(),
            occupancy_percent: occupancy.as_ref().map(|occupancy| occupancy.percent()),
            limited_by: occupancy.map(|occupancy| occupancy.limiter.to_string()),
        }
    }
}

fn text_table(facts: &Facts, architecture: &str) -> TextTable {
    let of_it = |kernel: &&KernelFacts| kernel.architecture == architecture;
    let kernels: Vec<&KernelFacts> = facts.kernels.iter().filter(of_it).collect();
    let unknown = || "not known".to_owned();
    let title = format!(
        "Compiled for {architecture} from HIP C++ by {}; never run, never measured",
        compilers(facts, &[architecture])
    );
    TableColumns::titled(title, &kernels)
        .left("kernel", |one| one.kernel.clone())
        .left("type", |one| one.dtype.clone())
        .right("threads", |one| one.threads.to_string())
        .right("VGPRs", |one| match one.resources.agprs {
            0 => one.resources.vgprs.to_string(),
            agprs => format!("{} ({agprs} AGPRs)", one.resources.vgprs),
        })
        .right("SGPRs", |one| one.resources.sgprs.to_string())
        .right("LDS", |one| one.lds_bytes.to_string())
        .right("scratch", |one| one.resources.scratch_bytes.to_string())
        .right("waves / SIMD", |one| number(one.waves_per_simd(), 1).unwrap_or_else(unknown))
        .left("limited by", |one| {
            one.occupancy().map_or_else(unknown, |occupancy| occupancy.limiter.to_string())
        })
        .note("sizes of the small configuration with the block sizes a device of this architecture would get")
        .note("AMD's own compiler decides for itself: its figures can differ by a few registers")
        .into()
}
