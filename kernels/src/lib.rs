//! GPU kernels of a tiny LLaMA, written in CubeCL: forward and hand-written backward.
//!
//! [`tinyllama_kernel_catalog`] describes each kernel, its costs and its reference. Here each operation has a folder
//! with its kernels, the launch functions, a workload, a check against the reference on any device, and the operation
//! as burn's models call it. `README.md` explains how to add one.
//!
//! All CubeCL code needs the feature `gpu`, which every GPU backend enables. On a CPU each kernel has a form in plain
//! Rust on all cores, in the file `host` of its folder.

#[cfg(all(
    feature = "gpu",
    not(any(feature = "vulkan", feature = "rocm", feature = "cuda"))
))]
compile_error!("feature `gpu` needs a backend: enable `vulkan`, `rocm` or `cuda`, which imply it");

#[cfg(feature = "gpu")]
#[macro_use]
mod launch;

mod error;
#[cfg(feature = "gpu")]
mod team;
#[cfg(feature = "gpu")]
mod workload;

pub mod bench;
pub mod binding;
pub mod check;
pub mod host;
pub mod tunables;

pub mod adamw;
pub mod cross_entropy;
pub mod embedding;
pub mod flash_attention;
#[cfg(feature = "gpu")]
pub mod matmul;
pub mod rmsnorm;
pub mod rope;
pub mod swiglu;
pub mod swiglu_naive;

pub use error::KernelError;
#[cfg(feature = "gpu")]
pub use workload::{
    BufferContent, BufferSource, CheckFunction, KernelCode, PassLauncher, Workload,
};

/// Every kernel of the catalogue with its code, in the catalogue's order.
#[cfg(feature = "gpu")]
pub static CODE: [KernelCode; tinyllama_kernel_catalog::KERNELS.len()] = [
    rmsnorm::CODE,
    rope::CODE,
    flash_attention::CODE,
    swiglu::CODE,
    swiglu_naive::CODE,
    cross_entropy::CODE,
    adamw::CODE,
    matmul::CODE,
];

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use tinyllama_kernel_catalog::KERNELS;

    use super::*;

    #[test]
    fn every_kernel_of_the_catalogue_has_its_code() {
        let described = KERNELS.iter().map(|kernel| kernel.name);
        let written = CODE.iter().map(|code| code.kernel.name);
        assert!(described.eq(written), "the order of KERNELS and CODE");
    }
}
