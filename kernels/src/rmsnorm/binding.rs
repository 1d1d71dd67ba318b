//! The norm as an operation of burn.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::host::{NormRows, SavedNorm};
use crate::binding::{Float, flex, record};

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
        let [x, weight] = [x, weight].map(flex::contiguous);
        let [rows, width] = flex::matrix(&x);
        let mut y = flex::zeros([rows, width]);
        let mut scale = vec![0.0; rows];
        let rows = NormRows { width, epsilon };
        let (x, weight) = (flex::values(&x), flex::values(&weight));
        rows.forward(x, weight, flex::values_mut(&mut y), &mut scale);
        y
    }
}

impl RmsNormGradient for Flex {
    fn rms_norm_gradient(
        x: Float<Self>,
        weight: Float<Self>,
        gradient: Float<Self>,
        epsilon: f32,
    ) -> (Float<Self>, Float<Self>) {
        gradient_onto([x, weight, gradient], None, epsilon)
    }

    fn rms_norm_gradient_onto(
        x: Float<Self>,
        weight: Float<Self>,
        gradient: Float<Self>,
        passed: Float<Self>,
        epsilon: f32,
    ) -> (Float<Self>, Float<Self>) {
        gradient_onto([x, weight, gradient], Some(passed), epsilon)
    }
}

/// Rows whose part of the weight's gradient one thread sums.
const ROWS_PER_PARTIAL: usize = 32;

fn gradient_onto(
    [x, weight, gradient]: [Float<Flex>; 3],
    passed: Option<Float<Flex>>,
    epsilon: f32,
) -> (Float<Flex>, Float<Flex>) {
    let [x, weight, gradient] = [x, weight, gradient].map(flex::contiguous);
    let [rows, width] = flex::matrix(&x);
    let first = passed.is_none();
    let mut x_gradient = passed.map_or_else(|| flex::zeros([rows, width]), flex::contiguous);
    let mut weight_gradient = flex::zeros([width]);
    let norm = NormRows { width, epsilon };
    let saved = SavedNorm {
        y_gradient: flex::values(&gradient),
        x: flex::values(&x),
        scale: &norm.scales(flex::values(&x)),
        weight: flex::values(&weight),
    };
    let mut partials = vec![0.0; rows.div_ceil(ROWS_PER_PARTIAL) * width];
    let to_x = flex::values_mut(&mut x_gradient);
    norm.backward(saved, to_x, first, &mut partials, ROWS_PER_PARTIAL);
    norm.sum_partials(&partials, flex::values_mut(&mut weight_gradient));
    (x_gradient, weight_gradient)
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
