//! The kernels against the reference, on any device.

use cubecl::{ir::ElemType, prelude::*};

use tinyllama_kernel_catalog::add_rmsnorm::{reference_backward, reference_forward};
use tinyllama_kernel_catalog::rmsnorm::Shape;

use super::workload::{NAME, launcher};
use crate::{
    KernelError,
    check::{Check, Trial},
    rmsnorm::Dtypes,
};

/// Rows, width and epsilon.
const CASES: [(usize, usize, f32); 4] =
    [(1, 1, 0.5), (129, 96, 1e-5), (7, 777, 1e-5), (7, 3, 1e-5)];

/// Both passes, in place and not, against the reference on fresh inputs.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<Check>, KernelError> {
    let mut checks = Vec::new();
    for (rows, width, epsilon) in CASES {
        let shape = Shape { rows, width };
        let dtypes = Dtypes {
            activation: dtype,
            weight: dtype,
        };
        for in_place in [false, true] {
            let place = if in_place { ", in place" } else { "" };
            let case = format!("{rows}x{width}{place}");
            let mut trial = Trial::new(client, NAME, case, dtype, seed);
            let launch = launcher(&mut trial, shape, dtypes, epsilon, in_place, None);
            launch("forward")?;
            launch("backward")?;
            let values = |name| trial.values(name);
            let (x, residual, weight) = (values("x"), values("residual"), values("weight"));
            let (sum, y) = reference_forward(x, residual, weight, f64::from(epsilon));
            // From the sum that the kernel read: where `passed` and the norm's gradient cancel, its rounding counts many
            // times.
            let place = if in_place { "residual" } else { "sum" };
            let stored = trial.read(place, rows * width)?;
            let (passed, dy) = (values("sum_gradient"), values("y_gradient"));
            let (gradient, dw) =
                reference_backward(&stored, weight, passed, dy, f64::from(epsilon));
            trial.compare("y", &y)?;
            trial.compare_as("sum", place, &sum)?;
            trial.compare("gradient", &gradient)?;
            trial.compare("weight_gradient", &dw)?;
            checks.extend(trial.finish());
        }
    }
    Ok(checks)
}
