//! Targets on burn's tensors: autodiff records the forward pass and runs the backward pass, on any of burn's devices.

mod activations;
mod optimizer;

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Context as _, Result};
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Element, ExecutionError, FloatDType, Int, Tensor, TensorData};

use crate::device::{self, Backend, CacheSettings, OpenDevice, ranges};
use crate::model::{
    Context, HostRead, LibraryKernels, Llama, ModelConfig, OperandTypes, Part, Precision, Recipe,
    Weights, part,
};
use crate::train::event::Activations;
use crate::train::telemetry::{
    LaunchCount, LaunchCounter, MemoryUse, PeakMemory, ProfilePass, Trace, observe,
};
use crate::train::{
    Batch, Engine, EngineDevice, Evaluation, MatrixProducts, Operands, Options, Profiling,
    StepResult, StepTimes, StopSignal, Synchronize, float_dtype, library_on, tuning_ahead,
};
use optimizer::Optimizer;
use tinyllama_base::device_facts::DeviceFacts;
use tinyllama_kernels::binding::rounds_to_tf32;

/// Opens the device that `options` choose.
///
/// # Errors
/// What is missing on this machine; element types it has no code for.
pub fn open(options: &Options) -> Result<Box<dyn EngineDevice>> {
    // Without effect where this process has settled it before.
    device::configure_runtime(CacheSettings {
        fusion: options.recipe.graph_fusion,
        tuning: tuning_ahead(options),
    });
    let open = device::open(options.backend, options.device.as_deref())?;
    open.require_dtype(float_dtype(options.operand_dtype))?;
    Ok(Box::new(BurnDevice { open }))
}

/// What carries out burn's products on `open`: the CPU does them in f32; on GPUs the tuned ones may round operands to tf32,
/// and those by the library's rules do where the matrix units take that.
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

/// The baseline in f64 on the CPU: what every target's gradients are measured against.
///
/// # Errors
/// What the device reports.
pub fn reference(
    config: &ModelConfig,
    weights: &Weights,
    batch: &Batch,
) -> Result<Evaluation<f64>> {
    let device = Device::flex();
    let precision = Precision::reference();
    let context = Context::new(*config, Recipe::BASELINE, precision, &device);
    evaluate(&model(&context, weights, &device), &context, batch, &device)
        .context("the reference failed")
}

/// `weights` on `device`, ready to be trained.
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

    fn matrix_products(&self, options: &Options) -> MatrixProducts {
        let library = library_on(options, self.open.backend);
        MatrixProducts::new(
            operands(float_dtype(options.operand_dtype), &self.open, library),
            None,
        )
    }

    fn engine(&self, options: &Options, weights: &Weights) -> Result<Box<dyn Engine>> {
        let device = self.open.device.clone();
        let precision = Precision::with_operands(match options.recipe.operands {
            OperandTypes::Asked => float_dtype(options.operand_dtype),
            OperandTypes::Single => FloatDType::F32,
        });
        let context = Context::new(options.config, options.recipe, precision, &device)
            .with_library(library_on(options, self.open.backend));
        Ok(Box::new(Trainer {
            model: Some(model(&context, weights, &device)),
            optimizer: Optimizer::new(options, &device.clone().autodiff()),
            launches: (self.open.backend.is_asynchronous()).then(LaunchCounter::start),
            backend: self.open.backend.name(),
            context,
            device,
        }))
    }
}

/// A model in training.
struct Trainer {
    device: Device,
    backend: &'static str,
    /// Away only while the optimizer holds it.
    model: Option<Llama>,
    context: Context,
    optimizer: Optimizer,
    /// Only where launches are counted at all: the CPU backend has none.
    launches: Option<LaunchCounter>,
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

    /// The model's loss on it, `[1]`.
    fn loss(&self, model: &Llama, context: &Context) -> Tensor<1> {
        model.loss(context, self.tokens.clone(), self.targets.clone())
    }
}

fn backward(model: &Llama, loss: Tensor<1>) -> GradientsParams {
    let _part = part::enter(Part::Backward);
    GradientsParams::from_grads(loss.backward(), model)
}

