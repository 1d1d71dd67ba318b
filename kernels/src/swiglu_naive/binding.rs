//! The naive activation as an operation of burn.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
#[cfg(feature = "gpu")]
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::host::{self, NaiveOutput};
use crate::binding::{
    Float, LibraryChoice, UntriedProduct, constant, flex, primitive_product, record,
};

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Autodiff, Fusion: cfg(feature = "gpu"))]
pub(crate) trait SwigluNaive: Backend {
    /// Returns the result, gate and up, `[rows, hidden]` each.
    #[fusion(meta = |x, gate_weight, _, _| {
        let output = TensorSpec::new([x.shape[0], gate_weight.shape[1]].into(), x.dtype);
        (output.clone(), output.clone(), output)
    })]
    fn swiglu_naive(
        x: Float<Self>,
        gate_weight: Float<Self>,
        up_weight: Float<Self>,
        products: LibraryChoice,
    ) -> (Float<Self>, Float<Self>, Float<Self>);
}

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Fusion: cfg(feature = "gpu"))]
pub(crate) trait SwigluNaiveGradient: Backend {
    /// Computes the gradients of gate and up, `[rows, hidden]` each, from that of the result.
    #[fusion(meta = |gate, up, _| (gate.clone(), up.clone()))]
    fn swiglu_naive_gradient(
        gate: Float<Self>,
        up: Float<Self>,
        gradient: Float<Self>,
    ) -> (Float<Self>, Float<Self>);
}

/// Computes `silu(x · gate_weight) · (x · up_weight)` for x `[rows, width]` and weights `[width, hidden]`. The kernel
/// itself computes both products. The library computes the products of the gradient, as `products` selects.
pub fn swiglu_naive(
    x: Tensor<2>,
    gate_weight: Tensor<2>,
    up_weight: Tensor<2>,
    products: LibraryChoice,
) -> Tensor<2> {
    let [x, gate_weight, up_weight] = [x, gate_weight, up_weight].map(Tensor::into_dispatch);
    let (output, _, _) = Dispatch::swiglu_naive(x, gate_weight, up_weight, products);
    Tensor::from_dispatch(output)
}

impl<B, C> SwigluNaive for Autodiff<B, C>
where
    B: SwigluNaive + SwigluNaiveGradient + UntriedProduct,
    C: CheckpointStrategy,
{
    fn swiglu_naive(
        x: Float<Self>,
        gate_weight: Float<Self>,
        up_weight: Float<Self>,
        products: LibraryChoice,
    ) -> (Float<Self>, Float<Self>, Float<Self>) {
        let nodes = [x.node(), gate_weight.node(), up_weight.node()];
        let inputs = [x, gate_weight, up_weight].map(|tensor| tensor.into_primitive());
        let [x, gate_weight, up_weight] = inputs.clone();
        let (output, gate, up) = B::swiglu_naive(x, gate_weight, up_weight, products);
        let saved = (inputs, gate.clone(), up.clone(), products);
        let output = record::<B, C, _, 3>(nodes, output, saved, |saved, gradient| {
            let ([x, gate_weight, up_weight], gate, up, products) = saved;
            let (gate, up) = B::swiglu_naive_gradient(gate, up, gradient);
            // y = silu(x Wg) · (x Wu): dx = dg Wgᵀ + du Wuᵀ, dWg = xᵀ dg, dWu = xᵀ du.
            let transposed = |matrix| B::float_swap_dims(matrix, 0, 1);
            let product = |lhs, rhs| primitive_product::<B>(lhs, rhs, products);
            let columns = transposed(x);
            let x = B::float_add(
                product(gate.clone(), transposed(gate_weight)),
                product(up.clone(), transposed(up_weight)),
            );
            [x, product(columns.clone(), gate), product(columns, up)]
        });
        (output, constant::<B, C>(gate), constant::<B, C>(up))
    }
}

