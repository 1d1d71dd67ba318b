//! Allocates buffers for given sizes and launches every pass on them.

use tinyllama_kernel_catalog::matmul::{KERNEL, Layout, MatmulShape};

use super::check;
use super::launch::{Operand, matmul};
use super::plan::{MatmulPlan, plan};
use crate::launch::F32;
use crate::workload::KernelCode;

/// The kernel's descriptor, and the code that launches it.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, _| {
        let client = source.client().clone();
        let (m, k, n) = (sizes.tokens(), sizes.hidden, 2 * sizes.ffn);
        let x = source.input("x", m * k, dtype);
        let weight = source.input("weight", k * n, dtype);
        let y_gradient = source.input("y_gradient", m * n, dtype);
        let y = source.output("y", m * n, dtype);
        let x_gradient = source.output("x_gradient", m * k, dtype);
        let weight_gradient = source.output("weight_gradient", k * n, dtype);
        let shapes = [(m, n, k), (m, k, n), (k, n, m)].map(|(m, n, k)| MatmulShape { m, n, k });
        let plans = shapes.map(|shape| {
            plan(&client, shape, dtype).unwrap_or_else(|| MatmulPlan::fma(&client, shape))
        });
        let elements = shapes.iter().zip(&plans);
        let elements = elements.map(|(shape, plan)| plan.workspace(*shape)).max();
        let workspace = source.output("workspace", elements.unwrap_or(0).max(1), F32);
        Box::new(move |pass| {
            let (number, [left, right], [a, b], output) = match pass {
                "forward" => (0, [&x, &weight], [false, false], &y),
                "left" => (1, [&y_gradient, &weight], [false, true], &x_gradient),
                _ => (2, [&x, &y_gradient], [true, false], &weight_gradient),
            };
            let (shape, plan) = (shapes[number], plans[number]);
            let left = Operand::new(left, Layout::dense([shape.m, shape.k], a));
            let right = Operand::new(right, Layout::dense([shape.k, shape.n], b));
            matmul(
                &client,
                [left, right],
                output,
                Some(&workspace),
                shape,
                dtype,
                &plan,
            )
        })
    },
    check: check::check,
};
