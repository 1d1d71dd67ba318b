//! The loss as an operation of burn.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
#[cfg(feature = "gpu")]
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::IntTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
#[cfg(feature = "gpu")]
use burn::tensor::DType;
use burn::tensor::{Int, Tensor};

use super::host;
use crate::binding::{Float, constant, flex, record};

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Autodiff, Fusion: cfg(feature = "gpu"))]
pub(crate) trait CrossEntropy: Backend {
    /// Returns the loss `[1]`, and its gradient.
    #[fusion(meta = |logits, _| (TensorSpec::new([1].into(), DType::F32), logits.clone()))]
    fn cross_entropy(logits: Float<Self>, targets: IntTensor<Self>) -> (Float<Self>, Float<Self>);
}

/// Computes the mean cross entropy `[1]` of logits `[rows, classes]`.
pub fn cross_entropy(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    cross_entropy_with_gradient(logits, targets).0
}

/// As [`cross_entropy`], and the gradient, from a single read of the logits.
pub fn cross_entropy_with_gradient(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
) -> (Tensor<1>, Tensor<2>) {
    let (logits, targets) = (logits.into_dispatch(), targets.into_dispatch());
    let (loss, gradient) = Dispatch::cross_entropy(logits, targets);
    (Tensor::from_dispatch(loss), Tensor::from_dispatch(gradient))
}

impl<B: CrossEntropy, C: CheckpointStrategy> CrossEntropy for Autodiff<B, C> {
    fn cross_entropy(logits: Float<Self>, targets: IntTensor<B>) -> (Float<Self>, Float<Self>) {
        let nodes = [logits.node()];
        let (loss, gradient) = B::cross_entropy(logits.into_primitive(), targets);
        let loss = record::<B, C, _, 1>(nodes, loss, gradient.clone(), |gradient, upstream| {
            // The gradient is `[1]`; `[1, 1]` stretches it over the logits.
            [B::float_mul(
                gradient,
                B::float_reshape(upstream, [1, 1].into()),
            )]
        });
        (loss, constant::<B, C>(gradient))
    }
}

impl CrossEntropy for Flex {
    fn cross_entropy(logits: Float<Self>, targets: IntTensor<Self>) -> (Float<Self>, Float<Self>) {
        let (logits, targets) = (flex::contiguous(logits), flex::integers(targets));
        let mut losses = vec![0.0; targets.len()];
        let mut gradient = flex::zeros(flex::matrix(&logits));
        let share = 1.0 / targets.len() as f32;
        let to_logits = flex::values_mut(&mut gradient);
        host::rows(
            flex::values(&logits),
            &targets,
            &mut losses,
            to_logits,
            share,
        );
        (flex::tensor(vec![host::mean(&losses)], [1]), gradient)
    }
}

#[cfg(feature = "gpu")]
mod cube {
    use burn::tensor::DType;
    use tinyllama_kernel_catalog::cross_entropy::CrossEntropyShape;

    use super::CrossEntropy;
    use crate::binding::cube::{
        CubeBackend, CubeTensor, check, element, empty, into_contiguous, matrix,
    };
    use crate::cross_entropy::{self, CrossEntropyTypes, NAME};
    use crate::team::team_block;

    impl CrossEntropy for CubeBackend {
        fn cross_entropy(logits: CubeTensor, targets: CubeTensor) -> (CubeTensor, CubeTensor) {
            let [logits, targets] = [logits, targets].map(into_contiguous);
            let [rows, classes] = matrix(&logits);
            let losses = empty(&logits, [rows], DType::F32);
            let loss = empty(&logits, [1], DType::F32);
            let gradient = empty(&logits, [rows, classes], logits.dtype);
            let buffers = [&logits, &targets, &losses, &gradient].map(|tensor| &tensor.handle);
            let dtypes = CrossEntropyTypes {
                logits: element(&logits),
                targets: element(&targets),
            };
            let client = &logits.client;
            let block = team_block(NAME, client, classes, None);
            let shape = CrossEntropyShape { rows, classes };
            let scale = 1.0 / rows as f32;
            check(cross_entropy::rows(
                client, buffers, scale, shape, dtypes, &block,
            ));
            check(cross_entropy::mean(
                client,
                &losses.handle,
                &loss.handle,
                rows,
            ));
            (loss, gradient)
        }
    }
}
