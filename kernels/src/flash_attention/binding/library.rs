//! What burn's own kernel library offers and burn does not hand out: its attention with a backward pass.
//!
//! cubek-attention 0.3.1, as burn 0.22.1 calls it, has a forward pass only, and autodiff goes through the tape of the
//! materialised formula. The library's backward (`backward/launch`) is three kernels beside a prepass, one unit a row,
//! for contiguous f32 tensors with as many key as query heads; it reads a log-sum-exp that no forward kernel of the
//! library writes, so a kernel of this crate computes it.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{DType, Tensor};

use super::host::{attend, attend_gradient};
use crate::binding::{Float, LibraryChoice, constant, primitive, record, tensor};

/// What [`LibraryAttention`] returns; its macro has to see the tensors themselves.
type Attended<B> = (Float<B>, Float<B>, Float<B>, Float<B>, Float<B>);

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Autodiff, Fusion: cfg(feature = "gpu"))]
pub(crate) trait LibraryAttention: Backend {
    /// The result, the log of each row's sum of exponentials `[batch, heads, sequence]`, and query, key and value as they
    /// were read: the gradient needs them all.
    #[fusion(meta = |query, key, value, _| {
        let statistics = [query.shape[0], query.shape[1], query.shape[2]];
        let statistics = TensorSpec::new(statistics.into(), DType::F32);
        (query.clone(), statistics, query.clone(), key.clone(), value.clone())
    })]
    #[allow(clippy::type_complexity)]
    fn library_attention(
        query: Float<Self>,
        key: Float<Self>,
        value: Float<Self>,
        choice: LibraryChoice,
    ) -> (
        Float<Self>,
        Float<Self>,
        Float<Self>,
        Float<Self>,
        Float<Self>,
    );
}

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Fusion: cfg(feature = "gpu"))]
pub(crate) trait LibraryAttentionGradient: Backend {
    /// Gradients of query, key and value by cubek-attention's backward kernels. They know f32 only.
    #[fusion(meta = |query, key, value, _, _, _| (query.clone(), key.clone(), value.clone()))]
    fn library_attention_gradient(
        query: Float<Self>,
        key: Float<Self>,
        value: Float<Self>,
        output: Float<Self>,
        log_sum_exp: Float<Self>,
        gradient: Float<Self>,
    ) -> (Float<Self>, Float<Self>, Float<Self>);
}

/// Causal attention by cubek-attention, which knows no grouped heads: query, key, value and result are
/// `[batch, heads, sequence, head_dim]`, with a key and a value head for every query head.
pub fn library_attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    choice: LibraryChoice,
) -> Tensor<4> {
    let [query, key, value] = [query, key, value].map(Tensor::into_dispatch);
    let (output, ..) = Dispatch::library_attention(query, key, value, choice);
    Tensor::from_dispatch(output)
}

impl<B, C: CheckpointStrategy> LibraryAttention for Autodiff<B, C>
where
    B: LibraryAttention + LibraryAttentionGradient,
{
    fn library_attention(
        query: Float<Self>,
        key: Float<Self>,
        value: Float<Self>,
        choice: LibraryChoice,
    ) -> Attended<Self> {
        let nodes = [query.node(), key.node(), value.node()];
        let [query, key, value] = [query, key, value].map(|tensor| tensor.into_primitive());
        let (output, sums, query, key, value) = B::library_attention(query, key, value, choice);
        let saved = [&query, &key, &value, &output, &sums].map(Clone::clone);
        let output = record::<B, C, _, 3>(nodes, output, saved, |saved, gradient| {
            let [query, key, value, output, sums] = saved;
            B::library_attention_gradient(query, key, value, output, sums, gradient).into()
        });
        let [sums, query, key, value] = [sums, query, key, value].map(constant::<B, C>);
        (output, sums, query, key, value)
    }
}

impl LibraryAttention for Flex {
    fn library_attention(
        query: Float<Self>,
        key: Float<Self>,
        value: Float<Self>,
        _choice: LibraryChoice,
    ) -> Attended<Self> {
        let inputs = [query.clone(), key.clone(), value.clone()];
        let (output, log_sum_exp) = attend(inputs.map(tensor));
        (primitive(output), primitive(log_sum_exp), query, key, value)
    }
}

