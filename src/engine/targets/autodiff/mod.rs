//! Targets on burn's tensors: autodiff records the forward pass and runs the backward pass, on any burn device.

mod activations;
mod optimizer;
mod shares;

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Element, ExecutionError, FloatDType, Int, Tensor, TensorData};

use crate::device::{self, Backend, CacheSettings, OpenDevice, ranges};
use crate::model::{
    Context, LibraryKernels, Llama, ModelConfig, ModelPrecision, OperandTypes, Part, Recipe,
    SideWork, Weights, part,
};
use crate::targets::graph::{GraphInputs, StepGraph, is_replayed, refuse_copies};
use crate::train::event::Activations;
use crate::train::telemetry::{
    LaunchCount, LaunchCounter, PoolMemory, ProfilePass, Trace, observe,
};
use crate::train::{
    Batch, Engine, EngineDevice, Evaluation, MatrixProducts, Operands, Profiling, StepResult,
    StepTimes, StopSignal, Synchronize, TrainingOptions, float_dtype, library_on, tuning_ahead,
};
use optimizer::Optimizer;
use shares::ForwardPass;
use tinyllama_base::device_facts::DeviceFacts;
use tinyllama_kernels::binding::rounds_to_tf32;

/// Opens the device that `options` select.
///
/// # Errors
/// Names what is missing on this machine, or an element type that the device cannot compute with.
pub fn open(options: &TrainingOptions) -> Result<Box<dyn EngineDevice>> {
    // This has no effect if the process has configured the runtime before.
    device::configure_runtime(CacheSettings {
        fusion: options.recipe.graph_fusion,
        tuning: tuning_ahead(options),
    });
    let on = &options.flags.on;
    let open = device::open(on.backend, on.device.as_deref())?;
    open.require_dtype(float_dtype(options.operand_dtype()))?;
    Ok(Box::new(BurnDevice { open }))
}

/// Returns how burn's products treat their operands on `open`. The CPU computes in f32. On GPUs tuned products may
/// round operands to tf32. Products chosen by rules do so if the matrix units support it.
pub fn operands(dtype: FloatDType, open: &OpenDevice, library: LibraryKernels) -> Operands {
    match (dtype, library) {
        (FloatDType::F32, LibraryKernels::Tuned) if open.backend.is_asynchronous() => {
            Operands::F32OrTf32
        }
        (FloatDType::F32, LibraryKernels::Direct) if rounds_to_tf32(&open.device) => Operands::Tf32,
        (FloatDType::F32, _) => Operands::F32,
        (FloatDType::BF16, _) => Operands::Bf16,
        _ => Operands::F16,
    }
}

/// Computes the baseline in f64 on the CPU. Every target's gradients are compared with it.
///
/// # Errors
/// Errors of the device.
pub fn reference(
    config: &ModelConfig,
    weights: &Weights,
    batch: &Batch,
) -> Result<Evaluation<f64>> {
    let device = Device::flex();
    let precision = ModelPrecision::reference();
    let context = Context::new(*config, Recipe::BASELINE, precision, &device);
    let model = model(&context, weights, &device);
    evaluate(&model, &context, batch, &device, 1).context("the reference failed")
}

/// Places `weights` on `device`, ready for training.
fn model(context: &Context, weights: &Weights, device: &Device) -> Llama {
    let (config, recipe) = (&context.config, &context.recipe);
    Llama::new(
        config,
        weights,
        recipe,
        context.precision,
        &device.clone().autodiff(),
    )
}

/// Steps whose gradients [`SideWork::KeepGradients`] keeps, so that its memory ends growing.
const KEPT_STEPS: usize = 48;

struct BurnDevice {
    open: OpenDevice,
}

impl EngineDevice for BurnDevice {
    fn facts(&self) -> &DeviceFacts {
        &self.open.facts
    }

    fn backend(&self) -> Backend {
        self.open.backend
    }

