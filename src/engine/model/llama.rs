//! The tiny LLaMA: tied embedding, pre-norm blocks of grouped-query attention with rotary positions, and SwiGLU.
//!
//! One model serves every target; its [`Recipe`] selects how each operation is computed. Activations are `[tokens, D]`
//! matrices. Tokens are ordered by sample of the batch, then by position.

use burn::module::{Module, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::activation::{log_softmax, silu, softmax};
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use tinyllama_kernel_catalog::flash_attention::AttentionShape;
pub use tinyllama_kernels::binding::LibraryChoice as LibraryKernels;
use tinyllama_kernels::binding::product;
use tinyllama_kernels::flash_attention::{self, KeyValueLayout};
use tinyllama_kernels::{cross_entropy, embedding, rmsnorm, swiglu, swiglu_naive};

use super::part;
use super::rotary::RotaryTable;
use super::weights::{WeightMatrix, Weights};
use tinyllama_contract::Tuning;
use tinyllama_contract::model::{
    Attention, Backward, KeyValue, ModelConfig, Operations, Part, Projection, Recipe, Swiglu,
};

/// ε in RMSNorm: added to the mean square before the root, as in the workshop.
pub const NORM_EPSILON: f64 = 1e-6;

/// The parameters; everything else a step needs is in [`Context`].
#[derive(Module, Debug)]
pub struct Llama {
    embedding: Param<Tensor<2>>,
    blocks: Vec<TransformerBlock>,
    final_norm: Param<Tensor<1>>,
}

/// A function that gets the output of each part, `[tokens, width]`.
pub type Probe<'a> = dyn FnMut(Part, &Tensor<2>) + 'a;

/// One transformer block.
#[derive(Module, Debug)]
struct TransformerBlock {
    attention_norm: Param<Tensor<1>>,
    /// Query, key and value; a single matrix if the recipe fuses them.
    qkv: Vec<Param<Tensor<2>>>,
    output: Param<Tensor<2>>,
    feed_forward_norm: Param<Tensor<1>>,
    /// Gate and up; a single matrix if the recipe fuses them.
    gate_up: Vec<Param<Tensor<2>>>,
    down: Param<Tensor<2>>,
}

/// Number types of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelPrecision {
    /// Type of parameters, activations and the loss.
    pub storage: FloatDType,
    /// Type of the operands of matrix products.
    pub operands: FloatDType,
}

impl ModelPrecision {
    /// Uses f32 for everything except the operands of matrix products.
    pub fn with_operands(operands: FloatDType) -> Self {
        ModelPrecision {
            storage: FloatDType::F32,
            operands,
        }
    }

    /// Uses f64 for everything, on the CPU. Other precisions are compared with it.
    pub fn reference() -> Self {
        ModelPrecision {
            storage: FloatDType::F64,
            operands: FloatDType::F64,
        }
    }

    fn storage(&self) -> DType {
        self.storage.into()
    }
}

/// Describes a model to the attention kernels, for a batch of `[samples, tokens]`.
pub fn attention_shape(config: &ModelConfig, [batch, sequence]: [usize; 2]) -> AttentionShape {
    let (heads, kv_heads) = (config.heads, config.kv_heads);
    AttentionShape::new(batch, sequence, heads, kv_heads, config.head_dim())
}

/// Returns the library's kernels that `tuning` selects.
pub fn library_kernels(tuning: Tuning) -> LibraryKernels {
    match tuning {
        Tuning::Full | Tuning::Minimal => LibraryKernels::Tuned,
        Tuning::Rules => LibraryKernels::Direct,
        Tuning::Off => LibraryKernels::Plain,
    }
}

/// Everything that a forward pass needs in addition to the parameters, placed on the device once.
#[derive(Clone, Debug)]
pub struct Context {
    pub config: ModelConfig,
    pub recipe: Recipe,
    pub precision: ModelPrecision,
    library: LibraryKernels,
    rotary: RotaryTable,
    /// 0 on and below the diagonal, -inf above: `[1, 1, S, S]`.
    causal_mask: Tensor<4>,
}

impl Context {
    pub fn new(
        config: ModelConfig,
        recipe: Recipe,
        precision: ModelPrecision,
        device: &Device,
    ) -> Self {
        let s = config.sequence_length;
        let hidden = f32::NEG_INFINITY;
        let values = (0..s * s).map(|i| if i % s > i / s { hidden } else { 0.0 });
        let mask: Vec<f32> = values.collect();
        Context {
            config,
            recipe,
            precision,
            library: LibraryKernels::Tuned,
            rotary: RotaryTable::new(&config, precision.storage(), device),
            causal_mask: Tensor::from_data(
                TensorData::new(mask, [1, 1, s, s]),
                (device, precision.storage()),
            ),
        }
    }

