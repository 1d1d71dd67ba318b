//! The same mathematics in plain Rust and f64, with every row of scores written out.

use super::AttentionShape;
use crate::number::Scalar;

/// Result of [`forward`].
#[derive(Clone, Debug)]
pub struct AttentionOutput<N = f64> {
    /// `[batch, seq, heads, head_dim]`.
    pub output: Vec<N>,
    /// `[batch, heads, seq]`.
    pub log_sum_exp: Vec<N>,
}

/// Result of [`backward`], each in the layout of its tensor.
#[derive(Clone, Debug)]
pub struct AttentionGradients<N = f64> {
    pub query: Vec<N>,
    pub key: Vec<N>,
    pub value: Vec<N>,
}

/// Computes causal attention of `query` `[batch, seq, heads, head_dim]` over `key` and `value` `[batch, seq, key_heads,
/// head_dim]`.
///
/// # Panics
/// Panics if a slice is shorter than the shape says.
pub fn forward<N: Scalar>(
    shape: AttentionShape,
    query: &[N],
    key: &[N],
    value: &[N],
) -> AttentionOutput<N> {
    let mut output = vec![N::from(0.0); shape.query_elements()];
    let mut log_sum_exp = vec![N::from(0.0); shape.statistics()];
    each_query(shape, |row| {
        let (weights, lse) = softmax_row(shape, query, key, &row);
        for (position, weight) in weights.iter().enumerate() {
            let value = &value[row.key_at(shape, position)..][..shape.head_dim];
            for (out, v) in output[row.at..][..shape.head_dim].iter_mut().zip(value) {
                *out += *weight * *v;
            }
        }
        log_sum_exp[row.statistic] = lse;
    });
    AttentionOutput {
        output,
        log_sum_exp,
    }
}

/// Computes the gradients of `sum(output * output_gradient)`.
///
/// # Panics
/// Panics if a slice is shorter than the shape says.
pub fn backward<N: Scalar>(
    shape: AttentionShape,
    query: &[N],
    key: &[N],
    value: &[N],
    output_gradient: &[N],
) -> AttentionGradients<N> {
    let zeros = |count: usize| vec![N::from(0.0); count];
    let mut gradients = AttentionGradients {
        query: zeros(shape.query_elements()),
        key: zeros(shape.key_elements()),
        value: zeros(shape.key_elements()),
    };
    let dim = shape.head_dim;
    let scale = N::from(f64::from(shape.scale));
    each_query(shape, |row| {
        let (weights, _) = softmax_row(shape, query, key, &row);
        let gradient = &output_gradient[row.at..][..dim];
        let products: Vec<N> = (0..weights.len())
            .map(|position| dot(gradient, &value[row.key_at(shape, position)..][..dim]))
            .collect();
        let delta = dot(&weights, &products);
        for (position, (weight, product)) in weights.iter().zip(&products).enumerate() {
            let at = row.key_at(shape, position);
            let score = scale * *weight * (*product - delta);
            for d in 0..dim {
                gradients.value[at + d] += *weight * gradient[d];
                gradients.key[at + d] += score * query[row.at + d];
                gradients.query[row.at + d] += score * key[at + d];
            }
        }
    });
    gradients
}

/// One query vector: its start, and the keys that it may see.
struct QueryRow {
    at: usize,
    statistic: usize,
    sequence: usize,
    key_head: usize,
    position: usize,
}

impl QueryRow {
    fn key_at(&self, shape: AttentionShape, position: usize) -> usize {
        ((self.sequence * shape.seq + position) * shape.key_heads + self.key_head) * shape.head_dim
    }
}

fn each_query(shape: AttentionShape, mut visit: impl FnMut(QueryRow)) {
    for sequence in 0..shape.batch {
        for position in 0..shape.seq {
            for head in 0..shape.heads {
                visit(QueryRow {
                    at: ((sequence * shape.seq + position) * shape.heads + head) * shape.head_dim,
                    statistic: (sequence * shape.heads + head) * shape.seq + position,
                    sequence,
                    key_head: head / shape.group(),
                    position,
                });
            }
        }
    }
}

