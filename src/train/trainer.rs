//! One training step: forward, backward, update, each with its clock.

use std::time::Instant;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, ExecutionError, Int, Tensor, TensorData};

use super::data::Batch;
use super::optimizer::Optimizer;
use super::telemetry::{MemoryUse, PeakMemory, ProfilePass};
use crate::model::{Context, Llama, ModelConfig, Part, Timing, part};

/// What a step waits for before it reads the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Synchronize {
    /// After forward, backward and update: true times of each, three waits a step
    Phases,
    /// After the whole step: true totals, parts not reported
    Step,
    /// After the whole step: true totals, and parts by the host's clock alone, which do not add up to them
    HostParts,
    /// Never: the host's clock alone, which does not know when the device is done
    Never,
}

/// Milliseconds of one step.
#[derive(Clone, Copy, Debug)]
pub struct StepTimes {
    pub total: f64,
    pub forward: Option<f64>,
    pub backward: Option<f64>,
    pub optimizer: Option<f64>,
}

/// What one step gave.
pub struct StepResult {
    /// Before the update, still on the device: `[1]`.
    pub loss: Tensor<1>,
    /// Parameter tensors that received a gradient.
    pub with_gradient: usize,
    pub times: StepTimes,
    /// The larger of what was held after forward, when activations wait for the backward pass, and at the end. Peaks
    /// inside a phase are not seen.
    pub memory: MemoryUse,
}

/// A model in training.
pub struct Trainer {
    device: Device,
    /// Away only while the optimizer holds it.
    model: Option<Llama>,
    context: Context,
    optimizer: Optimizer,
}

/// A batch on the device.
#[derive(Clone)]
pub struct DeviceBatch {
    tokens: Tensor<2, Int>,
    targets: Tensor<1, Int>,
}

impl DeviceBatch {
    pub fn place(batch: &Batch, config: &ModelConfig, device: &Device) -> Self {
        let shape = [config.batch_size, config.sequence_length];
        DeviceBatch {
            tokens: Tensor::from_data(TensorData::new(batch.tokens.clone(), shape), device),
            targets: Tensor::from_data(
                TensorData::new(batch.targets.clone(), [config.tokens()]),
                device,
            ),
        }
    }
}

impl Synchronize {
    /// As `--sync` and the event stream have it.
    pub fn name(self) -> &'static str {
        match self {
            Synchronize::Phases => "phases",
            Synchronize::Step => "step",
            Synchronize::HostParts => "host-parts",
            Synchronize::Never => "never",
        }
    }

    /// Whether every time of a step was read after the device had done what it is charged with.
    pub fn is_complete(self) -> bool {
        matches!(self, Synchronize::Phases | Synchronize::Step)
    }
}

impl From<Timing> for Synchronize {
    fn from(timing: Timing) -> Self {
        match timing {
            Timing::Synchronised => Synchronize::Phases,
            Timing::WholeStep => Synchronize::Step,
            Timing::HostParts => Synchronize::HostParts,
        }
    }
}

impl DeviceBatch {
    /// The model's loss on this batch, `[1]`.
    pub fn loss(&self, model: &Llama, context: &Context) -> Tensor<1> {
        model.loss(context, self.tokens.clone(), self.targets.clone())
    }
}

impl Trainer {
    /// `model` must live on `device` with autodiff on.
    pub fn new(
        device: Device,
        model: Llama,
        context: Context,
        learning_rate: f64,
        weight_decay: f32,
    ) -> Self {
        let optimizer = Optimizer::new(
            context.recipe.operations,
            learning_rate,
            weight_decay,
            &device.clone().autodiff(),
        );
        Trainer {
            device,
            model: Some(model),
            context,
            optimizer,
        }
    }

