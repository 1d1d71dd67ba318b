//! Rotary position embedding on consecutive pairs (Su et al., 2021).

use burn::tensor::{DType, Device, Tensor, TensorData};
use tinyllama_kernel_catalog::rope;

use tinyllama_contract::model::{ModelConfig, ROTARY_BASE};

/// Cosine and sine of every position's angles, interleaved as the kernels read them: `[S, d/2, 2]`.
pub fn rotary_table(config: &ModelConfig) -> Vec<f32> {
    rope::table(config.sequence_length, config.head_dim(), ROTARY_BASE)
}

/// Cosine and sine of every position's angles, as tensors.
#[derive(Clone, Debug)]
pub struct RotaryTable {
    /// `[1, S, 1, d/2]`.
    cosine: Tensor<4>,
    /// `[1, S, 1, d/2]`.
    sine: Tensor<4>,
    /// Cosine and sine, f32 and interleaved for the kernels: `[S, d/2, 2]`.
    interleaved: Tensor<3>,
}

impl RotaryTable {
    /// Creates the table: pair `j` of a head turns by `position / 10000^(2j/d)`. `apply` works in `dtype`.
    pub fn new(config: &ModelConfig, dtype: DType, device: &Device) -> Self {
        let (length, pairs) = (config.sequence_length, config.head_dim() / 2);
        let table = |f: fn(f64) -> f64| {
            let values: Vec<f64> = angles(config).map(f).collect();
            let data = TensorData::new(values, [1, length, 1, pairs]);
            Tensor::from_data(data, (device, dtype))
        };
        let interleaved = rotary_table(config);
        let interleaved = TensorData::new(interleaved, [length * pairs * 2]);
        let interleaved = Tensor::<1>::from_data(interleaved, device);
        RotaryTable {
            cosine: table(f64::cos),
            sine: table(f64::sin),
            // Rows of two would be placed far apart on a GPU, and each kernel would first copy them.
            interleaved: interleaved.reshape([length, pairs, 2]),
        }
    }

    /// Returns the table in the kernels' layout, up to `sequence` positions.
    pub fn for_kernels(&self, sequence: usize) -> Tensor<3> {
        self.interleaved.clone().narrow(0, 0, sequence)
    }

    /// Rotates every pair of `[B, s, heads, d]`; s is at most the table's length.
    pub fn apply(&self, x: Tensor<4>) -> Tensor<4> {
        let [batch, sequence, heads, head_dim] = x.dims();
        let half = [batch, sequence, heads, head_dim / 2];
        let pairs = x.reshape([batch, sequence, heads, head_dim / 2, 2]);
        let even = pairs.clone().narrow(4, 0, 1).reshape(half);
        let odd = pairs.narrow(4, 1, 1).reshape(half);
        let cosine = self.cosine.clone().narrow(1, 0, sequence);
        let sine = self.sine.clone().narrow(1, 0, sequence);
        let turned_even = even.clone() * cosine.clone() - odd.clone() * sine.clone();
        let turned_odd = even * sine + odd * cosine;
        Tensor::stack::<5>(vec![turned_even, turned_odd], 4)
            .reshape([batch, sequence, heads, head_dim])
    }
}

/// Returns the angles in the order of the table: positions, then pairs.
fn angles(config: &ModelConfig) -> impl Iterator<Item = f64> {
    let half = config.head_dim() / 2;
    (0..config.sequence_length).flat_map(move |position| {
        (0..half).map(move |pair| position as f64 / ROTARY_BASE.powf(pair as f64 / half as f64))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    #[test]
    fn rotation_keeps_lengths_and_leaves_position_zero_alone() {
        let mut config = Preset::Tiny.config();
        (
            config.sequence_length,
            config.hidden,
            config.heads,
            config.kv_heads,
        ) = (5, 8, 2, 1);
        let device = Device::flex();
        let table = RotaryTable::new(&config, DType::F32, &device);
        let values: Vec<f32> = (0..40).map(|i| i as f32 * 0.1 - 1.7).collect();
        let x = Tensor::<4>::from_data(TensorData::new(values.clone(), [1, 5, 2, 4]), &device);
        let turned: Vec<f32> = table.apply(x).into_data().try_to_vec().unwrap();
        assert_eq!(turned[..8], values[..8]);
        for (before, after) in values.chunks(2).zip(turned.chunks(2)) {
            let (before, after) = (before[0].hypot(before[1]), after[0].hypot(after[1]));
            assert!((before - after).abs() < 1e-5, "{before} became {after}");
        }
        // Position 1, pair 0 turns by one radian: (a, b) -> (a cos 1 - b sin 1, …).
        let expected = values[8] * 1f32.cos() - values[9] * 1f32.sin();
        assert!((turned[8] - expected).abs() < 1e-5);
    }
}
