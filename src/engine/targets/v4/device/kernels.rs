//! The kernels other than matrix products: compiled for one shape, and launched.

use anyhow::{Context as _, Result};
use tinyllama_kernel_catalog::adamw::Hyperparameters;

use super::arena::BufferMap;
use super::shape::{self, AttentionBlock, AttentionBlocks, MatrixCores, TEAM};
use crate::device::driver::{
    DeviceKernel, Driver, DriverError, GemmPrecision, LaunchArgument, LaunchMode, LaunchSettings,
    Properties, SourceCode, Stream,
};
use crate::model::{ModelConfig, NORM_EPSILON};
use crate::targets::v4::operation::{Operation, UpdateOperation, Use};
use crate::targets::v4::schedule::{FACTORS, LOSS_RING, Schedule};
use crate::train::KernelInPlace;

/// Returns the source of one module, its parts in the order of their dependencies.
fn text(cores: MatrixCores) -> String {
    let pieces = include_str!("../kernels/pieces.cu");
    [&row_text(), pieces, &attention_text(cores).concat()].concat()
}

fn attention_text(cores: MatrixCores) -> Vec<&'static str> {
    let squares = match cores {
        MatrixCores::Warpgroups => {
            return vec![
                include_str!("../kernels/attention_warpgroups.cu"),
                include_str!("../kernels/attention_forward_warpgroups.cu"),
                include_str!("../kernels/attention_backward_warpgroups.cu"),
            ];
        }
        MatrixCores::None => include_str!("../kernels/attention_squares.cu"),
        MatrixCores::Mfma | MatrixCores::Wmma => {
            include_str!("../kernels/attention_squares_amd.cu")
        }
    };
    vec![
        include_str!("../kernels/attention_tiles.cu"),
        squares,
        include_str!("../kernels/attention.cu"),
        include_str!("../kernels/attention_backward.cu"),
    ]
}

/// Returns the parts that work row by row or element by element.
fn row_text() -> String {
    [
        include_str!("../kernels/prelude.cu"),
        include_str!("../kernels/norm.cu"),
        include_str!("../kernels/elementwise.cu"),
    ]
    .concat()
}

/// The experiment of `single_block.rs`, which uses the other parts.
const BLOCK_SOURCE: &str = include_str!("../kernels/block.cu");

/// Threads per block of kernels in which each thread handles its own elements.
pub const THREADS: usize = 256;

/// Threads per block of `cross_entropy` and `embedding_gradient`, as their sources declare.
pub const ROW_THREADS: usize = 128;

/// Number of bf16 elements that `rotate` rotates at once, as its source declares.
const WIDE_BF16: usize = 8;

/// Threads per block of `loss` and `norm_gradients`, as their sources declare.
pub const SUM_THREADS: usize = 256;

/// Returns the elements of the operands' type in 16 bytes if rows are multiples of them, else 1. They are moved at once.
pub fn vector(columns: usize, precision: GemmPrecision) -> usize {
    let wide = 16 / precision.element_bytes();
    if columns.is_multiple_of(wide) {
        wide
    } else {
        1
    }
}

/// Returns the number of teams in a block that normalises rows.
pub fn row_teams(config: &ModelConfig, properties: &Properties) -> usize {
    (config.tokens() / properties.compute_units.max(1) as usize).clamp(1, 8)
}

/// Returns the source with all its macros.
pub fn source(
    config: &ModelConfig,
    precision: GemmPrecision,
    block: AttentionBlock,
    norm_teams: usize,
    overlapping: bool,
) -> SourceCode {
    let tensor_cores = precision != GemmPrecision::F32;
    let source = row_source(config, precision, norm_teams, overlapping);
    SourceCode {
        text: text(block.cores),
        ..source
    }
    .define("TENSOR_CORES", u8::from(tensor_cores))
    .define("MATRIX_CORES", block.cores as u8)
    .define("HEADS", config.heads)
    .define("KV_HEADS", config.kv_heads)
    .define("HEAD_DIM", config.head_dim())
    .define("SEQUENCE", config.sequence_length)
    .define("TILE", block.tile)
    .define("GROUPS", block.groups)
}

/// Returns the source without attention.
pub fn row_source(
    config: &ModelConfig,
    precision: GemmPrecision,
    norm_teams: usize,
    overlapping: bool,
) -> SourceCode {
    SourceCode::new("v4.cu", row_text())
        .define("OPERAND_BITS", precision.element_bytes() * 8)
        .define("HIDDEN", config.hidden)
        .define("FFN", config.ffn)
        .define("VOCABULARY", config.vocabulary)
        .define("NORM_TEAMS", norm_teams)
        .define("OVERLAPPING", u8::from(overlapping))
        .define("FACTORS", FACTORS)
}

