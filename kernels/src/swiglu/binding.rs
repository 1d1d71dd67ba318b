//! The activation as an operation of burn.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::host;
use crate::binding::{Float, flex, record};

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Autodiff, Fusion: cfg(feature = "gpu"))]
pub(crate) trait Swiglu: Backend {
    #[fusion(dtype = gate_up, shape = [gate_up[0], gate_up[1] / 2].into())]
    fn swiglu(gate_up: Float<Self>) -> Float<Self>;
}

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Fusion: cfg(feature = "gpu"))]
pub(crate) trait SwigluGradient: Backend {
    #[fusion(dtype = gate_up, shape = gate_up)]
    fn swiglu_gradient(gate_up: Float<Self>, gradient: Float<Self>) -> Float<Self>;
}

/// Computes `silu(gate) · up` for rows `[gate | up]` of `[rows, 2 · hidden]`.
pub fn swiglu(gate_up: Tensor<2>) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::swiglu(gate_up.into_dispatch()))
}

/// Computes the gradients of gate and up, side by side.
pub fn swiglu_gradient(gate_up: Tensor<2>, gradient: Tensor<2>) -> Tensor<2> {
    let (gate_up, gradient) = (gate_up.into_dispatch(), gradient.into_dispatch());
    Tensor::from_dispatch(Dispatch::swiglu_gradient(gate_up, gradient))
}

impl<B: Swiglu + SwigluGradient, C: CheckpointStrategy> Swiglu for Autodiff<B, C> {
    fn swiglu(gate_up: Float<Self>) -> Float<Self> {
        let nodes = [gate_up.node()];
        let gate_up = gate_up.into_primitive();
        let output = B::swiglu(gate_up.clone());
        record::<B, C, _, 1>(nodes, output, gate_up, |gate_up, gradient| {
            [B::swiglu_gradient(gate_up, gradient)]
        })
    }
}

impl Swiglu for Flex {
    fn swiglu(gate_up: Float<Self>) -> Float<Self> {
        let gate_up = flex::contiguous(gate_up);
        let [rows, width] = flex::matrix(&gate_up);
        let mut y = flex::zeros([rows, width / 2]);
        host::forward(flex::values(&gate_up), flex::values_mut(&mut y), width / 2);
        y
    }
}

impl SwigluGradient for Flex {
    fn swiglu_gradient(gate_up: Float<Self>, gradient: Float<Self>) -> Float<Self> {
        let [mut gate_up, gradient] = [gate_up, gradient].map(flex::contiguous);
        let [_, width] = flex::matrix(&gate_up);
        let both = flex::values_mut(&mut gate_up);
        host::backward(both, flex::values(&gradient), width / 2);
        gate_up
    }
}

#[cfg(feature = "gpu")]
mod cube {
    use tinyllama_kernel_catalog::swiglu::SwigluShape;

    use super::{Swiglu, SwigluGradient};
    use crate::binding::cube::{
        CubeBackend, CubeTensor, check, element, empty, into_contiguous, matrix,
    };
    use crate::launch::cube_block;
    use crate::swiglu::{self, NAME};

    impl Swiglu for CubeBackend {
        fn swiglu(gate_up: CubeTensor) -> CubeTensor {
            let gate_up = into_contiguous(gate_up);
            let [rows, width] = matrix(&gate_up);
            let hidden = width / 2;
            let y = empty(&gate_up, [rows, hidden], gate_up.dtype);
            let (client, dtype) = (&gate_up.client, element(&gate_up));
            let (block, shape) = (cube_block(NAME, client, None), SwigluShape { rows, hidden });
            let (gate_up, into) = (&gate_up.handle, &y.handle);
            check(swiglu::forward(client, gate_up, into, shape, dtype, &block));
            y
        }
    }

    impl SwigluGradient for CubeBackend {
        fn swiglu_gradient(gate_up: CubeTensor, gradient: CubeTensor) -> CubeTensor {
            let [gate_up, gradient] = [gate_up, gradient].map(into_contiguous);
            let [rows, width] = matrix(&gate_up);
            let hidden = width / 2;
            let result = empty(&gate_up, [rows, width], gate_up.dtype);
            let (client, dtype) = (&gate_up.client, element(&gate_up));
            let (block, shape) = (cube_block(NAME, client, None), SwigluShape { rows, hidden });
            let buffers = [&gate_up.handle, &gradient.handle, &result.handle];
            check(swiglu::backward(client, buffers, shape, dtype, &block));
            result
        }
    }
}
