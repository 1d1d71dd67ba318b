//! Allocates buffers for given sizes and launches every pass on them.

use cubecl::{ir::ElemType, server::Handle};
use tinyllama_kernel_catalog::swiglu::{KERNEL, SwigluShape};

use super::launch::{backward, forward};
use super::{NAME, check};
use crate::launch::cube_block;
use crate::workload::{BufferSource, KernelCode, PassLauncher};

/// Layout of a workload's gate and up, and of their gradients.
#[derive(Debug, Clone, Copy)]
pub(super) struct GateUpLayout {
    /// True if both are side by side in one buffer.
    pub packed: bool,
    /// True if gradients overwrite gate and up.
    pub in_place: bool,
}

/// The kernel's descriptor, and the code that launches it.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, chosen| {
        let shape = SwigluShape {
            rows: sizes.tokens(),
            hidden: sizes.ffn,
        };
        let place = GateUpLayout {
            packed: true,
            in_place: false,
        };
        launcher(source, shape, dtype, place, chosen)
    },
    check: check::check,
};

/// Prepares both passes on buffers of `source`.
pub(super) fn launcher(
    source: &mut dyn BufferSource,
    shape: SwigluShape,
    dtype: ElemType,
    place: GateUpLayout,
    chosen: Option<usize>,
) -> PassLauncher {
    let client = source.client().clone();
    let block = cube_block(NAME, &client, chosen);
    let elements = shape.rows * shape.hidden;
    let (names, each) = match place.packed {
        true => (&["gate_up"][..], 2 * elements),
        false => (&["gate", "up"][..], elements),
    };
    let gate_up: Vec<Handle> = names
        .iter()
        .map(|name| source.input(name, each, dtype))
        .collect();
    let mut outputs = |name| source.output(&format!("{name}_gradient"), each, dtype);
    let gradient: Option<Vec<Handle>> =
        (!place.in_place).then(|| names.iter().map(&mut outputs).collect());
    let (y_gradient, y) = (
        source.input("y_gradient", elements, dtype),
        source.output("y", elements, dtype),
    );
    Box::new(move |pass| match pass {
        "forward" => forward(&client, &gate_up, &y, shape, dtype, &block),
        _ => {
            let gradient = gradient.as_deref();
            backward(
                &client,
                &gate_up,
                &y_gradient,
                gradient,
                shape,
                dtype,
                &block,
            )
        }
    })
}