    /// Returns the same context with the library's kernels that `library` selects.
    pub fn with_library(self, library: LibraryKernels) -> Self {
        Context { library, ..self }
    }

    /// Prepares an input of one of this project's kernels, or a weight whose product only they read. Without a backward
    /// pass, gradients end at the kernel. The operations before it are then not recorded either: burn keeps a record
    /// until a backward pass reaches it, and none would.
    fn kernel_input<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        match self.recipe.backward {
            Backward::Complete => x,
            Backward::Missing => x.detach(),
        }
    }
}

impl Llama {
    /// Places `weights` on `device`, side by side if `recipe` fuses projections.
    pub fn new(
        config: &ModelConfig,
        weights: &Weights,
        recipe: &Recipe,
        precision: ModelPrecision,
        device: &Device,
    ) -> Self {
        let dtype = precision.storage();
        let matrix = |matrix: &WeightMatrix| {
            let data = TensorData::new(matrix.values.clone(), [matrix.rows, matrix.columns]);
            Param::from_tensor(Tensor::<2>::from_data(data, (device, dtype)))
        };
        let matrices = |parts: &[WeightMatrix], projection: Projection| match projection {
            Projection::Separate => parts.iter().map(matrix).collect(),
            Projection::Fused => vec![matrix(&WeightMatrix::concat_columns(parts))],
        };
        let ones = || Param::from_tensor(Tensor::<1>::ones([config.hidden], (device, dtype)));
        Llama {
            embedding: matrix(&weights.embedding),
            blocks: weights
                .blocks
                .iter()
                .map(|block| TransformerBlock {
                    attention_norm: ones(),
                    qkv: matrices(&block.qkv, recipe.qkv),
                    output: matrix(&block.output),
                    feed_forward_norm: ones(),
                    gate_up: matrices(&block.gate_up, recipe.gate_up),
                    down: matrix(&block.down),
                })
                .collect(),
            final_norm: ones(),
        }
    }

    /// Computes logits `[tokens, V]` for token numbers `[B, S]`.
    pub fn logits(&self, context: &Context, tokens: Tensor<2, Int>) -> Tensor<2> {
        self.probed_logits(context, tokens, &mut |_, _| {})
    }

    /// Computes logits and passes every layer's output to `probe`: the embedding, the residual stream after each half
    /// of a block, the last norm and the logits.
    pub fn probed_logits(
        &self,
        context: &Context,
        tokens: Tensor<2, Int>,
        probe: &mut Probe<'_>,
    ) -> Tensor<2> {
        let [batch, sequence] = tokens.dims();
        let mut stream = {
            let _part = part::enter(Part::Embedding);
            let table = context.kernel_input(self.embedding.val());
            embedding::look_up(table, tokens.reshape([batch * sequence]))
        };
        probe(Part::Embedding, &stream);
        for (layer, block) in self.blocks.iter().enumerate() {
            let _part = part::enter(Part::Attention(layer));
            stream = stream.clone() + block.attention(context, stream, [batch, sequence]);
            drop(_part);
            probe(Part::Attention(layer), &stream);
            let _part = part::enter(Part::FeedForward(layer));
            stream = stream.clone() + block.feed_forward(context, stream);
            probe(Part::FeedForward(layer), &stream);
        }
        let normed = rms_norm(context, stream, &self.final_norm);
        probe(Part::Norm, &normed);
        let logits = {
            let _part = part::enter(Part::Head);
            matmul(context, normed, self.embedding.val().transpose())
        };
        probe(Part::Head, &logits);
        logits
    }

    /// Computes the mean cross entropy over all tokens, in nats, `[1]`.
    pub fn loss(
        &self,
        context: &Context,
        tokens: Tensor<2, Int>,
        targets: Tensor<1, Int>,
    ) -> Tensor<1> {
        let logits = self.logits(context, tokens);
        let _part = part::enter(Part::Loss);
        match context.recipe.operations {
            Operations::Library => {
                let [rows, _] = logits.dims();
                log_softmax(logits, 1)
                    .gather(1, targets.reshape([rows, 1]))
                    .mean()
                    .neg()
            }
            Operations::Kernels => cross_entropy::cross_entropy(logits, targets),
        }
    }

