//! Helpers for launches on burn's GPU tensors.
//!
//! A refused launch panics with the reason, for example for a shape beyond 32-bit indices or a block that the device
//! cannot run. burn's operations have no other way to report it. The training loop turns the panic into an error.

use burn::backend::TensorMetadata;
use burn::tensor::{DType, Shape};
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
pub(crate) use burn_cubecl::{CubeBackend, kernel::into_contiguous, tensor::CubeTensor};
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};

use crate::KernelError;

pub(crate) fn check(result: Result<(), KernelError>) {
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Allocates an uninitialised tensor on the device of `like`.
pub(crate) fn empty<const D: usize>(
    like: &CubeTensor,
    shape: [usize; D],
    dtype: DType,
) -> CubeTensor {
    let (client, device) = (like.client.clone(), like.device.clone());
    empty_device_contiguous_dtype(client, device, Shape::new(shape), dtype)
}

pub(crate) fn element(tensor: &CubeTensor) -> ElemType {
    match tensor.dtype {
        DType::F32 => ElemType::Float(FloatKind::F32),
        DType::F16 => ElemType::Float(FloatKind::F16),
        DType::BF16 => ElemType::Float(FloatKind::BF16),
        DType::I32 => ElemType::Int(IntKind::I32),
        DType::I64 => ElemType::Int(IntKind::I64),
        DType::U32 => ElemType::UInt(UIntKind::U32),
        other => panic!("the kernels have no code for {other:?}"),
    }
}

/// Returns a tensor's two dimensions.
pub(crate) fn matrix(tensor: &CubeTensor) -> [usize; 2] {
    let shape = tensor.shape();
    [shape[0], shape[1]]
}
