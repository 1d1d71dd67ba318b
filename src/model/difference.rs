//! What differs between two targets: in words, and as the lines of source that make the difference.

use serde::Serialize;

use super::recipe::{
    Attention, Backward, Initialisation, KeyValue, Operations, Projection, Recipe, Swiglu,
};
use super::target::{Target, Timing};

/// One setting in which two targets differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub setting: &'static str,
    /// What the first target does.
    pub left: &'static str,
    /// What the second does.
    pub right: &'static str,
    /// Where to read it.
    pub source: Vec<Excerpt>,
}

/// Some lines of this program's own source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    pub file: &'static str,
    /// Of the first line, counted from 1.
    pub line: usize,
    pub text: String,
}

/// What distinguishes two ways to carry out one setting.
struct Setting {
    name: &'static str,
    words: [&'static str; 2],
    /// Files with the items that are worth reading, each by the start of its first line.
    places: &'static [(&'static str, &'static str, &'static str)],
}

/// Every setting in which `left` and `right` differ.
pub fn differences(left: Target, right: Target) -> Vec<Difference> {
    let (a, b) = (left.recipe(), right.recipe());
    [
        initialisation(a, b),
        projections(a, b),
        attention(a, b),
        key_value(a, b),
        swiglu(a, b),
        operations(a, b),
        backward(a, b),
        products(left, right),
        neighbours(left, right),
        schedule(left, right),
        timing(left.timing(), right.timing()),
    ]
    .into_iter()
    .filter(|setting| setting.words[0] != setting.words[1])
    .map(|setting| Difference {
        setting: setting.name,
        left: setting.words[0],
        right: setting.words[1],
        source: setting
            .places
            .iter()
            .filter_map(|(file, text, start)| excerpt(file, text, start))
            .collect(),
    })
    .collect()
}

fn initialisation(a: Recipe, b: Recipe) -> Setting {
    Setting {
        name: "initial weights",
        words: [a, b].map(|recipe| match recipe.initialisation {
            Initialisation::Small => "every matrix is drawn from a normal distribution of deviation 0.02",
            Initialisation::Default => {
                "nothing sets them, so they are what layers start with unasked: an embedding of deviation 1, which is also the output head, and uniform linear layers"
            }
        }),
        places: &[(
            "src/model/weights.rs",
            include_str!("weights.rs"),
            "    fn embedding(",
        )],
    }
}

fn projections(a: Recipe, b: Recipe) -> Setting {
    Setting {
        name: "query, key and value",
        words: [a, b].map(|recipe| match recipe.qkv {
            Projection::Separate => "three matrix products",
            Projection::Fused => "one matrix product over the three weights side by side",
        }),
        places: &[(
            "src/model/llama.rs",
            include_str!("llama.rs"),
            "fn project(",
        )],
    }
}

fn attention(a: Recipe, b: Recipe) -> Setting {
    Setting {
        name: "attention",
        words: [a, b].map(|recipe| match recipe.attention {
            Attention::Materialised => "writes its scores to memory, S x S for every head",
            Attention::Library => "the library's kernels: scores never leave the chip, key and value heads are repeated for them",
            Attention::Kernel => "one kernel whose scores never leave the chip",
        }),
        places: &[(
            "src/model/llama.rs",
            include_str!("llama.rs"),
            "fn materialised_attention(",
        )],
    }
}

fn key_value(a: Recipe, b: Recipe) -> Setting {
    Setting {
        name: "keys and values",
        words: [a, b].map(|recipe| match recipe.key_value {
            KeyValue::Shared => {
                "read where the projection wrote them, whole rows at a time, each head once for all query heads that share it"
            }
            KeyValue::RepeatedTransposed => {
                "repeated for every query head and handed over as a transposed view: the values of one row lie a whole sequence apart, so neighbouring units of the kernel never share a memory line"
            }
        }),
        places: &[
            (
                "kernels/src/binding/repeated.rs",
                include_str!("../../kernels/src/binding/repeated.rs"),
                "pub(super) fn transposed_heads",
            ),
            (
                "kernels/src/flash_attention/view.rs",
                include_str!("../../kernels/src/flash_attention/view.rs"),
                "    pub fn transposed(",
            ),
        ],
    }
}

