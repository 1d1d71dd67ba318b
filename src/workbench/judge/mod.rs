//! The judge: compiles a learner's kernel for an AMD GPU and executes the machine code in the emulator.
//!
//! `build` compiles, `execute` runs one case, `words` says in a learner's words what the emulator found, and
//! `pictures` notes how wavefronts access memory. Code in the emulator reaches nothing but the case's arrays.

mod build;
mod execute;
mod llvm_text;
mod pictures;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use super::finding::{FindingKind, KernelFinding};
use super::picture::AccessPicture;

pub use build::{Built, build};
pub(super) use execute::BUDGET;
pub use execute::execute;
pub use words::own_line;
pub(super) use words::{of_error, of_mistake};

/// The result of a case.
#[derive(Debug, Default)]
pub struct CaseResult {
    pub findings: Vec<KernelFinding>,
    pub pictures: Vec<AccessPicture>,
    /// The most barriers that a workgroup passed.
    pub barriers: u64,
    /// The outputs by name. `None` if the kernel did not return.
    pub outputs: Option<BTreeMap<String, KernelOutput>>,
}

impl CaseResult {
    pub fn is_endless(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.kind == FindingKind::Endless)
    }
}

/// An output after the kernel.
#[derive(Debug)]
pub struct KernelOutput {
    /// Bits of the elements.
    pub words: Vec<u32>,
    /// For each element, the line that wrote it last. 0 means that no line did.
    pub lines: Vec<u32>,
}
