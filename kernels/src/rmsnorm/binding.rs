//! The norm as an operation of burn.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::ops::FloatTensorOps;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use crate::binding::{Float, primitive, record, tensor};

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Autodiff, Fusion: cfg(feature = "gpu"))]
pub(crate) trait RmsNorm: Backend {
    #[fusion(dtype = x, shape = x)]
    fn rms_norm(x: Float<Self>, weight: Float<Self>, epsilon: f32) -> Float<Self>;
}

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Fusion: cfg(feature = "gpu"))]
pub(crate) trait RmsNormGradient: Backend {
    #[fusion(meta = |x, weight, _, _| (x.clone(), weight.clone()))]
    fn rms_norm_gradient(
        x: Float<Self>,
        weight: Float<Self>,
        gradient: Float<Self>,
        epsilon: f32,
    ) -> (Float<Self>, Float<Self>);

    #[fusion(meta = |x, weight, _, _, _| (x.clone(), weight.clone()))]
    fn rms_norm_gradient_onto(
        x: Float<Self>,
        weight: Float<Self>,
        gradient: Float<Self>,
        passed: Float<Self>,
        epsilon: f32,
    ) -> (Float<Self>, Float<Self>);
}

/// Computes `x / √(mean(x²) + ε) · weight` for every row of `[rows, width]`.
pub fn rms_norm(x: Tensor<2>, weight: Tensor<1>, epsilon: f32) -> Tensor<2> {
    let (x, weight) = (x.into_dispatch(), weight.into_dispatch());
    Tensor::from_dispatch(Dispatch::rms_norm(x, weight, epsilon))
}

/// Computes the gradients of x and of the weight.
pub fn rms_norm_gradient(
    x: Tensor<2>,
    weight: Tensor<1>,
    gradient: Tensor<2>,
    epsilon: f32,
) -> (Tensor<2>, Tensor<1>) {
    let (x, weight, gradient) = (
        x.into_dispatch(),
        weight.into_dispatch(),
        gradient.into_dispatch(),
    );
    let (x, weight) = Dispatch::rms_norm_gradient(x, weight, gradient, epsilon);
    (Tensor::from_dispatch(x), Tensor::from_dispatch(weight))
}

/// As [`rms_norm_gradient`], and adds `passed`, the gradient that reaches x on another path, to the gradient of x.
pub fn rms_norm_gradient_onto(
    x: Tensor<2>,
    weight: Tensor<1>,
    gradient: Tensor<2>,
    passed: Tensor<2>,
    epsilon: f32,
) -> (Tensor<2>, Tensor<1>) {
    let [x, gradient, passed] = [x, gradient, passed].map(Tensor::into_dispatch);
    let weight = weight.into_dispatch();
    let (x, weight) = Dispatch::rms_norm_gradient_onto(x, weight, gradient, passed, epsilon);
    (Tensor::from_dispatch(x), Tensor::from_dispatch(weight))
}

impl<B: RmsNorm + RmsNormGradient, C: CheckpointStrategy> RmsNorm for Autodiff<B, C> {
    fn rms_norm(x: Float<Self>, weight: Float<Self>, epsilon: f32) -> Float<Self> {
        let nodes = [x.node(), weight.node()];
        let (x, weight) = (x.into_primitive(), weight.into_primitive());
        let output = B::rms_norm(x.clone(), weight.clone(), epsilon);
        record::<B, C, _, 2>(nodes, output, (x, weight, epsilon), |saved, gradient| {
            let (x, weight, epsilon) = saved;
            B::rms_norm_gradient(x, weight, gradient, epsilon).into()
        })
    }
}

impl RmsNorm for Flex {
    fn rms_norm(x: Float<Self>, weight: Float<Self>, epsilon: f32) -> Float<Self> {
        let (x, weight) = (tensor::<2>(x), tensor::<1>(weight));
        primitive(x.clone() * inverse_root(x, epsilon) * weight.unsqueeze())
    }
}