    /// Returns every parameter's name, with the key to find its gradient.
    pub fn parameters(&self) -> Vec<NamedParameter> {
        let mut list = Vec::new();
        let mut add = |name: String, id, rank| list.push(NamedParameter { name, id, rank });
        add("final_norm".into(), self.final_norm.id, 1);
        add("embedding".into(), self.embedding.id, 2);
        for (i, block) in self.blocks.iter().enumerate() {
            let norms = [&block.attention_norm, &block.feed_forward_norm];
            for (name, norm) in ["attention_norm", "feed_forward_norm"].iter().zip(norms) {
                add(format!("blocks.{i}.{name}"), norm.id, 1);
            }
            for (name, params) in [
                (["q", "k", "v", "qkv"].as_slice(), &block.qkv),
                (["gate", "up", "gate_up"].as_slice(), &block.gate_up),
            ] {
                // The last name is that of the fused matrix.
                let names = if params.len() == 1 {
                    &name[name.len() - 1..]
                } else {
                    name
                };
                for (name, param) in names.iter().zip(params) {
                    add(format!("blocks.{i}.{name}"), param.id, 2);
                }
            }
            add(format!("blocks.{i}.output"), block.output.id, 2);
            add(format!("blocks.{i}.down"), block.down.id, 2);
        }
        list.sort_by(|a, b| a.name.cmp(&b.name));
        list
    }
}

/// A named parameter.
#[derive(Clone, Debug)]
pub struct NamedParameter {
    pub name: String,
    id: ParamId,
    rank: usize,
}

impl NamedParameter {
    /// Returns the gradient as a flat vector on the device, or `None` if the backward pass produced none.
    pub fn gradient(&self, gradients: &GradientsParams) -> Option<Tensor<1>> {
        if self.rank == 1 {
            gradients.get::<1>(self.id)
        } else {
            let matrix = gradients.get::<2>(self.id);
            matrix.map(|matrix| matrix.flatten(0, 1))
        }
    }
}

impl TransformerBlock {
    /// Maps `[tokens, D]` to `[tokens, D]`, without the residual.
    fn attention(
        &self,
        context: &Context,
        stream: Tensor<2>,
        [batch, sequence]: [usize; 2],
    ) -> Tensor<2> {
        let config = &context.config;
        let kv_width = config.kv_heads * config.head_dim();
        let normed = rms_norm(context, stream, &self.attention_norm);
        let qkv = project(context, normed, &self.qkv);
        let mixed = match context.recipe.attention {
            Attention::Materialised => {
                let [q, k, v] = split_columns(qkv, [config.hidden, kv_width, kv_width]);
                materialised_attention(context, q, k, v, [batch, sequence])
            }
            Attention::Kernel => flash_attention::rotary_attention(
                context.kernel_input(concat_columns(qkv)),
                context.rotary.for_kernels(sequence),
                attention_shape(config, [batch, sequence]),
                match context.recipe.key_value {
                    KeyValue::Shared => KeyValueLayout::Shared,
                    KeyValue::RepeatedTransposed => KeyValueLayout::RepeatedTransposed,
                },
            ),
        };
        matmul(context, mixed, context.kernel_input(self.output.val()))
    }

    /// Maps `[tokens, D]` to `[tokens, D]`, without the residual.
    fn feed_forward(&self, context: &Context, stream: Tensor<2>) -> Tensor<2> {
        let ffn = context.config.ffn;
        let normed = rms_norm(context, stream, &self.feed_forward_norm);
        let activated = match (context.recipe.swiglu, self.gate_up.as_slice()) {
            (Swiglu::Naive, [gate, up]) => swiglu_naive::swiglu_naive(
                context.kernel_input(normed),
                context.kernel_input(gate.val()),
                context.kernel_input(up.val()),
                context.library,
            ),
            (Swiglu::Kernel, weights) => {
                let gate_up = project(context, normed, weights);
                swiglu::swiglu(context.kernel_input(concat_columns(gate_up)))
            }
            (_, weights) => {
                let gate_up = project(context, normed, weights);
                let [gate, up] = split_columns(gate_up, [ffn, ffn]);
                silu(gate) * up
            }
        };
        matmul(context, activated, context.kernel_input(self.down.val()))
    }
}

