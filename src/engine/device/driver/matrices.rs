//! The matrix library of a device: cuBLASLt, hipBLASLt or rocBLAS, with its state for each stream.

use super::gemm::{GemmOperands, GemmSpec};
use super::lt::{LtHandle, LtLibrary, LtProduct};
use super::rocblas::RocBlas;
use super::{DriverError, Properties, Result, Stream, Vendor};

/// What multiplies matrices.
pub(super) enum MatrixLibrary {
    Lt(Box<LtLibrary>),
    RocBlas,
}

/// A library's state for one stream.
pub(super) enum StreamState {
    Lt(LtHandle),
    RocBlas(RocBlas),
}

/// A product with the algorithm it is computed with.
pub(super) enum Product {
    Lt(LtProduct),
    RocBlas(GemmSpec),
}

impl MatrixLibrary {
    /// hipBLASLt serves only some AMD GPUs, rocBLAS all of them. A hipBLASLt that was built for other GPUs loads like any other
    /// and offers nothing. cuBLAS needs cuBLASLt itself, so there is nothing to fall back to on CUDA.
    pub fn load(properties: &Properties) -> Result<Self> {
        let error = match LtLibrary::load(properties) {
            Ok(library) if properties.vendor == Vendor::Nvidia || library.has_kernels()? => {
                return Ok(MatrixLibrary::Lt(Box::new(library)));
            }
            Err(error) if properties.vendor == Vendor::Nvidia => return Err(error),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        match RocBlas::load() {
            Ok(_) => Ok(MatrixLibrary::RocBlas),
            Err(missing) => Err(error.unwrap_or(missing)),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            MatrixLibrary::Lt(library) => library.name(),
            MatrixLibrary::RocBlas => "rocBLAS",
        }
    }

    /// What a stream needs to multiply in, which a capture would not let it make. cuBLASLt's own state serves all streams.
    pub fn stream_state(&self) -> Result<Option<StreamState>> {
        Ok(match self {
            MatrixLibrary::Lt(library) if library.vendor == Vendor::Nvidia => None,
            MatrixLibrary::Lt(library) => Some(StreamState::Lt(library.handle()?)),
            MatrixLibrary::RocBlas => Some(StreamState::RocBlas(RocBlas::load()?)),
        })
    }

    /// Up to `limit` ways to compute `spec` within `workspace` bytes, the library's own favourite first.
    pub fn candidates(
        &self,
        spec: &GemmSpec,
        workspace: usize,
        limit: usize,
    ) -> Result<Vec<Product>> {
        match self {
            MatrixLibrary::Lt(library) => {
                let products = library.candidates(spec, workspace, limit)?;
                Ok(products.into_iter().map(Product::Lt).collect())
            }
            MatrixLibrary::RocBlas if RocBlas::supports(spec) => Ok(vec![Product::RocBlas(*spec)]),
            MatrixLibrary::RocBlas => Ok(vec![]),
        }
    }

    /// # Safety
    /// As for [`GemmPlan::run`](super::GemmPlan::run).
    pub unsafe fn multiply(
        &self,
        product: &Product,
        operands: &GemmOperands,
        stream: &Stream,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match (self, product, &stream.matrices) {
                (MatrixLibrary::Lt(library), Product::Lt(product), state) => {
                    let own = match state {
                        Some(StreamState::Lt(own)) => Some(own),
                        _ => None,
                    };
                    library.multiply(own, product, operands, stream)
                }
                (
                    MatrixLibrary::RocBlas,
                    Product::RocBlas(spec),
                    Some(StreamState::RocBlas(blas)),
                ) => blas.multiply(spec, operands, stream),
                _ => Err(DriverError::Invalid(
                    "a gemm in a stream that was opened without a workspace".into(),
                )),
            }
        }
    }
}
