//! The lookup as an operation of burn.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
#[cfg(feature = "gpu")]
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::IntTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::{IndexingUpdateOp, Int, Tensor};

use crate::binding::{Float, flex, record};

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Autodiff, Fusion: cfg(feature = "gpu"))]
pub(crate) trait LookUp: Backend {
    #[fusion(meta = |table, tokens| TensorSpec::new([tokens.shape[0], table.shape[1]].into(), table.dtype))]
    fn look_up(table: Float<Self>, tokens: IntTensor<Self>) -> Float<Self>;
}

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Fusion: cfg(feature = "gpu"))]
pub(crate) trait EmbeddingGradient: Backend {
    #[fusion(meta = |gradient, _, vocabulary| TensorSpec::new([*vocabulary, gradient.shape[1]].into(), gradient.dtype))]
    fn embedding_gradient(
        gradient: Float<Self>,
        tokens: IntTensor<Self>,
        vocabulary: usize,
    ) -> Float<Self>;
}

/// Returns the rows `[tokens, width]` of a table `[vocabulary, width]` that the tokens number.
pub fn look_up(table: Tensor<2>, tokens: Tensor<1, Int>) -> Tensor<2> {
    let (table, tokens) = (table.into_dispatch(), tokens.into_dispatch());
    Tensor::from_dispatch(Dispatch::look_up(table, tokens))
}

/// Returns the gradient `[vocabulary, width]` of the table from that of the rows.
pub fn embedding_gradient(
    gradient: Tensor<2>,
    tokens: Tensor<1, Int>,
    vocabulary: usize,
) -> Tensor<2> {
    let (gradient, tokens) = (gradient.into_dispatch(), tokens.into_dispatch());
    Tensor::from_dispatch(Dispatch::embedding_gradient(gradient, tokens, vocabulary))
}

impl<B: LookUp + EmbeddingGradient, C: CheckpointStrategy> LookUp for Autodiff<B, C> {
    fn look_up(table: Float<Self>, tokens: IntTensor<B>) -> Float<Self> {
        let nodes = [table.node()];
        let table = table.into_primitive();
        let vocabulary = table.shape()[0];
        let rows = B::look_up(table, tokens.clone());
        record::<B, C, _, 1>(nodes, rows, (tokens, vocabulary), |saved, gradient| {
            let (tokens, vocabulary) = saved;
            [B::embedding_gradient(gradient, tokens, vocabulary)]
        })
    }
}

impl LookUp for Flex {
    fn look_up(table: Float<Self>, tokens: IntTensor<Self>) -> Float<Self> {
        Flex::float_select(table, 0, tokens)
    }
}

impl EmbeddingGradient for Flex {
    fn embedding_gradient(
        gradient: Float<Self>,
        tokens: IntTensor<Self>,
        vocabulary: usize,
    ) -> Float<Self> {
        let [_, width] = flex::matrix(&gradient);
        let zeros = flex::FlexTensor::zeros([vocabulary, width].into(), gradient.dtype());
        Flex::float_select_assign(zeros, 0, tokens, gradient, IndexingUpdateOp::Add)
    }
}

#[cfg(feature = "gpu")]
mod cube {
    use burn::backend::ops::FloatTensorOps;

    use super::{EmbeddingGradient, LookUp};
    use crate::binding::cube::{
        CubeBackend, CubeTensor, check, element, empty, into_contiguous, matrix,
    };
    use crate::embedding::launch;

    impl LookUp for CubeBackend {
        fn look_up(table: CubeTensor, tokens: CubeTensor) -> CubeTensor {
            CubeBackend::float_select(table, 0, tokens)
        }
    }

    impl EmbeddingGradient for CubeBackend {
        fn embedding_gradient(
            gradient: CubeTensor,
            tokens: CubeTensor,
            vocabulary: usize,
        ) -> CubeTensor {
            let [gradient, tokens] = [gradient, tokens].map(into_contiguous);
            let [count, width] = matrix(&gradient);
            let table_gradient = empty(&gradient, [vocabulary, width], gradient.dtype);
            let buffers = [&gradient, &tokens, &table_gradient].map(|tensor| &tensor.handle);
            let dtypes = [element(&gradient), element(&tokens)];
            let sizes = [count, vocabulary, width];
            check(launch::gradient(&gradient.client, buffers, sizes, dtypes));
            table_gradient
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn a_row_receives_the_gradients_of_all_its_tokens() {
        let device = Device::flex().autodiff();
        let table = TensorData::new((0..8).map(|i| i as f32).collect::<Vec<_>>(), [4, 2]);
        let table = Tensor::<2>::from_data(table, &device).require_grad();
        let tokens = Tensor::<1, Int>::from_data(TensorData::from([3, 1, 3]), &device);
        let weights = TensorData::from([[1.0f32, 2.0], [10.0, 20.0], [100.0, 200.0]]);
        let rows = look_up(table.clone(), tokens);
        let values: Vec<f32> = rows.clone().into_data().try_to_vec().unwrap();
        assert_eq!(values, [6.0, 7.0, 2.0, 3.0, 6.0, 7.0]);
        let gradients = (rows * Tensor::from_data(weights, &device))
            .sum()
            .backward();
        let gradient = table.grad(&gradients).unwrap().into_data();
        let gradient: Vec<f32> = gradient.try_to_vec().unwrap();
        assert_eq!(gradient, [0.0, 0.0, 10.0, 20.0, 0.0, 0.0, 101.0, 202.0]);
    }
}
