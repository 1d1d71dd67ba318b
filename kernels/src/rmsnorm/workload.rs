//! Allocates buffers for given sizes and launches every pass on them.

use cubecl::ir::ElemType;
use tinyllama_kernel_catalog::rmsnorm::{EPSILON, KERNEL, RmsNormBlock, RmsNormShape};

use super::check;
use super::launch::{backward, choose_block, forward, workspace};
use crate::launch::F32;
use crate::workload::{BufferContent, BufferSource, KernelCode, PassLauncher};

/// The kernel's descriptor, and the code that launches it.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, chosen| {
        let shape = RmsNormShape::from_sizes(sizes);
        let dtypes = RmsNormTypes {
            activation: dtype,
            weight: dtype,
        };
        let block = choose_block(source.client(), shape, chosen);
        launcher(source, shape, dtypes, EPSILON, false, block)
    },
    check: check::check,
};

/// Element types of x, y and their gradients, and of the weight and its gradient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RmsNormTypes {
    pub activation: ElemType,
    pub weight: ElemType,
}

/// Prepares both passes on buffers of `source`; `passed` adds a gradient from another path.
pub(super) fn launcher(
    source: &mut dyn BufferSource,
    shape: RmsNormShape,
    dtypes: RmsNormTypes,
    epsilon: f32,
    passed: bool,
    block: RmsNormBlock,
) -> PassLauncher {
    let client = source.client().clone();
    let elements = shape.rows * shape.width;
    let [x, y_gradient] =
        ["x", "y_gradient"].map(|name| source.input(name, elements, dtypes.activation));
    let passed = passed.then(|| source.input("passed", elements, dtypes.activation));
    let weight = source.buffer(
        "weight",
        shape.width,
        dtypes.weight,
        BufferContent::Around(1.0),
    );
    let [y, x_gradient] =
        ["y", "x_gradient"].map(|name| source.output(name, elements, dtypes.activation));
    let weight_gradient = source.output("weight_gradient", shape.width, dtypes.weight);
    let workspace = source.output("workspace", workspace(shape, &block), F32);
    Box::new(move |pass| match pass {
        "forward" => forward(&client, [&x, &weight, &y], shape, epsilon, dtypes, &block),
        _ => {
            let [upstream, to_x, to_weight] = [&y_gradient, &x_gradient, &weight_gradient];
            let buffers = [&x, &weight, upstream, to_x, to_weight, &workspace];
            let passed = passed.as_ref();
            backward(&client, buffers, passed, shape, epsilon, dtypes, &block)
        }
    })
}
