//! burn's CPU tensors as slices, for the kernels' forms on a CPU.

use burn::backend::Flex;
use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::tensor::{DType, FloatDType, IntDType, Shape, Tensor, TensorData};
use rayon::prelude::*;

use super::Float;
use crate::host::widest;

/// Values that one thread averages at a time.
const CHUNK: usize = 1 << 14;

/// Averages tensors of one shape on the CPU; `None` if there are none.
pub fn average<const D: usize>(tensors: Vec<Tensor<D>>) -> Option<Tensor<D>> {
    let share = 1.0 / tensors.len() as f32;
    let mut tensors = tensors.into_iter().map(primitive);
    let mut sum = tensors.next()?;
    let others: Vec<FlexTensor> = tensors.collect();
    let chunks = values_mut(&mut sum).par_chunks_mut(CHUNK).enumerate();
    chunks.for_each(|(chunk, sum)| {
        let others = others.iter().map(|other| &values(other)[chunk * CHUNK..]);
        widest(|| {
            for other in others {
                for (sum, value) in sum.iter_mut().zip(other) {
                    *sum += value;
                }
            }
            for sum in sum {
                *sum *= share;
            }
        });
    });
    Some(Tensor::from_primitive::<Flex>(sum))
}

/// Returns a tensor of the CPU backend as [`contiguous`] does.
pub(crate) fn primitive<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    contiguous(tensor.try_into_primitive::<Flex>().unwrap_or_else(|error| {
        unreachable!("a tensor of the CPU backend changed its kind: {error:?}")
    }))
}

/// A tensor of burn's CPU backend.
pub(crate) type FlexTensor = Float<Flex>;

/// Returns the tensor in f32, with its values in the order of its dimensions and nothing between them.
pub(crate) fn contiguous(tensor: FlexTensor) -> FlexTensor {
    let tensor = match tensor.dtype() {
        DType::F32 => tensor,
        _ => Flex::float_cast(tensor, FloatDType::F32),
    };
    match tensor.as_slice::<f32>() {
        Some(_) => tensor,
        None => tensor.to_contiguous(),
    }
}

/// Returns the values of a tensor that [`contiguous`] or [`tensor`] returned.
///
/// # Panics
/// Panics for any other.
pub(crate) fn values(tensor: &FlexTensor) -> &[f32] {
    tensor
        .as_slice()
        .expect("the tensor was made contiguous before")
}

/// Returns the values for writing. They are copied first if the tensor has another reader.
pub(crate) fn values_mut(tensor: &mut FlexTensor) -> &mut [f32] {
    if tensor.as_slice::<f32>().map(<[f32]>::len) != Some(tensor.storage::<f32>().len()) {
        // A part of a larger tensor.
        *tensor = self::tensor(values(tensor).to_vec(), tensor.layout().shape().clone());
    }
    tensor.storage_mut()
}

/// Returns integers as the kernels read them.
pub(crate) fn integers(tensor: FlexTensor) -> Vec<i32> {
    let tensor = match tensor.dtype() {
        DType::I32 => tensor,
        _ => Flex::int_cast(tensor, IntDType::I32),
    };
    let tensor = tensor.to_contiguous();
    tensor.as_slice().unwrap_or_default().to_vec()
}

/// Creates a tensor of these values.
pub(crate) fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// Creates a tensor for a kernel to write.
pub(crate) fn zeros(shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::zeros(shape.into(), DType::F32)
}

/// Returns a tensor's two dimensions.
pub(crate) fn matrix(tensor: &FlexTensor) -> [usize; 2] {
    let shape = tensor.layout().shape();
    [shape[0], shape[1]]
}
