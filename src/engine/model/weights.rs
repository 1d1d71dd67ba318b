//! Initial values, drawn on the host so that every version and every backend starts from the same bits.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Normal, Uniform};

use tinyllama_contract::model::{Initialisation, ModelConfig};

/// Standard deviation of every weight matrix and of the embedding.
///
/// The head is tied to the embedding, so larger values would make the logits, and with them the first loss, explode.
const STANDARD_DEVIATION: f32 = 0.02;

/// A matrix in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightMatrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f32>,
}

impl WeightMatrix {
    /// Joins matrices with the same number of rows side by side.
    pub fn concat_columns(parts: &[WeightMatrix]) -> WeightMatrix {
        let rows = parts.first().map_or(0, |part| part.rows);
        let columns = parts.iter().map(|part| part.columns).sum();
        let mut values = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for part in parts {
                values.extend_from_slice(&part.values[row * part.columns..][..part.columns]);
            }
        }
        WeightMatrix {
            rows,
            columns,
            values,
        }
    }
}

/// Initial weights of one block; inputs are rows, outputs columns.
#[derive(Clone, Debug)]
pub struct BlockWeights {
    /// Query, key and value projections: D x D, D x (kv heads x head width) twice.
    pub qkv: [WeightMatrix; 3],
    /// D x D.
    pub output: WeightMatrix,
    /// Gate and up projections, D x F each.
    pub gate_up: [WeightMatrix; 2],
    /// F x D.
    pub down: WeightMatrix,
}

/// Initial weights of the whole model. Norm weights start at 1 and are not listed.
#[derive(Clone, Debug)]
pub struct Weights {
    /// V x D, also the transposed output head.
    pub embedding: WeightMatrix,
    pub blocks: Vec<BlockWeights>,
}

impl Weights {
    /// Draws the weights that `initialisation` describes from `seed`: the same values for every version on every machine.
    pub fn new(config: &ModelConfig, seed: u64, initialisation: Initialisation) -> Weights {
        let mut source = WeightInitializer {
            random: ChaCha8Rng::seed_from_u64(seed),
            initialisation,
        };
        let d = config.hidden;
        let kv = config.kv_heads * config.head_dim();
        Weights {
            embedding: source.embedding(config.vocabulary, d),
            blocks: (0..config.layers)
                .map(|_| BlockWeights {
                    qkv: [d, kv, kv].map(|width| source.linear(d, width)),
                    output: source.linear(d, d),
                    gate_up: [source.linear(d, config.ffn), source.linear(d, config.ffn)],
                    down: source.linear(config.ffn, d),
                })
                .collect(),
        }
    }

    /// Draws from Normal(0, 0.02) with `seed`.
    pub fn small(config: &ModelConfig, seed: u64) -> Weights {
        Weights::new(config, seed, Initialisation::Small)
    }
}

struct WeightInitializer {
    random: ChaCha8Rng,
    initialisation: Initialisation,
}

impl WeightInitializer {
    fn embedding(&mut self, rows: usize, columns: usize) -> WeightMatrix {
        match self.initialisation {
            Initialisation::Small => self.normal(STANDARD_DEVIATION, rows, columns),
            Initialisation::Default => self.normal(1.0, rows, columns),
        }
    }

    /// Draws a matrix with `rows` inputs and `columns` outputs. Common frameworks default to uniform values within ±1/√inputs.
    fn linear(&mut self, rows: usize, columns: usize) -> WeightMatrix {
        match self.initialisation {
            Initialisation::Small => self.normal(STANDARD_DEVIATION, rows, columns),
            Initialisation::Default => {
                let bound = 1.0 / (rows as f32).sqrt();
                let uniform = Uniform::new(-bound, bound).expect("the bound is positive");
                self.matrix(uniform, rows, columns)
            }
        }
    }

    fn normal(&mut self, deviation: f32, rows: usize, columns: usize) -> WeightMatrix {
        let normal = Normal::new(0.0, deviation).expect("the deviation is positive");
        self.matrix(normal, rows, columns)
    }

    fn matrix(
        &mut self,
        distribution: impl Distribution<f32>,
        rows: usize,
        columns: usize,
    ) -> WeightMatrix {
        let values = distribution.sample_iter(&mut self.random);
        WeightMatrix {
            rows,
            columns,
            values: values.take(rows * columns).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    #[test]
    fn a_seed_fixes_every_weight_and_another_seed_changes_them() {
        let config = Preset::Tiny.config();
        let (a, b, c) = (
            Weights::small(&config, 42),
            Weights::small(&config, 42),
            Weights::small(&config, 43),
        );
        assert_eq!(a.blocks[3].down, b.blocks[3].down);
        assert_ne!(a.embedding, c.embedding);
        let values = &a.embedding.values;
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / values.len() as f32;
        assert!(mean.abs() < 1e-3, "{mean}");
        assert!((variance.sqrt() - 0.02).abs() < 1e-3, "{variance}");
    }

    #[test]
    fn matrices_side_by_side_keep_their_rows() {
        let left = WeightMatrix {
            rows: 2,
            columns: 1,
            values: vec![1.0, 4.0],
        };
        let right = WeightMatrix {
            rows: 2,
            columns: 2,
            values: vec![2.0, 3.0, 5.0, 6.0],
        };
        let both = WeightMatrix::concat_columns(&[left, right]);
        assert_eq!((both.rows, both.columns), (2, 3));
        assert_eq!(both.values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
}
