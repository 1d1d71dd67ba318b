//! The matrix product without trying candidates: by this project's kernel or by the library's, of which burn exposes none.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::ops::FloatTensorOps;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{DType, Tensor};

use super::{Float, LibraryChoice, flex, record};
use crate::host::matrix::{View, multiply_on_all_cores};

#[backend_extension(Cube: cfg(feature = "gpu"), Flex, Autodiff, Fusion: cfg(feature = "gpu"))]
pub(crate) trait UntriedProduct: Backend {
    /// Matrix product of the last two dimensions by a kernel that is known before it runs. It is this project's where that is
    /// faster, the one that the library's rules name for these sizes, or the library's plainest, which is slow and does not
    /// round.
    #[fusion(dtype = lhs, shape = {
        let mut shape = lhs.clone();
        let last = shape.num_dims() - 1;
        shape[last] = rhs[last];
        shape
    })]
    fn untried_product(lhs: Float<Self>, rhs: Float<Self>, choice: LibraryChoice) -> Float<Self>;
}

/// Computes the matrix product of the last two dimensions with the kernel that `choice` selects.
pub fn product<const D: usize>(lhs: Tensor<D>, rhs: Tensor<D>, choice: LibraryChoice) -> Tensor<D> {
    match choice {
        LibraryChoice::Tuned => lhs.matmul(rhs),
        _ => Tensor::from_dispatch(Dispatch::untried_product(
            lhs.into_dispatch(),
            rhs.into_dispatch(),
            choice,
        )),
    }
}

/// Computes the product on a backend's own tensors.
pub(crate) fn primitive_product<B: UntriedProduct>(
    lhs: Float<B>,
    rhs: Float<B>,
    choice: LibraryChoice,
) -> Float<B> {
    match choice {
        LibraryChoice::Tuned => B::float_matmul(lhs, rhs),
        _ => B::untried_product(lhs, rhs, choice),
    }
}

impl<B: UntriedProduct, C: CheckpointStrategy> UntriedProduct for Autodiff<B, C> {
    fn untried_product(lhs: Float<Self>, rhs: Float<Self>, choice: LibraryChoice) -> Float<Self> {
        let nodes = [lhs.node(), rhs.node()];
        let (lhs, rhs) = (lhs.into_primitive(), rhs.into_primitive());
        let output = B::untried_product(lhs.clone(), rhs.clone(), choice);
        // C = A B: dA = dC Bᵀ, dB = Aᵀ dC.
        record::<B, C, _, 2>(nodes, output, (lhs, rhs, choice), |saved, gradient| {
            let (lhs, rhs, choice) = saved;
            [
                B::untried_product(gradient.clone(), B::float_transpose(rhs), choice),
                B::untried_product(B::float_transpose(lhs), gradient, choice),
            ]
        })
    }
}

impl UntriedProduct for Flex {
    /// burn's product lets the gemm crate divide the work among threads, which costs a quarter of its rate on two cores
    /// ([`matrix`](crate::host::matrix)). So f32 matrices are multiplied here. A batch goes to burn, which multiplies its matrices side by side.
    fn untried_product(lhs: Float<Self>, rhs: Float<Self>, _: LibraryChoice) -> Float<Self> {
        let Some((a, b)) = view(&lhs).zip(view(&rhs)) else {
            return Flex::float_matmul(lhs, rhs);
        };
        let ([m, k], [_, n]) = (flex::matrix(&lhs), flex::matrix(&rhs));
        let mut out = flex::zeros([m, n]);
        multiply_on_all_cores([m, n, k], 1.0, a, b, flex::values_mut(&mut out), false);
        out
    }
}

/// Views a matrix of f32; `None` for other tensors, and for steps backwards.
fn view(tensor: &Float<Flex>) -> Option<View<'_>> {
    let layout = tensor.layout();
    let [row, column] = *layout.strides() else {
        return None;
    };
    let steps = usize::try_from(row).ok().zip(usize::try_from(column).ok());
    let (row, column) = steps.filter(|_| tensor.dtype() == DType::F32)?;
    let values = tensor.storage::<f32>().get(layout.start_offset()..)?;
    Some(View::strided(values, row, column))
}

