//! The library's plainest matrix product, which burn does not hand out.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::ops::FloatTensorOps;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::{Float, record};

#[backend_extension(Cube: cfg(gpu), Flex, Autodiff, Fusion: cfg(gpu))]
pub(crate) trait PlainProduct: Backend {
    /// Matrix product of the last two dimensions by the library's plainest kernel: no tuning, no matrix units, nothing
    /// rounded on the way. Slow, and known before it runs.
    #[fusion(dtype = lhs, shape = {
        let mut shape = lhs.clone();
        let last = shape.num_dims() - 1;
        shape[last] = rhs[last];
        shape
    })]
    fn plain_product(lhs: Float<Self>, rhs: Float<Self>) -> Float<Self>;
}

/// See [`PlainProduct::plain_product`].
pub fn plain_product<const D: usize>(lhs: Tensor<D>, rhs: Tensor<D>) -> Tensor<D> {
    Tensor::from_dispatch(Dispatch::plain_product(
        lhs.into_dispatch(),
        rhs.into_dispatch(),
    ))
}

impl<B: PlainProduct, C: CheckpointStrategy> PlainProduct for Autodiff<B, C> {
    fn plain_product(lhs: Float<Self>, rhs: Float<Self>) -> Float<Self> {
        let nodes = [lhs.node(), rhs.node()];
        let (lhs, rhs) = (lhs.into_primitive(), rhs.into_primitive());
        let output = B::plain_product(lhs.clone(), rhs.clone());
        // C = A B: dA = dC Bᵀ, dB = Aᵀ dC.
        record::<B, C, _, 2>(nodes, output, (lhs, rhs), |(lhs, rhs), gradient| {
            [
                B::plain_product(gradient.clone(), B::float_transpose(rhs)),
                B::plain_product(B::float_transpose(lhs), gradient),
            ]
        })
    }
}

impl PlainProduct for Flex {
    fn plain_product(lhs: Float<Self>, rhs: Float<Self>) -> Float<Self> {
        Flex::float_matmul(lhs, rhs)
    }
}

#[cfg(gpu)]
mod cube {
    use burn_cubecl::kernel::matmul::utils::init_matmul_output;
    use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
    use cubek::matmul::{launch::launch_ref, multi_level, strategy::Strategy};
    use cubek::std::InputBinding;

    use super::PlainProduct;
    use crate::binding::cube::{CubeBackend, CubeTensor, element};

    impl PlainProduct for CubeBackend {
        fn plain_product(lhs: CubeTensor, rhs: CubeTensor) -> CubeTensor {
            let output = init_matmul_output(&lhs, &rhs, lhs.dtype);
            let dtype = element(&lhs);
            let mut dtypes = MatmulElems::from_globals(&MatmulGlobalElems {
                lhs: dtype,
                rhs: dtype,
                out: dtype,
            });
            let client = lhs.client.clone();
            launch_ref(
                &Strategy::MultiLevel(multi_level::Strategy::Naive),
                &client,
                InputBinding::new(lhs.binding(), dtype),
                InputBinding::new(rhs.binding(), dtype),
                output.clone().binding(),
                &mut dtypes,
            )
            .unwrap_or_else(|error| panic!("the library's plain matrix product failed: {error:?}"));
            output
        }
    }
}
