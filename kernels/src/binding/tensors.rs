//! The operations on burn's tensors, for models.

use burn::backend::Dispatch;
use burn::tensor::{Int, Tensor};

use super::{AttentionSizes, KeyValueLayout, LibraryChoice, LlamaOps};

/// See [`LlamaOps::llama_rms_norm`].
pub fn rms_norm(x: Tensor<2>, weight: Tensor<1>, epsilon: f32) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::llama_rms_norm(
        x.into_dispatch(),
        weight.into_dispatch(),
        epsilon,
    ))
}

/// See [`LlamaOps::llama_attention`].
pub fn rotary_attention(
    qkv: Tensor<2>,
    table: Tensor<3>,
    sizes: AttentionSizes,
    layout: KeyValueLayout,
) -> Tensor<2> {
    let (output, _, _) =
        Dispatch::llama_attention(qkv.into_dispatch(), table.into_dispatch(), sizes, layout);
    Tensor::from_dispatch(output)
}

/// See [`LlamaOps::llama_library_attention`].
pub fn library_attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    choice: LibraryChoice,
) -> Tensor<4> {
    let (output, ..) = Dispatch::llama_library_attention(
        query.into_dispatch(),
        key.into_dispatch(),
        value.into_dispatch(),
        choice,
    );
    Tensor::from_dispatch(output)
}

/// See [`LlamaOps::llama_plain_product`].
pub fn plain_product<const D: usize>(lhs: Tensor<D>, rhs: Tensor<D>) -> Tensor<D> {
    Tensor::from_dispatch(Dispatch::llama_plain_product(
        lhs.into_dispatch(),
        rhs.into_dispatch(),
    ))
}

/// See [`LlamaOps::llama_swiglu`].
pub fn swiglu(gate_up: Tensor<2>) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::llama_swiglu(gate_up.into_dispatch()))
}

/// See [`LlamaOps::llama_swiglu_naive`].
pub fn swiglu_naive(
    x: Tensor<2>,
    gate_weight: Tensor<2>,
    up_weight: Tensor<2>,
    products: LibraryChoice,
) -> Tensor<2> {
    let (output, _, _) = Dispatch::llama_swiglu_naive(
        x.into_dispatch(),
        gate_weight.into_dispatch(),
        up_weight.into_dispatch(),
        products,
    );
    Tensor::from_dispatch(output)
}

/// See [`LlamaOps::llama_cross_entropy`].
pub fn cross_entropy(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    let (loss, _) = Dispatch::llama_cross_entropy(logits.into_dispatch(), targets.into_dispatch());
    Tensor::from_dispatch(loss)
}