    fn matrix_products(&self, options: &TrainingOptions) -> MatrixProducts {
        let library = library_on(options, self.open.backend);
        MatrixProducts::new(
            operands(float_dtype(options.operand_dtype()), &self.open, library),
            None,
        )
    }

    fn engine(&self, options: &TrainingOptions, weights: &Weights) -> Result<Box<dyn Engine>> {
        let device = self.open.device.clone();
        let precision = ModelPrecision::with_operands(match options.recipe.operands {
            OperandTypes::Asked => float_dtype(options.operand_dtype()),
            OperandTypes::Single => FloatDType::F32,
        });
        let context = Context::new(options.config, options.recipe, precision, &device)
            .with_library(library_on(options, self.open.backend));
        let graph = options.flags.switches.graph.is_on();
        if graph && context.recipe.side_work != SideWork::None {
            bail!(
                "--graph on: {} does more than train within each step, which a graph cannot contain",
                options.target
            );
        }
        let batch = [options.config.batch_size, options.config.sequence_length];
        let inputs = graph.then(|| GraphInputs::new(&batch, &device, self.open.backend));
        let launches = match self.open.backend.is_asynchronous() {
            true => Some(LaunchCounter::start()),
            false => (!options.recipe.kernels().is_empty()).then(LaunchCounter::start_on_cpu),
        };
        Ok(Box::new(AutodiffTrainer {
            inputs: inputs.transpose()?,
            graph: is_replayed(options).then(|| StepGraph::new(device.clone())),
            model: Some(model(&context, weights, &device)),
            optimizer: Optimizer::new(
                options,
                &device.clone().autodiff(),
                !self.open.backend.is_asynchronous(),
            ),
            launches,
            backend: self.open.backend,
            shares: match self.open.backend.is_asynchronous() {
                true => 1,
                false => shares::count_on_cpu(&options.config),
            },
            kept: VecDeque::new(),
            context,
            device,
        }))
    }
}

/// A model in training.
struct AutodiffTrainer {
    device: Device,
    backend: Backend,
    /// Shares of the batch that are computed side by side.
    shares: usize,
    /// `None` only while the optimizer holds it.
    model: Option<Llama>,
    context: Context,
    optimizer: Optimizer,
    /// `None` for a recipe without this project's kernels on the CPU, where burn's operations are not counted.
    launches: Option<LaunchCounter>,
    /// The batch, if a step may be replayed.
    inputs: Option<GraphInputs>,
    /// The recorded step.
    graph: Option<StepGraph<RecordedOutput>>,
    /// Gradients of past steps, newest first.
    kept: VecDeque<Vec<Tensor<1>>>,
}

/// What a recorded step leaves.
struct RecordedOutput {
    loss: Tensor<1>,
    with_gradient: usize,
}

/// A batch on a device.
struct DeviceBatch {
    tokens: Tensor<2, Int>,
    targets: Tensor<1, Int>,
}

impl DeviceBatch {
    fn place(batch: &Batch, config: &ModelConfig, device: &Device) -> Self {
        let shape = [config.batch_size, config.sequence_length];
        let tokens = TensorData::new(batch.tokens.clone(), shape);
        let targets = TensorData::new(batch.targets.clone(), [config.tokens()]);
        DeviceBatch {
            tokens: Tensor::from_data(tokens, device),
            targets: Tensor::from_data(targets, device),
        }
    }

    /// Returns one of `shares` equal parts of the batch.
    fn share(&self, share: usize, shares: usize) -> DeviceBatch {
        let [samples, sequence] = self.tokens.dims();
        let samples = samples / shares;
        let tokens = samples * sequence;
        DeviceBatch {
            tokens: self.tokens.clone().narrow(0, share * samples, samples),
            targets: self.targets.clone().narrow(0, share * tokens, tokens),
        }
    }

    /// Returns the model's loss on this batch, `[1]`.
    fn loss(&self, model: &Llama, context: &Context) -> Tensor<1> {
        model.loss(context, self.tokens.clone(), self.targets.clone())
    }
}

