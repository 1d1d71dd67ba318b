//! A thin layer over the CUDA and HIP driver interfaces.
//!
//! V4 schedules its whole step by hand, so it needs what burn and cubecl do not hand out: the stream, events, graphs, and
//! the vendor's matrix library on that same stream. Both interfaces have the same functions under two names, so there is
//! one implementation with two tables of symbols, loaded at run time; without the libraries a typed error says what to
//! install.
//!
//! ```text
//! open(Vendor::Nvidia, 0)?                                  a Driver
//! driver.stream(32 << 20)?                                  a Stream, with scratch memory for the matrix library
//! driver.allocate(bytes)?                                   a Buffer; buffer.slice(offset, bytes)? for parts of it
//! driver.compile(&Source::new("norm.cu", text))?            a Module; module.kernel("rmsnorm")?
//! unsafe { stream.launch(&kernel, &Launch::linear(blocks, threads), &[x.into(), rows.into()])? }
//! driver.plan_gemm(&stream, GemmSpec::new(m, n, k, Precision::Bf16).transpose_b(), Selection::Measured { candidates: 8 })?
//! unsafe { plan.run(&stream, &operands)? }
//! unsafe { stream.capture(|| schedule(&stream))? }          a Graph; unsafe { graph.launch(&stream)? }
//! ```
//!
//! Every handle is given back when its owner is dropped, every return code is checked.

mod api;
mod cache;
mod calls;
mod compile;
mod error;
mod gemm;
mod graph;
mod handle;
mod interface;
mod loader;
mod lt;
mod lt_numbers;
mod matrices;
mod memory;
mod module;
mod native;
mod probe;
mod properties;
#[cfg(test)]
mod reference;
mod rocblas;
mod rtc;
#[cfg(test)]
mod selftest;
mod stream;
mod tuning;

#[cfg(test)]
pub mod recording;
#[cfg(test)]
mod tests;

pub use api::{Address, DeviceMemory, GemmOperands, GraphContents};
pub use cache::ModuleCache;
pub use compile::Source;
pub use error::{DriverError, Refusal};
pub use gemm::{GemmPlan, GemmSpec, Operand, OutputType, Precision, Selection};
pub use graph::{Graph, Updated};
pub use handle::{Driver, MemoryUse, WorkCounts};
pub use memory::{Buffer, Pinned, Plain, Slice};
pub use module::{Argument, Kernel, KernelAttributes, Launch, LaunchMode, Module};
pub use properties::{Properties, Vendor};
pub use stream::{Event, Stream};

/// Opens device `index` of `vendor` for this thread. Compiled modules are kept in the user's cache.
///
/// # Errors
/// What is missing (driver, device, a function of an old driver), with a remedy.
pub fn open(vendor: Vendor, index: usize) -> Result<Driver, DriverError> {
    let api = native::open(vendor, index)?;
    Ok(Driver::new(Box::new(api), ModuleCache::of_user()))
}