/// Returns the source of a block's forward pass in one launch, which is appended to `source`.
pub fn block_source(source: SourceCode) -> SourceCode {
    SourceCode {
        name: "block.cu".into(),
        text: source.text + BLOCK_SOURCE,
        ..source
    }
}

/// Kernels whose names are those of operations, and one that keeps a stream busy. Attention's kernels are compiled separately.
const NAMES: [&str; 12] = [
    "lookup_normalize",
    "normalize",
    "normalize_backward",
    "norm_gradients",
    "swiglu",
    "swiglu_backward",
    "cross_entropy",
    "loss",
    "embedding_gradient",
    "adamw_factors",
    "adamw",
    "hold",
];

/// A null pointer.
const NOTHING: LaunchArgument<'static> = LaunchArgument::Value(0);

/// A kernel with its launch and arguments.
type PreparedLaunch<'a> = (
    &'a DeviceKernel,
    LaunchSettings,
    Vec<LaunchArgument<'static>>,
);

/// Every kernel of a schedule.
pub struct CompiledKernels {
    config: ModelConfig,
    blocks: AttentionBlocks,
    norm_teams: usize,
    row_teams: usize,
    attention_shared: [usize; 2],
    mode: LaunchMode,
    vector: usize,
    tokens_per_partial: usize,
    partials: usize,
    ranks: usize,
    kernels: Vec<(&'static str, DeviceKernel)>,
    own: Vec<(KernelInPlace, DeviceKernel)>,
    plane: usize,
}

impl CompiledKernels {
    pub fn new(driver: &Driver, schedule: &Schedule, precision: GemmPrecision) -> Result<Self> {
        let config = schedule.config;
        let properties = driver.properties();
        let cores = MatrixCores::choose(&config, precision, properties);
        let blocks = shape::attention_blocks(&config, precision, properties, cores)
            .context("no attention tile fits this device's shared memory")?;
        let norm_teams = shape::norm_teams(&config, properties);
        let overlapping = properties.overlapping;
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
        let mut kernels = NAMES
            .into_iter()
            .map(|name| Ok((name, module.kernel(name)?)))
            .collect::<Result<Vec<_>, DriverError>>()?;
        for (name, module, bytes) in [
            ("attention", &module, attention_shared[0]),
            ("attention_backward", &backward_module, attention_shared[1]),
        ] {
            let kernel = module.kernel(name)?;
            kernel.allow_shared(bytes)?;
            kernels.push((name, kernel));
        }
        if precision == GemmPrecision::Bf16 {
            kernels.push(("adamw_halves", module.kernel("adamw_halves")?));
        }
        if blocks.forward.cores == MatrixCores::Warpgroups {
            kernels.push(("rotate", module.kernel("rotate")?));
        }
        Ok(CompiledKernels {
            config,
            blocks,
            norm_teams,
            row_teams: row_teams(&config, properties),
            attention_shared,
            mode: match overlapping {
                true => LaunchMode::Overlapping,
                false => LaunchMode::Ordered,
            },
            vector: vector(config.ffn, precision),
            tokens_per_partial: schedule.tokens_per_partial,
            partials: schedule.partials(),
            ranks: schedule.ranks(),
            kernels,
            own: vec![],
            plane: properties.plane_size as usize,
        })
    }

    /// Replaces kernels by those of `own` that do the same work.
    pub fn replace(&mut self, driver: &Driver, own: &[KernelInPlace]) -> Result<(), DriverError> {
        let compiled = own.iter().map(|kernel| {
            let source = SourceCode::new(format!("{}.hip", kernel.operation), &*kernel.source);
            Ok((
                kernel.clone(),
                driver.compile(&source)?.kernel(&kernel.entry)?,
            ))
        });
        self.own = compiled.collect::<Result<_, DriverError>>()?;
        Ok(())
    }

    /// Returns a kernel of `own` with its launch and arguments, if one executes `operation`.
    fn in_place(
        &self,
        operation: &Operation,
        places: &BufferMap<'_>,
    ) -> Result<Option<PreparedLaunch<'_>>, DriverError> {
        let Some(place) = operation.in_place(&self.config, self.ranks) else {
            return Ok(None);
        };
        let mut all = self.own.iter();
        let Some((own, kernel)) = all.find(|(own, _)| own.replaces == operation.name()) else {
            return Ok(None);
        };
        let sizes = place.sizes;
        let [first, second] = sizes;
        let shape = (own.shape)(&[first, second, ("wave", self.plane)]);
        let (grid, block, shared) =
            shape.map_err(|error| DriverError::Invalid(error.to_string()))?;
        let launch = LaunchSettings::new(grid, block).with_shared(shared);
        let mut arguments = vec![];
        for (_, handle) in place.arrays {
            arguments.push(places.value(handle)?.into());
        }
        if let Operation::UpdateOperation(op) = operation {
            // Exercises compute in f32, for which there is a single piece.
            for piece in places.parameters.pieces(&op.elements) {
                let arrays = places.parameters.arrays(&piece)?;
                let slices = [arrays.weights[0], arrays.gradients];
                let slices = slices.into_iter().chain(arrays.moments);
                arguments.extend(slices.map(LaunchArgument::from));
            }
            arguments.extend([places.value(op.factors)?.into(), int(op.elements.len())]);
        } else {
            arguments.extend([int(sizes[0].1), int(sizes[1].1)]);
        }
        arguments.extend(place.number.map(|(_, number)| LaunchArgument::from(number)));
        Ok(Some((kernel, launch, arguments)))
    }

