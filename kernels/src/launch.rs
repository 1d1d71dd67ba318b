//! What every launch function needs: facts about the device, checks of buffers, the widest vector that fits.

use cubecl::{
    features::Plane,
    ir::{ElemType, FloatKind},
    prelude::*,
    server::{CubeCountSelection, Handle},
};

use crate::{KernelError, tunables};

/// The type that every kernel accumulates in.
pub const F32: ElemType = ElemType::Float(FloatKind::F32);

/// Compute units assumed where a device does not say how many it has (Vulkan never does).
const ASSUMED_COMPUTE_UNITS: usize = 64;

/// The plane size (warp, wavefront) if plane operations may be used: the device has them and all planes of a kernel
/// have the same, known size. Some Vulkan devices choose the size per kernel; there the answer is `None`.
pub fn plane_size(client: &Client) -> Option<usize> {
    let hardware = &client.properties().hardware;
    let fixed = hardware.plane_size_min == hardware.plane_size_max && hardware.plane_size_min > 1;
    (fixed && client.features().plane.contains(Plane::Ops))
        .then_some(hardware.plane_size_min as usize)
}

/// How many compute units (SM, CU) the device has, or a modest guess.
pub fn compute_units(client: &Client) -> usize {
    let reported = client.properties().hardware.num_streaming_multiprocessors;
    reported.map_or(ASSUMED_COMPUTE_UNITS, |units| units.max(1) as usize)
}

/// Refuses element types that the kernels have no code for.
pub fn check_float(kernel: &'static str, dtype: ElemType) -> Result<(), KernelError> {
    match dtype {
        ElemType::Float(FloatKind::F32 | FloatKind::F16 | FloatKind::BF16) => Ok(()),
        other => Err(KernelError::ElementType {
            kernel,
            dtype: format!("{other:?}"),
        }),
    }
}

/// Refuses a buffer shorter than `elements` of `dtype`.
pub fn check_buffer(
    kernel: &'static str,
    buffer: &'static str,
    handle: &Handle,
    elements: usize,
    dtype: ElemType,
) -> Result<(), KernelError> {
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
    Ok(())
}

/// Refuses shapes whose element count does not fit the 32-bit indices the kernels use.
pub fn check_elements(kernel: &'static str, dims: &[usize]) -> Result<usize, KernelError> {
    dims.iter()
        .try_fold(1usize, |product, dim| product.checked_mul(*dim))
        .filter(|elements| *elements <= u32::MAX as usize)
        .ok_or_else(|| KernelError::Shape {
            kernel,
            reason: format!(
                "{dims:?} has more elements than 32-bit indices reach; split the batch"
            ),
        })
}

/// Units in a cube of `kernel`: as chosen for this process, or the default.
pub fn units_per_cube(kernel: &str, client: &Client) -> usize {
    tunables::chosen(kernel).unwrap_or_else(|| default_units(client))
}

/// Units in a cube for kernels that treat every element alike: a multiple of any plane size, within the device's limit.
pub fn default_units(client: &Client) -> usize {
    (client.properties().hardware.max_units_per_cube as usize).clamp(1, 256)
}

/// Refuses a cube of no units, or of more than the device takes.
pub fn check_units(kernel: &'static str, client: &Client, units: usize) -> Result<(), KernelError> {
    let limit = client.properties().hardware.max_units_per_cube as usize;
    if units == 0 || units > limit {
        let reason = format!("{units} units in a cube; this device takes 1 to {limit}");
        return Err(KernelError::Block { kernel, reason });
    }
    Ok(())
}

/// The widest vector, in elements, with which rows of `length` elements of `dtype` can be moved: at most 16 bytes of
/// `dtype`, a divisor of `length`, and aligned in every buffer given with its own element type.
pub fn vector_size(
    client: &Client,
    dtype: ElemType,
    length: usize,
    buffers: &[(&Handle, ElemType)],
) -> VectorSize {
    let aligned = |size: usize| {
        buffers.iter().all(|(handle, dtype)| {
            let start = handle.offset_start.unwrap_or(0);
            start.is_multiple_of((size * dtype.size()) as u64)
        })
    };
    client
        .io_optimized_vector_sizes(dtype.size())
        .filter(|size| size * dtype.size() <= 16)
        .find(|size| length.is_multiple_of(*size) && aligned(*size))
        .unwrap_or(1)
}

/// A cube count of at least `cubes`, spread over the three dimensions where one is too short. Kernels index with
/// `CUBE_POS` and must ignore cubes past the end.
pub fn cube_count(client: &Client, cubes: usize) -> CubeCount {
    let cubes = u32::try_from(cubes).unwrap_or(u32::MAX);
    CubeCountSelection::new(client, cubes).cube_count()
}

/// A whole buffer as a kernel argument, `elements` long, seen as vectors of `vector_size`.
///
/// # Safety
/// `elements` must not exceed what the buffer holds ([`check_buffer`]).
pub unsafe fn buffer(handle: &Handle, elements: usize, vector_size: VectorSize) -> BufferArg {
    unsafe { BufferArg::from_raw_parts(handle.clone(), elements / vector_size) }
}