fn backward(model: &Llama, loss: Tensor<1>) -> GradientsParams {
    let _part = part::enter(Part::Backward);
    GradientsParams::from_grads(loss.backward(), model)
}

/// Computes loss and gradients and reads them to the host.
fn evaluate<T: Element>(
    model: &Llama,
    context: &Context,
    batch: &Batch,
    device: &Device,
    shares: usize,
) -> Result<Evaluation<T>> {
    let batch = DeviceBatch::place(batch, &context.config, device);
    let mut pass = ForwardPass::new(model, context, &batch, shares);
    let gradients = pass.backward(model);
    let loss = pass.read_loss()?;
    let gradients = model
        .parameters()
        .into_iter()
        .map(|parameter| {
            let gradient = parameter.gradient(&gradients);
            let values = gradient.map(read::<T, 1>).transpose()?;
            Ok((parameter.name, values))
        })
        .collect::<Result<_>>()?;
    Ok(Evaluation { loss, gradients })
}

/// Reads all values of a tensor to the host.
pub fn read<T: Element, const D: usize>(tensor: Tensor<D>) -> Result<Vec<T>, ExecutionError> {
    Ok(tensor.try_into_data()?.iter::<T>().collect())
}

impl AutodiffTrainer {
    fn model(&self) -> &Llama {
        (self.model.as_ref()).expect("the model is back after every update")
    }

    fn place(&self, batch: &Batch) -> Result<DeviceBatch> {
        let Some(inputs) = &self.inputs else {
            return Ok(DeviceBatch::place(
                batch,
                &self.context.config,
                &self.device,
            ));
        };
        inputs.write(&batch.tokens, &batch.targets)?;
        let (tokens, targets) = inputs.tensors();
        Ok(DeviceBatch { tokens, targets })
    }

    /// Records the launches of a step, which are not executed.
    fn record(&mut self, mut graph: StepGraph<RecordedOutput>) -> Result<()> {
        self.device.sync()?;
        self.optimizer.take_copied();
        let counter = self.launches();
        let launched = || counter.as_ref().map_or(0, LaunchCount::total);
        graph.record(launched, || {
            let (tokens, targets) = match &self.inputs {
                Some(inputs) => inputs.tensors(),
                None => bail!("a graph needs its batch in fixed buffers"),
            };
            let mut pass = self.forward(&DeviceBatch { tokens, targets });
            let gradients = pass.backward(self.model());
            let with_gradient = gradients.len();
            self.update(gradients);
            let loss = pass.single_loss();
            Ok(RecordedOutput {
                loss: loss.context("a graph has the whole batch")?.inner(),
                with_gradient,
            })
        })?;
        refuse_copies(self.optimizer.take_copied())?;
        self.graph = Some(graph);
        Ok(())
    }

    /// Replays the recorded step; `None` before the recording.
    fn replayed_step(
        &mut self,
        batch: &Batch,
        synchronize: Synchronize,
    ) -> Result<Option<StepResult>> {
        let graph = self.graph.as_ref().filter(|graph| graph.is_recorded());
        let Some((graph, inputs)) = graph.zip(self.inputs.as_ref()) else {
            return Ok(None);
        };
        inputs.write(&batch.tokens, &batch.targets)?;
        self.optimizer.advance()?;
        let mut clock = Stopwatch::start();
        let Some((output, captured)) = graph.replay()? else {
            return Ok(None);
        };
        clock.lap(synchronize != Synchronize::Never, &self.device)?;
        let loss = output.loss.clone().try_into_scalar::<f32>();
        let memory = PoolMemory::read(&self.device);
        Ok(Some(StepResult {
            loss: f64::from(loss.context("the loss could not be read back")?),
            times: StepTimes {
                total: clock.total(),
                ..StepTimes::default()
            },
            launches: Some(1),
            captured: Some(captured),
            memory,
            with_gradient: Some(output.with_gradient),
            waited: None,
        }))
    }

    /// Returns the launches so far; 0 if they are not counted.
    fn launched(&self) -> u64 {
        self.launches.as_ref().map_or(0, LaunchCounter::total)
    }

