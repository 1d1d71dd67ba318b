//! Training a target and reporting what really happened.

mod compile_progress;
mod data;
mod engine;
pub mod event;
mod kernel_table;
mod matrix_products;
mod options;
mod repeatability;
mod reporter;
mod sample;
mod stop;
mod tally;
pub(crate) mod telemetry;
mod trace;
mod training;
pub mod turns;

pub use event::{
    Activations, Body, DataSource, Event, Failure, FailureCode, Hello, Kernel, Kernels, Note,
    PartWork, Parts, Phase, PhaseName, RankCheck, Repeatability, Sample, Spread, Step, Summary,
};
pub use telemetry::{KernelLaunch, LaunchCount, MemoryUse, Trace, process_peak};

pub(crate) use data::{Batch, Data, DataError};
pub(crate) use engine::{Engine, EngineDevice, Evaluation, Profiling, StepResult, StepTimes};
pub use matrix_products::MatrixProducts;
pub(crate) use matrix_products::Operands;
pub(crate) use options::{
    Arrays, BlockForm, Gemm, KernelInPlace, LaunchShape, MatmulPrecision, Options, RankOptions,
    Synchronize, TrainingEnd, adamw, dtype_name, hello,
};
pub(crate) use reporter::{EventSink, Reporter};
pub(crate) use stop::{StopReason, StopSignal};
pub(crate) use tally::Tally;
pub(crate) use training::train;
