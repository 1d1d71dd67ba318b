//! From burn's devices to the clients that kernels are launched on.

use burn::tensor::{Device, FloatDType};
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::Client;

use crate::bench::{self, Ceilings, Timed};
use crate::check::Check;
use crate::{Kernel, KernelError, Sizes};

/// Times every kernel on a GPU device; `None` for a device that runs no kernels.
pub fn bench(
    device: &Device,
    sizes: &Sizes,
    repeats: usize,
) -> Option<Result<(Ceilings, Vec<Timed>), KernelError>> {
    Some(bench::run(&client(device)?, sizes, repeats))
}

/// Runs a kernel's check on a GPU device; `None` for a device that runs no kernels.
pub fn check(
    kernel: &Kernel,
    device: &Device,
    dtype: FloatDType,
    seed: u64,
) -> Option<Result<Vec<Check>, KernelError>> {
    let client = client(device)?;
    let dtype = ElemType::Float(match dtype {
        FloatDType::BF16 => FloatKind::BF16,
        FloatDType::F16 => FloatKind::F16,
        _ => FloatKind::F32,
    });
    Some((kernel.check)(&client, dtype, seed))
}

#[cfg(gpu)]
fn client(device: &Device) -> Option<Client> {
    match device.clone().inner().as_dispatch() {
        burn::backend::DispatchDevice::Cube(device) => Some(device.client()),
        _ => None,
    }
}

#[cfg(not(gpu))]
fn client(_device: &Device) -> Option<Client> {
    None
}
