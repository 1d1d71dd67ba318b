//! The matrix library of a device: cuBLASLt, hipBLASLt or rocBLAS, with its state for each stream.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::api::{GemmOperands, StreamHandle, Workspace};
use super::calls::opaque;
use super::gemm::GemmSpec;
use super::lt::{LtHandle, LtLibrary, LtProduct};
use super::rocblas::RocBlas;
use super::{DriverError, Vendor};

type Result<T> = std::result::Result<T, DriverError>;

/// What multiplies matrices, with its state for each stream.
pub(super) struct MatrixLibrary {
    library: AnyLibrary,
    handles: RefCell<BTreeMap<StreamHandle, Handle>>,
}

enum AnyLibrary {
    /// With a handle for asking, and on CUDA for everything.
    Lt(Box<LtLibrary>, LtHandle),
    RocBlas,
}

enum Handle {
    Lt(LtHandle),
    RocBlas(RocBlas),
}

/// What a [`GemmHandle`] points to.
pub(super) enum Product {
    Lt(LtProduct),
    RocBlas(GemmSpec),
}

impl MatrixLibrary {
    /// hipBLASLt serves only some AMD GPUs, rocBLAS all of them. cuBLAS needs cuBLASLt itself, so there is nothing to fall
    /// back to on CUDA.
    pub fn load(vendor: Vendor, driver_major: u32) -> Result<Self> {
        let lt = LtLibrary::load(vendor, driver_major)
            .and_then(|library| library.handle().map(|handle| (library, handle)));
        let library = match (lt, vendor) {
            (Ok((library, handle)), _) => AnyLibrary::Lt(Box::new(library), handle),
            (Err(error), Vendor::Nvidia) => return Err(error),
            (Err(error), Vendor::Amd) => match RocBlas::load() {
                Ok(_) => AnyLibrary::RocBlas,
                Err(_) => return Err(error),
            },
        };
        Ok(MatrixLibrary {
            library,
            handles: RefCell::default(),
        })
    }

    pub fn name(&self) -> &str {
        match &self.library {
            AnyLibrary::Lt(library, _) => library.name(),
            AnyLibrary::RocBlas => "rocBLAS",
        }
    }

    /// Prepares a stream to multiply in, which a capture would not allow.
    pub fn add_stream(&self, vendor: Vendor, stream: StreamHandle) -> Result<()> {
        let handle = match (&self.library, vendor) {
            (AnyLibrary::Lt(..), Vendor::Nvidia) => return Ok(()),
            (AnyLibrary::Lt(library, _), Vendor::Amd) => Handle::Lt(library.handle()?),
            (AnyLibrary::RocBlas, _) => Handle::RocBlas(RocBlas::load()?),
        };
        self.handles.borrow_mut().insert(stream, handle);
        Ok(())
    }

    pub fn remove_stream(&self, stream: StreamHandle) {
        self.handles.borrow_mut().remove(&stream);
    }

    pub fn candidates(
        &self,
        spec: &GemmSpec,
        workspace: usize,
        limit: usize,
    ) -> Result<Vec<Product>> {
        match &self.library {
            AnyLibrary::Lt(library, handle) => {
                let products = library.candidates(handle, spec, workspace, limit)?;
                Ok(products.into_iter().map(Product::Lt).collect())
            }
            AnyLibrary::RocBlas if RocBlas::supports(spec) => Ok(vec![Product::RocBlas(*spec)]),
            AnyLibrary::RocBlas => Ok(vec![]),
        }
    }

    pub unsafe fn multiply(
        &self,
        product: &Product,
        operands: &GemmOperands,
        workspace: Workspace,
        stream: StreamHandle,
    ) -> Result<()> {
        let handles = self.handles.borrow();
        let own = handles.get(&stream);
        // SAFETY: the caller's promise.
        unsafe {
            match (&self.library, product, own) {
                (AnyLibrary::Lt(library, handle), Product::Lt(product), own) => {
                    let handle = match own {
                        Some(Handle::Lt(own)) => own,
                        _ => handle,
                    };
                    library.multiply(handle, product, operands, workspace, opaque(stream.0))
                }
                (AnyLibrary::RocBlas, Product::RocBlas(spec), Some(Handle::RocBlas(blas))) => {
                    blas.multiply(spec, operands, workspace, opaque(stream.0))
                }
                _ => Err(DriverError::Invalid(
                    "a gemm in a stream that was opened without a workspace".into(),
                )),
            }
        }
    }
}
