//! The kernels beside matrix products: compiled for one shape, and launched.

use anyhow::{Context as _, Result};

use super::arena::Places;
use super::shape::{self, AttentionBlock, AttentionBlocks, MatrixPrecision, TEAM, Tuning};
use crate::device::driver::{
    Argument, Driver, DriverError, Kernel, Launch, LaunchMode, Module, Source, Stream,
};
use crate::model::ultra::executor::Hyperparameters;
use crate::model::ultra::operation::Operation;
use crate::model::ultra::schedule::{FACTORS, LOSS_RING, Schedule};
use crate::model::{ModelConfig, NORM_EPSILON};

/// One module, in the order in which its parts need each other.
const SOURCES: [&str; 7] = [
    include_str!("../kernels/prelude.cu"),
    include_str!("../kernels/norm.cu"),
    include_str!("../kernels/elementwise.cu"),
    include_str!("../kernels/pieces.cu"),
    include_str!("../kernels/attention_tiles.cu"),
    include_str!("../kernels/attention.cu"),
    include_str!("../kernels/attention_backward.cu"),
];

/// The experiment of `single_block.rs`, which needs the parts of the others.
const BLOCK_SOURCE: &str = include_str!("../kernels/block.cu");

/// Threads of a block where each handles elements by itself.
const THREADS: usize = 256;

/// Threads of a block of `cross_entropy` and of `embedding_gradient`, as their sources say.
const ROW_THREADS: usize = 128;

/// Threads of a block of `loss` and of `norm_gradients`, as their sources say.
const SUM_THREADS: usize = 256;

/// Elements of 16 bytes in the operands' type, moved at once where rows allow it.
fn vector(columns: usize, precision: MatrixPrecision) -> usize {
    let wide = 16 / precision.operand_bytes();
    if columns.is_multiple_of(wide) {
        wide
    } else {
        1
    }
}

/// The source with everything it is to know.
pub fn source(
    config: &ModelConfig,
    precision: MatrixPrecision,
    block: AttentionBlock,
    norm_teams: usize,
    overlapping: bool,
) -> Source {
    let tensor_cores = precision != MatrixPrecision::F32;
    Source::new("ultra.cu", SOURCES.concat())
        .define("OPERAND_BITS", precision.operand_bytes() * 8)
        .define("TENSOR_CORES", u8::from(tensor_cores))
        .define("HIDDEN", config.hidden)
        .define("FFN", config.ffn)
        .define("VOCABULARY", config.vocabulary)
        .define("HEADS", config.heads)
        .define("KV_HEADS", config.kv_heads)
        .define("HEAD_DIM", config.head_dim())
        .define("SEQUENCE", config.sequence_length)
        .define("NORM_TEAMS", norm_teams)
        .define("TILE", block.tile)
        .define("GROUPS", block.groups)
        .define("OVERLAPPING", u8::from(overlapping))
        .define("FACTORS", FACTORS)
}

/// The source of the forward pass of a block in one launch, which comes after everything else.
pub fn block_source(source: Source) -> Source {
    Source {
        name: "block.cu".into(),
        text: source.text + BLOCK_SOURCE,
        ..source
    }
}

/// Every kernel of a schedule.
pub struct Kernels {
    config: ModelConfig,
    blocks: AttentionBlocks,
    norm_teams: usize,
    /// Teams of a block that normalises rows.
    row_teams: usize,
    attention_shared: [usize; 2],
    mode: LaunchMode,
    vector: usize,
    tokens_per_partial: usize,
    partials: usize,
    /// Elements of one set of partial sums.
    partial_elements: usize,
    lookup_normalize: Kernel,
    normalize: Kernel,
    normalize_backward: Kernel,
    norm_gradients: Kernel,
    swiglu: Kernel,
    swiglu_backward: Kernel,
    cross_entropy: Kernel,
    loss: Kernel,
    embedding_gradient: Kernel,
    adamw_factors: Kernel,
    adamw: Kernel,
    attention: Kernel,
    attention_backward: Kernel,
    hold: Kernel,
}

