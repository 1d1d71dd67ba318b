//! Compares kernels with their references, on the device of the client.
//!
//! Inputs are new for every seed and rounded to the element type first, so reference and kernel see the same numbers.
//! Outputs start as NaN and are followed by a guard. An element left out, or written past the end, is thus a failure.

use std::collections::BTreeMap;

use cubecl::{
    ir::{ElemType, FloatKind, IntKind},
    prelude::*,
    server::Handle,
};
use half::{bf16, f16};
use tinyllama_kernel_catalog::check::{Random, relative_error};

use super::OutputCheck;
use crate::KernelError;
use crate::workload::{BufferContent, BufferSource};

/// Elements after every output that no kernel may write.
const GUARD: usize = 64;

/// Returns the largest relative l2 distance that rounding explains.
///
/// Kernels accumulate in f32, so 16-bit outputs have one rounding error. That is at most 2^-8 for bf16 and 2^-11
/// for f16, half a unit in the last place. It is doubled here for an intermediate result that is stored in the same type. For
/// f32 the error grows with the length of a sum; 1e-5 is about a hundred times the error of one rounding.
pub fn tolerance(dtype: ElemType) -> f64 {
    match dtype {
        ElemType::Float(FloatKind::F16) => 2f64.powi(-10),
        ElemType::Float(FloatKind::BF16) => 2f64.powi(-7),
        _ => 1e-5,
    }
}

/// One kernel on one shape: creates its buffers and collects its comparisons.
pub struct KernelTrial<'a> {
    client: &'a Client,
    kernel: &'static str,
    case: String,
    dtype: ElemType,
    random: Random,
    buffers: BTreeMap<String, TrialBuffer>,
    checks: Vec<OutputCheck>,
}

/// A buffer of a trial.
struct TrialBuffer {
    handle: Handle,
    dtype: ElemType,
    /// Its initial values, as rounded by its element type.
    values: Vec<f64>,
}

impl<'a> KernelTrial<'a> {
    pub fn new(
        client: &'a Client,
        kernel: &'static str,
        case: String,
        dtype: ElemType,
        seed: u64,
    ) -> KernelTrial<'a> {
        KernelTrial {
            client,
            kernel,
            case,
            dtype,
            random: Random::new(seed),
            buffers: BTreeMap::new(),
            checks: Vec::new(),
        }
    }

    /// Returns the initial values of a buffer; empty if there is no such buffer.
    pub fn values(&self, name: &str) -> &[f64] {
        self.buffers.get(name).map_or(&[], |held| &held.values)
    }

    /// Returns the initial values as whole numbers.
    pub fn indices(&self, name: &str) -> Vec<usize> {
        self.values(name)
            .iter()
            .map(|value| *value as usize)
            .collect()
    }

    /// Compares a buffer with the reference's values.
    pub fn compare(&mut self, name: &'static str, expected: &[f64]) -> Result<(), KernelError> {
        self.compare_as(name, name, expected)
    }

    /// As [`KernelTrial::compare`], under another name.
    pub fn compare_as(
        &mut self,
        output: &'static str,
        name: &str,
        expected: &[f64],
    ) -> Result<(), KernelError> {
        self.compare_both(output, name, expected, 0.0)
    }

    /// As [`KernelTrial::compare`], with a tolerance of at least `least`.
    pub fn compare_within(
        &mut self,
        name: &'static str,
        expected: &[f64],
        least: f64,
    ) -> Result<(), KernelError> {
        self.compare_both(name, name, expected, least)
    }

    fn compare_both(
        &mut self,
        output: &'static str,
        name: &str,
        expected: &[f64],
        least: f64,
    ) -> Result<(), KernelError> {
        let Some(held) = self.buffers.get(name) else {
            self.push(output, f64::INFINITY, 0.0);
            return Ok(());
        };
        let tolerance = tolerance(self.dtype).max(tolerance(held.dtype)).max(least);
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

    /// Reads the first `count` current values of a buffer.
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
        self.checks.push(OutputCheck {
            kernel: self.kernel,
            output,
            case: self.case.clone(),
            error,
            tolerance,
        });
    }

    /// Returns all comparisons.
    pub fn finish(self) -> Vec<OutputCheck> {
        self.checks
    }
}

impl BufferSource for KernelTrial<'_> {
    fn client(&self) -> &Client {
        self.client
    }

    /// Creates a buffer. Outputs are NaN throughout, with a guard behind them.
    fn buffer(
        &mut self,
        name: &str,
        count: usize,
        dtype: ElemType,
        holds: BufferContent<'_>,
    ) -> Handle {
        let random = &mut self.random;
        let mut values: Vec<f64> = match holds {
            BufferContent::Around(center) => {
                (0..count).map(|_| random.uniform() + center).collect()
            }
            BufferContent::Below(bound) => (0..count)
                .map(|_| random.integer_below(bound) as f64)
                .collect(),
            BufferContent::Given(values) => values.to_vec(),
            BufferContent::Zeros => vec![0.0; count],
            BufferContent::Output => vec![f64::NAN; count + GUARD],
        };
        for value in &mut values {
            *value = round(*value, dtype);
        }
        let handle = self.client.create_from_slice(&bytes(&values, dtype));
        let held = TrialBuffer {
            handle: handle.clone(),
            dtype,
            values,
        };
        self.buffers.insert(name.to_string(), held);
        handle
    }
}

/// The type of [`BufferContent::Below`].
pub const INDEX: ElemType = ElemType::Int(IntKind::I32);

/// Rounds `value` to the element type.
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

/// Reads a whole buffer as numbers; the error is the device's own message.
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
