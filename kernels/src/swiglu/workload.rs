//! Allocates buffers for given sizes and launches every pass on them.

use cubecl::ir::ElemType;
use tinyllama_kernel_catalog::swiglu::{KERNEL, SwigluShape};

use super::launch::{backward, forward};
use super::{NAME, check};
use crate::launch::cube_block;
use crate::workload::{BufferSource, KernelCode, PassLauncher};

/// The kernel's descriptor, and the code that launches it.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, chosen| {
        let shape = SwigluShape {
            rows: sizes.tokens(),
            hidden: sizes.ffn,
        };
        launcher(source, shape, dtype, chosen)
    },
    check: check::check,
};

/// Prepares both passes on buffers of `source`.
pub(super) fn launcher(
    source: &mut dyn BufferSource,
    shape: SwigluShape,
    dtype: ElemType,
    chosen: Option<usize>,
) -> PassLauncher {
    let client = source.client().clone();
    let block = cube_block(NAME, &client, chosen);
    let elements = shape.rows * shape.hidden;
    let gate_up = source.input("gate_up", 2 * elements, dtype);
    let gradient = source.output("gate_up_gradient", 2 * elements, dtype);
    let y_gradient = source.input("y_gradient", elements, dtype);
    let y = source.output("y", elements, dtype);
    Box::new(move |pass| match pass {
        "forward" => forward(&client, &gate_up, &y, shape, dtype, &block),
        _ => {
            let buffers = [&gate_up, &y_gradient, &gradient];
            backward(&client, buffers, shape, dtype, &block)
        }
    })
}
