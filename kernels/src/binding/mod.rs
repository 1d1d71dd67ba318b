//! The kernels as operations of burn, with their gradients.
//!
//! Each kernel's folder has a file or folder `binding` with a trait of backends. burn's GPU backends implement it with
//! the kernels in CubeCL, the CPU backend with their forms on a CPU. Autodiff wraps both: it records the operation
//! with its hand-written gradient (`record`), so a model that uses it trains like any other. The traits of gradients
//! have no autodiff implementation: a gradient itself cannot be differentiated, and burn refuses to record it.
//!
//! This module has the shared code, and the library's plain matrix product.

#[cfg(feature = "gpu")]
pub(crate) mod cube;
#[cfg(feature = "gpu")]
mod device;
#[cfg(feature = "gpu")]
mod fixed;
pub(crate) mod flex;
#[cfg(not(feature = "gpu"))]
mod no_device;
mod product;

pub use flex::average;
#[cfg(not(feature = "gpu"))]
pub use no_device::{FixedBuffer, bench, check, rates, rounds_to_tf32};
pub use product::product;
pub(crate) use product::{UntriedProduct, primitive_product};
#[cfg(feature = "gpu")]
pub use {
    device::{bench, check, rates, rounds_to_tf32},
    fixed::FixedBuffer,
};

use std::fmt::Debug;
use std::marker::PhantomData;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, NodeGuard, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};
use serde::Serialize;

/// A float tensor of a backend.
pub(crate) type Float<B> = FloatTensor<B>;

/// Which of the library's kernels runs if it has several for one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LibraryChoice {
    /// The fastest on this device, found by trying once for each shape. Kernels on matrix units round their operands:
    /// to tf32 in products of f32, to f16 in attention.
    #[default]
    Tuned,
    /// This project's matrix product where it is faster, otherwise the one that the library's rules select for the sizes,
    /// without trying. It uses matrix units if the device has them.
    Direct,
    /// The one that needs no matrix units and rounds nothing, without trying. Its products are far slower. It is for
    /// checks of numbers, which end before tuning would have begun.
    Plain,
}

/// Computes the gradients of an operation's parents from the saved values and the gradient of the result.
type GradientOf<B, S, const N: usize> = fn(S, Float<B>) -> [Float<B>; N];

#[derive(Debug)]
struct RecordedBackward<S>(PhantomData<fn(S)>);

impl<B: Backend, S, const N: usize> Backward<B, N> for RecordedBackward<S>
where
    S: Clone + Debug + Send + 'static,
{
    type State = (S, GradientOf<B, S, N>);

    fn backward(self, ops: Ops<Self::State, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let (saved, gradient_of) = ops.state;
        let gradient = gradients.consume::<B>(&ops.node);
        for (node, gradient) in ops.parents.into_iter().zip(gradient_of(saved, gradient)) {
            if let Some(node) = node {
                gradients.register::<B>(node.id, gradient);
            }
        }
    }
}

/// Records `output` as computed from `parents`. `gradient_of` computes the parents' gradients from `saved`.
pub(crate) fn record<B: Backend, C: CheckpointStrategy, S, const N: usize>(
    parents: [NodeGuard; N],
    output: Float<B>,
    saved: S,
    gradient_of: GradientOf<B, S, N>,
) -> Float<Autodiff<B, C>>
where
    S: Clone + Debug + Send + 'static,
{
    let operation = Backward::<B, N>::prepare::<C>(RecordedBackward(PhantomData), parents);
    match operation.compute_bound().stateful() {
        OpsKind::Tracked(operation) => operation.finish((saved, gradient_of), output),
        OpsKind::UnTracked(operation) => operation.finish(output),
    }
}

/// Wraps a tensor through which no gradient flows.
pub(crate) fn constant<B: Backend, C: CheckpointStrategy>(
    tensor: Float<B>,
) -> Float<Autodiff<B, C>> {
    Float::<Autodiff<B, C>>::new(tensor)
}