    fn forward(&self, batch: &DeviceBatch) -> ForwardPass {
        let _range = ranges::range(|| "forward".into());
        ForwardPass::new(self.model(), &self.context, batch, self.shares)
    }

    fn update(&mut self, gradients: GradientsParams) {
        let _part = part::enter(Part::Optimizer);
        // The model is moved, not cloned: with a second owner burn could not update the parameters in place.
        if let Some(model) = self.model.take() {
            self.model = Some(self.optimizer.step(model, gradients));
        }
    }

    /// Does what the recipe says besides training. `gradients` are `None` once the step is over.
    fn side_work(
        &mut self,
        gradients: Option<&GradientsParams>,
        batch: &DeviceBatch,
    ) -> Result<()> {
        let all = |gradients: &GradientsParams| -> Vec<Tensor<1>> {
            let parameters = self.model().parameters().into_iter();
            parameters.filter_map(|it| it.gradient(gradients)).collect()
        };
        match (self.context.recipe.side_work, gradients) {
            (SideWork::ReadGradients, Some(gradients)) => {
                let mut sum = 0.0;
                for gradient in all(gradients) {
                    let values: Vec<f32> = read(gradient)?;
                    let squares = values.iter().map(|value| f64::from(value * value));
                    sum += squares.sum::<f64>();
                }
                black_box(sum.sqrt());
            }
            (SideWork::KeepGradients, Some(gradients)) => {
                let step = all(gradients);
                self.kept.truncate(KEPT_STEPS - 1);
                self.kept.push_front(step);
            }
            (SideWork::Evaluate, None) => {
                black_box(self.forward(batch).read_loss::<f32>()?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Runs one more step under observation. Its times belong to the profile pass, not to a measured step.
    fn profiled_step(&mut self, batch: &DeviceBatch, pass: &mut ProfilePass) -> Result<()> {
        let device = self.device.clone();
        self.optimizer.advance()?;
        // A launch belongs to the part that the program computes. Shares side by side would mix the parts.
        let (model, context) = (self.model(), &self.context);
        let mut forward = pass.span("forward", || ForwardPass::new(model, context, batch, 1));
        let gradients = pass.span("backward", || forward.backward(model));
        pass.span("optimizer", || {
            self.side_work(Some(&gradients), batch)?;
            self.update(gradients);
            anyhow::Ok(())
        })?;
        self.side_work(None, batch)?;
        Ok(pass.span("wait for the device", || device.sync())?)
    }
}

impl Engine for AutodiffTrainer {
    fn step(&mut self, batch: &Batch, synchronize: Synchronize) -> Result<StepResult> {
        if let Some(replayed) = self.replayed_step(batch, synchronize)? {
            return Ok(replayed);
        }
        let batch = self.place(batch)?;
        if let Some(graph) = &mut self.graph {
            graph.before_launches()?;
        }
        self.optimizer.advance()?;
        let before = self.launched();
        let phases = synchronize == Synchronize::Phases;
        let mut clock = Stopwatch::start();
        let mut pass = self.forward(&batch);
        let forward = clock.lap(phases, &self.device)?;
        let between = PoolMemory::read(&self.device);
        clock.skip();
        let gradients = pass.backward(self.model());
        let with_gradient = gradients.len();
        let backward = clock.lap(phases, &self.device)?;
        // Each share launches the same kernels.
        let of_passes = (self.launched() - before) / self.shares as u64;
        let before_update = self.launched();
        self.side_work(Some(&gradients), &batch)?;
        self.update(gradients);
        let whole = matches!(synchronize, Synchronize::Phases | Synchronize::Step);
        let optimizer = clock.lap(whole, &self.device)?;
        if synchronize == Synchronize::HostParts {
            // Adds the time that the host's clock missed to the total and to no part.
            clock.lap(true, &self.device)?;
        }
        // Without a wait at every phase, only the host's share of each phase is known. The unsynchronised clock still
        // reports it: that is the mistake which this stage demonstrates.
        let part = |milliseconds| (synchronize != Synchronize::Step).then_some(milliseconds);
        let times = StepTimes {
            total: clock.total(),
            forward: part(forward),
            backward: part(backward),
            optimizer: part(optimizer),
        };
        let memory = between.max(PoolMemory::read(&self.device));
        let launches = of_passes + self.launched() - before_update;
        // Reading the loss waits for the device, so it comes after the clock and the launch count are read.
        let loss = f64::from(pass.read_loss::<f32>()?);
        self.side_work(None, &batch)?;
        if let Some(graph) = self.graph.take_if(|graph| graph.is_due()) {
            self.record(graph)?;
        }
        Ok(StepResult {
            loss,
            times,
            launches: self.launches.is_some().then_some(launches),
            captured: self.graph.is_some().then_some(0),
            memory,
            with_gradient: Some(with_gradient),
            waited: None,
        })
    }

    fn gradients(&mut self, batch: &Batch) -> Result<Evaluation> {
        let (model, context) = (self.model(), &self.context);
        evaluate(model, context, batch, &self.device, self.shares)
    }

    fn profile(&mut self, batch: &Batch, steps: usize, stop: &StopSignal) -> Result<Trace> {
        let device = self.device.clone();
        device.sync().context("waiting for the device failed")?;
        let batch = self.place(batch)?;
        let step = |pass: &mut ProfilePass| self.profiled_step(&batch, pass);
        observe(&device, steps, stop, step)
    }

    fn profiling(&self) -> Profiling {
        match self.launches {
            Some(_) => Profiling::Observed,
            None => Profiling::HostOnly(format!(
                "this target launches none of this project's kernels, and the {} backend times no others",
                self.backend
            )),
        }
    }

    fn logits(&mut self, tokens: &[i32]) -> Result<Vec<f32>> {
        let data = TensorData::new(tokens.to_vec(), [1, tokens.len()]);
        let tokens = Tensor::from_data(data, &self.device);
        Ok(read(self.model().valid().logits(&self.context, tokens))?)
    }

    fn activations(&mut self, batch: &Batch) -> Result<Option<Activations>> {
        let tokens = self.place(batch)?.tokens;
        activations::observe(self.model(), &self.context, tokens).map(Some)
    }

    fn launches(&self) -> Option<LaunchCount> {
        // Nothing compiles on a CPU, so its launches show no progress.
        let compiling = self.launches.as_ref();
        let compiling = compiling.filter(|_| self.backend.is_asynchronous());
        compiling.map(LaunchCounter::shared_counter)
    }

    fn remark(&self) -> Option<String> {
        let why = match &self.graph {
            Some(graph) if graph.is_recorded() => return None,
            Some(_) => "it is recorded after the fifth step, and the run had fewer",
            None => "with --sync phases the host waits inside each step",
        };
        let wanted = self.inputs.is_some();
        wanted.then(|| format!("the step was not replayed from a graph: {why}"))
    }

    fn compiles_in_first_step(&self) -> bool {
        true
    }
}

/// A stopwatch on the host's clock that can wait for the device.
struct Stopwatch {
    started: Instant,
    lap: Instant,
}

impl Stopwatch {
    fn start() -> Self {
        let now = Instant::now();
        Stopwatch {
            started: now,
            lap: now,
        }
    }

    /// Returns the milliseconds since the last lap.
    fn lap(&mut self, wait: bool, device: &Device) -> Result<f64, ExecutionError> {
        if wait {
            device.sync()?;
        }
        let now = Instant::now();
        let milliseconds = (now - self.lap).as_secs_f64() * 1e3;
        self.lap = now;
        Ok(milliseconds)
    }

    /// Excludes the time since the last lap.
    fn skip(&mut self) {
        let aside = self.lap.elapsed();
        self.started += aside;
        self.lap += aside;
    }

    fn total(&self) -> f64 {
        (self.lap - self.started).as_secs_f64() * 1e3
    }
}
