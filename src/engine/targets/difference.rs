//! Differences between two targets: as descriptions, and as the lines of source that cause them.

use serde::Serialize;

use crate::model::{
    Attention, Backward, Initialisation, KeyValue, OperandTypes, Operations, Projection, SideWork,
    Swiglu,
};
use crate::train::Synchronize;
use tinyllama_contract::targets::Target;
use tinyllama_contract::targets::engine_kind::EngineKind;

/// Builds a [`Passage`] from a file of this program and the beginning of an item's first line.
macro_rules! passage {
    ($file:literal, $start:literal) => {
        Passage {
            file: $file,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $file)),
            start: $start,
        }
    };
}

/// An item of this program's own source.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Passage {
    file: &'static str,
    /// The whole file.
    text: &'static str,
    /// Beginning of the item's first line.
    start: &'static str,
}

/// How an engine differs from the others.
struct EngineText {
    /// Source of the matrix products.
    products: &'static str,
    /// How neighbouring operations are treated; `None` if the recipe says it.
    neighbours: Option<&'static str>,
    /// How a step is made. The passages show the code.
    step: &'static str,
    passages: &'static [Passage],
}

const fn engine_text(engine: EngineKind) -> EngineText {
    match engine {
        EngineKind::Autodiff => EngineText {
            products: "burn's own kernels",
            neighbours: None,
            step: "issued operation by operation: each is recorded for the backward pass, takes its memory and is launched from the host",
            passages: &[],
        },
        EngineKind::Scheduled => EngineText {
            products: "the vendor's library: cuBLASLt, hipBLASLt or rocBLAS",
            neighbours: Some(
                "joined by hand: residual sums into the products before them, the embedding's lookup with the first norm",
            ),
            step: "planned once: every launch, forward and backward, on buffers that stay, captured as a graph and replayed",
            passages: &[
                passage!(
                    "src/engine/targets/v4/schedule/builder.rs",
                    "    pub(super) fn build("
                ),
                passage!("src/engine/targets/v4/device/mod.rs", "    fn capture("),
            ],
        },
    }
}

/// One setting in which two targets differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub setting: &'static str,
    /// Description of the first target.
    pub left: &'static str,
    /// Description of the second target.
    pub right: &'static str,
    /// The code to read about it.
    pub source: Vec<Excerpt>,
}

/// Some lines of this program's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    pub file: &'static str,
    /// Number of the first line, counted from 1.
    pub line: usize,
    pub text: String,
}

/// A setting in which targets may differ.
struct Setting {
    name: &'static str,
    /// Describes the setting of a target.
    describe: fn(Target) -> &'static str,
    /// Returns the passages worth reading about it.
    passages: fn(Target) -> &'static [Passage],
}

/// Builds settings from a name, a description per target, and the passages worth reading.
macro_rules! settings {
    ($($name:literal: $describe:expr, $passages:expr;)+) => {
        &[$(Setting { name: $name, describe: $describe, passages: $passages }),+]
    };
}

