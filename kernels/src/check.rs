//! Running kernels against their references, on whatever device the client stands for.
//!
//! Inputs are fresh for every seed and rounded to the element type first, so the reference sees exactly what the kernel
//! sees. Outputs start as NaN and end in a guard, so an element left out or written past the end is a failure.

use std::collections::BTreeMap;

use cubecl::{
    ir::{ElemType, FloatKind, IntKind},
    prelude::*,
    server::Handle,
};
use half::{bf16, f16};

use crate::KernelError;
use crate::kernel::{Content, Room};

/// Elements after every output that no kernel may touch.
const GUARD: usize = 64;

/// One output of one kernel on one shape, compared with its reference.
#[derive(Debug, Clone)]
pub struct Check {
    pub kernel: &'static str,
    pub output: &'static str,
    /// The shape, as text.
    pub case: String,
    /// Relative l2 distance ‖kernel - reference‖ / ‖reference‖; infinite where anything is not finite.
    pub error: f64,
    pub tolerance: f64,
}

impl Check {
    /// Whether the output agrees with its reference. NaN never does.
    pub fn passed(&self) -> bool {
        self.error <= self.tolerance
    }
}

/// The largest relative l2 distance that rounding explains.
///
/// Kernels accumulate in f32, so 16-bit outputs are off by their own rounding: at most 2^-8 for bf16 and 2^-11 for f16, a
/// relative half unit in the last place; doubled here, for an intermediate that is stored in that type too. For f32 the
/// error grows with the length of a sum; 1e-5 is about a hundred times what one rounding costs.
pub fn tolerance(dtype: ElemType) -> f64 {
    match dtype {
        ElemType::Float(FloatKind::F16) => 2f64.powi(-10),
        ElemType::Float(FloatKind::BF16) => 2f64.powi(-7),
        _ => 1e-5,
    }
}

/// ‖actual - expected‖ / ‖expected‖, infinite where a value is not finite or the lengths differ. Where all that is
/// expected is zero, the norm of `actual` itself.
pub fn relative_error(actual: &[f64], expected: &[f64]) -> f64 {
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    if actual.len() != expected.len() || !finite(actual) || !finite(expected) {
        return f64::INFINITY;
    }
    let pairs = actual.iter().zip(expected);
    let difference: f64 = pairs.map(|(a, b)| (a - b) * (a - b)).sum();
    let norm: f64 = expected.iter().map(|b| b * b).sum();
    if norm == 0.0 {
        difference.sqrt()
    } else {
        (difference / norm).sqrt()
    }
}

/// A small generator (SplitMix64): the same seed gives the same inputs on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [-1, 1).
    pub fn uniform(&mut self) -> f64 {
        2.0 * self.share() - 1.0
    }

    /// In [0, 1).
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `count` uniform values in [-1, 1).
    pub fn uniforms(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.uniform()).collect()
    }

    /// Uniform in 0..`bound`; 0 where the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// One kernel on one shape: makes its buffers, collects its comparisons.
pub struct Trial<'a> {
    client: &'a Client,
    kernel: &'static str,
    case: String,
    dtype: ElemType,
    random: Random,
    buffers: BTreeMap<String, Held>,
    checks: Vec<Check>,
}

/// A buffer of a trial.
struct Held {
    handle: Handle,
    dtype: ElemType,
    /// What was put there, as its element type holds it.
    values: Vec<f64>,
}

impl<'a> Trial<'a> {
    pub fn new(
        client: &'a Client,
        kernel: &'static str,
        case: String,
        dtype: ElemType,
        seed: u64,
    ) -> Trial<'a> {
        Trial {
            client,
            kernel,
            case,
            dtype,
            random: Random::new(seed),
            buffers: BTreeMap::new(),
            checks: Vec::new(),
        }
    }

    /// The values that were put into a buffer; none where there is no such buffer.
    pub fn values(&self, name: &str) -> &[f64] {
        self.buffers.get(name).map_or(&[], |held| &held.values)
    }

    /// The same as whole numbers.
    pub fn indices(&self, name: &str) -> Vec<usize> {
        self.values(name)
            .iter()
            .map(|value| *value as usize)
            .collect()
    }

    /// Compares a buffer with what the reference says.
    pub fn compare(&mut self, name: &'static str, expected: &[f64]) -> Result<(), KernelError> {
        self.compare_as(name, name, expected)
    }

    /// As [`Trial::compare`], under another name.
    pub fn compare_as(
        &mut self,
        output: &'static str,
        name: &str,
        expected: &[f64],
    ) -> Result<(), KernelError> {
        let Some(held) = self.buffers.get(name) else {
            self.push(output, f64::INFINITY, 0.0);
            return Ok(());
        };
        let tolerance = tolerance(self.dtype).max(tolerance(held.dtype));
        let read = self.download(name)?;
        let (actual, guard) = read.split_at(expected.len().min(read.len()));
        let intact = guard.iter().all(|value| value.is_nan());
        let error = if intact {
            relative_error(actual, expected)
        } else {
            f64::INFINITY
        };
        self.push(output, error, tolerance);
        Ok(())
    }

    /// The first `count` values of a buffer as it is now.
    pub fn read(&self, name: &str, count: usize) -> Result<Vec<f64>, KernelError> {
        let mut values = self.download(name)?;
        values.truncate(count);
        Ok(values)
    }

    /// Records a property that either holds or not.
    pub fn expect(&mut self, output: &'static str, holds: bool) {
        self.push(output, if holds { 0.0 } else { f64::INFINITY }, 0.0);
    }

    fn download(&self, name: &str) -> Result<Vec<f64>, KernelError> {
        let Some(held) = self.buffers.get(name) else {
            return Ok(Vec::new());
        };
        download(self.client, held.handle.clone(), held.dtype)
            .map_err(|reason| KernelError::Device(self.kernel, reason))
    }

    fn push(&mut self, output: &'static str, error: f64, tolerance: f64) {
        self.checks.push(Check {
            kernel: self.kernel,
            output,
            case: self.case.clone(),
            error,
            tolerance,
        });
    }

    /// What was compared.
    pub fn finish(self) -> Vec<Check> {
        self.checks
    }
}

