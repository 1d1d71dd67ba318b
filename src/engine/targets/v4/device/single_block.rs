//! Runs the forward pass of a whole transformer block in one launch, to compare its cost with the schedule's launches.

use anyhow::{Context as _, Result, bail};

use super::kernels::{block_source, source};
use super::shape::{self, MatrixCores};
use super::{DeviceExecutor, DeviceOptions};
use crate::device::driver::{
    AlgorithmSelection, DeviceKernel, Driver, GemmPrecision, LaunchArgument, LaunchSettings, Timer,
};
use crate::model::{ModelConfig, NORM_EPSILON, Part, Weights};
use crate::targets::v4::buffers::BufferHandle;
use crate::targets::v4::executor::{Executor, StepSpan};
use crate::targets::v4::schedule::{Concurrency, Schedule, StepPhase};
use crate::train::adamw;
use crate::train::event::Block;
use tinyllama_base::statistics::relative_difference;

/// Tokens per thread block, and columns and rows of a weight that it processes at once, as `block.cu` declares.
const STRIP: usize = 16;
const SLAB: usize = 128;
const DEPTH: usize = 32;
const THREADS: u32 = 256;

/// Runs of a measurement; the shortest counts.
const ROUNDS: usize = 10;

/// Runs a block of the model both ways, on the stream that a forward pass over `tokens` produces.
///
/// # Errors
/// Errors of the driver, or a model that the kernel does not cover.
pub fn single_block(
    driver: &Driver,
    config: &ModelConfig,
    weights: &Weights,
    precision: GemmPrecision,
    (tokens, targets): (&[i32], &[i32]),
) -> Result<Block> {
    let shared = check(driver, config, precision)?;
    let options = DeviceOptions {
        precision,
        capture: false,
        selection: AlgorithmSelection::Heuristic,
    };
    let schedule = Schedule::new(config, Concurrency::NONE);
    let values = schedule.layout.place(weights);
    let mut executor = DeviceExecutor::new(driver.clone(), schedule, adamw(0.0, 0.0), options)?;
    executor.set_weights(&values)?;
    executor.place(tokens, targets)?;
    executor.run(StepSpan::Only(StepPhase::Forward))?;
    executor.wait()?;

    let kernel = compile(driver, config, precision)?;
    kernel.allow_shared(shared)?;
    let layer = config.layers.min(2) - 1;
    let timer = driver.timer()?;
    let (single_ms, result) = one_launch(&executor, &kernel, shared, layer, &timer)?;
    let (schedule_ms, schedule_launches) = as_scheduled(&executor, layer, &timer)?;
    let expected = executor.slice(executor.schedule().streams[layer + 1])?;
    let expected: Vec<f32> = executor.lanes.main().download(expected, result.len())?;
    Ok(Block {
        single_ms,
        schedule_ms,
        schedule_launches,
        difference: relative_difference(&result, &expected),
        compute_units: driver.properties().compute_units as usize,
        ..count_work(config, precision.element_bytes())
    })
}

/// Returns the bytes of shared memory per thread block. Fails if the kernel does not cover the model.
fn check(driver: &Driver, config: &ModelConfig, precision: GemmPrecision) -> Result<usize> {
    let head_dim = config.head_dim();
    if !head_dim.is_multiple_of(16) || head_dim > SLAB / 2 {
        bail!(
            "a block in one launch takes heads 16, 32, 48 or 64 wide; these are {head_dim}: choose --heads accordingly"
        );
    }
    let operand = precision.element_bytes();
    let wide = 16 / operand;
    let keys = config.sequence_length.next_multiple_of(STRIP);
    let hidden_row = config.hidden.next_multiple_of(DEPTH) + wide;
    let (slab_row, head_row) = (SLAB + wide, head_dim + wide);
    let floats = STRIP * (config.hidden + keys.max(SLAB));
    let operands = 3 * STRIP * hidden_row
        + (2 * keys + STRIP) * head_row
        + DEPTH * slab_row
        + STRIP * slab_row.max(keys + wide);
    let needed = 4 * floats + operand * operands;
    let most = driver.properties().shared_per_block_most;
    if needed > most {
        bail!(
            "a block in one launch keeps keys and values of a whole sequence on chip: {needed} bytes of \
             shared memory for this model in {precision}, and {} has {most}: use a smaller --seq-len or \
             --hidden, or --dtype bf16",
            driver.properties().name
        );
    }
    Ok(needed)
}

fn compile(
    driver: &Driver,
    config: &ModelConfig,
    precision: GemmPrecision,
) -> Result<DeviceKernel> {
    let properties = driver.properties();
    // The kernel multiplies in pieces for teams of 32.
    let blocks = shape::attention_blocks(config, precision, properties, MatrixCores::None)
        .context("no attention tile fits this device's shared memory")?;
    let teams = shape::norm_teams(config, properties);
    let text = source(config, precision, blocks.forward, teams, false);
    Ok(driver
        .compile(&block_source(text))?
        .kernel("block_forward")?)
}