const SETTINGS: &[Setting] = settings! {
    "initial weights": |target| match target.recipe.initialisation {
        Initialisation::Small => "every matrix is drawn from a normal distribution of deviation 0.02",
        Initialisation::Default => "nothing sets them, so layers start with their defaults: an embedding of deviation 1, which is also the output head, and uniform linear layers",
    }, |_| &[passage!("src/engine/model/weights.rs", "    fn embedding(")];
    "query, key and value": |target| match target.recipe.qkv {
        Projection::Separate => "three matrix products",
        Projection::Fused => "one matrix product over the three weights side by side",
    }, |_| &[passage!("src/engine/model/llama.rs", "fn project(")];
    "attention": |target| match target.recipe.attention {
        Attention::Materialised => "writes its scores to memory, S x S for every head",
        Attention::Kernel => "one kernel whose scores never leave the chip",
    }, |_| &[passage!("src/engine/model/llama.rs", "fn materialised_attention(")];
    "keys and values": |target| match target.recipe.key_value {
        KeyValue::Shared => "read where the projection wrote them, whole rows at a time, each head once for all query heads that share it",
        KeyValue::RepeatedTransposed => "repeated for every query head and handed over as a transposed view: the values of one row lie a whole sequence apart, so neighbouring units of the kernel never share a memory line",
    }, |_| &[
        passage!("kernels/src/flash_attention/binding/repeated.rs", "pub(super) fn transposed_heads"),
        passage!("kernels/src/flash_attention/view.rs", "    pub fn transposed("),
    ];
    "SwiGLU": |target| match target.recipe.swiglu {
        Swiglu::Library => "the library's products and tensor operations",
        Swiglu::Kernel => "the library's product, then one kernel for the activation",
        Swiglu::Naive => "one kernel for everything, in which each unit computes its own two dot products and nothing it reads is shared",
    }, |_| &[
        passage!("kernels/src/swiglu_naive/kernels.rs", "pub fn swiglu_naive_forward"),
        passage!("src/engine/model/llama.rs", "    fn feed_forward("),
    ];
    "norms, loss and optimizer": |target| match target.recipe.operations {
        Operations::Library => "the library's tensor operations, one after the other",
        Operations::Kernels => "kernels of this project, a launch or two each",
    }, |_| &[passage!("src/engine/model/llama.rs", "fn rms_norm(")];
    "gradients of the kernels": |target| match target.recipe.backward {
        Backward::Complete => "every kernel has a backward pass",
        Backward::Missing => "the kernels have no backward pass: everything before one of them gets no gradient and never changes",
    }, |_| &[passage!("src/engine/model/llama.rs", "    fn kernel_input")];
    "matrix products": |target| engine_text(target.engine).products, |_| &[];
    "operands": |target| match target.recipe.operands {
        OperandTypes::Asked => "in the type that `--dtype` asks for",
        OperandTypes::Single => "in f32, ignoring `--dtype`",
    }, |_| &[passage!("src/engine/targets/autodiff/mod.rs", "    fn engine(")];
    "besides training": |target| match target.recipe.side_work {
        SideWork::None => "only the loss is read, after the clock was read",
        SideWork::ReadGradients => "the host reads every gradient in every step, for a norm that is never used; each read waits for the device",
        SideWork::KeepGradients => "the gradients of past steps stay on the device, and nothing uses them",
        SideWork::Evaluate => "after the clock was read, the loss is computed once more",
    }, |_| &[passage!("src/engine/targets/autodiff/mod.rs", "    fn side_work(")];
    "neighbouring operations": |target| match engine_text(target.engine).neighbours {
        Some(text) => text,
        None if target.recipe.graph_fusion => "fused into one kernel where burn can",
        None => "one kernel each",
    }, |_| &[];
    "the step": |target| engine_text(target.engine).step, |target| engine_text(target.engine).passages;
    "the clock": |target| match target.timing {
        Synchronize::Phases => "waits for the device after every phase",
        Synchronize::Step => "waits for the device once a step",
        Synchronize::HostParts => "waits for the device once a step: its phases end when the host has handed the work over, not when it is done",
        Synchronize::Never => "never waits for the device",
    }, |_| &[passage!("src/engine/targets/autodiff/mod.rs", "    fn step(")];
};

/// Returns every setting in which `left` and `right` differ.
pub fn differences(left: Target, right: Target) -> Vec<Difference> {
    let of = |setting: &Setting| {
        let [text, others] = [left, right].map(setting.describe);
        let mut passages = (setting.passages)(left).to_vec();
        for passage in (setting.passages)(right) {
            if !passages.contains(passage) {
                passages.push(*passage);
            }
        }
        (text != others).then(|| Difference {
            setting: setting.name,
            left: text,
            right: others,
            source: passages.iter().filter_map(excerpt).collect(),
        })
    };
    SETTINGS.iter().filter_map(of).collect()
}

/// Returns the item of `text` whose first line begins with `start`, up to the line that closes it at the same indentation.
fn excerpt(passage: &Passage) -> Option<Excerpt> {
    let Passage { file, text, start } = *passage;
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with(start))?;
    let indent = &start[..start.len() - start.trim_start().len()];
    let closing = format!("{indent}}}");
    let length = lines[first..].iter().position(|line| **line == closing)?;
    let shown = lines[first..=first + length]
        .iter()
        .map(|line| line.strip_prefix(indent).unwrap_or(line));
    Some(Excerpt {
        file,
        line: first + 1,
        text: shown.collect::<Vec<_>>().join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::{stage1, stage5, v1, v3, v4};

    #[test]
    fn neighbouring_stages_differ_in_one_setting_with_source_to_read() {
        let stages: Vec<Target> = Target::stages().collect();
        for pair in stages.windows(2) {
            let found = differences(pair[0], pair[1]);
            assert_eq!(found.len(), 1, "{} {}: {found:?}", pair[0], pair[1]);
            assert!(!found[0].source.is_empty(), "{}", found[0].setting);
            for excerpt in &found[0].source {
                assert!(excerpt.text.lines().count() > 2 && excerpt.line > 1);
            }
        }
        assert_eq!(differences(v3::TARGET, stage5::TARGET), []);
    }

    #[test]
    fn every_place_of_every_setting_exists() {
        let mut found = differences(v1::TARGET, stage1::TARGET);
        found.extend(differences(v3::TARGET, v4::TARGET));
        assert!(found.len() > 8, "{found:?}");
        for difference in found {
            let expects_source =
                !["neighbouring operations", "matrix products"].contains(&difference.setting);
            assert_eq!(
                !difference.source.is_empty(),
                expects_source,
                "{difference:?}"
            );
        }
    }
}