impl LibraryAttentionGradient for Flex {
    fn library_attention_gradient(
        query: Float<Self>,
        key: Float<Self>,
        value: Float<Self>,
        output: Float<Self>,
        log_sum_exp: Float<Self>,
        gradient: Float<Self>,
    ) -> (Float<Self>, Float<Self>, Float<Self>) {
        let (inputs, output) = ([query, key, value].map(tensor), tensor(output));
        let gradients = attend_gradient(inputs, output, tensor(log_sum_exp), tensor(gradient));
        gradients.map(primitive).into()
    }
}

#[cfg(feature = "gpu")]
mod cube {
    use burn::backend::ops::AttentionModuleOptions;
    use burn::tensor::DType;
    use burn_cubecl::kernel::attention::{AttentionStrategy, attention};
    use cubecl::ir::{ElemType, UIntKind};
    use cubek::attention::backward::{BackwardConfig, flash_attention_backward};
    use cubek::attention::forward::definition::AttentionGlobalTypes;
    use tinyllama_kernel_catalog::flash_attention::Shape;

    use super::{Attended, LibraryAttention, LibraryAttentionGradient, LibraryChoice};
    use crate::binding::cube::{CubeBackend, CubeTensor, check, element, empty, into_contiguous};
    use crate::flash_attention::{FlashAttentionBlock, HeadView, log_sum_exp};
    use crate::launch::F32;

    impl LibraryAttention for CubeBackend {
        fn library_attention(
            query: CubeTensor,
            key: CubeTensor,
            value: CubeTensor,
            choice: LibraryChoice,
        ) -> Attended<Self> {
            let [query, key, value] = [query, key, value].map(into_contiguous);
            let options = AttentionModuleOptions {
                is_causal: true,
                ..Default::default()
            };
            let strategy = match choice {
                LibraryChoice::Tuned => AttentionStrategy::default(),
                LibraryChoice::Direct | LibraryChoice::Plain => AttentionStrategy::FlashUnit,
            };
            let [q, k, v] = [&query, &key, &value].map(Clone::clone);
            let output =
                attention(q, k, v, None, None, options, strategy).unwrap_or_else(|error| {
                    panic!("the library's attention refuses these sizes: {error}")
                });
            let sums = sums(&query, &key);
            (output, sums, query, key, value)
        }
    }

    fn sums(query: &CubeTensor, key: &CubeTensor) -> CubeTensor {
        let [batch, heads, sequence, head_dim] = query.meta.shape().dims();
        let shape = Shape::new(batch, sequence, heads, heads, head_dim);
        let result = empty(query, [batch, heads, sequence], DType::F32);
        let view = |tensor: &CubeTensor| HeadView::heads_first(&tensor.handle, shape, heads);
        let block = FlashAttentionBlock::new(&query.client, shape, None);
        let (views, sums) = ([&view(query), &view(key)], &result.handle);
        let (client, dtype) = (&query.client, element(query));
        check(log_sum_exp(client, views, sums, shape, dtype, &block));
        result
    }

    impl LibraryAttentionGradient for CubeBackend {
        fn library_attention_gradient(
            query: CubeTensor,
            key: CubeTensor,
            value: CubeTensor,
            output: CubeTensor,
            log_sum_exp: CubeTensor,
            gradient: CubeTensor,
        ) -> (CubeTensor, CubeTensor, CubeTensor) {
            let inputs = [query, key, value, output, log_sum_exp, gradient].map(into_contiguous);
            for tensor in &inputs {
                assert!(
                    tensor.dtype == DType::F32,
                    "the library's attention has a backward pass for f32 only, not for {:?}",
                    tensor.dtype
                );
            }
            let shape: [usize; 4] = inputs[0].meta.shape().dims();
            let results = [(); 3].map(|()| empty(&inputs[0], shape, DType::F32));
            let client = inputs[0].client.clone();
            let [query, key, value, output, sums, gradient] = inputs.map(CubeTensor::binding);
            let [query_gradient, key_gradient, value_gradient] =
                results.each_ref().map(|result| result.clone().binding());
            let config = BackwardConfig {
                causal: true,
                ..BackwardConfig::from_head_dim(shape[3])
            };
            let types =
                AttentionGlobalTypes::from_single_float_dtype(F32, ElemType::UInt(UIntKind::U8));
            flash_attention_backward(
                &client,
                query,
                key,
                value,
                output,
                sums,
                gradient,
                query_gradient,
                key_gradient,
                value_gradient,
                &types,
                config,
            )
            .unwrap_or_else(|error| panic!("the library's attention backward failed: {error}"));
            results.into()
        }
    }
}