    pub fn model(&self) -> &Llama {
        self.model
            .as_ref()
            .expect("the model is back after every update")
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The batch on this trainer's device.
    pub fn place(&self, batch: &Batch) -> DeviceBatch {
        DeviceBatch::place(batch, &self.context.config, &self.device)
    }

    /// Loss and gradients at the current parameters.
    pub fn gradients(&self, batch: &DeviceBatch) -> (Tensor<1>, GradientsParams) {
        let loss = self.forward(batch);
        let gradients = self.backward(loss.clone());
        (loss, gradients)
    }

    /// Trains on `batch` once.
    pub fn step(
        &mut self,
        batch: &DeviceBatch,
        synchronize: Synchronize,
    ) -> Result<StepResult, ExecutionError> {
        let phases = synchronize == Synchronize::Phases;
        let mut clock = Clock::start();
        let loss = self.forward(batch);
        let forward = clock.lap(phases, &self.device)?;
        let mut memory = PeakMemory::default();
        memory.observe(MemoryUse::of(&self.device));
        clock.skip();
        let gradients = self.backward(loss.clone());
        let with_gradient = gradients.len();
        let backward = clock.lap(phases, &self.device)?;
        self.update(gradients);
        let optimizer = clock.lap(synchronize.is_complete(), &self.device)?;
        if synchronize == Synchronize::HostParts {
            // In the total and in no part: what the host's clock did not see.
            clock.lap(true, &self.device)?;
        }
        // Without a wait at every phase only the host's share of each is known: the unsynchronised
        // clock reports it all the same, which is the mistake it exists to show.
        let report_parts = synchronize != Synchronize::Step;
        let times = StepTimes {
            total: clock.total(),
            forward: report_parts.then_some(forward),
            backward: report_parts.then_some(backward),
            optimizer: report_parts.then_some(optimizer),
        };
        memory.observe(MemoryUse::of(&self.device));
        Ok(StepResult {
            loss: loss.inner(),
            with_gradient,
            times,
            memory: memory.get(),
        })
    }

    /// One more step under observation; its times are the pass's, not a step's.
    pub fn profiled_step(
        &mut self,
        batch: &DeviceBatch,
        pass: &mut ProfilePass,
    ) -> Result<(), ExecutionError> {
        let device = self.device.clone();
        let loss = pass.span("forward", || self.forward(batch));
        let gradients = pass.span("backward", || self.backward(loss));
        pass.span("optimizer", || self.update(gradients));
        pass.span("wait for the device", || device.sync())
    }

    fn forward(&self, batch: &DeviceBatch) -> Tensor<1> {
        batch.loss(self.model(), &self.context)
    }

    fn backward(&self, loss: Tensor<1>) -> GradientsParams {
        let _part = part::enter(Part::Backward);
        GradientsParams::from_grads(loss.backward(), self.model())
    }

    fn update(&mut self, gradients: GradientsParams) {
        let _part = part::enter(Part::Optimizer);
        // Moved, not cloned: with a second owner burn could not update the parameters in place.
        if let Some(model) = self.model.take() {
            self.model = Some(self.optimizer.step(model, gradients));
        }
    }

    /// Waits until the device has nothing left to do.
    pub fn wait(&self) -> Result<(), ExecutionError> {
        self.device.sync()
    }

    /// One forward pass over `batch`, every layer's output shown to `probe` under a readable name.
    pub fn probe(&self, batch: &DeviceBatch, probe: &mut dyn FnMut(&str, Tensor<2>)) {
        self.model()
            .probed_logits(&self.context, batch.tokens.clone(), &mut |part, values| {
                let name = match part {
                    Part::Norm => "last norm".to_string(),
                    Part::Head => "logits".to_string(),
                    part => part.to_string(),
                };
                probe(&name, values.clone().inner());
            });
    }

    /// Logits `[s, V]` for one sample of s tokens, at most the sequence length, without recording gradients.
    pub fn logits(&self, tokens: &[i32]) -> Tensor<2> {
        let data = TensorData::new(tokens.to_vec(), [1, tokens.len()]);
        let tokens = Tensor::from_data(data, &self.device);
        self.model().valid().logits(&self.context, tokens)
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
