//! V4's kernels for an AMD GPU that need not exist: their sources as the driver would get them.

use super::kernels::{ROW_THREADS, SUM_THREADS, THREADS, row_teams, source};
use super::shape::{self, MatrixCores, TEAM};
use crate::device::driver::{CompileRequest, GemmPrecision, Properties, SourceCode};
use crate::model::ModelConfig;

/// Returns the modules for a device with these properties, the forward pass first. There are two if the forward pass
/// has other blocks than the backward pass. `None` if the model does not fit the device.
pub fn sources(
    config: &ModelConfig,
    precision: GemmPrecision,
    properties: &Properties,
) -> Option<[SourceCode; 2]> {
    let cores = MatrixCores::choose(config, precision, properties);
    let blocks = shape::attention_blocks(config, precision, properties, cores)?;
    let teams = shape::norm_teams(config, properties);
    let of = |block| source(config, precision, block, teams, properties.overlapping);
    Some([of(blocks.forward), of(blocks.backward)])
}

/// A kernel as a device would get it, without a device.
#[derive(Clone, Debug)]
pub struct OfflineKernel {
    /// Its function in `source`.
    pub entry: &'static str,
    /// HIP C++, complete in one text.
    pub source: String,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic local memory of a block.
    pub shared_bytes: usize,
}

/// Returns every kernel that a device with these properties launches, for a model of these sizes. Kernels of one block
/// size share a source. Empty if the model does not fit the GPU.
pub fn offline_kernels(
    properties: &Properties,
    config: &ModelConfig,
    precision: GemmPrecision,
) -> Vec<OfflineKernel> {
    let cores = MatrixCores::choose(config, precision, properties);
    let Some(blocks) = shape::attention_blocks(config, precision, properties, cores) else {
        return vec![];
    };
    let teams = shape::norm_teams(config, properties);
    let Some(sources) = sources(config, precision, properties) else {
        return vec![];
    };
    let [forward, backward] = sources.map(|source| {
        let request = CompileRequest::new(&source, properties);
        let options = request.options.iter();
        let defines = options.filter_map(|option| option.strip_prefix("-D")?.split_once('='));
        let defines = defines.map(|(name, value)| format!("#define {name} {value}\n"));
        defines.collect::<String>() + &request.text
    });
    let [by_forward, _] = blocks.forward.shared(config, precision);
    let [_, by_backward] = blocks.backward.shared(config, precision);
    let rows = row_teams(config, properties) * TEAM;
    let (threads, back) = (blocks.forward.threads(), blocks.backward.threads());
    let all = [
        ("lookup_normalize", &forward, rows, 0),
        ("normalize", &forward, rows, 0),
        ("normalize_backward", &forward, teams * TEAM, 0),
        ("norm_gradients", &forward, SUM_THREADS, 0),
        ("swiglu", &forward, THREADS, 0),
        ("swiglu_backward", &forward, THREADS, 0),
        ("cross_entropy", &forward, ROW_THREADS, 0),
        ("loss", &forward, SUM_THREADS, 0),
        ("embedding_gradient", &forward, ROW_THREADS, 0),
        ("adamw", &forward, THREADS, 0),
        ("attention", &forward, threads, by_forward),
        ("attention_backward", &backward, back, by_backward),
        ("adamw_halves", &forward, THREADS, 0),
    ];
    // Parameters are stored in halves if products take bf16.
    let halves = precision == GemmPrecision::Bf16;
    let all = all
        .into_iter()
        .filter(|(name, ..)| halves || *name != "adamw_halves");
    all.map(|(entry, source, threads, shared_bytes)| OfflineKernel {
        entry,
        source: source.clone(),
        threads: threads as u32,
        shared_bytes,
    })
    .collect()
}