impl RmsNormGradient for Flex {
    /// Computes, with r = 1/√(mean(x²)+ε): dx = r (w dy - x r² mean(w dy x)), dw = Σ_rows dy x r.
    fn rms_norm_gradient(
        x: Float<Self>,
        weight: Float<Self>,
        gradient: Float<Self>,
        epsilon: f32,
    ) -> (Float<Self>, Float<Self>) {
        let (x, weight, gradient) = (tensor::<2>(x), tensor::<1>(weight), tensor::<2>(gradient));
        let width = x.dims()[1];
        let root = inverse_root(x.clone(), epsilon);
        let weighted = gradient.clone() * weight.unsqueeze();
        let projection = (weighted.clone() * x.clone()).mean_dim(1);
        let x_gradient =
            root.clone() * (weighted - x.clone() * root.clone().powi_scalar(2) * projection);
        let weight_gradient = (gradient * x * root).sum_dim(0).reshape([width]);
        (primitive(x_gradient), primitive(weight_gradient))
    }

    fn rms_norm_gradient_onto(
        x: Float<Self>,
        weight: Float<Self>,
        gradient: Float<Self>,
        passed: Float<Self>,
        epsilon: f32,
    ) -> (Float<Self>, Float<Self>) {
        let (x, weight) = Self::rms_norm_gradient(x, weight, gradient, epsilon);
        (Flex::float_add(x, passed), weight)
    }
}

/// Computes 1 / √(mean(x²) + ε), `[rows, 1]`.
fn inverse_root(x: Tensor<2>, epsilon: f32) -> Tensor<2> {
    (x.clone() * x)
        .mean_dim(1)
        .add_scalar(epsilon)
        .sqrt()
        .recip()
}

#[cfg(feature = "gpu")]
mod cube {
    use burn::tensor::DType;
    use tinyllama_kernel_catalog::rmsnorm::{RmsNormBlock, RmsNormShape};

    use super::{RmsNorm, RmsNormGradient};
    use crate::binding::cube::{
        CubeBackend, CubeTensor, check, element, empty, into_contiguous, matrix,
    };
    use crate::rmsnorm::{self, RmsNormTypes, choose_block};

    fn described(
        x: &CubeTensor,
        weight: &CubeTensor,
    ) -> (RmsNormShape, RmsNormTypes, RmsNormBlock) {
        let [rows, width] = matrix(x);
        let shape = RmsNormShape { rows, width };
        let dtypes = RmsNormTypes {
            activation: element(x),
            weight: element(weight),
        };
        (shape, dtypes, choose_block(&x.client, shape, None))
    }

    fn gradient_onto(
        [x, weight, gradient]: [CubeTensor; 3],
        passed: Option<CubeTensor>,
        epsilon: f32,
    ) -> (CubeTensor, CubeTensor) {
        let [x, weight, gradient] = [x, weight, gradient].map(into_contiguous);
        let passed = passed.map(into_contiguous);
        let (shape, dtypes, block) = described(&x, &weight);
        let x_gradient = empty(&x, matrix(&x), x.dtype);
        let weight_gradient = empty(&x, [shape.width], weight.dtype);
        let workspace = empty(&x, [rmsnorm::workspace(shape, &block)], DType::F32);
        let (to_x, to_weight) = (&x_gradient, &weight_gradient);
        let buffers = [&x, &weight, &gradient, to_x, to_weight, &workspace];
        let buffers = buffers.map(|tensor| &tensor.handle);
        let passed = passed.as_ref().map(|passed| &passed.handle);
        check(rmsnorm::backward(
            &x.client, buffers, passed, shape, epsilon, dtypes, &block,
        ));
        (x_gradient, weight_gradient)
    }

    impl RmsNorm for CubeBackend {
        fn rms_norm(x: CubeTensor, weight: CubeTensor, epsilon: f32) -> CubeTensor {
            let [x, weight] = [x, weight].map(into_contiguous);
            let (shape, dtypes, block) = described(&x, &weight);
            let y = empty(&x, matrix(&x), x.dtype);
            let buffers = [&x, &weight, &y].map(|tensor| &tensor.handle);
            check(rmsnorm::forward(
                &x.client, buffers, shape, epsilon, dtypes, &block,
            ));
            y
        }
    }

    impl RmsNormGradient for CubeBackend {
        fn rms_norm_gradient(
            x: CubeTensor,
            weight: CubeTensor,
            gradient: CubeTensor,
            epsilon: f32,
        ) -> (CubeTensor, CubeTensor) {
            gradient_onto([x, weight, gradient], None, epsilon)
        }

        fn rms_norm_gradient_onto(
            x: CubeTensor,
            weight: CubeTensor,
            gradient: CubeTensor,
            passed: CubeTensor,
            epsilon: f32,
        ) -> (CubeTensor, CubeTensor) {
            gradient_onto([x, weight, gradient], Some(passed), epsilon)
        }
    }
}
