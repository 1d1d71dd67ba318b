//! Descriptions of the GPU kernels of a tiny LLaMA in plain Rust. This crate builds neither burn nor CubeCL.
//!
//! Code that teaches, lists, counts or reads kernels needs only this crate. The `tinyllama-kernels` crate pairs each
//! descriptor with its CubeCL code.
//!
//! - [`KernelDescriptor`] describes a kernel: its operation, launches, role in a model, and budget on a compute unit.
//! - [`KernelPass`] is one way to launch it, with the formulas of its [`Cost`] at the [`StepSizes`] of a model.
//! - A module per operation holds its shape, its [`block`] sizes and a reference in f64, forward and backward.
//! - [`tunables`] lists the block sizes that `--block-size` can set.
//! - [`check`] draws inputs from a seed and measures how far a result is from its reference.
//!
//! ```
//! use tinyllama_kernel_catalog::{KERNELS, StepSizes};
//!
//! let sizes = StepSizes { batch: 8, sequence: 128, hidden: 512, layers: 8, heads: 8, key_heads: 4, ffn: 2048, vocabulary: 1000 };
//! for kernel in KERNELS {
//!     for (pass, runs) in kernel.step_passes(&sizes) {
//!         println!("{} {}: {runs} times {} bytes", kernel.name, pass.name, (pass.cost)(&sizes).bytes());
//!     }
//! }
//! ```

#[macro_use]
pub mod block;
#[macro_use]
mod kernel;

mod number;

pub mod check;
pub mod tunables;

pub mod adamw;
pub mod cross_entropy;
pub mod flash_attention;
pub mod matmul;
pub mod rmsnorm;
pub mod rope;
pub mod swiglu;
pub mod swiglu_naive;

pub use kernel::{
    BlockSizeOption, Cost, KernelDescriptor, KernelPass, ResourceBudget, Role, Spill, StepSizes,
};
pub use number::Scalar;

/// Every kernel, in the order of a training step; the product, which is everywhere in it, last.
pub const KERNELS: &[&KernelDescriptor] = &[
    &rmsnorm::KERNEL,
    &rope::KERNEL,
    &flash_attention::KERNEL,
    &swiglu::KERNEL,
    &swiglu_naive::KERNEL,
    &cross_entropy::KERNEL,
    &adamw::KERNEL,
    &matmul::KERNEL,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_table_has_a_line_for_every_kernel() {
        const HEAD: &str = "| kernel | does | launches |\n|---|---|---|\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
        let readme = std::fs::read_to_string(path).unwrap();
        let (before, rest) = readme.split_once(HEAD).expect("the table");
        let (_, after) = rest.split_once("\n\n").expect("the table's end");
        let line = |kernel: &&KernelDescriptor| {
            format!(
                "| `{}` | {} | {} |\n",
                kernel.name, kernel.summary, kernel.launches
            )
        };
        let lines: String = KERNELS.iter().map(line).collect();
        let written = format!("{before}{HEAD}{lines}\n{after}");
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            std::fs::write(path, written).unwrap();
        } else {
            assert_eq!(readme, written, "run tools/generate tables");
        }
    }
}
