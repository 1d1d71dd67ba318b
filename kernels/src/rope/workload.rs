//! Allocates buffers for given sizes and launches every pass on them.

use cubecl::ir::ElemType;
use tinyllama_kernel_catalog::flash_attention as attention;
use tinyllama_kernel_catalog::rope::{KERNEL, RopeShape};

use super::launch::turn;
use super::{NAME, check};
use crate::launch::{F32, cube_block};
use crate::workload::{BufferSource, KernelCode, PassLauncher};

/// The kernel's descriptor, and the code that launches it.
pub(crate) const CODE: KernelCode = KernelCode {
    kernel: &KERNEL,
    workload: |source, sizes, dtype, chosen| {
        let shape = RopeShape::from_attention(attention::AttentionShape::from_sizes(sizes));
        launcher(source, shape, dtype, chosen)
    },
    check: check::check,
};

/// Prepares both directions, in place, on buffers of `source`.
pub(super) fn launcher(
    source: &mut dyn BufferSource,
    shape: RopeShape,
    dtype: ElemType,
    chosen: Option<usize>,
) -> PassLauncher {
    let client = source.client().clone();
    let block = cube_block(NAME, &client, chosen);
    let x = source.input("x", shape.elements().iter().product(), dtype);
    let table = source.input("table", shape.seq * shape.head_dim, F32);
    Box::new(move |pass| {
        let inverse = pass == "backward";
        turn(&client, [&x, &table], None, shape, inverse, dtype, &block)
    })
}
