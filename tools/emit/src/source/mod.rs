//! Emits the kernels as HIP or CUDA C++, without a GPU, a driver or LLVM.
//!
//! A launch function of `tinyllama-kernels` takes a client and launches kernels on it. Here the client's device does not
//! exist. It reports the properties of an architecture ([`Target`]), compiles launches to C++ text and records them
//! instead of running them. So nothing is described twice: the real launch functions choose block sizes, vector
//! widths, grid and arguments for that architecture and shape.
//!
//! ```ignore
//! let target = Target::hip("gfx942")?;
//! let launches = record(&target, |device| {
//!     let [x, weight, y] = [("x", bytes), ("weight", width * 4), ("y", bytes)].map(|(name, size)| device.buffer(name, size));
//!     let block = choose_block(device.client(), shape, None);
//!     rmsnorm::forward(device.client(), [&x, &weight, &y], shape, 1e-5, dtypes, &block)
//! })?;
//! ```
//!
//! Every [`SourceLaunch`] has everything that a HIP or CUDA driver needs to run it:
//!
//! 1. Compile [`SourceLaunch::source`] with hiprtc or nvrtc, load the module, and look up [`SourceLaunch::entry`]. HIP takes no further
//!    options. CUDA needs the architecture, and an include path for `cuda_fp16.h` and `cuda_bf16.h`.
//! 2. Launch a grid of [`SourceLaunch::cube_count`] blocks of [`SourceLaunch::cube_dim`] threads, each (x, y, z), with
//!    [`SourceLaunch::shared_memory_bytes`] of dynamic shared memory. Kernels declare no static shared memory.
//! 3. Pass [`SourceLaunch::arguments`] in order. A buffer is a device pointer to its start plus `offset`. Two arguments name the
//!    same buffer only if the launch function was given it twice. [`SourceArgument::Info`] comes last: the scalars and lengths,
//!    as 64-bit words. With [`InfoPassing::Pointer`] (HIP) the argument is a pointer to a copy of these words in device
//!    memory; all launches with equal words may share the copy. With [`InfoPassing::Value`] (CUDA since compute capability
//!    7.0) the argument is the words themselves, by value.
//!
//! `cuLaunchKernel` and `hipModuleLaunchKernel` take an array of pointers to arguments. It has a pointer to each device
//! pointer and, for info by value, a pointer to the words.
//!
//! A cubecl `LaunchObserver` that counts a process's launches also counts recorded ones.

mod arguments;
#[cfg(feature = "rocm")]
mod code_object;
mod error;
mod recorder;
mod target;
mod variants;

pub use arguments::{InfoPassing, SourceArgument, SourceLaunch};
#[cfg(feature = "rocm")]
pub use code_object::CodeObject;
pub use error::SourceError;
#[cfg(feature = "rocm")]
pub use recorder::record_code_objects;
pub use recorder::{Offline, record};
pub use target::Target;
pub use variants::{KernelVariant, variants};
