//! A thin layer over the CUDA and HIP driver interfaces.
//!
//! V4 schedules its whole step by hand. It needs things that burn and cubecl do not expose: the stream, events, graphs,
//! and the vendor's matrix library on the same stream. Both interfaces have the same functions under two names. So
//! there is one implementation with two tables of symbols, loaded at run time. Without the libraries, a typed error
//! tells the user what to install.
//!
//! ```text
//! open(Vendor::Nvidia, 0)?                                  a Driver
//! driver.stream(32 << 20)?                                  a Stream, with scratch memory for the matrix library
//! driver.allocate(bytes)?                                   a DeviceBuffer; buffer.slice(offset, bytes)? for parts of it
//! driver.compile(&SourceCode::new("norm.cu", text))?            a DeviceModule; module.kernel("rmsnorm")?
//! unsafe { stream.launch(&kernel, &LaunchSettings::linear(blocks, threads), &[x.into(), rows.into()])? }
//! driver.plan_gemm(&stream, GemmSpec::new(m, n, k, GemmPrecision::Bf16).transpose_b(), AlgorithmSelection::Measured { candidates: 8 })?
//! unsafe { plan.run(&stream, &operands)? }
//! unsafe { stream.capture(|| schedule(&stream))? }          a Graph; unsafe { graph.launch(&stream)? }
//! ```
//!
//! Dropping the owner frees a handle. Every return code is checked.

mod cache;
mod calls;
mod capture;
mod collective;
mod compile;
mod error;
mod gemm;
mod gemm_spec;
mod graph;
mod handle;
mod interface;
mod loader;
mod lt;
mod lt_numbers;
mod matrices;
mod memory;
mod module;
mod properties;
mod rocblas;
mod rtc;
mod stream;
#[cfg(test)]
pub mod tests;
mod timer;
mod tuning;

pub use cache::ModuleCache;
pub use calls::loaded_from;
pub use collective::{Communicator, Exchange, UniqueId};
pub use compile::{CompileRequest, SourceCode};
pub use error::{DriverError, ErrorClass, Result};
pub use gemm::{AlgorithmSelection, GemmPlan};
pub use gemm_spec::{GemmOperands, GemmPrecision, GemmSpec, Operand, OutputType};
pub use graph::{Graph, GraphContents};
pub use handle::Driver;
pub(super) use loader::{candidates, explain, toolkits_named};
pub use memory::{Address, DeviceBuffer, Pinned, Plain, Slice};
pub use module::{DeviceKernel, DeviceModule, LaunchArgument, LaunchMode, LaunchSettings};
pub use properties::{ListedDevice, Properties, Vendor, inventory};
pub use rtc::RuntimeCompiler;
pub use stream::{Event, Stream};
pub use timer::Timer;

/// Opens device `index` of `vendor` for this thread. The user's cache keeps compiled modules.
///
/// # Errors
/// Names the missing part (driver, device, a function of an old driver) with a remedy.
pub fn open(vendor: Vendor, index: usize) -> Result<Driver> {
    Driver::open(vendor, index, ModuleCache::of_user())
}