#[cfg(feature = "gpu")]
mod cube {
    use burn::tensor::DType;
    use burn_cubecl::kernel::matmul::utils::init_matmul_output;
    use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems};
    use cubek::matmul::launch::launch_ref;
    use cubek::matmul::multi_level::Strategy;
    use cubek::matmul::multi_level::components::tile::TileMatmulKind::{Cmma, Mma};
    use cubek::matmul::multi_level::routines::batch::double_buffering::DoubleBufferingArgs;
    use cubek::matmul::multi_level::routines::batch::simple::SimpleArgs;
    use cubek::matmul::routine::BlueprintStrategy::Inferred;
    use cubek::std::InputBinding;
    use tinyllama_kernel_catalog::matmul::{Layout, MatmulShape};

    use super::{LibraryChoice, UntriedProduct};
    use crate::binding::cube::{CubeBackend, CubeTensor, element, empty, matrix};
    use crate::matmul::{self, Operand};

    /// Returns the strategies in order of preference; the first that device and sizes allow is used. On matrix units:
    /// with the bulk copy engine, then with two buffers, then plain. The last one uses no matrix units.
    fn by_the_rules() -> Vec<Strategy> {
        let double = DoubleBufferingArgs {
            specialized: false,
            tile_matmul: Mma,
        };
        let simple = SimpleArgs {
            multi_rows: false,
            tile_matmul: Cmma,
        };
        vec![
            Strategy::DoubleTmaMma(Inferred(double)),
            Strategy::DoubleCyclicMma(Inferred(double)),
            Strategy::SimpleCyclicCmma(Inferred(simple)),
            Strategy::DoubleUnit(Inferred(Default::default())),
            Strategy::Naive,
        ]
    }

    /// Computes the product of two matrices with this project's kernel; `None` for other tensors, and where the device or
    /// the sizes ask for the library's.
    fn own_product(lhs: &CubeTensor, rhs: &CubeTensor) -> Option<CubeTensor> {
        let operands = [operand(lhs)?, operand(rhs)?];
        let ([m, k], [_, n]) = (matrix(lhs), matrix(rhs));
        let (shape, dtype) = (MatmulShape { m, n, k }, element(lhs));
        let plan = matmul::plan(&lhs.client, shape, dtype)?;
        let output = empty(lhs, [m, n], lhs.dtype);
        let workspace = match plan.workspace(shape) {
            0 => None,
            elements => Some(empty(lhs, [elements], DType::F32)),
        };
        let workspace = workspace.as_ref().map(|tensor| &tensor.handle);
        let launched = matmul::matmul(
            &lhs.client,
            operands,
            &output.handle,
            workspace,
            shape,
            dtype,
            &plan,
        );
        launched.ok().map(|()| output)
    }

    /// Views a tensor as a matrix, stored as it is or transposed; `None` for any other.
    fn operand(tensor: &CubeTensor) -> Option<Operand<'_>> {
        let [rows, columns] = **tensor.meta.strides() else {
            return None;
        };
        let (transposed, stride) = match (rows, columns) {
            (stride, 1) => (false, stride),
            (1, stride) => (true, stride),
            _ => return None,
        };
        Some(Operand::new(&tensor.handle, Layout { transposed, stride }))
    }

    impl UntriedProduct for CubeBackend {
        fn untried_product(lhs: CubeTensor, rhs: CubeTensor, choice: LibraryChoice) -> CubeTensor {
            if choice == LibraryChoice::Direct
                && let Some(output) = own_product(&lhs, &rhs)
            {
                return output;
            }
            let output = init_matmul_output(&lhs, &rhs, lhs.dtype);
            let dtype = element(&lhs);
            let elements = MatmulElems::from_globals(&MatmulGlobalElems {
                lhs: dtype,
                rhs: dtype,
                out: dtype,
            });
            let strategies = match choice {
                LibraryChoice::Plain => vec![Strategy::Naive],
                _ => by_the_rules(),
            };
            let client = lhs.client.clone();
            let mut refused = None;
            let launched = strategies.into_iter().any(|strategy| {
                let done = launch_ref(
                    &strategy.into(),
                    &client,
                    InputBinding::new(lhs.clone().binding(), dtype),
                    InputBinding::new(rhs.clone().binding(), dtype),
                    output.clone().binding(),
                    &mut elements.clone(),
                );
                refused = done.err();
                refused.is_none()
            });
            if !launched {
                panic!("the library's matrix product failed: {refused:?}");
            }
            output
        }
    }
}