    fn kernel(&self, name: &str) -> Result<&DeviceKernel, DriverError> {
        let found = self.kernels.iter().find(|(known, _)| *known == name);
        let kernel = found.map(|(_, kernel)| kernel);
        kernel.ok_or_else(|| DriverError::Invalid(format!("{name} is not a kernel of V4")))
    }

    /// Keeps the stream busy for this many cycles.
    pub fn busy_wait(&self, cycles: i64, stream: &Stream) -> Result<(), DriverError> {
        let kernel = self.kernel("hold")?;
        // SAFETY: the kernel has one argument and touches no memory.
        unsafe { stream.launch(kernel, &LaunchSettings::linear(1, 1), &[cycles.into()]) }
    }

    /// Puts an operation other than a product into `stream`.
    pub fn launch(
        &self,
        operation: &Operation,
        places: &BufferMap<'_>,
        hyper: &Hyperparameters,
        stream: &Stream,
    ) -> Result<(), DriverError> {
        if let Some((kernel, launch, arguments)) = self.in_place(operation, places)? {
            // SAFETY: the arguments match the exercise's declaration in the schedule's shapes, and the kernel was
            // checked with them. The buffers live as long as the executor.
            return unsafe { stream.launch(kernel, &launch, &arguments) };
        }
        match operation {
            Operation::UpdateOperation(op) => return self.launch_update(op, places, stream),
            Operation::FinishNorms(op) if op.gradients.is_empty() => return Ok(()),
            _ => {}
        }
        let buffers = operation.buffers(&Use::ALL).into_iter();
        let buffers = buffers.map(|handle| places.value(handle).map(LaunchArgument::from));
        let mut arguments = buffers.collect::<Result<Vec<_>, _>>()?;
        if let Operation::Attention(_) | Operation::AttentionBackward(_) = operation {
            arguments.insert(1, LaunchArgument::from(places.activations.rotary));
            let scale = 1.0 / (self.config.head_dim() as f32).sqrt();
            arguments.push(LaunchArgument::from(scale));
        }
        if let Operation::Attention(_) = operation
            && self.blocks.forward.cores == MatrixCores::Warpgroups
        {
            self.launch_rotation(&arguments[..3], stream)?;
        }
        let (launch, rest) = self.prepare(operation, places, hyper)?;
        arguments.extend(rest);
        let kernel = self.kernel(operation.name())?;
        // SAFETY: the arguments match the sources' declarations and point to buffers of the schedule's shapes, which
        // live as long as the executor.
        unsafe { stream.launch(kernel, &launch.with_mode(self.mode), &arguments) }
    }

