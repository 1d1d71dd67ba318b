//! The kernels as HIP or CUDA C++, without a GPU, a driver or an LLVM.
//!
//! A launch function of this crate takes a client and launches kernels on it. Here the client is one of a device that
//! does not exist: it answers for an architecture ([`Target`]), compiles what is launched to C++ text and keeps the
//! launch instead of running it. So nothing is described twice: block sizes, vector widths, grid and arguments are
//! those the real launch functions choose for that architecture and shape.
//!
//! ```ignore
//! let target = Target::hip("gfx942")?;
//! let launches = record(&target, |device| {
//!     let [x, weight, y] = [("x", bytes), ("weight", width * 4), ("y", bytes)].map(|(name, size)| device.buffer(name, size));
//!     let block = RmsNormBlock::for_device(device.client(), shape);
//!     rmsnorm::forward(device.client(), [&x, &weight, &y], shape, 1e-5, dtypes, &block)
//! })?;
//! ```
//!
//! Every [`Launch`] has all that a HIP or CUDA driver needs to run it:
//!
//! 1. compile [`Launch::source`] with hiprtc or nvrtc (HIP takes no further options; for CUDA the architecture, and an
//!    include path for `cuda_fp16.h`, `cuda_bf16.h`), load the module, look up [`Launch::entry`];
//! 2. launch a grid of [`Launch::cube_count`] blocks of [`Launch::cube_dim`] threads, each (x, y, z), with
//!    [`Launch::shared_memory_bytes`] of dynamic shared memory (all there is: kernels declare none statically);
//! 3. pass [`Launch::arguments`] in order. A buffer is a device pointer to its start plus `offset`; no two arguments
//!    name the same buffer unless the launch function was given it twice. [`Argument::Info`] comes last: the scalars
//!    and lengths, as 64-bit words. With [`InfoPassing::Pointer`] (HIP) the argument is a pointer to a copy of these
//!    words in device memory, which may be shared by all launches with equal words; with [`InfoPassing::Value`] (CUDA
//!    since compute capability 7.0) it is the words themselves, by value.
//!
//! `cuLaunchKernel` and `hipModuleLaunchKernel` take an array of pointers to arguments: a pointer to each device
//! pointer, and for info by value a pointer to the words.
//!
//! Where a process counts its launches by a cubecl `LaunchObserver`, recorded ones are seen by it too.

mod arguments;
#[cfg(feature = "rocm")]
mod code_object;
mod error;
mod recorder;
mod target;
mod variants;

pub use arguments::{Argument, InfoPassing, Launch};
#[cfg(feature = "rocm")]
pub use code_object::CodeObject;
pub use error::SourceError;
#[cfg(feature = "rocm")]
pub use recorder::record_code_objects;
pub use recorder::{Offline, record};
pub use target::Target;
pub use variants::{Variant, variants};
