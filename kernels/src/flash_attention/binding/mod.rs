//! Attention with its rotary embedding as an operation of burn.

#[cfg(feature = "gpu")]
mod cube;
mod host;
mod repeated;

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
#[cfg(feature = "gpu")]
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::{Autodiff, Backend, Dispatch, backend_extension};
#[cfg(feature = "gpu")]
use burn::tensor::DType;
use burn::tensor::Tensor;
use tinyllama_kernel_catalog::flash_attention::AttentionShape;

use crate::binding::{Float, constant, record};

/// How the attention kernel gets keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyValueLayout {
    /// The kernel reads them where the projection wrote them, each head once for all query heads that share it.
    Shared,
    /// They are repeated for every query head and passed as a transposed view, whose rows the kernel cannot read in lines.
    RepeatedTransposed,
}

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Autodiff, Fusion: cfg(feature = "gpu"))]
pub(crate) trait RotaryAttention: Backend {
    #[fusion(meta = |qkv, _, shape, _| (
        TensorSpec::new([shape.tokens(), shape.heads * shape.head_dim].into(), qkv.dtype),
        qkv.clone(),
        TensorSpec::new([shape.batch, shape.heads, shape.seq].into(), DType::F32),
    ))]
    fn rotary_attention(
        qkv: Float<Self>,
        table: Float<Self>,
        shape: AttentionShape,
        layout: KeyValueLayout,
    ) -> (Float<Self>, Float<Self>, Float<Self>);
}

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Fusion: cfg(feature = "gpu"))]
pub(crate) trait RotaryAttentionGradient: Backend {
    #[fusion(dtype = turned, shape = turned)]
    fn rotary_attention_gradient(
        turned: Float<Self>,
        table: Float<Self>,
        output: Float<Self>,
        log_sum_exp: Float<Self>,
        gradient: Float<Self>,
        shape: AttentionShape,
        layout: KeyValueLayout,
    ) -> Float<Self>;
}

/// Computes rotary embedding and causal attention over a fused projection `[tokens, width]`, with the rotary `table`
/// `[sequence, head_dim / 2, 2]`. The result is `[tokens, heads · head_dim]`.
pub fn rotary_attention(
    qkv: Tensor<2>,
    table: Tensor<3>,
    shape: AttentionShape,
    layout: KeyValueLayout,
) -> Tensor<2> {
    rotary_attention_saved(qkv, table, shape, layout).0
}

/// As [`rotary_attention`], and also returns what the gradient needs: the projection with rotated queries and keys, and
/// the log of each row's sum of exponentials `[batch, heads, sequence]`.
pub fn rotary_attention_saved(
    qkv: Tensor<2>,
    table: Tensor<3>,
    shape: AttentionShape,
    layout: KeyValueLayout,
) -> (Tensor<2>, Tensor<2>, Tensor<3>) {
    let (qkv, table) = (qkv.into_dispatch(), table.into_dispatch());
    let (output, turned, log_sum_exp) = Dispatch::rotary_attention(qkv, table, shape, layout);
    (
        Tensor::from_dispatch(output),
        Tensor::from_dispatch(turned),
        Tensor::from_dispatch(log_sum_exp),
    )
}

/// Computes the gradient of the fused projection.
pub fn rotary_attention_gradient(
    turned: Tensor<2>,
    table: Tensor<3>,
    output: Tensor<2>,
    log_sum_exp: Tensor<3>,
    gradient: Tensor<2>,
    shape: AttentionShape,
    layout: KeyValueLayout,
) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::rotary_attention_gradient(
        turned.into_dispatch(),
        table.into_dispatch(),
        output.into_dispatch(),
        log_sum_exp.into_dispatch(),
        gradient.into_dispatch(),
        shape,
        layout,
    ))
}

impl<B, C: CheckpointStrategy> RotaryAttention for Autodiff<B, C>
where
    B: RotaryAttention + RotaryAttentionGradient,
{
    fn rotary_attention(
        qkv: Float<Self>,
        table: Float<Self>,
        shape: AttentionShape,
        layout: KeyValueLayout,
    ) -> (Float<Self>, Float<Self>, Float<Self>) {
        let nodes = [qkv.node()];
        let (qkv, table) = (qkv.into_primitive(), table.into_primitive());
        let (output, turned, sums) = B::rotary_attention(qkv, table.clone(), shape, layout);
        let saved = (
            turned.clone(),
            table,
            output.clone(),
            sums.clone(),
            shape,
            layout,
        );
        let output = record::<B, C, _, 1>(nodes, output, saved, |saved, gradient| {
            let (turned, table, output, sums, shape, layout) = saved;
            [B::rotary_attention_gradient(
                turned, table, output, sums, gradient, shape, layout,
            )]
        });
        (output, constant::<B, C>(turned), constant::<B, C>(sums))
    }
}
