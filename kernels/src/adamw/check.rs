//! The kernel against the reference, over several steps.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::{
    AdamwBlock, Dtypes, F32, FactorSource, Factors, Hyperparameters, KERNEL, Parameter,
    STATE_ALIGNMENT, State, reference, state_elements, step,
};
use crate::{
    KernelError,
    check::{Check, Trial, upload},
};

const LENGTHS: [usize; 9] = [1, 7, 129, 96, 777, 4096, 5000, 8, 260];
const STEPS: u64 = 3;

/// Three steps over parameters of awkward lengths against the reference, with gradients of type `dtype`: factors passed
/// and read from a buffer, few and all parameters to a launch, every second one with a copy.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<Check>, KernelError> {
    let whole = AdamwBlock::for_device(client);
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
) -> Result<Vec<Check>, KernelError> {
    let case = format!(
        "{} parameters, {STEPS} steps, {} units of {}, factors {}",
        LENGTHS.len(),
        block.units,
        block.vectors_per_unit,
        if stored { "stored" } else { "passed" }
    );
    let hyper = Hyperparameters {
        learning_rate: 1e-2,
        beta1: 0.9,
        beta2: 0.999,
        epsilon: 1e-8,
        weight_decay: 0.1,
    };
    let dtypes = Dtypes {
        gradient: dtype,
        copy: dtype,
    };
    let mut trial = Trial::new(client, KERNEL, case, dtype, seed);
    let (mut values, handles): (Vec<Vec<f64>>, Vec<Handle>) = LENGTHS
        .iter()
        .map(|length| trial.input_of(*length, 0.0, F32))
        .unzip();
    let copies: Vec<Option<Handle>> = LENGTHS
        .iter()
        .enumerate()
        .map(|(index, length)| (index % 2 == 0).then(|| trial.output(*length)))
        .collect();
    let state = state_elements(LENGTHS);
    let zeros = vec![0.0; state];
    let moments = [upload(client, &zeros, F32), upload(client, &zeros, F32)];
    let mut expected_moments = [zeros.clone(), zeros];

    for number in 1..=STEPS {
        let (gradients, gradient_handles): (Vec<Vec<f64>>, Vec<Handle>) = LENGTHS
            .iter()
            .map(|length| trial.input(*length, 0.0))
            .unzip();
        let parameters: Vec<Parameter<'_>> = (0..LENGTHS.len())
            .map(|index| Parameter {
                value: &handles[index],
                gradient: &gradient_handles[index],
                copy: copies[index].as_ref(),
                elements: LENGTHS[index],
            })
            .collect();
        let factors = Factors::new(&hyper, number);
        let factor_values = factors.to_array().map(f64::from);
        let factor_buffer = upload(client, &factor_values, F32);
        let source = match stored {
            true => FactorSource::Buffer(&factor_buffer),
            false => FactorSource::Values(factors),
        };
        let moment_buffers = State {
            first_moment: &moments[0],
            second_moment: &moments[1],
        };
        step(client, &parameters, moment_buffers, source, dtypes, block)?;

        let mut start = 0;
        let [first, second] = &mut expected_moments;
        for (value, gradient) in values.iter_mut().zip(&gradients) {
            let end = start + value.len();
            let (m, v) = (&mut first[start..end], &mut second[start..end]);
            reference(value, m, v, gradient, &hyper, number);
            start += value.len().next_multiple_of(STATE_ALIGNMENT);
        }
    }

    for (value, handle) in values.iter().zip(handles) {
        trial.compare_of("parameter", handle, value, F32)?;
    }
    for (value, copy) in values.iter().zip(copies) {
        if let Some(copy) = copy {
            trial.compare("copy", copy, value)?;
        }
    }
    let [first, second] = moments;
    trial.compare_of("first moment", first, &expected_moments[0], F32)?;
    trial.compare_of("second moment", second, &expected_moments[1], F32)?;
    Ok(trial.finish())
}
