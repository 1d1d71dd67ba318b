//! Places of the parameters in the one array that holds them all.
//!
//! Parameters, gradients, both moments and the copies for matrix products have the same layout, so one launch can
//! update everything without a table of tensors. Norm weights come last and without gaps, because one launch finishes
//! the gradients of all of them.

use std::ops::Range;

use crate::model::{ModelConfig, WeightMatrix, Weights};

/// Each matrix starts at a multiple of this many elements: 256 bytes in f32, 128 in bf16.
const ALIGNMENT: usize = 64;

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The other targets' name for it. Query, key and value are one matrix, and so are gate and up.
    pub name: String,
    pub rows: usize,
    pub columns: usize,
    /// Index of its first element in the array.
    pub offset: usize,
}

impl Parameter {
    pub fn elements(&self) -> usize {
        self.rows * self.columns
    }

    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.elements()
    }
}

/// Index of a parameter in [`ParameterLayout::parameters`].
pub type ParameterIndex = usize;

/// All parameters of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterLayout {
    pub parameters: Vec<Parameter>,
    /// Number of elements of the array, including gaps.
    pub length: usize,
    layers: usize,
}

/// The matrices of a block, in the order in which they are stored.
const BLOCK: [&str; 4] = ["qkv", "output", "gate_up", "down"];

impl ParameterLayout {
    pub fn new(config: &ModelConfig) -> ParameterLayout {
        let (d, f) = (config.hidden, config.ffn);
        let qkv = config.qkv_width();
        let mut layout = ParameterLayout {
            parameters: Vec::new(),
            length: 0,
            layers: config.layers,
        };
        layout.add_matrix("embedding".into(), config.vocabulary, d);
        for layer in 0..config.layers {
            let shapes = [(d, qkv), (d, d), (d, 2 * f), (f, d)];
            for (name, (rows, columns)) in BLOCK.iter().zip(shapes) {
                layout.add_matrix(format!("blocks.{layer}.{name}"), rows, columns);
            }
        }
        for layer in 0..config.layers {
            layout.add(format!("blocks.{layer}.attention_norm"), 1, d);
            layout.add(format!("blocks.{layer}.feed_forward_norm"), 1, d);
        }
        layout.add("final_norm".into(), 1, d);
        layout.length = layout.length.next_multiple_of(ALIGNMENT);
        layout
    }

    fn add_matrix(&mut self, name: String, rows: usize, columns: usize) {
        self.add(name, rows, columns);
        self.length = self.length.next_multiple_of(ALIGNMENT);
    }

    fn add(&mut self, name: String, rows: usize, columns: usize) {
        self.parameters.push(Parameter {
            name,
            rows,
            columns,
            offset: self.length,
        });
        self.length += rows * columns;
    }

    pub fn embedding(&self) -> ParameterIndex {
        0
    }

    pub fn qkv(&self, layer: usize) -> ParameterIndex {
        1 + layer * BLOCK.len()
    }

    pub fn output(&self, layer: usize) -> ParameterIndex {
        2 + layer * BLOCK.len()
    }

    pub fn gate_up(&self, layer: usize) -> ParameterIndex {
        3 + layer * BLOCK.len()
    }

    pub fn down(&self, layer: usize) -> ParameterIndex {
        4 + layer * BLOCK.len()
    }

    /// Returns the number of norms. They are stored in this order: attention and feed-forward of each block, then the
    /// final one.
    pub fn norms(&self) -> usize {
        2 * self.layers + 1
    }

    pub fn norm(&self, index: usize) -> ParameterIndex {
        1 + self.layers * BLOCK.len() + index
    }

    /// Returns the elements of the blocks' matrices, which only products and updates read.
    pub fn matrices(&self) -> Range<usize> {
        self.elements(self.embedding() + 1, self.norm(0))
    }

    /// Returns the elements of one block's matrices.
    pub fn block(&self, layer: usize) -> Range<usize> {
        self.elements(self.qkv(layer), self.down(layer) + 1)
    }

    /// Returns the elements of the parameters `first..end`, with the gaps behind them.
    pub fn elements(&self, first: ParameterIndex, end: ParameterIndex) -> Range<usize> {
        let at = |index: usize| {
            let parameter = self.parameters.get(index);
            parameter.map_or(self.length, |parameter| parameter.offset)
        };
        at(first)..at(end)
    }

    /// Copies initial values into this layout; norms are 1, gaps 0.
    pub fn place(&self, weights: &Weights) -> Vec<f32> {
        let mut all = vec![0.0; self.length];
        let mut put = |index: ParameterIndex, values: &[f32]| {
            all[self.parameters[index].range()].copy_from_slice(values);
        };
        put(self.embedding(), &weights.embedding.values);
        for (layer, block) in weights.blocks.iter().enumerate() {
            put(
                self.qkv(layer),
                &WeightMatrix::concat_columns(&block.qkv).values,
            );
            put(self.output(layer), &block.output.values);
            put(
                self.gate_up(layer),
                &WeightMatrix::concat_columns(&block.gate_up).values,
            );
            put(self.down(layer), &block.down.values);
        }
        for norm in &self.parameters[self.norm(0)..] {
            all[norm.range()].fill(1.0);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    #[test]
    fn every_scalar_has_one_place_and_gaps_stay_zero() {
        let mut config = Preset::Tiny.config();
        (config.vocabulary, config.hidden, config.heads) = (37, 20, 2);
        config.kv_heads = 1;
        let layout = ParameterLayout::new(&config);
        let mut taken = vec![0u8; layout.length];
        for parameter in &layout.parameters {
            for element in &mut taken[parameter.range()] {
                *element += 1;
            }
        }
        assert!(taken.iter().all(|count| *count <= 1));
        let scalars = taken.iter().filter(|count| **count == 1).count();
        assert_eq!(scalars as u64, config.parameters());
        let values = layout.place(&Weights::small(&config, 3));
        for (count, value) in taken.iter().zip(&values) {
            assert!(*count == 1 || *value == 0.0);
        }
        let norm = &layout.parameters[layout.norm(layout.norms() - 1)];
        assert_eq!(norm.name, "final_norm");
        assert!(values[norm.range()].iter().all(|value| *value == 1.0));
    }
}