/// Computes x / sqrt(mean(x²) + ε) · weight for each row.
fn rms_norm(context: &Context, x: Tensor<2>, weight: &Param<Tensor<1>>) -> Tensor<2> {
    let _part = part::enter(Part::Norm);
    match context.recipe.operations {
        Operations::Library => {
            let root = (x.clone() * x.clone())
                .mean_dim(1)
                .add_scalar(NORM_EPSILON)
                .sqrt();
            x / root * weight.val().unsqueeze()
        }
        Operations::Kernels => rmsnorm::rms_norm(
            context.kernel_input(x),
            context.kernel_input(weight.val()),
            NORM_EPSILON as f32,
        ),
    }
}

/// Multiplies matrices with operands and result in the context's types.
fn matmul<const D: usize>(context: &Context, a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    let ModelPrecision { storage, operands } = context.precision;
    let choice = context.library;
    if operands == storage {
        return product(a, b, choice);
    }
    product(a.cast(operands), b.cast(operands), choice).cast(storage)
}

/// Multiplies `x` by each weight: one launch per weight, or one for all if they are stored side by side.
fn project(context: &Context, x: Tensor<2>, weights: &[Param<Tensor<2>>]) -> Vec<Tensor<2>> {
    weights
        .iter()
        .map(|weight| matmul(context, x.clone(), context.kernel_input(weight.val())))
        .collect()
}

/// Splits the result of [`project`] into one tensor per projection, of these widths.
fn split_columns<const N: usize>(projected: Vec<Tensor<2>>, widths: [usize; N]) -> [Tensor<2>; N] {
    match <[Tensor<2>; N]>::try_from(projected) {
        Ok(apart) => apart,
        Err(projected) => {
            let all = concat_columns(projected);
            let mut start = 0;
            widths.map(|width| {
                start += width;
                all.clone().narrow(1, start - width, width)
            })
        }
    }
}

/// Joins the result of [`project`] into one matrix.
fn concat_columns(projected: Vec<Tensor<2>>) -> Tensor<2> {
    match <[Tensor<2>; 1]>::try_from(projected) {
        Ok([all]) => all,
        Err(apart) => Tensor::cat(apart, 1),
    }
}

/// Computes softmax(q kᵀ / √d + mask) v with the S x S scores in memory; `[tokens, width]` in, `[tokens, D]` out.
fn materialised_attention(
    context: &Context,
    q: Tensor<2>,
    k: Tensor<2>,
    v: Tensor<2>,
    [batch, sequence]: [usize; 2],
) -> Tensor<2> {
    let scale = (context.config.head_dim() as f64).sqrt();
    let [q, k, v] = per_query_head(context, q, k, v, [batch, sequence]);
    let scores = matmul(context, q, k.swap_dims(2, 3)).div_scalar(scale);
    let mask = context.causal_mask.clone();
    let mask = mask.narrow(2, 0, sequence).narrow(3, 0, sequence);
    let weights = softmax(scores + mask, 3);
    rows(matmul(context, weights, v))
}

/// Rotates queries and keys by their position and repeats keys and values: `[B, heads, s, d]` each.
fn per_query_head(
    context: &Context,
    q: Tensor<2>,
    k: Tensor<2>,
    v: Tensor<2>,
    [batch, sequence]: [usize; 2],
) -> [Tensor<4>; 3] {
    let (heads, kv_heads) = (context.config.heads, context.config.kv_heads);
    let head_dim = context.config.head_dim();
    let split = |x: Tensor<2>, heads: usize| x.reshape([batch, sequence, heads, head_dim]);
    let q = context.rotary.apply(split(q, heads));
    let k = context.rotary.apply(split(k, kv_heads));
    [
        q,
        repeat_heads(k, heads),
        repeat_heads(split(v, kv_heads), heads),
    ]
    .map(|heads| heads.swap_dims(1, 2))
}

/// Reshapes `[B, heads, s, d]` to `[B · s, heads · d]`.
fn rows(x: Tensor<4>) -> Tensor<2> {
    let [batch, heads, sequence, head_dim] = x.dims();
    x.swap_dims(1, 2)
        .reshape([batch * sequence, heads * head_dim])
}

/// Copies each key or value head for the query heads that share it.
fn repeat_heads(x: Tensor<4>, heads: usize) -> Tensor<4> {
    let [batch, sequence, kv_heads, head_dim] = x.dims();
    if kv_heads == heads {
        return x;
    }
    x.reshape([batch, sequence, kv_heads, 1, head_dim])
        .expand([batch, sequence, kv_heads, heads / kv_heads, head_dim])
        .reshape([batch, sequence, heads, head_dim])
}
