//! Buffers on a GPU whose place never changes: a captured graph reads in them what the host wrote last.

use burn::backend::fusion::custom::{
    CustomOpIr, HandleContainer, Operation, OperationIr, StreamId, TensorIr,
};
use burn::backend::fusion::{ExecutionError, FusionRuntime, get_client};
use burn::backend::{Cube, DispatchDevice, TensorMetadata};
use burn::tensor::{DType, Device, Int, Shape, Tensor};
use burn_cubecl::fusion::FusionCubeRuntime;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use cubecl::server::Handle;
use cubecl_core::bytes::Bytes;

use super::cube::{CubeBackend, CubeTensor};

/// A buffer that the host rewrites in place.
#[derive(Clone, Debug)]
pub struct FixedBuffer(CubeTensor);

impl FixedBuffer {
    /// Allocates a buffer with undefined contents. Returns `None` if `device` is no GPU.
    pub fn new(device: &Device, shape: &[usize], dtype: DType) -> Option<FixedBuffer> {
        let device = match device.clone().inner().as_dispatch() {
            DispatchDevice::Cube(device) => device.clone(),
            _ => return None,
        };
        let (client, shape) = (device.client(), Shape::from(shape.to_vec()));
        let tensor = empty_device_contiguous_dtype(client, device, shape, dtype);
        Some(FixedBuffer(tensor))
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    /// Replaces the contents, after all operations so far and before all later ones.
    ///
    /// # Errors
    /// Fails if burn's queue does not run any more.
    pub fn write(&self, bytes: Vec<u8>) -> Result<(), ExecutionError> {
        let (client, handle) = (self.0.client.clone(), self.0.handle.clone());
        get_client::<CubeBackend>(&self.0.device)
            .try_sync(move || client.write(&handle, Bytes::from_bytes_vec(bytes)))
            .map_err(|error| ExecutionError::with_context(format!("{error:?}")))
    }

    /// Returns the buffer as a tensor of integers.
    pub fn integers<const D: usize>(&self) -> Tensor<D, Int> {
        let client = get_client::<CubeBackend>(&self.0.device);
        let id = client.create_empty_handle();
        let output = TensorIr::uninit(id, self.0.shape(), self.0.dtype);
        let outputs = std::slice::from_ref(&output);
        let description = OperationIr::Custom(CustomOpIr::new("fixed_buffer", &[], outputs));
        let operation = ReadBuffer {
            buffer: self.clone(),
            output: output.clone(),
        };
        let mut outputs = client.register(StreamId::current(), description, operation);
        Tensor::from_primitive::<Cube>(outputs.remove(0))
    }
}

#[derive(Debug)]
struct ReadBuffer {
    buffer: FixedBuffer,
    output: TensorIr,
}

type Handles = HandleContainer<<FusionCubeRuntime as FusionRuntime>::FusionHandle>;

impl Operation<FusionCubeRuntime> for ReadBuffer {
    fn execute(&self, handles: &mut Handles) -> Result<(), ExecutionError> {
        handles.register_int_tensor::<CubeBackend>(&self.output.id, self.buffer.0.clone());
        Ok(())
    }
}
