//! Compares the kernel with the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use tinyllama_kernel_catalog::matmul::{Layout, MatmulShape, reference};

use super::NAME;
use super::launch::{Operand, matmul};
use super::plan::{MatmulBlock, MatmulPlan, plan};
use crate::KernelError;
use crate::check::{KernelTrial, OutputCheck};
use crate::launch::F32;
use crate::workload::BufferSource;

/// m, n, k: a single element, less than a tile, ends within tiles, whole tiles, a long sum for few tiles.
const CASES: [[usize; 3]; 5] = [
    [1, 1, 1],
    [7, 3, 5],
    [130, 65, 99],
    [128, 256, 64],
    [64, 72, 1030],
];

/// Whether each operand is stored transposed.
const LAYOUTS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

/// tf32 keeps 11 bits of an operand, so each is off by 2^-12 at most, and their product by twice that; doubled.
const TF32: f64 = 1.0 / 1024.0;

/// Compares products by multiply-adds, and on matrix units where the device has them, in one part and in several.
///
/// # Errors
/// Fails if a launch is refused or the device fails.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<OutputCheck>, KernelError> {
    let mut checks = Vec::new();
    for (number, [m, n, k]) in CASES.into_iter().enumerate() {
        let shape = MatmulShape { m, n, k };
        let fma = MatmulPlan::fma(client, shape);
        let mut plans = vec![fma];
        plans.extend(plan(client, shape, dtype).filter(|plan| plan.block != fma.block));
        for plan in plans {
            let other = if plan.parts == 1 { 3 } else { 1 };
            for (parts, layout) in [
                (plan.parts, number),
                (other, number + 1),
                (other, number + 2),
            ] {
                let plan = MatmulPlan { parts, ..plan };
                let layout = LAYOUTS[layout % LAYOUTS.len()];
                checks.extend(check_one(client, shape, layout, plan, dtype, seed)?);
            }
        }
    }
    Ok(checks)
}

fn check_one(
    client: &Client,
    shape: MatmulShape,
    transposed: [bool; 2],
    plan: MatmulPlan,
    dtype: ElemType,
    seed: u64,
) -> Result<Vec<OutputCheck>, KernelError> {
    let MatmulShape { m, n, k } = shape;
    let (units, rounds) = match plan.block {
        MatmulBlock::Fma { .. } => ("multiply-adds", false),
        MatmulBlock::Mma { .. } => ("matrix units", dtype == F32),
    };
    let stored = |transposed| if transposed { "transposed" } else { "as it is" };
    let [left, right] = transposed.map(stored);
    let parts = plan.parts;
    let case = format!("{m}x{n}x{k} {units}, {parts} parts, left {left}, right {right}");
    let mut trial = KernelTrial::new(client, NAME, case, dtype, seed);
    // Rows lie three elements apart, as those of a part of a matrix do.
    let sides = [[m, k], [k, n]];
    let layouts = [0, 1].map(|at| {
        let dense = Layout::dense(sides[at], transposed[at]);
        Layout {
            stride: dense.stride + 3,
            ..dense
        }
    });
    let names = ["left", "right"];
    let handles = [0, 1].map(|at| {
        let lines = sides[at][usize::from(transposed[at])];
        trial.input(names[at], lines * layouts[at].stride, dtype)
    });
    let output = trial.output("y", m * n, dtype);
    let workspace = trial.output("workspace", plan.workspace(shape).max(1), F32);
    let operands = [0, 1].map(|at| Operand::new(&handles[at], layouts[at]));
    matmul(
        client,
        operands,
        &output,
        Some(&workspace),
        shape,
        dtype,
        &plan,
    )?;
    let expected = reference(names.map(|name| trial.values(name)), layouts, shape);
    trial.compare_within("y", &expected, if rounds { TF32 } else { 0.0 })?;
    Ok(trial.finish())
}
