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

/// See [`LlamaOps::llama_rms_norm_gradient`].
pub fn rms_norm_gradient(
    x: Tensor<2>,
    weight: Tensor<1>,
    gradient: Tensor<2>,
    epsilon: f32,
) -> (Tensor<2>, Tensor<1>) {
    let (x, weight) = Dispatch::llama_rms_norm_gradient(
        x.into_dispatch(),
        weight.into_dispatch(),
        gradient.into_dispatch(),
        epsilon,
    );
    (Tensor::from_dispatch(x), Tensor::from_dispatch(weight))
}

/// See [`LlamaOps::llama_rms_norm_gradient_onto`].
pub fn rms_norm_gradient_onto(
    x: Tensor<2>,
    weight: Tensor<1>,
    gradient: Tensor<2>,
    passed: Tensor<2>,
    epsilon: f32,
) -> (Tensor<2>, Tensor<1>) {
    let (x, weight) = Dispatch::llama_rms_norm_gradient_onto(
        x.into_dispatch(),
        weight.into_dispatch(),
        gradient.into_dispatch(),
        passed.into_dispatch(),
        epsilon,
    );
    (Tensor::from_dispatch(x), Tensor::from_dispatch(weight))
}

/// See [`LlamaOps::llama_attention`]; the result alone.
pub fn rotary_attention(
    qkv: Tensor<2>,
    table: Tensor<3>,
    sizes: AttentionSizes,
    layout: KeyValueLayout,
) -> Tensor<2> {
    rotary_attention_saved(qkv, table, sizes, layout).0
}

/// See [`LlamaOps::llama_attention`]; with what its gradient needs.
pub fn rotary_attention_saved(
    qkv: Tensor<2>,
    table: Tensor<3>,
    sizes: AttentionSizes,
    layout: KeyValueLayout,
) -> (Tensor<2>, Tensor<2>, Tensor<3>) {
    let (output, turned, log_sum_exp) =
        Dispatch::llama_attention(qkv.into_dispatch(), table.into_dispatch(), sizes, layout);
    (
        Tensor::from_dispatch(output),
        Tensor::from_dispatch(turned),
        Tensor::from_dispatch(log_sum_exp),
    )
}

/// See [`LlamaOps::llama_attention_gradient`].
pub fn rotary_attention_gradient(
    turned: Tensor<2>,
    table: Tensor<3>,
    output: Tensor<2>,
    log_sum_exp: Tensor<3>,
    gradient: Tensor<2>,
    sizes: AttentionSizes,
    layout: KeyValueLayout,
) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::llama_attention_gradient(
        turned.into_dispatch(),
        table.into_dispatch(),
        output.into_dispatch(),
        log_sum_exp.into_dispatch(),
        gradient.into_dispatch(),
        sizes,
        layout,
    ))
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

/// See [`LlamaOps::llama_swiglu_gradient`].
pub fn swiglu_gradient(gate_up: Tensor<2>, gradient: Tensor<2>) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::llama_swiglu_gradient(
        gate_up.into_dispatch(),
        gradient.into_dispatch(),
    ))
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

/// See [`LlamaOps::llama_cross_entropy`]; the loss alone.
pub fn cross_entropy(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    cross_entropy_with_gradient(logits, targets).0
}

/// See [`LlamaOps::llama_cross_entropy`].
pub fn cross_entropy_with_gradient(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
) -> (Tensor<1>, Tensor<2>) {
    let (loss, gradient) =
        Dispatch::llama_cross_entropy(logits.into_dispatch(), targets.into_dispatch());
    (Tensor::from_dispatch(loss), Tensor::from_dispatch(gradient))
}
