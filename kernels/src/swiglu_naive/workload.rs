//! Allocates buffers for given sizes and launches every pass on them.

use cubecl::ir::ElemType;
use tinyllama_kernel_catalog::swiglu_naive::{KERNEL, SwigluNaiveShape};

use super::launch::forward;
use super::{NAME, check};
use crate::launch::cube_block;
use crate::workload::{BufferSource, KernelCode, PassLauncher};

/// The kernel's descriptor, and the code that launches it.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, chosen| {
        let shape = SwigluNaiveShape {
            rows: sizes.tokens(),
            width: sizes.hidden,
            hidden: sizes.ffn,
        };
        launcher(source, shape, dtype, chosen)
    },
    check: check::check,
};

/// Prepares the forward pass on buffers of `source`.
pub(super) fn launcher(
    source: &mut dyn BufferSource,
    shape: SwigluNaiveShape,
    dtype: ElemType,
    chosen: Option<usize>,
) -> PassLauncher {
    let client = source.client().clone();
    let block = cube_block(NAME, &client, chosen);
    let x = source.input("x", shape.rows * shape.width, dtype);
    let [gate_weight, up_weight] = ["gate_weight", "up_weight"]
        .map(|name| source.input(name, shape.width * shape.hidden, dtype));
    let [gate, up, y] =
        ["gate", "up", "y"].map(|name| source.output(name, shape.rows * shape.hidden, dtype));
    Box::new(move |_| {
        let buffers = [&x, &gate_weight, &up_weight, &gate, &up, &y];
        forward(&client, buffers, shape, dtype, &block)
    })
}