impl SwigluNaive for Flex {
    fn swiglu_naive(
        x: Float<Self>,
        gate_weight: Float<Self>,
        up_weight: Float<Self>,
        _products: LibraryChoice,
    ) -> (Float<Self>, Float<Self>, Float<Self>) {
        let [x, gate_weight, up_weight] = [x, gate_weight, up_weight].map(flex::contiguous);
        let ([rows, width], [_, hidden]) = (flex::matrix(&x), flex::matrix(&gate_weight));
        let [mut y, mut gate, mut up] = [(); 3].map(|()| flex::zeros([rows, hidden]));
        let out = NaiveOutput {
            y: flex::values_mut(&mut y),
            gate: flex::values_mut(&mut gate),
            up: flex::values_mut(&mut up),
        };
        let [x, gate_weight, up_weight] = [&x, &gate_weight, &up_weight].map(flex::values);
        host::forward(x, gate_weight, up_weight, out, [width, hidden]);
        (y, gate, up)
    }
}

impl SwigluNaiveGradient for Flex {
    fn swiglu_naive_gradient(
        gate: Float<Self>,
        up: Float<Self>,
        gradient: Float<Self>,
    ) -> (Float<Self>, Float<Self>) {
        let [mut gate, mut up, gradient] = [gate, up, gradient].map(flex::contiguous);
        let [_, hidden] = flex::matrix(&gate);
        host::backward(
            flex::values_mut(&mut gate),
            flex::values_mut(&mut up),
            flex::values(&gradient),
            hidden,
        );
        (gate, up)
    }
}

#[cfg(feature = "gpu")]
mod cube {
    use tinyllama_kernel_catalog::swiglu::SwigluShape as ActivationShape;
    use tinyllama_kernel_catalog::swiglu_naive::SwigluNaiveShape;

    use super::{LibraryChoice, SwigluNaive, SwigluNaiveGradient};
    use crate::binding::cube::{
        CubeBackend, CubeTensor, check, element, empty, into_contiguous, matrix,
    };
    use crate::launch::cube_block;
    use crate::swiglu;
    use crate::swiglu_naive::{NAME, forward};

    impl SwigluNaive for CubeBackend {
        fn swiglu_naive(
            x: CubeTensor,
            gate_weight: CubeTensor,
            up_weight: CubeTensor,
            _products: LibraryChoice,
        ) -> (CubeTensor, CubeTensor, CubeTensor) {
            let [x, gate_weight, up_weight] = [x, gate_weight, up_weight].map(into_contiguous);
            let ([rows, width], [_, hidden]) = (matrix(&x), matrix(&gate_weight));
            let [y, gate, up] = [(); 3].map(|()| empty(&x, [rows, hidden], x.dtype));
            let buffers = [&x, &gate_weight, &up_weight, &gate, &up, &y];
            let buffers = buffers.map(|tensor| &tensor.handle);
            let shape = SwigluNaiveShape {
                rows,
                width,
                hidden,
            };
            let block = cube_block(NAME, &x.client, None);
            check(forward(&x.client, buffers, shape, element(&x), &block));
            (y, gate, up)
        }
    }

    impl SwigluNaiveGradient for CubeBackend {
        fn swiglu_naive_gradient(
            gate: CubeTensor,
            up: CubeTensor,
            gradient: CubeTensor,
        ) -> (CubeTensor, CubeTensor) {
            let [gate, up, gradient] = [gate, up, gradient].map(into_contiguous);
            let [rows, hidden] = matrix(&gate);
            let results = [(); 2].map(|()| empty(&gate, [rows, hidden], gate.dtype));
            let from = [&gate, &up, &gradient].map(|tensor| &tensor.handle);
            let into = results.each_ref().map(|result| &result.handle);
            let shape = ActivationShape { rows, hidden };
            let (client, dtype) = (&gate.client, element(&gate));
            let block = cube_block(swiglu::NAME, client, None);
            check(swiglu::backward_apart(
                client, from, into, shape, dtype, &block,
            ));
            results.into()
        }
    }
}