impl Room for Trial<'_> {
    fn client(&self) -> &Client {
        self.client
    }

    /// Outputs are NaN throughout, with a guard behind them.
    fn buffer(&mut self, name: &str, count: usize, dtype: ElemType, holds: Content<'_>) -> Handle {
        let random = &mut self.random;
        let mut values: Vec<f64> = match holds {
            Content::Around(center) => (0..count).map(|_| random.uniform() + center).collect(),
            Content::Below(bound) => (0..count).map(|_| random.below(bound) as f64).collect(),
            Content::Given(values) => values.to_vec(),
            Content::Zeros => vec![0.0; count],
            Content::Output => vec![f64::NAN; count + GUARD],
        };
        for value in &mut values {
            *value = round(*value, dtype);
        }
        let handle = self.client.create_from_slice(&bytes(&values, dtype));
        let held = Held {
            handle: handle.clone(),
            dtype,
            values,
        };
        self.buffers.insert(name.to_string(), held);
        handle
    }
}

/// The type of [`Content::Below`].
pub const INDEX: ElemType = ElemType::Int(IntKind::I32);

/// `value` as the element type can hold it.
fn round(value: f64, dtype: ElemType) -> f64 {
    match dtype {
        ElemType::Float(FloatKind::F16) => f16::from_f64(value).to_f64(),
        ElemType::Float(FloatKind::BF16) => bf16::from_f64(value).to_f64(),
        _ => f64::from(value as f32),
    }
}

fn bytes(values: &[f64], dtype: ElemType) -> Vec<u8> {
    let each = values.iter();
    match dtype {
        ElemType::Float(FloatKind::F16) => each
            .flat_map(|&it| f16::from_f64(it).to_le_bytes())
            .collect(),
        ElemType::Float(FloatKind::BF16) => each
            .flat_map(|&it| bf16::from_f64(it).to_le_bytes())
            .collect(),
        ElemType::Int(_) => each.flat_map(|&it| (it as i32).to_le_bytes()).collect(),
        _ => each.flat_map(|&it| (it as f32).to_le_bytes()).collect(),
    }
}

/// The whole buffer as numbers; the error is the device's own words.
fn download(client: &Client, handle: Handle, dtype: ElemType) -> Result<Vec<f64>, String> {
    let bytes = client.read_one(handle);
    let bytes = bytes.map_err(|error| format!("{error:?}"))?;
    let pairs = || bytes.as_chunks::<2>().0.iter();
    Ok(match dtype {
        ElemType::Float(FloatKind::F16) => pairs()
            .map(|pair| f16::from_le_bytes(*pair).to_f64())
            .collect(),
        ElemType::Float(FloatKind::BF16) => pairs()
            .map(|pair| bf16::from_le_bytes(*pair).to_f64())
            .collect(),
        _ => {
            let fours = bytes.as_chunks::<4>().0.iter();
            let floats = fours.map(|four| f32::from_le_bytes(*four));
            floats.map(f64::from).collect()
        }
    })
}

/// Finite differences, for tests of references: d `loss` / d `input`, by central differences in f64.
#[cfg(test)]
pub fn finite_difference(input: &[f64], mut loss: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let step = 1e-5;
    let mut moved = input.to_vec();
    (0..input.len())
        .map(|index| {
            moved[index] = input[index] + step;
            let above = loss(&moved);
            moved[index] = input[index] - step;
            let below = loss(&moved);
            moved[index] = input[index];
            (above - below) / (2.0 * step)
        })
        .collect()
}

/// The weighted sum of an output: a scalar loss whose gradient with respect to the output is `weights`.
#[cfg(test)]
pub fn weighted_sum(output: &[f64], weights: &[f64]) -> f64 {
    assert_eq!(output.len(), weights.len());
    output.iter().zip(weights).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_a_number_is_a_failure() {
        let check = |error| Check {
            kernel: "k",
            output: "o",
            case: String::new(),
            error,
            tolerance: 1e-5,
        };
        assert!(check(1e-6).passed());
        assert!(!check(f64::NAN).passed());
        assert!(!check(f64::INFINITY).passed());
        assert_eq!(relative_error(&[1.0, f64::NAN], &[1.0, 2.0]), f64::INFINITY);
        assert_eq!(relative_error(&[1.0], &[1.0, 2.0]), f64::INFINITY);
    }

    #[test]
    fn the_error_is_relative_to_the_expected_norm() {
        let error = relative_error(&[3.0, 4.5], &[3.0, 4.0]);
        assert!((error - 0.1).abs() < 1e-12, "{error}");
        assert_eq!(relative_error(&[0.0, 3.0], &[0.0, 0.0]), 3.0);
    }

    #[test]
    fn seeds_decide_the_inputs() {
        let draw = |seed| Random::new(seed).uniforms(16);
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(7).iter().all(|value| (-1.0..1.0).contains(value)));
    }
}