/// Loss and gradients, on the host.
fn evaluate<T: Element>(
    model: &Llama,
    context: &Context,
    batch: &Batch,
    device: &Device,
) -> Result<Evaluation<T>> {
    let batch = DeviceBatch::place(batch, &context.config, device);
    let loss = batch.loss(model, context);
    let gradients = backward(model, loss.clone());
    let loss = loss.inner().try_into_scalar::<T>()?;
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

/// All values of a tensor, on the host.
pub fn read<T: Element, const D: usize>(tensor: Tensor<D>) -> Result<Vec<T>, ExecutionError> {
    Ok(tensor.try_into_data()?.iter::<T>().collect())
}

impl Trainer {
    fn model(&self) -> &Llama {
        (self.model.as_ref()).expect("the model is back after every update")
    }

    fn place(&self, batch: &Batch) -> DeviceBatch {
        DeviceBatch::place(batch, &self.context.config, &self.device)
    }

    fn forward(&self, batch: &DeviceBatch) -> Tensor<1> {
        let _range = ranges::range(|| "forward".into());
        batch.loss(self.model(), &self.context)
    }

    fn backward(&self, loss: Tensor<1>) -> GradientsParams {
        backward(self.model(), loss)
    }

    fn update(&mut self, gradients: GradientsParams) {
        let _part = part::enter(Part::Optimizer);
        // Moved, not cloned: with a second owner burn could not update the parameters in place.
        if let Some(model) = self.model.take() {
            self.model = Some(self.optimizer.step(model, gradients));
        }
    }

    /// Brings every gradient to the host, where the recipe has it so.
    fn read_gradients(&self, gradients: &GradientsParams) -> Result<(), ExecutionError> {
        if self.context.recipe.host_read == HostRead::None {
            return Ok(());
        }
        let mut sum = 0.0;
        for parameter in self.model().parameters() {
            if let Some(gradient) = parameter.gradient(gradients) {
                let values: Vec<f32> = read(gradient)?;
                sum += values
                    .iter()
                    .map(|value| f64::from(value * value))
                    .sum::<f64>();
            }
        }
        black_box(sum.sqrt());
        Ok(())
    }

    /// One more step under observation; its times are the pass's, not a step's.
    fn profiled_step(
        &mut self,
        batch: &DeviceBatch,
        pass: &mut ProfilePass,
    ) -> Result<(), ExecutionError> {
        let device = self.device.clone();
        let loss = pass.span("forward", || self.forward(batch));
        let gradients = pass.span("backward", || self.backward(loss));
        pass.span("optimizer", || {
            self.read_gradients(&gradients)?;
            self.update(gradients);
            Ok::<_, ExecutionError>(())
        })?;
        pass.span("wait for the device", || device.sync())
    }
}

impl Engine for Trainer {
    fn step(&mut self, batch: &Batch, synchronize: Synchronize) -> Result<StepResult> {
        let batch = self.place(batch);
        let launched_before = self.launches.as_ref().map(LaunchCounter::total);
        let phases = synchronize == Synchronize::Phases;
        let mut clock = Clock::start();
        let loss = self.forward(&batch);
        let forward = clock.lap(phases, &self.device)?;
        let mut memory = PeakMemory::default();
        memory.observe(MemoryUse::of(&self.device));
        clock.skip();
        let gradients = self.backward(loss.clone());
        let with_gradient = gradients.len();
        let backward = clock.lap(phases, &self.device)?;
        self.read_gradients(&gradients)?;
        self.update(gradients);
        let whole = matches!(synchronize, Synchronize::Phases | Synchronize::Step);
        let optimizer = clock.lap(whole, &self.device)?;
        if synchronize == Synchronize::HostParts {
            // In the total and in no part: what the host's clock did not see.
            clock.lap(true, &self.device)?;
        }
        // Without a wait at every phase only the host's share of each is known: the unsynchronised
        // clock reports it all the same, which is the mistake it exists to show.
        let part = |milliseconds| (synchronize != Synchronize::Step).then_some(milliseconds);
        let times = StepTimes {
            total: clock.total(),
            forward: part(forward),
            backward: part(backward),
            optimizer: part(optimizer),
        };
        memory.observe(MemoryUse::of(&self.device));
        let launched = self.launches.as_ref().map(LaunchCounter::total);
        // Reading the loss waits for the device, so it comes after the clock and after the count.
        let loss = loss.inner().try_into_scalar::<f32>();
        Ok(StepResult {
            loss: f64::from(loss.context("the loss could not be read back")?),
            times,
            launches: launched
                .zip(launched_before)
                .map(|(after, before)| after - before),
            captured: None,
            memory: memory.get(),
            with_gradient: Some(with_gradient),
            waited: None,
        })
    }

    fn gradients(&mut self, batch: &Batch) -> Result<Evaluation> {
        evaluate(self.model(), &self.context, batch, &self.device)
    }

    fn profile(&mut self, batch: &Batch, steps: usize, stop: &StopSignal) -> Result<Trace> {
        let device = self.device.clone();
        device.sync().context("waiting for the device failed")?;
        let batch = self.place(batch);
        let step = |pass: &mut ProfilePass| self.profiled_step(&batch, pass);
        Ok(observe(&device, steps, stop, step)?)
    }

    fn profiling(&self) -> Profiling {
        match self.launches {
            Some(_) => Profiling::Observed,
            None => Profiling::HostOnly(format!(
                "the {} backend computes on the host and launches no kernels",
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
        let tokens = self.place(batch).tokens;
        activations::observe(self.model(), &self.context, tokens).map(Some)
    }

    fn launches(&self) -> Option<LaunchCount> {
        self.launches.as_ref().map(LaunchCounter::share)
    }

    fn compiles_in_first_step(&self) -> bool {
        true
    }
}

/// Laps of the host's clock, waiting for the device where asked to.
struct Clock {
    started: Instant,
    lap: Instant,
}

impl Clock {
    fn start() -> Self {
        let now = Instant::now();
        Clock {
            started: now,
            lap: now,
        }
    }

    /// Milliseconds since the last lap.
    fn lap(&mut self, wait: bool, device: &Device) -> Result<f64, ExecutionError> {
        if wait {
            device.sync()?;
        }
        let now = Instant::now();
        let milliseconds = (now - self.lap).as_secs_f64() * 1e3;
        self.lap = now;
        Ok(milliseconds)
    }

    /// Leaves out what has passed since the last lap.
    fn skip(&mut self) {
        let aside = self.lap.elapsed();
        self.started += aside;
        self.lap += aside;
    }

    fn total(&self) -> f64 {
        (self.lap - self.started).as_secs_f64() * 1e3
    }
}
