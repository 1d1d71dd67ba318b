//! Training a target and reporting what really happened.

mod activations;
mod compile_progress;
mod data;
pub mod event;
pub mod gradient_check;
mod kernel_table;
mod optimizer;
mod options;
mod repeatability;
mod reporter;
mod sample;
mod session;
mod stop;
mod tally;
pub mod telemetry;
mod trace;
mod trainer;
pub mod ultra;

pub use data::{BYTE_TOKENS, Batch, Data, DataError, order_0_entropy};
pub use kernel_table::short_name;
pub use options::{Ending, Options, hello, matmul_precision};
pub use reporter::{EventSink, Reporter};
pub use session::train;
pub use stop::{StopReason, StopSignal};
pub use tally::Tally;
pub use trace::write_chrome_trace;
pub use trainer::{DeviceBatch, StepResult, StepTimes, Synchronize, Trainer};