/// Returns the weights of the keys that a query sees, and the logarithm of the sum that divided them.
fn softmax_row<N: Scalar>(
    shape: AttentionShape,
    query: &[N],
    key: &[N],
    row: &QueryRow,
) -> (Vec<N>, N) {
    let dim = shape.head_dim;
    let query = &query[row.at..][..dim];
    let scale = N::from(f64::from(shape.scale));
    let scores: Vec<N> = (0..=row.position)
        .map(|position| scale * dot(query, &key[row.key_at(shape, position)..][..dim]))
        .collect();
    let largest = scores
        .iter()
        .copied()
        .fold(N::from(f64::NEG_INFINITY), N::larger);
    let sum: N = scores.iter().map(|score| (*score - largest).exp()).sum();
    let weights = scores
        .iter()
        .map(|score| (*score - largest).exp() / sum)
        .collect();
    (weights, largest + sum.ln())
}

fn dot<N: Scalar>(left: &[N], right: &[N]) -> N {
    left.iter().zip(right).map(|(l, r)| *l * *r).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Random, finite_difference, relative_error, weighted_sum};

    fn values(count: usize, seed: u64) -> Vec<f64> {
        Random::new(seed).uniforms(count)
    }

    fn shape() -> AttentionShape {
        AttentionShape::new(2, 5, 6, 3, 4)
    }

    #[test]
    fn the_first_position_copies_its_value() {
        let shape = shape();
        let (query, key) = (
            values(shape.query_elements(), 1),
            values(shape.key_elements(), 2),
        );
        let value = values(shape.key_elements(), 3);
        let out = forward(shape, &query, &key, &value).output;
        for head in 0..shape.heads {
            let expected = &value[head / shape.group() * shape.head_dim..][..shape.head_dim];
            let actual = &out[head * shape.head_dim..][..shape.head_dim];
            assert!(
                actual
                    .iter()
                    .zip(expected)
                    .all(|(a, e)| (a - e).abs() < 1e-15)
            );
        }
    }

    #[test]
    fn later_keys_do_not_change_earlier_outputs() {
        let shape = AttentionShape::new(1, 5, 6, 3, 4);
        let query = values(shape.query_elements(), 1);
        let mut key = values(shape.key_elements(), 2);
        let value = values(shape.key_elements(), 3);
        let before = forward(shape, &query, &key, &value).output;
        let last = key.len() - shape.key_heads * shape.head_dim;
        key[last..].fill(9.0);
        let after = forward(shape, &query, &key, &value).output;
        let row = shape.heads * shape.head_dim;
        assert_eq!(before[..4 * row], after[..4 * row]);
        assert_ne!(before[4 * row..], after[4 * row..]);
    }

    #[test]
    fn gradients_match_central_differences() {
        let shape = shape();
        let query = values(shape.query_elements(), 4);
        let key = values(shape.key_elements(), 5);
        let value = values(shape.key_elements(), 6);
        let upstream = values(shape.query_elements(), 7);
        let loss = |query: &[f64], key: &[f64], value: &[f64]| {
            weighted_sum(&forward(shape, query, key, value).output, &upstream)
        };
        let numeric = [
            finite_difference(&query, |query| loss(query, &key, &value)),
            finite_difference(&key, |key| loss(&query, key, &value)),
            finite_difference(&value, |value| loss(&query, &key, value)),
        ];
        let gradients = backward(shape, &query, &key, &value, &upstream);
        let analytic = [gradients.query, gradients.key, gradients.value];
        for (analytic, numeric) in analytic.iter().zip(&numeric) {
            let error = relative_error(analytic, numeric);
            assert!(error < 1e-8, "{error}");
        }
    }
}
