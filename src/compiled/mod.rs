//! What this project's kernels become on an AMD GPU, found out without one: compiled by clang, read from its assembly.
//!
//! [`compiler`] turns HIP C++ into assembly, [`assembly`] reads registers, local memory and spills out of it, [`facts`]
//! is a table of that for kernels and architectures, recorded in the program so that it can be shown where no clang
//! is, and [`budget`] says which figures are too high. All of it is about compiled code: nothing here was run or measured.

pub mod assembly;
pub mod budget;
pub mod compiler;
pub mod facts;