fn swiglu(a: Recipe, b: Recipe) -> Setting {
    Setting {
        name: "SwiGLU",
        words: [a, b].map(|recipe| match recipe.swiglu {
            Swiglu::Library => "the library's products and tensor operations",
            Swiglu::Kernel => "the library's product, then one kernel for the activation",
            Swiglu::Naive => {
                "one kernel for everything, in which each unit computes its own two dot products and nothing it reads is shared"
            }
        }),
        places: &[
            (
                "kernels/src/swiglu_naive/kernels.rs",
                include_str!("../../kernels/src/swiglu_naive/kernels.rs"),
                "pub fn swiglu_naive_forward",
            ),
            (
                "src/model/llama.rs",
                include_str!("llama.rs"),
                "    fn feed_forward(",
            ),
        ],
    }
}

fn operations(a: Recipe, b: Recipe) -> Setting {
    Setting {
        name: "norms, loss and optimizer",
        words: [a, b].map(|recipe| match recipe.operations {
            Operations::Library => "the library's tensor operations, one after the other",
            Operations::Kernels => "kernels of this project, a launch or two each",
        }),
        places: &[(
            "src/model/llama.rs",
            include_str!("llama.rs"),
            "fn rms_norm(",
        )],
    }
}

fn backward(a: Recipe, b: Recipe) -> Setting {
    Setting {
        name: "gradients of the kernels",
        words: [a, b].map(|recipe| match recipe.backward {
            Backward::Complete => "every kernel has a backward pass",
            Backward::Missing => {
                "the kernels have no backward pass: whatever lies before one of them gets no gradient and never changes"
            }
        }),
        places: &[(
            "src/model/llama.rs",
            include_str!("llama.rs"),
            "    fn kernel_input",
        )],
    }
}

fn products(a: Target, b: Target) -> Setting {
    Setting {
        name: "matrix products",
        words: [a, b].map(|target| match target {
            Target::V4 => "the vendor's library: cuBLASLt, hipBLASLt or rocBLAS",
            _ => "burn's own kernels, tuned on this device",
        }),
        places: &[],
    }
}

fn neighbours(a: Target, b: Target) -> Setting {
    Setting {
        name: "neighbouring operations",
        words: [a, b].map(|target| match target {
            Target::V4 => {
                "joined by hand: residual sums into the products before them, the embedding's lookup with the first norm"
            }
            other if other.recipe().graph_fusion => "fused into one kernel where burn can",
            _ => "one kernel each",
        }),
        places: &[],
    }
}

fn schedule(a: Target, b: Target) -> Setting {
    Setting {
        name: "the step",
        words: [a, b].map(|target| match target {
            Target::V4 => {
                "planned once: every launch, forward and backward, on buffers that stay, captured as a graph and replayed"
            }
            _ => {
                "issued operation by operation: each is recorded for the backward pass, takes its memory and is launched from the host"
            }
        }),
        places: &[
            (
                "src/model/ultra/schedule/builder.rs",
                include_str!("ultra/schedule/builder.rs"),
                "    pub(super) fn build(",
            ),
            (
                "src/model/ultra/device/mod.rs",
                include_str!("ultra/device/mod.rs"),
                "    fn capture(",
            ),
        ],
    }
}

fn timing(a: Timing, b: Timing) -> Setting {
    Setting {
        name: "the clock",
        words: [a, b].map(|timing| match timing {
            Timing::Synchronised => "waits for the device after every phase",
            Timing::WholeStep => "waits for the device once a step",
            Timing::HostParts => {
                "waits for the device once a step: its phases end when the host has handed the work over, not when it is done"
            }
        }),
        places: &[(
            "src/train/trainer.rs",
            include_str!("../train/trainer.rs"),
            "    pub fn step(",
        )],
    }
}

/// The item of `text` whose first line begins with `start`, up to the line that closes it at the same depth.
fn excerpt(file: &'static str, text: &str, start: &str) -> Option<Excerpt> {
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

    #[test]
    fn neighbouring_stages_differ_in_one_setting_with_source_to_read() {
        for pair in Target::STAGES.windows(2) {
            let found = differences(pair[0], pair[1]);
            assert_eq!(found.len(), 1, "{} {}: {found:?}", pair[0], pair[1]);
            assert!(!found[0].source.is_empty(), "{}", found[0].setting);
            for excerpt in &found[0].source {
                assert!(excerpt.text.lines().count() > 2 && excerpt.line > 1);
            }
        }
        assert_eq!(differences(Target::V3, Target::Stage5), []);
    }

    #[test]
    fn every_place_of_every_setting_exists() {
        let mut found = differences(Target::V1, Target::Stage1);
        found.extend(differences(Target::V3, Target::V4));
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