/// Returns the milliseconds of the single launch, and its result.
fn one_launch(
    executor: &DeviceExecutor,
    kernel: &DeviceKernel,
    shared: usize,
    layer: usize,
    timer: &Timer,
) -> Result<(f64, Vec<f32>)> {
    let schedule = executor.schedule();
    let config = &schedule.config;
    let layout = &schedule.layout;
    let places = executor.places();
    let count = config.tokens() * config.hidden;
    let result = executor.driver.allocate(count * 4)?;
    let weight = |index| places.operand(BufferHandle::Weight(index));
    let norm = |index| places.value(BufferHandle::Weight(layout.norm(index)));
    let arguments = [
        places.value(schedule.streams[layer])?.into(),
        result.address().into(),
        norm(2 * layer)?.into(),
        weight(layout.qkv(layer))?.into(),
        weight(layout.output(layer))?.into(),
        norm(2 * layer + 1)?.into(),
        weight(layout.gate_up(layer))?.into(),
        weight(layout.down(layer))?.into(),
        LaunchArgument::from(executor.placed.activations.rotary),
        LaunchArgument::from(1.0 / (config.head_dim() as f32).sqrt()),
        LaunchArgument::from(NORM_EPSILON as f32),
    ];
    let strips = u32::try_from(config.sequence_length.div_ceil(STRIP))?;
    let grid = [strips, u32::try_from(config.batch_size)?, 1];
    let launch = LaunchSettings::new(grid, [THREADS, 1, 1]).with_shared(u32::try_from(shared)?);
    let stream = executor.lanes.main();
    // SAFETY: the arguments match `block_forward`; all buffers live until the stream is waited for.
    let launch = || unsafe { stream.launch(kernel, &launch, &arguments) };
    let milliseconds = timer.shortest(stream, ROUNDS, launch)?;
    Ok((milliseconds, stream.download(result.as_slice(), count)?))
}

/// Returns the milliseconds and the number of the schedule's launches for the same block.
fn as_scheduled(executor: &DeviceExecutor, layer: usize, timer: &Timer) -> Result<(f64, usize)> {
    let nodes = &executor.schedule().nodes;
    let own = |part: Part| part == Part::Attention(layer) || part == Part::FeedForward(layer);
    let mut indices: Vec<usize> = (0..nodes.len())
        .filter(|index| nodes[*index].phase == StepPhase::Forward && own(nodes[*index].part))
        .collect();
    // The first block's norm is part of the lookup.
    if layer == 0 {
        indices.insert(0, 0);
    }
    let stream = executor.lanes.main();
    // SAFETY: everything that the launches use belongs to the executor; the graph is dropped at the end of this function.
    let graph = unsafe {
        stream.capture(|| {
            indices
                .iter()
                .try_for_each(|index| executor.launch(*index, &nodes[*index].operation, stream))
        })?
    };
    // SAFETY: as above.
    let launch = || unsafe { graph.launch(stream) };
    let milliseconds = timer.shortest(stream, ROUNDS, launch)?;
    Ok((milliseconds, graph.contents.nodes()))
}

/// Computes the figures of both ways that follow from the shapes.
fn count_work(config: &ModelConfig, operand: usize) -> Block {
    let number = |value: usize| value as f64;
    let sizes = [
        config.tokens(),
        config.hidden,
        config.ffn,
        config.sequence_length,
    ];
    let [n, d, f, s] = sizes.map(number);
    let kv = number(config.kv_heads * config.head_dim());
    let b = number(config.batch_size);
    let strips = config.sequence_length.div_ceil(STRIP);
    let pairs = b * number(config.heads) * s * (s + 1.0) / 2.0;
    let products = 2.0 * n * (d * (d + 2.0 * kv) + d * d + 3.0 * d * f);
    // Strip i computes keys and values of the i strips before it again.
    let repeated = number(strips * (strips - 1) / 2) * number(STRIP) * b;
    let others = d * d + d * d + 3.0 * d * f;
    let all_strips = number(strips * (strips + 1) / 2);
    let read = b * (number(strips) * others + all_strips * 2.0 * d * kv);
    Block {
        flops: products + 4.0 * number(config.head_dim()) * pairs,
        recomputed_flops: 2.0 * repeated * d * 2.0 * kv,
        weight_bytes_read: read * number(operand),
        weight_bytes: (others + 2.0 * d * kv) * number(operand),
        thread_blocks: strips * config.batch_size,
        ..Block::default()
    }
}
