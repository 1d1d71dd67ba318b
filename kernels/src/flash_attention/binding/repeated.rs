//! Repeats key and value heads for the query heads that share them, and adds their gradients again.
//!
//! No kernel needs this. It is the mistake of the debugging scenario's second stage: the repeated heads are stored
//! columns first and passed as a transposed view.

use burn::backend::Backend;
use burn::backend::tensor::FloatTensor;
use burn::tensor::{Shape, Slice};
use tinyllama_kernel_catalog::flash_attention::AttentionShape as Sizes;

/// Returns keys and values of a fused projection `[tokens, width]`, each `[batch, heads, head_dim, sequence]`.
pub(super) fn transposed_heads<B: Backend>(
    projection: FloatTensor<B>,
    sizes: Sizes,
) -> [FloatTensor<B>; 2] {
    let [batch, sequence, heads, key_heads, head_dim] = sizes.sides();
    let all = heads + 2 * key_heads;
    let grid = B::float_reshape(projection, Shape::new([batch, sequence, all, head_dim]));
    [heads, heads + key_heads].map(|first| {
        let own = [
            Slice::from(0..batch),
            Slice::from(0..sequence),
            Slice::from(first..first + key_heads),
            Slice::from(0..head_dim),
        ];
        let columns_first = B::float_permute(B::float_slice(grid.clone(), &own), &[0, 2, 3, 1]);
        let single = Shape::new([batch, key_heads, 1, head_dim, sequence]);
        let repeated = Shape::new([batch, key_heads, heads / key_heads, head_dim, sequence]);
        let repeated = B::float_expand(B::float_reshape(columns_first, single), repeated);
        B::float_reshape(repeated, Shape::new([batch, heads, head_dim, sequence]))
    })
}

/// Joins gradients of queries, keys and values, `[tokens, heads · head_dim]` each, into the gradient of the fused
/// projection. Those of keys and values are added over the query heads that share them.
pub(super) fn fuse<B: Backend>(
    [query, key, value]: [FloatTensor<B>; 3],
    sizes: Sizes,
) -> FloatTensor<B> {
    let group = sizes.heads / sizes.key_heads;
    let grouped = Shape::new([sizes.tokens(), sizes.key_heads, group, sizes.head_dim]);
    let flat = Shape::new([sizes.tokens(), sizes.key_heads * sizes.head_dim]);
    let [key, value] = [key, value].map(|gradient| {
        let sums = B::float_sum_dim(B::float_reshape(gradient, grouped.clone()), 2);
        B::float_reshape(sums, flat.clone())
    });
    B::float_cat(vec![query, key, value], 1)
}
