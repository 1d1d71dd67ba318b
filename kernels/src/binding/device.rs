//! Maps burn's devices to the clients on which kernels are launched.

use burn::tensor::{Device, FloatDType};
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::Client;
use cubek::matmul::multi_level::components::tile::TileMatmulKind::{Cmma, Mma};
use tinyllama_kernel_catalog::{KernelDescriptor, StepSizes};

use crate::bench::{self, Flush, MeasuredRates, TimedPass};
use crate::check::OutputCheck;
use crate::{CODE, KernelError};

/// Times every kernel on a GPU device; `None` for a device that runs no kernels.
///
/// # Errors
/// Refused launches, and devices without time stamps.
pub fn bench(
    device: &Device,
    sizes: &StepSizes,
    repeats: usize,
) -> Option<Result<(MeasuredRates, Vec<TimedPass>), KernelError>> {
    Some(bench::run(&client(device)?, sizes, repeats))
}

/// Measures two plain kernels on a GPU device `repeats` times, in f32. The first rate is bytes per second, read and
/// written by a copy of more than any cache holds. The second is operations per second by multiply-adds outside matrix
/// units. `None` for a device that runs no kernels.
pub fn rates(device: &Device, repeats: usize) -> Option<Result<[Vec<f64>; 2], KernelError>> {
    let client = client(device)?;
    Some(bench::rates(&client, &Flush::new(&client), repeats))
}

/// Runs a kernel's check on a GPU device; `None` for a device that runs no kernels, and for a kernel without code.
///
/// # Errors
/// Refused launches, and results that the device cannot return.
pub fn check(
    kernel: &KernelDescriptor,
    device: &Device,
    dtype: FloatDType,
    seed: u64,
) -> Option<Result<Vec<OutputCheck>, KernelError>> {
    let client = client(device)?;
    let dtype = ElemType::Float(match dtype {
        FloatDType::BF16 => FloatKind::BF16,
        FloatDType::F16 => FloatKind::F16,
        _ => FloatKind::F32,
    });
    let code = CODE.iter().find(|code| code.kernel.name == kernel.name)?;
    Some((code.check)(&client, dtype, seed))
}

/// Returns whether f32 products that follow the library's rules round their operands to tf32 on this device.
pub fn rounds_to_tf32(device: &Device) -> bool {
    let Some(client) = client(device) else {
        return false;
    };
    let (tf32, f32) = (
        ElemType::Float(FloatKind::TF32),
        ElemType::Float(FloatKind::F32),
    );
    [Mma, Cmma].iter().any(|kind| {
        let sizes = kind.supported_sizes(&client, tf32, tf32, f32);
        !sizes.is_empty()
    })
}

fn client(device: &Device) -> Option<Client> {
    match device.clone().inner().as_dispatch() {
        burn::backend::DispatchDevice::Cube(device) => Some(device.client()),
        _ => None,
    }
}
