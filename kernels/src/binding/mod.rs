//! The kernels as operations of burn, with their gradients.
//!
//! [`LlamaOps`] is implemented for burn's GPU backends by the kernels of this crate, and for the CPU backend by the same
//! formulas on burn's own tensors. Around either, autodiff records the operation with its hand-written gradient, so a
//! model that uses them is trained like any other.

mod autodiff;
#[cfg(gpu)]
mod cube;
mod device;
mod flex;
mod optimizer;
#[cfg(gpu)]
mod repeated;
mod tensors;

pub use device::{bench, check};
pub use optimizer::AdamW;
pub use tensors::{
    cross_entropy, cross_entropy_with_gradient, library_attention, plain_product, rms_norm,
    rms_norm_gradient, rms_norm_gradient_onto, rotary_attention, rotary_attention_gradient,
    rotary_attention_saved, swiglu, swiglu_gradient, swiglu_naive,
};

use burn::backend::Backend;
use burn::backend::backend_extension;
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{DType, Shape};

/// Sizes of an attention over a fused projection: every token's row holds its query heads, then its key heads, then its
/// value heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionSizes {
    pub batch: usize,
    pub sequence: usize,
    pub heads: usize,
    pub key_heads: usize,
    pub head_dim: usize,
}

impl AttentionSizes {
    /// Columns of the fused projection.
    pub fn width(&self) -> usize {
        (self.heads + 2 * self.key_heads) * self.head_dim
    }

    /// Rows of the fused projection.
    pub fn tokens(&self) -> usize {
        self.batch * self.sequence
    }

    /// With a key head for every query head.
    #[cfg(gpu)]
    fn repeated(self) -> Self {
        AttentionSizes {
            key_heads: self.heads,
            ..self
        }
    }
}

/// How keys and values reach the attention kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyValueLayout {
    /// Read where the projection wrote them, each head once for all query heads that share it.
    Shared,
    /// Repeated for every query head and handed over as a transposed view, whose rows the kernel cannot read in lines.
    RepeatedTransposed,
}

/// Which of the library's kernels runs where it has several for one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryChoice {
    /// The fastest on this device, tried once for each shape. Kernels on matrix units round their operands: to tf32 in
    /// products of f32, to f16 in attention.
    Tuned,
    /// The one that needs no matrix units and rounds nothing, untried.
    Plain,
}

/// Operations with kernels of their own. Floats are f32.
///
/// Every `…_gradient` computes what the backward pass of its operation needs; the gradients themselves are not
/// differentiable.
#[backend_extension(Cube: cfg(gpu), Flex, Autodiff, Fusion: cfg(gpu))]
pub trait LlamaOps: Backend {
    /// `x / √(mean(x²) + ε) · weight` for every row of `[rows, width]`.
    #[fusion(dtype = x, shape = x)]
    fn llama_rms_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self>;