impl Kernels {
    pub fn new(
        driver: &Driver,
        schedule: &Schedule,
        precision: MatrixPrecision,
        tuning: &Tuning,
    ) -> Result<Self> {
        let config = schedule.config;
        let properties = driver.properties();
        let blocks = shape::attention_blocks(&config, precision, properties, tuning)
            .context("no attention tile fits this device's shared memory")?;
        let norm_teams = shape::norm_teams(&config, properties);
        let overlapping = tuning.overlapping && properties.overlapping;
        let compile =
            |block| driver.compile(&source(&config, precision, block, norm_teams, overlapping));
        let module = compile(blocks.forward)?;
        let backward_module = match blocks.backward == blocks.forward {
            true => module.clone(),
            false => compile(blocks.backward)?,
        };
        let attention_shared = [
            blocks.forward.shared(&config, precision)[0],
            blocks.backward.shared(&config, precision)[1],
        ];
        let [forward, backward] = attention_shared;
        let with_shared =
            |module: &Module, name: &str, bytes: usize| -> Result<Kernel, DriverError> {
                let kernel = module.kernel(name)?;
                kernel.allow_shared(bytes)?;
                Ok(kernel)
            };
        let rows_per_unit = config.tokens() / properties.compute_units.max(1) as usize;
        Ok(Kernels {
            config,
            blocks,
            norm_teams,
            row_teams: rows_per_unit.clamp(1, 8),
            attention_shared,
            mode: match overlapping {
                true => LaunchMode::Overlapping,
                false => LaunchMode::Ordered,
            },
            vector: vector(config.ffn, precision),
            tokens_per_partial: schedule.tokens_per_partial,
            partials: schedule.partials(),
            partial_elements: schedule.partials() * config.hidden,
            attention: with_shared(&module, "attention", forward)?,
            attention_backward: with_shared(&backward_module, "attention_backward", backward)?,
            lookup_normalize: module.kernel("lookup_normalize")?,
            normalize: module.kernel("normalize")?,
            normalize_backward: module.kernel("normalize_backward")?,
            norm_gradients: module.kernel("norm_gradients")?,
            swiglu: module.kernel("swiglu")?,
            swiglu_backward: module.kernel("swiglu_backward")?,
            cross_entropy: module.kernel("cross_entropy")?,
            loss: module.kernel("loss")?,
            embedding_gradient: module.kernel("embedding_gradient")?,
            adamw_factors: module.kernel("adamw_factors")?,
            adamw: module.kernel("adamw")?,
            hold: module.kernel("hold")?,
        })
    }

    pub fn attention_blocks(&self) -> AttentionBlocks {
        self.blocks
    }

    /// Keeps the stream busy for this many cycles.
    pub fn hold(&self, cycles: i64, stream: &Stream) -> Result<(), DriverError> {
        // SAFETY: one argument, no memory.
        unsafe { stream.launch(&self.hold, &Launch::linear(1, 1), &[cycles.into()]) }
    }

