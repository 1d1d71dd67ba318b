//! Buffers of a size, and every pass launched on them.

use tinyllama_kernel_catalog::add_rmsnorm::KERNEL;
use tinyllama_kernel_catalog::rmsnorm::{EPSILON, Shape};

use super::check;
use super::launch::forward;
use crate::launch::F32;
use crate::rmsnorm::{self, Dtypes};
use crate::workload::{BufferSource, Content, KernelCode, PassLauncher};

pub(crate) const NAME: &str = KERNEL.name;

/// The descriptor with its code.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, chosen| {
        let dtypes = Dtypes {
            activation: dtype,
            weight: dtype,
        };
        launcher(
            source,
            Shape::from_sizes(sizes),
            dtypes,
            EPSILON,
            true,
            chosen,
        )
    },
    check: check::check,
};

/// Both passes on buffers of `source`; with the sum in the residual's place where asked for.
pub(super) fn launcher(
    source: &mut dyn BufferSource,
    shape: Shape,
    dtypes: Dtypes,
    epsilon: f32,
    in_place: bool,
    chosen: Option<usize>,
) -> PassLauncher {
    let client = source.client().clone();
    let block = rmsnorm::choose_block(&client, shape, chosen);
    let elements = shape.rows * shape.width;
    let [x, residual, sum_gradient, y_gradient] = ["x", "residual", "sum_gradient", "y_gradient"]
        .map(|name| source.input(name, elements, dtypes.activation));
    let weight = source.buffer("weight", shape.width, dtypes.weight, Content::Around(1.0));
    let [y, gradient] =
        ["y", "gradient"].map(|name| source.output(name, elements, dtypes.activation));
    let sum = (!in_place).then(|| source.output("sum", elements, dtypes.activation));
    let weight_gradient = source.output("weight_gradient", shape.width, dtypes.weight);
    let workspace = source.output("workspace", rmsnorm::workspace(shape, &block), F32);
    Box::new(move |pass| match pass {
        "forward" => {
            let buffers = [&x, &residual, &weight, &y];
            let sum = sum.as_ref();
            forward(&client, buffers, sum, shape, epsilon, dtypes, &block)
        }
        // The norm's, with the gradient that reaches the sum on the residual's path: that of x and of residual.
        _ => {
            let sum = sum.as_ref().unwrap_or(&residual);
            let [upstream, to_x, to_weight] = [&y_gradient, &gradient, &weight_gradient];
            let buffers = [sum, &weight, upstream, to_x, to_weight, &workspace];
            let passed = Some(&sum_gradient);
            rmsnorm::backward(&client, buffers, passed, shape, epsilon, dtypes, &block)
        }
    })
}