    /// Returns the launch of an operation that is one kernel, and the arguments that follow its buffers.
    fn prepare(
        &self,
        operation: &Operation,
        places: &BufferMap<'_>,
        hyper: &Hyperparameters,
    ) -> Result<(LaunchSettings, Vec<LaunchArgument<'static>>), DriverError> {
        let value = |handle| places.value(handle).map(LaunchArgument::from);
        let config = &self.config;
        let tokens = config.tokens();
        let rows = int(tokens);
        Ok(match operation {
            Operation::Lookup(_) | Operation::Normalize(_) => {
                (self.by_row(), vec![(NORM_EPSILON as f32).into(), rows])
            }
            Operation::Attention(_) => (self.by_tile(self.blocks.forward, 0), vec![]),
            Operation::AttentionBackward(_) => (self.by_tile(self.blocks.backward, 1), vec![]),
            Operation::Activate(_) | Operation::ActivateBackward(_) => {
                let launch = self.by_element(tokens * config.ffn / self.vector);
                (launch, vec![rows])
            }
            Operation::CrossEntropy(_) => {
                // The share is for the mean over the whole batch, which includes the other ranks' parts.
                let share = LaunchArgument::from(1.0 / (tokens * self.ranks) as f32);
                (linear(tokens, ROW_THREADS), vec![share])
            }
            Operation::NormalizeBackward(op) => {
                let bytes = self.partials * config.hidden * 4;
                let partials = places.value(op.partials)?.slice(op.norm * bytes, bytes)?;
                let arguments = vec![
                    value(op.normed_gradient)?,
                    value(op.stream)?,
                    value(op.scale)?,
                    value(op.weight)?,
                    value(op.stream_gradient)?,
                    op.copy.map_or(Ok(NOTHING), value)?,
                    partials.into(),
                    rows,
                    int(self.tokens_per_partial),
                    int(usize::from(op.first)),
                ];
                (linear(self.partials, self.norm_teams * TEAM), arguments)
            }
            Operation::FinishNorms(op) => {
                let columns = config.hidden.div_ceil(TEAM);
                let grid = [number(columns), number(op.gradients.len()), 1];
                let launch = LaunchSettings::new(grid, [number(SUM_THREADS), 1, 1]);
                let first = op.gradients.first().map_or(Ok(NOTHING), |it| value(*it))?;
                (launch, vec![value(op.partials)?, first, int(self.partials)])
            }
            Operation::Scatter(_) => (linear(config.vocabulary, ROW_THREADS), vec![rows]),
            Operation::FinishLoss(_) => (linear(1, SUM_THREADS), vec![rows, int(LOSS_RING)]),
            Operation::Advance(_) => {
                let numbers = [
                    hyper.learning_rate,
                    hyper.beta1,
                    hyper.beta2,
                    hyper.epsilon,
                    hyper.weight_decay,
                ];
                let numbers = numbers.map(|number| LaunchArgument::Value(number.to_bits()));
                (linear(1, 1), numbers.to_vec())
            }
            Operation::MatrixProduct(_)
            | Operation::WeightGradients(_)
            | Operation::Sum(_)
            | Operation::Gather(_)
            | Operation::UpdateOperation(_) => {
                return Err(DriverError::Invalid(
                    "a library's work is not a kernel".into(),
                ));
            }
        })
    }

    /// Rotates queries and keys in a separate launch. Otherwise every block of attention would rotate the keys before
    /// it again.
    fn launch_rotation(
        &self,
        buffers: &[LaunchArgument<'static>],
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let config = &self.config;
        let turned = config.tokens() * (config.heads + config.kv_heads) * config.head_dim();
        let launch = self.by_element(turned / WIDE_BF16).with_mode(self.mode);
        let arguments = [buffers, &[int(config.tokens())]].concat();
        // SAFETY: as for `launch`.
        unsafe { stream.launch(self.kernel("rotate")?, &launch, &arguments) }
    }

    /// Updates each piece of the parameters in a separate launch.
    fn launch_update(
        &self,
        op: &UpdateOperation,
        places: &BufferMap<'_>,
        stream: &Stream,
    ) -> Result<(), DriverError> {
        for piece in places.parameters.pieces(&op.elements) {
            let arrays = places.parameters.arrays(&piece)?;
            let slices = arrays.weights.into_iter();
            let slices = slices.chain([arrays.gradients]).chain(arrays.moments);
            let mut arguments: Vec<LaunchArgument<'_>> = slices.map(LaunchArgument::from).collect();
            let mut name = "adamw_halves";
            if !piece.in_halves {
                arguments.push(arrays.copies.map_or(NOTHING, LaunchArgument::from));
                name = "adamw";
            }
            let count = piece.elements.len();
            let factors = places.value(op.factors)?.into();
            arguments.extend([factors, LaunchArgument::from(count as i64)]);
            let launch = self.by_element(count / 4).with_mode(self.mode);
            // SAFETY: as for `launch`.
            unsafe { stream.launch(self.kernel(name)?, &launch, &arguments)? };
        }
        Ok(())
    }

    fn by_row(&self) -> LaunchSettings {
        linear(
            self.config.tokens().div_ceil(self.row_teams),
            self.row_teams * TEAM,
        )
    }

    fn by_element(&self, threads: usize) -> LaunchSettings {
        linear(threads.div_ceil(THREADS), THREADS)
    }

    /// Returns the launch of attention, forward (0) or backward (1).
    fn by_tile(&self, block: AttentionBlock, pass: usize) -> LaunchSettings {
        let grid = block.grids(&self.config)[pass].map(number);
        let shared = number(self.attention_shared[pass]);
        LaunchSettings::new(grid, [number(block.threads()), 1, 1]).with_shared(shared)
    }
}

pub fn linear(blocks: usize, threads: usize) -> LaunchSettings {
    LaunchSettings::linear(number(blocks), number(threads))
}

/// Converts a side of a grid or block, which is below 2³¹ for every model that fits a device.
pub fn number(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn int(size: usize) -> LaunchArgument<'static> {
    LaunchArgument::from(i32::try_from(size).unwrap_or(i32::MAX))
}
