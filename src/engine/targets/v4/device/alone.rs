//! V4's kernels for sizes that belong to no model. A learner's kernel is timed in turns with them.

use super::kernels::{ROW_THREADS, THREADS, linear, number, row_source, row_teams, source, vector};
use super::shape::{self, MatrixCores, TEAM};
use crate::device::driver::{
    GemmPrecision, LaunchArgument, LaunchSettings, Properties, SourceCode,
};
use crate::model::{ModelConfig, rotary_table};

/// A kernel that does the same work as an exercise of the workbench.
pub struct IsolatedKernels {
    pub source: SourceCode,
    pub entry: &'static str,
    pub launch: LaunchSettings,
    /// In the kernel's order.
    pub arguments: Vec<ArgumentSource>,
    /// A remark on work that it does in addition to the exercise, or differently.
    pub remark: Option<&'static str>,
}

/// Source of an argument.
pub enum ArgumentSource {
    /// The exercise's argument of this name.
    Named(&'static str),
    /// An additional array with these numbers.
    Array(Vec<f32>),
    Value(LaunchArgument<'static>),
}

/// Returns numbers of which no two neighbours are equal.
fn distinct_values(count: usize) -> Vec<f32> {
    (0..count)
        .map(|index| (index * 7919 % 2003) as f32 / 500.0 - 2.0)
        .collect()
}

/// Returns the f32 kernel `name` for an exercise, whose sizes have names. `None` if V4 has no such kernel, or not for these sizes.
pub fn time_alone(
    name: &str,
    size: &dyn Fn(&str) -> usize,
    properties: &Properties,
) -> Option<IsolatedKernels> {
    let precision = GemmPrecision::F32;
    let mut config = ModelConfig {
        vocabulary: 4,
        hidden: 4,
        layers: 1,
        heads: 1,
        kv_heads: 1,
        ffn: 4,
        sequence_length: size("rows"),
        batch_size: 1,
    };
    let named = |names: &[&'static str]| {
        names
            .iter()
            .map(|name| ArgumentSource::Named(name))
            .collect()
    };
    if name == "attention" {
        return attention(config, size, properties);
    }
    let rows = size("rows");
    let (entry, launch, arguments) = match name {
        "normalize" => {
            config.hidden = size("width");
            let teams = row_teams(&config, properties);
            (
                "normalize",
                linear(rows.div_ceil(teams), teams * TEAM),
                named(&["x", "weight", "y", "scale", "epsilon", "rows"]),
            )
        }
        "swiglu" => {
            config.ffn = size("width");
            let threads = rows * config.ffn / vector(config.ffn, precision);
            (
                "swiglu",
                linear(threads.div_ceil(THREADS), THREADS),
                named(&["gate_up", "out", "rows"]),
            )
        }
        "cross_entropy" => {
            config.vocabulary = size("classes");
            (
                "cross_entropy",
                linear(rows, ROW_THREADS),
                named(&["logits", "targets", "losses", "gradient", "share"]),
            )
        }
        "adamw" if size("n").is_multiple_of(4) => {
            let n = size("n");
            let mut arguments: Vec<ArgumentSource> =
                named(&["weights", "gradients", "first", "second"]);
            // No copies for products are written.
            arguments.extend([
                ArgumentSource::Value(LaunchArgument::Value(0)),
                ArgumentSource::Named("factors"),
                ArgumentSource::Value((n as i64).into()),
            ]);
            (
                "adamw",
                linear((n / 4).div_ceil(THREADS), THREADS),
                arguments,
            )
        }
        _ => return None,
    };
    let teams = shape::norm_teams(&config, properties).max(1);
    Some(IsolatedKernels {
        source: row_source(&config, precision, teams, false),
        entry,
        launch,
        arguments,
        remark: None,
    })
}

fn attention(
    mut config: ModelConfig,
    size: &dyn Fn(&str) -> usize,
    properties: &Properties,
) -> Option<IsolatedKernels> {
    let precision = GemmPrecision::F32;
    (config.heads, config.kv_heads) = (size("heads"), size("heads"));
    config.hidden = config.heads * size("head_dim");
    config.sequence_length = size("sequence");
    let cores = MatrixCores::choose(&config, precision, properties);
    let block = shape::attention_blocks(&config, precision, properties, cores)?.forward;
    let teams = shape::norm_teams(&config, properties).max(1);
    let [shared, _] = block.shared(&config, precision);
    let tiles = config.sequence_length.div_ceil(block.tile);
    let launch = LaunchSettings::new(
        [number(tiles), number(config.heads), 1],
        [number(block.threads()), 1, 1],
    );
    Some(IsolatedKernels {
        source: source(&config, precision, block, teams, false),
        entry: "attention",
        launch: launch.with_shared(number(shared)),
        arguments: vec![
            ArgumentSource::Array(distinct_values(3 * config.tokens() * config.hidden)),
            ArgumentSource::Array(rotary_table(&config)),
            ArgumentSource::Array(distinct_values(2 * config.tokens() * config.hidden)),
            ArgumentSource::Named("out"),
            ArgumentSource::Array(distinct_values(config.tokens() * config.heads)),
            ArgumentSource::Named("scale"),
        ],
        remark: Some(
            "v4's attention also rotates queries and keys, and keeps what its gradient needs; its rows hold all heads",
        ),
    })
}