    /// Gradients of x and of the weight.
    #[fusion(meta = |x, weight, _, _| (x.clone(), weight.clone()))]
    fn llama_rms_norm_gradient(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        epsilon: f32,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// The same with `passed`, what reaches x on another path, added to the gradient of x.
    #[fusion(meta = |x, weight, _, _, _| (x.clone(), weight.clone()))]
    fn llama_rms_norm_gradient_onto(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        passed: FloatTensor<Self>,
        epsilon: f32,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Rotary embedding and causal attention over a fused projection `[tokens, width]`, with the rotary `table`
    /// `[sequence, head_dim / 2, 2]`.
    ///
    /// Returns the result `[tokens, heads · head_dim]`, the projection with queries and keys turned, and the log of each
    /// row's sum of exponentials `[batch, heads, sequence]`; the gradient needs the last two.
    #[fusion(meta = attention_outputs)]
    fn llama_attention(
        qkv: FloatTensor<Self>,
        table: FloatTensor<Self>,
        sizes: AttentionSizes,
        layout: KeyValueLayout,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// Gradient of the fused projection.
    #[fusion(meta = |turned, _, _, _, _, _, _| turned.clone())]
    fn llama_attention_gradient(
        turned: FloatTensor<Self>,
        table: FloatTensor<Self>,
        output: FloatTensor<Self>,
        log_sum_exp: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sizes: AttentionSizes,
        layout: KeyValueLayout,
    ) -> FloatTensor<Self>;

    /// Causal attention by cubek-attention, which knows no grouped heads: query, key and value are
    /// `[batch, heads, sequence, head_dim]`, with a key and a value head for every query head.
    ///
    /// Returns the result in the same shape, the log of each row's sum of exponentials `[batch, heads, sequence]`, and
    /// query, key and value as they were read; the gradient needs them all. The library's forward kernels keep the
    /// log-sum-exp to themselves, so a kernel of this crate computes it.
    #[fusion(meta = library_outputs)]
    #[allow(clippy::type_complexity)]
    fn llama_library_attention(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        choice: LibraryChoice,
    ) -> (
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
        FloatTensor<Self>,
    );

    /// Gradients of query, key and value by cubek-attention's backward kernels. They know f32 only.
    #[fusion(meta = |query, key, value, _, _, _| (query.clone(), key.clone(), value.clone()))]
    fn llama_library_attention_gradient(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        output: FloatTensor<Self>,
        log_sum_exp: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// Matrix product of the last two dimensions by the library's plainest kernel: no tuning, no matrix units, nothing
    /// rounded on the way. Slow, and known before it runs.
    #[fusion(meta = |lhs, rhs| product_output(lhs, rhs))]
    fn llama_plain_product(lhs: FloatTensor<Self>, rhs: FloatTensor<Self>) -> FloatTensor<Self>;

    /// `silu(gate) · up` for rows `[gate | up]` of `[rows, 2 · hidden]`.
    #[fusion(meta = |gate_up| half_width(gate_up))]
    fn llama_swiglu(gate_up: FloatTensor<Self>) -> FloatTensor<Self>;

    /// Gradient of gate and up, side by side.
    #[fusion(dtype = gate_up, shape = gate_up)]
    fn llama_swiglu_gradient(
        gate_up: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self>;

    /// `silu(x · gate_weight) · (x · up_weight)` for x `[rows, width]` and weights `[width, hidden]`, with both products
    /// computed by the kernel itself: result, gate and up, `[rows, hidden]` each. The products of the gradient are the
    /// library's, as `products` says.
    #[fusion(meta = naive_outputs)]
    fn llama_swiglu_naive(
        x: FloatTensor<Self>,
        gate_weight: FloatTensor<Self>,
        up_weight: FloatTensor<Self>,
        products: LibraryChoice,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// Gradients of gate and up, `[rows, hidden]` each, from that of the result.
    #[fusion(meta = |gate, up, _| (gate.clone(), up.clone()))]
    fn llama_swiglu_naive_gradient(
        gate: FloatTensor<Self>,
        up: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Mean cross entropy `[1]` of logits `[rows, classes]`, and its gradient, from one reading of the logits.
    #[fusion(meta = |logits, _| (TensorSpec::new(Shape::new([1]), DType::F32), logits.clone()))]
    fn llama_cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);
}

#[cfg(gpu)]
fn attention_outputs(
    qkv: &TensorSpec,
    _table: &TensorSpec,
    sizes: &AttentionSizes,
    _layout: &KeyValueLayout,
) -> (TensorSpec, TensorSpec, TensorSpec) {
    let output = [sizes.tokens(), sizes.heads * sizes.head_dim];
    let statistics = [sizes.batch, sizes.heads, sizes.sequence];
    (
        TensorSpec::new(Shape::new(output), qkv.dtype),
        qkv.clone(),
        TensorSpec::new(Shape::new(statistics), DType::F32),
    )
}

#[cfg(gpu)]
fn library_outputs(
    query: &TensorSpec,
    key: &TensorSpec,
    value: &TensorSpec,
    _choice: &LibraryChoice,
) -> (TensorSpec, TensorSpec, TensorSpec, TensorSpec, TensorSpec) {
    let statistics = [query.shape[0], query.shape[1], query.shape[2]];
    (
        query.clone(),
        TensorSpec::new(Shape::new(statistics), DType::F32),
        query.clone(),
        key.clone(),
        value.clone(),
    )
}

#[cfg(gpu)]
fn product_output(lhs: &TensorSpec, rhs: &TensorSpec) -> TensorSpec {
    let mut shape = lhs.shape.clone();
    let last = shape.num_dims() - 1;
    shape[last] = rhs.shape[last];
    TensorSpec::new(shape, lhs.dtype)
}

#[cfg(gpu)]
fn half_width(gate_up: &TensorSpec) -> TensorSpec {
    let shape = Shape::new([gate_up.shape[0], gate_up.shape[1] / 2]);
    TensorSpec::new(shape, gate_up.dtype)
}

#[cfg(gpu)]
fn naive_outputs(
    x: &TensorSpec,
    gate_weight: &TensorSpec,
    _up_weight: &TensorSpec,
    _products: &LibraryChoice,
) -> (TensorSpec, TensorSpec, TensorSpec) {
    let shape = Shape::new([x.shape[0], gate_weight.shape[1]]);
    let output = TensorSpec::new(shape, x.dtype);
    (output.clone(), output.clone(), output)
}
