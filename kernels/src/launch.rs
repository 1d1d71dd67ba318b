//! Helpers of all launch functions: facts about the device, checks of buffers, the widest vector that fits.

use cubecl::{
    features::Plane,
    ir::{ElemType, FloatKind},
    prelude::*,
    server::{CubeCountSelection, Handle},
};
use tinyllama_kernel_catalog::block::CubeBlock;

use crate::{KernelError, tunables};

/// Launches a kernel on the given number of cubes with the given dimensions. Its buffers come first. They are bound in
/// vectors of `$vector` numbers, or number by number without it. Buffers in parentheses are already bound. Then come
/// its other arguments.
///
/// The caller has checked that every buffer is as long as the kernel needs.
macro_rules! launch {
    ($client:ident, $($kernel:ident)::+ [$count:expr, $dim:expr], $vector:ident: [$($buffer:tt)+], $($number:expr),+) => {
        launch!(@ $client, [$($kernel)::+], ($count, $dim, $vector), $vector, [$($buffer)+], $($number),+)
    };
    ($client:ident, $($kernel:ident)::+ [$count:expr, $dim:expr]: [$($buffer:tt)+], $($number:expr),+) => {
        launch!(@ $client, [$($kernel)::+], ($count, $dim), 1, [$($buffer)+], $($number),+)
    };
    (@ $client:ident, [$($kernel:ident)::+], ($($grid:expr),+), $vector:expr, [$($buffer:tt)+], $($number:expr),+) => {{
        // SAFETY: every caller states why.
        unsafe {
            $($kernel)::+::launch_unchecked($client, $($grid,)+ $(launch!(@bind $buffer, $vector),)+ $($number,)+);
        }
        Ok::<(), $crate::KernelError>(())
    }};
    (@bind ($bound:expr), $vector:expr) => { $bound };
    (@bind $buffer:ident, $vector:expr) => { $buffer.argument($vector) };
}

/// The type in which every kernel accumulates.
pub const F32: ElemType = ElemType::Float(FloatKind::F32);

/// Assumed number of compute units if a device does not report it (Vulkan never does).
const ASSUMED_COMPUTE_UNITS: usize = 64;

/// Returns the plane size (warp, wavefront) if plane operations may be used. The device must support them, and all
/// planes of a kernel must have the same, known size. Some Vulkan devices choose the size per kernel, which gives
/// `None`.
pub fn plane_size(client: &Client) -> Option<usize> {
    let hardware = &client.properties().hardware;
    let fixed = hardware.plane_size_min == hardware.plane_size_max && hardware.plane_size_min > 1;
    (fixed && client.features().plane.contains(Plane::Ops))
        .then_some(hardware.plane_size_min as usize)
}

/// Returns the number of compute units (SM, CU) of the device, or a modest guess.
pub fn compute_units(client: &Client) -> usize {
    let reported = client.properties().hardware.num_streaming_multiprocessors;
    reported.map_or(ASSUMED_COMPUTE_UNITS, |units| units.max(1) as usize)
}

/// Refuses element types for which the kernels have no code.
pub fn check_float(kernel: &'static str, dtype: ElemType) -> Result<(), KernelError> {
    match dtype {
        ElemType::Float(FloatKind::F32 | FloatKind::F16 | FloatKind::BF16) => Ok(()),
        other => Err(KernelError::ElementType(kernel, format!("{other:?}"))),
    }
}

/// A buffer that has been checked to be long enough for a kernel.
#[derive(Clone, Copy)]
pub struct CheckedBuffer<'a> {
    handle: &'a Handle,
    elements: usize,
    dtype: ElemType,
}

impl<'a> CheckedBuffer<'a> {
    /// Refuses a buffer shorter than `elements` of `dtype`.
    pub fn new(
        kernel: &'static str,
        buffer: &'static str,
        handle: &'a Handle,
        elements: usize,
        dtype: ElemType,
    ) -> Result<Self, KernelError> {
        let needed = elements as u64 * dtype.size() as u64;
        let actual = handle.size_in_used();
        if actual < needed {
            return Err(KernelError::BufferTooSmall {
                kernel,
                buffer,
                needed,
                actual,
            });
        }
        Ok(CheckedBuffer {
            handle,
            elements,
            dtype,
        })
    }

    /// Returns the type of its elements.
    pub fn dtype(&self) -> ElemType {
        self.dtype
    }

    /// Returns the buffer as a kernel argument in vectors.
    pub fn argument(&self, vector: VectorSize) -> BufferArg {
        // SAFETY: `new` has checked that the buffer has as many elements.
        unsafe { BufferArg::from_raw_parts(self.handle.clone(), self.elements / vector) }
    }

