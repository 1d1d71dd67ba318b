//! The two engines.

/// The engine that carries out a target's steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// burn's tensors: autodiff records the forward pass and runs the backward pass.
    Autodiff,
    /// A schedule of launches that is planned once.
    Scheduled,
}

impl EngineKind {
    /// True if a run can set the block sizes of the recipe's kernels.
    pub fn takes_block_sizes(self) -> bool {
        self == EngineKind::Autodiff
    }
}
