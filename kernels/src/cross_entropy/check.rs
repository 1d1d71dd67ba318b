//! The kernels against the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use super::{
    Backward, CrossEntropyBlock, Dtypes, Forward, Fused, KERNEL, Shape, backward, forward, fused,
    mean, reference_backward, reference_forward,
};
use crate::{
    KernelError,
    check::{Check, INDEX, Trial, upload, upload_indices},
    launch::F32,
    team::OTHER_TEAMS,
};

const CASES: [Shape; 6] = [
    Shape {
        rows: 1,
        classes: 2,
    },
    Shape {
        rows: 7,
        classes: 3,
    },
    Shape {
        rows: 129,
        classes: 96,
    },
    Shape {
        rows: 7,
        classes: 777,
    },
    Shape {
        rows: 7,
        classes: 1000,
    },
    Shape {
        rows: 3,
        classes: 4096,
    },
];

/// Every launch against the reference on fresh inputs, also with teams of every kind.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<Check>, KernelError> {
    let mut checks = Vec::new();
    for shape in CASES {
        let block = CrossEntropyBlock::for_device(client, shape);
        checks.extend(check_case(client, shape, dtype, block, seed)?);
    }
    for (units_per_row, rows_per_cube) in OTHER_TEAMS {
        let shape = Shape {
            rows: 7,
            classes: 777,
        };
        let block = CrossEntropyBlock {
            units_per_row,
            rows_per_cube,
        };
        checks.extend(check_case(client, shape, dtype, block, seed)?);
    }
    Ok(checks)
}

fn check_case(
    client: &Client,
    shape: Shape,
    dtype: ElemType,
    block: CrossEntropyBlock,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    let Shape { rows, classes } = shape;
    let dtypes = Dtypes {
        logits: dtype,
        targets: INDEX,
    };
    let case = format!(
        "{rows}x{classes} units {} rows {}",
        block.units_per_row, block.rows_per_cube
    );
    let mut trial = Trial::new(client, KERNEL, case, dtype, seed);
    // Far from zero, so that an exponential without the maximum taken off would overflow.
    let (logits, logits_handle) = trial.input(rows * classes, 100.0);
    let (targets, targets_handle) = trial.indices(rows, classes);
    let (losses, log_sums) = reference_forward(&logits, &targets, classes);
    let scale = 1.0 / rows as f64;

    let (loss, log_sum) = (trial.output_of(rows, F32), trial.output_of(rows, F32));
    let buffers = Forward {
        logits: &logits_handle,
        targets: &targets_handle,
        losses: &loss,
        log_sums: &log_sum,
    };
    forward(client, buffers, shape, dtypes, &block)?;
    let average = trial.output_of(1, F32);
    mean(client, &loss, &average, rows)?;
    let expected = losses.iter().sum::<f64>() * scale;
    trial.compare_of("losses", loss, &losses, F32)?;
    trial.compare_of("mean loss", average, &[expected], F32)?;

    let gradient = trial.output(rows * classes);
    let upstream = upload(client, &[0.5], F32);
    let buffers = Backward {
        logits: &logits_handle,
        targets: &targets_handle,
        log_sums: &log_sum,
        upstream: &upstream,
        gradient: Some(&gradient),
    };
    backward(client, buffers, shape, scale as f32, dtypes)?;
    let halved = reference_backward(&logits, &targets, classes, 0.5 * scale);
    trial.compare("gradient", gradient, &halved)?;
    trial.compare_of("log_sums", log_sum, &log_sums, F32)?;

    let (loss, gradient) = (trial.output_of(rows, F32), trial.output(rows * classes));
    let whole = reference_backward(&logits, &targets, classes, scale);
    for in_place in [false, true] {
        let buffers = Fused {
            logits: &logits_handle,
            targets: &targets_handle,
            losses: &loss,
            gradient: (!in_place).then_some(&gradient),
        };
        fused(client, buffers, shape, scale as f32, dtypes, &block)?;
    }
    trial.compare_of("fused losses", loss, &losses, F32)?;
    trial.compare("fused gradient", gradient, &whole)?;
    trial.compare("fused gradient in place", logits_handle, &whole)?;
    check_strange_target(&mut trial, client, shape, dtypes, &block)?;
    Ok(trial.finish())
}

/// A target past the classes must make its own row NaN and leave the others alone.
fn check_strange_target(
    trial: &mut Trial<'_>,
    client: &Client,
    shape: Shape,
    dtypes: Dtypes,
    block: &CrossEntropyBlock,
) -> Result<(), KernelError> {
    let Shape { rows, classes } = shape;
    let (_, logits) = trial.input(rows * classes, 0.0);
    let targets: Vec<usize> = (0..rows)
        .map(|row| if row == 0 { classes } else { 0 })
        .collect();
    let targets = upload_indices(client, &targets);
    let (losses, gradient) = (trial.output_of(rows, F32), trial.output(rows * classes));
    let buffers = Fused {
        logits: &logits,
        targets: &targets,
        losses: &losses,
        gradient: Some(&gradient),
    };
    fused(client, buffers, shape, 1.0, dtypes, block)?;
    let losses = trial.read(losses, rows, F32)?;
    let gradient = trial.read(gradient, rows * classes, dtypes.logits)?;
    let holds = |values: &[f64], row: usize| {
        values[..row].iter().all(|value| value.is_nan())
            && values[row..].iter().all(|value| value.is_finite())
    };
    trial.expect(
        "strange target",
        holds(&losses, 1) && holds(&gradient, classes),
    );
    Ok(())
}
