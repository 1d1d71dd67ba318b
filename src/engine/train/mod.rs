//! Trains a target and reports what happened.

mod compile_progress;
mod data;
mod engine;
mod kernel_table;
mod options;
mod perfetto;
mod repeatability;
mod reporter;
mod sample;
mod stop;
mod tally;
pub mod telemetry;
mod trace;
mod training;
pub mod turns;

pub use telemetry::{KernelLaunch, LaunchCount, PoolMemory, Trace, process_peak};
pub use tinyllama_contract::{
    Activations, Arrays, BlockForm, Body, DataSource, Event, Failure, FailureCode, Gemm, Hello,
    Kernel, KernelInPlace, Kernels, LaunchShape, MatmulPrecision, MatrixProducts, Note, Operands,
    PartWork, Parts, Phase, PhaseName, RankCheck, RankOptions, Repeatability, Sample, Spread, Step,
    Summary, Synchronize, TrainingOptions, adamw, event,
};

pub use data::{Batch, Data, DataError};
pub use engine::{Engine, EngineDevice, Evaluation, Profiling, StepResult, StepTimes};
pub use options::{TrainingEnd, float_dtype, hello, library_on, rank_batch, tuning_ahead};
pub use reporter::{EventSink, Reporter};
pub use stop::{StopReason, StopSignal};
pub use tally::Tally;
pub use training::train;
