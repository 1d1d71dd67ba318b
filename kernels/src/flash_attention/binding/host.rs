//! Attention with its rotary embedding on burn's CPU backend, for both layouts of keys and values.

use burn::backend::Flex;
use burn::backend::ops::FloatTensorOps;
use burn::tensor::Slice;
use tinyllama_kernel_catalog::flash_attention::AttentionShape;
use tinyllama_kernel_catalog::rope::RopeShape;

use super::repeated::{fuse, transposed_heads};
use super::{KeyValueLayout, RotaryAttention, RotaryAttentionGradient};
use crate::binding::{Float, flex};
use crate::flash_attention::host::{HeadValues, SavedAttention, backward, forward};
use crate::rope;

impl RotaryAttention for Flex {
    fn rotary_attention(
        qkv: Float<Self>,
        table: Float<Self>,
        shape: AttentionShape,
        layout: KeyValueLayout,
    ) -> (Float<Self>, Float<Self>, Float<Self>) {
        let turned = rotate(qkv, table, shape, false);
        let mut output = flex::zeros([shape.tokens(), shape.heads * shape.head_dim]);
        let mut log_sum_exp = flex::zeros([shape.batch, shape.heads, shape.seq]);
        let inputs = Inputs::new(&turned, shape, layout);
        forward(
            inputs.shape,
            inputs.query_key_value(),
            flex::values_mut(&mut output),
            flex::values_mut(&mut log_sum_exp),
        );
        drop(inputs);
        (output, turned, log_sum_exp)
    }
}

impl RotaryAttentionGradient for Flex {
    fn rotary_attention_gradient(
        turned: Float<Self>,
        table: Float<Self>,
        output: Float<Self>,
        log_sum_exp: Float<Self>,
        gradient: Float<Self>,
        shape: AttentionShape,
        layout: KeyValueLayout,
    ) -> Float<Self> {
        let [turned, output, log_sum_exp, gradient] =
            [turned, output, log_sum_exp, gradient].map(flex::contiguous);
        let inputs = Inputs::new(&turned, shape, layout);
        let seen = inputs.shape;
        let mut result = flex::zeros([seen.tokens(), seen.width()]);
        let saved = SavedAttention {
            query_key_value: inputs.query_key_value(),
            output: flex::values(&output),
            output_gradient: flex::values(&gradient),
            log_sum_exp: flex::values(&log_sum_exp),
        };
        backward(seen, &saved, flex::values_mut(&mut result));
        let result = match layout {
            KeyValueLayout::Shared => result,
            KeyValueLayout::RepeatedTransposed => fuse::<Flex>(thirds(result, seen), shape),
        };
        rotate(result, table, shape, true)
    }
}

/// Rotates queries and keys of a fused projection, in place if it has no other reader.
fn rotate(
    qkv: Float<Flex>,
    table: Float<Flex>,
    shape: AttentionShape,
    inverse: bool,
) -> Float<Flex> {
    let [mut qkv, table] = [qkv, table].map(flex::contiguous);
    let shape = RopeShape::from_attention(shape);
    rope::host::turn(
        flex::values_mut(&mut qkv),
        flex::values(&table),
        shape,
        inverse,
    );
    qkv
}

/// The inputs of the attention kernel, and the shape in which it reads them.
struct Inputs<'a> {
    turned: &'a Float<Flex>,
    shape: AttentionShape,
    /// Keys and values that are stored again for each query head, `[batch, heads, head_dim, seq]`.
    repeated: Option<[Float<Flex>; 2]>,
    fused: AttentionShape,
}

impl<'a> Inputs<'a> {
    fn new(turned: &'a Float<Flex>, fused: AttentionShape, layout: KeyValueLayout) -> Inputs<'a> {
        let repeated = match layout {
            KeyValueLayout::Shared => None,
            KeyValueLayout::RepeatedTransposed => {
                Some(transposed_heads::<Flex>(turned.clone(), fused).map(flex::contiguous))
            }
        };
        let key_heads = match repeated {
            Some(_) => fused.heads,
            None => fused.key_heads,
        };
        Inputs {
            turned,
            shape: AttentionShape { key_heads, ..fused },
            repeated,
            fused,
        }
    }

    fn query_key_value(&self) -> [HeadValues<'_>; 3] {
        let [query, key, value] = HeadValues::fused(flex::values(self.turned), self.fused);
        let Some(repeated) = &self.repeated else {
            return [query, key, value];
        };
        let [key, value] = repeated
            .each_ref()
            .map(|heads| HeadValues::transposed(flex::values(heads), self.shape.heads, self.shape));
        [query, key, value]
    }
}

/// Splits gradients of queries, keys and values that lie side by side, with as many heads each.
fn thirds(fused: Float<Flex>, shape: AttentionShape) -> [Float<Flex>; 3] {
    let width = shape.heads * shape.head_dim;
    [0, 1, 2].map(|third| {
        let columns = Slice::from(third * width..(third + 1) * width);
        Flex::float_slice(fused.clone(), &[Slice::from(0..shape.tokens()), columns])
    })
}