    /// Returns an argument for an output that overwrites argument number `of`, counting real buffers.
    pub fn alias(&self, of: usize, vector: VectorSize) -> BufferArg {
        BufferArg::alias(of, self.elements / vector)
    }

    /// Returns the buffer as an argument if `is_own`, else an alias of argument number `of`.
    pub fn or_alias(&self, is_own: bool, of: usize, vector: VectorSize) -> BufferArg {
        match is_own {
            true => self.argument(vector),
            false => self.alias(of, vector),
        }
    }

    fn is_aligned(&self, vector: VectorSize) -> bool {
        let start = self.handle.offset_start.unwrap_or(0);
        start.is_multiple_of((vector * self.dtype.size()) as u64)
    }
}

/// Refuses element types without code, and shapes without elements or with too many; otherwise returns the number of elements.
pub fn check_shape(
    kernel: &'static str,
    dims: &[usize],
    floats: &[ElemType],
) -> Result<usize, KernelError> {
    for dtype in floats {
        check_float(kernel, *dtype)?;
    }
    if dims.contains(&0) {
        let reason = format!("{dims:?} has nothing to compute");
        return Err(KernelError::Shape(kernel, reason));
    }
    check_elements(kernel, dims)
}

/// Refuses shapes whose element count exceeds the 32-bit indices of the kernels.
pub fn check_elements(kernel: &'static str, dims: &[usize]) -> Result<usize, KernelError> {
    dims.iter()
        .try_fold(1usize, |product, dim| product.checked_mul(*dim))
        .filter(|elements| *elements <= u32::MAX as usize)
        .ok_or_else(|| {
            let reason = "has more elements than 32-bit indices reach; split the batch";
            KernelError::Shape(kernel, format!("{dims:?} {reason}"))
        })
}

/// Returns the block that was chosen here, or for this process, or that suits this device.
pub fn cube_block(kernel: &str, client: &Client, chosen: Option<usize>) -> CubeBlock {
    let chosen = tunables::or_chosen(kernel, chosen);
    CubeBlock::new(chosen.unwrap_or_else(|| default_units(client)))
}

/// Returns the cubes for `threads` units, and their size. Kernels must ignore units past the end.
pub fn block_cubes(
    kernel: &'static str,
    client: &Client,
    block: CubeBlock,
    threads: usize,
) -> Result<(CubeCount, CubeDim), KernelError> {
    check_units(kernel, client, block.units_per_cube)?;
    Ok(linear(client, threads, block.units_per_cube))
}

/// Returns the cubes of `units` for `threads` units, and their size.
pub fn linear(client: &Client, threads: usize, units: usize) -> (CubeCount, CubeDim) {
    (
        cube_count(client, threads.div_ceil(units)),
        CubeDim::new_1d(units as u32),
    )
}

/// Returns the units per cube for kernels that treat all elements alike: a multiple of any plane size, within the
/// device's limit.
pub fn default_units(client: &Client) -> usize {
    (client.properties().hardware.max_units_per_cube as usize).clamp(1, 256)
}

/// Refuses a cube without units, or with more than the device supports.
pub fn check_units(kernel: &'static str, client: &Client, units: usize) -> Result<(), KernelError> {
    let limit = client.properties().hardware.max_units_per_cube as usize;
    if units == 0 || units > limit {
        let reason = format!("{units} units in a cube; this device takes 1 to {limit}");
        return Err(KernelError::Block(kernel, reason));
    }
    Ok(())
}

/// Returns the widest vector, in elements, with which rows of `length` elements of `dtype` can be moved. It has at most
/// 16 bytes, divides `length`, and is aligned in every buffer.
pub fn vector_size(
    client: &Client,
    dtype: ElemType,
    length: usize,
    buffers: &[CheckedBuffer<'_>],
) -> VectorSize {
    client
        .io_optimized_vector_sizes(dtype.size())
        .filter(|size| size * dtype.size() <= 16)
        .find(|size| {
            length.is_multiple_of(*size) && buffers.iter().all(|buffer| buffer.is_aligned(*size))
        })
        .unwrap_or(1)
}

/// Returns a cube count of at least `cubes`, spread over three dimensions if one is too short. Kernels index with
/// `CUBE_POS` and must ignore cubes past the end.
pub fn cube_count(client: &Client, cubes: usize) -> CubeCount {
    let cubes = u32::try_from(cubes).unwrap_or(u32::MAX);
    CubeCountSelection::new(client, cubes).cube_count()
}
