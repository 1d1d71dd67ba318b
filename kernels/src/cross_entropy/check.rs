//! Compares the kernels with the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use tinyllama_kernel_catalog::block::TeamBlock;
use tinyllama_kernel_catalog::cross_entropy::{
    CrossEntropyShape, reference_backward, reference_forward,
};

use super::NAME;
use super::launch::rows;
use super::workload::{CrossEntropyTypes, launcher};
use crate::{
    KernelError,
    check::{INDEX, KernelTrial, OutputCheck},
    launch::F32,
    team::{OTHER_TEAMS, team_block},
    workload::{BufferContent, BufferSource},
};

/// Rows and classes.
const CASES: [(usize, usize); 6] = [(1, 2), (7, 3), (129, 96), (7, 777), (7, 1000), (3, 4096)];

/// Compares every launch with the reference on new inputs, also with teams of every kind.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<OutputCheck>, KernelError> {
    let of_device = CASES.map(|(rows, classes)| {
        let block = team_block(NAME, client, classes, None);
        (CrossEntropyShape { rows, classes }, block)
    });
    // The kernel unrolls a unit's share of a row. For a single unit that is the whole row, so the row is short.
    let others = OTHER_TEAMS.map(|block| {
        let shape = CrossEntropyShape {
            rows: 7,
            classes: 97,
        };
        (shape, block)
    });
    let mut checks = Vec::new();
    for (shape, block) in of_device.into_iter().chain(others) {
        checks.extend(check_case(client, shape, dtype, block, seed)?);
    }
    Ok(checks)
}

fn check_case(
    client: &Client,
    shape: CrossEntropyShape,
    dtype: ElemType,
    block: TeamBlock,
    seed: u64,
) -> Result<Vec<OutputCheck>, KernelError> {
    let CrossEntropyShape { rows, classes } = shape;
    let case = format!(
        "{rows}x{classes} units {} rows {}",
        block.units_per_row, block.rows_per_cube
    );
    let mut trial = KernelTrial::new(client, NAME, case, dtype, seed);
    // The logits are far from zero, so an exponential without subtracting the maximum would overflow.
    let launch = launcher(&mut trial, shape, dtype, 100.0, block);
    let scale = 1.0 / rows as f64;
    let logits = trial.values("logits").to_vec();
    let targets = trial.indices("targets");
    let (losses, _) = reference_forward(&logits, &targets, classes);
    let gradient = reference_backward(&logits, &targets, classes, scale);

    launch("both")?;
    launch("mean")?;
    trial.compare("losses", &losses)?;
    trial.compare("gradient", &gradient)?;
    trial.compare_as("mean loss", "mean", &[losses.iter().sum::<f64>() * scale])?;
    check_strange_target(&mut trial, client, shape, dtype, block)?;
    Ok(trial.finish())
}

/// Checks that a target past the classes makes its own row NaN and leaves the others unchanged.
fn check_strange_target(
    trial: &mut KernelTrial<'_>,
    client: &Client,
    shape: CrossEntropyShape,
    dtype: ElemType,
    block: TeamBlock,
) -> Result<(), KernelError> {
    let elements = shape.rows * shape.classes;
    let mut targets = vec![0.0; shape.rows];
    targets[0] = shape.classes as f64;
    let logits = trial.input("logits", elements, dtype);
    let targets = trial.buffer("targets", shape.rows, INDEX, BufferContent::Given(&targets));
    let losses = trial.output("losses", shape.rows, F32);
    let gradient = trial.output("gradient", elements, dtype);
    let dtypes = CrossEntropyTypes {
        logits: dtype,
        targets: INDEX,
    };
    let buffers = [&logits, &targets, &losses, &gradient];
    rows(client, buffers, 1.0, shape, dtypes, &block)?;
    let losses = trial.read("losses", shape.rows)?;
    let gradient = trial.read("gradient", elements)?;
    let holds = |values: &[f64], row: usize| {
        values[..row].iter().all(|value| value.is_nan())
            && values[row..].iter().all(|value| value.is_finite())
    };
    let alone = holds(&losses, 1) && holds(&gradient, shape.classes);
    trial.expect("strange target", alone);
    Ok(())
}
