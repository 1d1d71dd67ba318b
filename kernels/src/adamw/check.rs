//! Compares the kernel with the reference over several steps.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use tinyllama_kernel_catalog::adamw::{
    AdamwBlock, FACTORS, Factors, Hyperparameters, STATE_ALIGNMENT, reference, state_elements,
};

use super::NAME;
use super::launch::{AdamWParameter, AdamWTypes, FactorSource, choose_block, step};
use crate::{
    KernelError,
    check::{KernelTrial, OutputCheck},
    launch::F32,
    workload::{BufferContent, BufferSource},
};

const LENGTHS: [usize; 9] = [1, 7, 129, 96, 777, 4096, 5000, 8, 260];
const STEPS: u64 = 3;

/// Runs three steps over parameters of awkward lengths and compares them with the reference. Gradients have type
/// `dtype`. The cases pass factors as arguments and in a buffer, have few and all parameters per launch, and give every
/// second one a copy.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<OutputCheck>, KernelError> {
    let whole = choose_block(client, None);
    let small = AdamwBlock {
        units: 32.min(whole.units),
        vectors_per_unit: 2,
        parameters_per_launch: 2,
    };
    let mut checks = Vec::new();
    for block in [whole, small] {
        for stored in [false, true] {
            checks.extend(check_case(client, dtype, &block, stored, seed)?);
        }
    }
    Ok(checks)
}

fn check_case(
    client: &Client,
    dtype: ElemType,
    block: &AdamwBlock,
    stored: bool,
    seed: u64,
) -> Result<Vec<OutputCheck>, KernelError> {
    let (parameters, units, vectors) = (LENGTHS.len(), block.units, block.vectors_per_unit);
    let factors = if stored { "stored" } else { "passed" };
    let case = format!(
        "{parameters} parameters, {STEPS} steps, {units} units of {vectors}, factors {factors}"
    );
    let hyper = Hyperparameters {
        learning_rate: 1e-2,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.1,
    };
    let trial = KernelTrial::new(client, NAME, case, dtype, seed);
    let mut training = TrialTraining::new(trial, dtype);
    for number in 1..=STEPS {
        training.step(client, &hyper, number, stored, block)?;
    }
    training.compare()
}

/// Parameters and moments that the kernel updates on the device, and the reference in f64.
struct TrialTraining<'a> {
    trial: KernelTrial<'a>,
    dtype: ElemType,
    values: Vec<Handle>,
    /// Every second parameter has a copy.
    copies: Vec<Option<Handle>>,
    moments: [Handle; 2],
    expected: Vec<Vec<f64>>,
    expected_moments: [Vec<f64>; 2],
}

fn value_name(index: usize) -> String {
    format!("value {index}")
}

fn copy_name(index: usize) -> String {
    format!("copy {index}")
}

impl<'a> TrialTraining<'a> {
    fn new(mut trial: KernelTrial<'a>, dtype: ElemType) -> Self {
        let each = || LENGTHS.iter().copied().enumerate();
        let values: Vec<Handle> = each()
            .map(|(index, length)| trial.input(&value_name(index), length, F32))
            .collect();
        let copies: Vec<Option<Handle>> = each()
            .map(|(index, length)| {
                (index % 2 == 0).then(|| trial.output(&copy_name(index), length, dtype))
            })
            .collect();
        let state = state_elements(LENGTHS);
        let moments =
            ["first", "second"].map(|name| trial.buffer(name, state, F32, BufferContent::Zeros));
        TrialTraining {
            expected: each()
                .map(|(index, _)| trial.values(&value_name(index)).to_vec())
                .collect(),
            expected_moments: [vec![0.0; state], vec![0.0; state]],
            trial,
            dtype,
            values,
            copies,
            moments,
        }
    }

    /// Makes step `number` with new gradients, by the kernel and by the reference.
    fn step(
        &mut self,
        client: &Client,
        hyper: &Hyperparameters,
        number: u64,
        stored: bool,
        block: &AdamwBlock,
    ) -> Result<(), KernelError> {
        let (trial, dtype) = (&mut self.trial, self.dtype);
        let (gradients, gradient_handles): (Vec<Vec<f64>>, Vec<Handle>) = LENGTHS
            .iter()
            .map(|length| {
                let handle = trial.input("gradient", *length, dtype);
                (trial.values("gradient").to_vec(), handle)
            })
            .unzip();
        let parameters: Vec<AdamWParameter<'_>> = (0..LENGTHS.len())
            .map(|index| AdamWParameter {
                value: &self.values[index],
                gradient: &gradient_handles[index],
                copy: self.copies[index].as_ref(),
                elements: LENGTHS[index],
            })
            .collect();
        let factors = Factors::new(hyper, number);
        let values = BufferContent::Given(&factors.to_array().map(f64::from));
        let buffer = trial.buffer("factors", FACTORS, F32, values);
        let source = match stored {
            true => FactorSource::Buffer(&buffer),
            false => FactorSource::Values(factors),
        };
        let dtypes = AdamWTypes {
            gradient: dtype,
            copy: dtype,
        };
        let moments = self.moments.each_ref();
        step(client, &parameters, moments, source, dtypes, block)?;

        let mut start = 0;
        let [first, second] = &mut self.expected_moments;
        for (value, gradient) in self.expected.iter_mut().zip(&gradients) {
            let end = start + value.len();
            let (m, v) = (&mut first[start..end], &mut second[start..end]);
            reference(value, m, v, gradient, hyper, number);
            start += value.len().next_multiple_of(STATE_ALIGNMENT);
        }
        Ok(())
    }

    fn compare(mut self) -> Result<Vec<OutputCheck>, KernelError> {
        let trial = &mut self.trial;
        for (index, value) in self.expected.iter().enumerate() {
            trial.compare_as("parameter", &value_name(index), value)?;
            if self.copies[index].is_some() {
                trial.compare_as("copy", &copy_name(index), value)?;
            }
        }
        trial.compare_as("first moment", "first", &self.expected_moments[0])?;
        trial.compare_as("second moment", "second", &self.expected_moments[1])?;
        Ok(self.trial.finish())
    }
}