    /// Puts an operation other than a product into `stream`.
    pub fn launch(
        &self,
        operation: &Operation,
        places: &Places<'_>,
        hyper: &Hyperparameters,
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let value = |handle| places.value(handle).map(Argument::from);
        let config = &self.config;
        let rows = config.tokens();
        let epsilon = Argument::from(NORM_EPSILON as f32);
        let scale = Argument::from(1.0 / (config.head_dim() as f32).sqrt());
        let put = |kernel: &Kernel, launch: Launch, arguments: &[Argument<'_>]| {
            // SAFETY: the arguments below are those the sources declare, and point to buffers of the schedule's shapes,
            // which live as long as the executor.
            unsafe { stream.launch(kernel, &launch.with_mode(self.mode), arguments) }
        };
        match operation {
            Operation::Lookup {
                tokens,
                table,
                stream,
                weight,
                normed,
                scale,
            } => put(
                &self.lookup_normalize,
                self.by_row(),
                &[
                    value(*tokens)?,
                    value(*table)?,
                    value(*stream)?,
                    value(*weight)?,
                    value(*normed)?,
                    value(*scale)?,
                    epsilon,
                    int(rows),
                ],
            ),
            Operation::Normalize {
                stream,
                weight,
                normed,
                scale,
            } => put(
                &self.normalize,
                self.by_row(),
                &[
                    value(*stream)?,
                    value(*weight)?,
                    value(*normed)?,
                    value(*scale)?,
                    epsilon,
                    int(rows),
                ],
            ),
            Operation::Attention {
                qkv,
                mixed,
                log_sums,
            } => put(
                &self.attention,
                self.by_tile(self.blocks.forward, config.heads, self.attention_shared[0]),
                &[
                    value(*qkv)?,
                    places.activations.rotary.into(),
                    value(*mixed)?,
                    value(*log_sums)?,
                    scale,
                ],
            ),
            Operation::AttentionBackward {
                qkv,
                mixed,
                log_sums,
                mixed_gradient,
                qkv_gradient,
            } => put(
                &self.attention_backward,
                self.by_tile(
                    self.blocks.backward,
                    config.heads + config.kv_heads,
                    self.attention_shared[1],
                ),
                &[
                    value(*qkv)?,
                    places.activations.rotary.into(),
                    value(*mixed)?,
                    value(*log_sums)?,
                    value(*mixed_gradient)?,
                    value(*qkv_gradient)?,
                    scale,
                ],
            ),
            Operation::Activate { gate_up, activated } => put(
                &self.swiglu,
                self.by_element(rows * config.ffn / self.vector),
                &[value(*gate_up)?, value(*activated)?, int(rows)],
            ),
            Operation::ActivateBackward {
                gate_up,
                activated_gradient,
            } => put(
                &self.swiglu_backward,
                self.by_element(rows * config.ffn / self.vector),
                &[value(*gate_up)?, value(*activated_gradient)?, int(rows)],
            ),
            Operation::CrossEntropy {
                logits,
                targets,
                losses,
                logits_gradient,
            } => put(
                &self.cross_entropy,
                linear(rows, ROW_THREADS),
                &[
                    value(*logits)?,
                    value(*targets)?,
                    value(*losses)?,
                    value(*logits_gradient)?,
                    Argument::from(1.0 / rows as f32),
                ],
            ),
            Operation::NormalizeBackward {
                normed_gradient,
                stream,
                scale,
                weight,
                stream_gradient,
                first,
                copy,
                partials,
                norm,
            } => {
                let bytes = self.partial_elements * 4;
                let partials = places.value(*partials)?.slice(norm * bytes, bytes)?;
                let nothing = Argument::Value(0);
                put(
                    &self.normalize_backward,
                    linear(self.partials, self.norm_teams * TEAM),
                    &[
                        value(*normed_gradient)?,
                        value(*stream)?,
                        value(*scale)?,
                        value(*weight)?,
                        value(*stream_gradient)?,
                        copy.map_or(Ok(nothing), value)?,
                        partials.into(),
                        int(rows),
                        int(self.tokens_per_partial),
                        int(usize::from(*first)),
                    ],
                )
            }
            Operation::FinishNorms {
                partials,
                gradients,
            } => {
                let Some(first) = gradients.first() else {
                    return Ok(());
                };
                let grid = [
                    number(config.hidden.div_ceil(TEAM)),
                    number(gradients.len()),
                    1,
                ];
                put(
                    &self.norm_gradients,
                    Launch::new(grid, [number(SUM_THREADS), 1, 1]),
                    &[value(*partials)?, value(*first)?, int(self.partials)],
                )
            }
            Operation::Scatter {
                tokens,
                stream_gradient,
                table_gradient,
            } => put(
                &self.embedding_gradient,
                linear(config.vocabulary, ROW_THREADS),
                &[
                    value(*tokens)?,
                    value(*stream_gradient)?,
                    value(*table_gradient)?,
                    int(rows),
                ],
            ),
            Operation::FinishLoss { losses, ring } => put(
                &self.loss,
                linear(1, SUM_THREADS),
                &[value(*losses)?, value(*ring)?, int(rows), int(LOSS_RING)],
            ),
            Operation::Advance { factors } => {
                let double = |number: f64| Argument::Value(number.to_bits());
                put(
                    &self.adamw_factors,
                    linear(1, 1),
                    &[
                        value(*factors)?,
                        double(hyper.learning_rate),
                        double(hyper.beta1),
                        double(hyper.beta2),
                        double(hyper.epsilon),
                        double(hyper.weight_decay),
                    ],
                )
            }
            Operation::Update {
                factors, elements, ..
            } => {
                let parameters = places.parameters;
                let copies = &parameters.copies;
                put(
                    &self.adamw,
                    self.by_element(elements.len() / 4),
                    &[
                        parameters.weights.address().into(),
                        parameters.gradients.address().into(),
                        parameters.first_moments.address().into(),
                        parameters.second_moments.address().into(),
                        copies
                            .as_ref()
                            .map_or(Argument::Value(0), |copies| copies.address().into()),
                        value(*factors)?,
                        Argument::from(elements.start as i64),
                        Argument::from(elements.len() as i64),
                    ],
                )
            }
            Operation::Product(_) | Operation::WeightGradients(_) => {
                Err(DriverError::Invalid("a product is no kernel".into()))
            }
        }
    }

    fn by_row(&self) -> Launch {
        linear(
            self.config.tokens().div_ceil(self.row_teams),
            self.row_teams * TEAM,
        )
    }

    fn by_element(&self, threads: usize) -> Launch {
        linear(threads.div_ceil(THREADS), THREADS)
    }

    fn by_tile(&self, block: AttentionBlock, heads: usize, shared: usize) -> Launch {
        let tiles = self.config.sequence_length.div_ceil(block.tile);
        let grid = [number(tiles), number(heads), number(self.config.batch_size)];
        Launch::new(grid, [number(block.threads()), 1, 1]).with_shared(number(shared))
    }
}

fn linear(blocks: usize, threads: usize) -> Launch {
    Launch::linear(number(blocks), number(threads))
}

/// Sides of grids and blocks are below 2³¹ for every model that fits a device.
fn number(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn int(size: usize) -> Argument<'static> {
    Argument::from(i32::try_from(size).unwrap_or(i32::MAX))
}
