//! GPU kernels of a tiny LLaMA, written in CubeCL: forward and hand-written backward.
//!
//! One operation a folder, in one order: the idea, the bytes it must move and what else there is to say of it
//! ([`kernel::Kernel`]), a plain Rust reference, the kernels, the launch functions with their block sizes, a check of the
//! kernels against the reference on any device, and the operation as burn's models call it. `README.md` says how to add one.

#[macro_use]
mod kernel;

mod error;
mod launch;
mod number;
mod team;

pub mod bench;
pub mod binding;
pub mod check;
pub mod source;
pub mod tunables;

pub mod adamw;
pub mod add_rmsnorm;
pub mod cross_entropy;
pub mod flash_attention;
pub mod rmsnorm;
pub mod rope;
pub mod swiglu;
pub mod swiglu_naive;

pub use error::KernelError;
pub use kernel::{BlockSize, Budget, Cost, Kernel, Pass, Role, Sizes, Spill};

/// Every kernel, in the order a training step meets them.
pub const KERNELS: &[&Kernel] = &[
    &rmsnorm::KERNEL,
    &add_rmsnorm::KERNEL,
    &rope::KERNEL,
    &flash_attention::KERNEL,
    &swiglu::KERNEL,
    &swiglu_naive::KERNEL,
    &cross_entropy::KERNEL,
    &adamw::KERNEL,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_a_line_for_every_kernel() {
        let readme = include_str!("../README.md");
        let listed: Vec<&str> = readme
            .lines()
            .filter(|line| line.starts_with("| `"))
            .collect();
        let line = |kernel: &&Kernel| {
            format!(
                "| `{}` | {} | {} |",
                kernel.name, kernel.summary, kernel.launches
            )
        };
        let lines: Vec<String> = KERNELS.iter().map(line).collect();
        assert_eq!(listed, lines, "kernels/README.md");
    }
}
