//! AdamW over all parameters at once, on burn's tensors.

use burn::backend::Flex;
use burn::tensor::{DType, Device, ExecutionError, Tensor};
use tinyllama_kernel_catalog::adamw::{FACTORS, Factors, Hyperparameters};

use super::host::{self, HostParameters};
use crate::binding::{FixedBuffer, flex};

/// AdamW with decoupled weight decay. One launch updates every parameter in place.
#[derive(Debug)]
pub struct AdamW {
    hyper: Hyperparameters,
    step: u64,
    state: MomentState,
    /// Factors of the step, if a captured graph reads them again at each replay.
    factors: Option<FixedBuffer>,
}

/// Moments, stored on the device of the parameters.
#[derive(Debug)]
enum MomentState {
    /// Before the first step.
    New,
    #[cfg(feature = "gpu")]
    Device(device::Moments),
    Host(Vec<[Vec<f32>; 2]>),
}

impl AdamW {
    pub fn new(hyper: Hyperparameters) -> Self {
        AdamW {
            hyper,
            step: 0,
            state: MomentState::New,
            factors: None,
        }
    }

    /// Creates an optimizer whose step can be captured and replayed: the factors of a step lie on `device`. Returns
    /// `None` if `device` is no GPU.
    pub fn for_graph(hyper: Hyperparameters, device: &Device) -> Option<Self> {
        Some(AdamW {
            factors: Some(FixedBuffer::new(device, &[FACTORS], DType::F32)?),
            ..AdamW::new(hyper)
        })
    }

    /// Begins the next step. For a graph it writes the step's factors, so it has to be called before each step, launched
    /// or replayed.
    ///
    /// # Errors
    /// Fails if burn's queue does not run any more.
    pub fn advance(&mut self) -> Result<(), ExecutionError> {
        self.step += 1;
        let Some(buffer) = &self.factors else {
            return Ok(());
        };
        let factors = Factors::new(&self.hyper, self.step).to_array();
        buffer.write(
            factors
                .iter()
                .flat_map(|factor| factor.to_ne_bytes())
                .collect(),
        )
    }

    /// Returns whether an update since the last call went to a copy, because something else still reads the parameter. A
    /// replay would begin with the old values each time.
    pub fn take_copied(&self) -> bool {
        match &self.state {
            #[cfg(feature = "gpu")]
            MomentState::Device(moments) => moments.take_copied(),
            _ => false,
        }
    }

    /// Updates `parameters` with their gradients, both flat f32, and returns the parameters. The list must have the
    /// same order and lengths in every step. [`advance`](Self::advance) begins a step.
    pub fn step(&mut self, parameters: Vec<(Tensor<1>, Tensor<1>)>) -> Vec<Tensor<1>> {
        if matches!(self.state, MomentState::New) {
            self.state = MomentState::for_parameters(&parameters);
        }
        match &mut self.state {
            #[cfg(feature = "gpu")]
            MomentState::Device(moments) => {
                let factors = match &self.factors {
                    Some(buffer) => StepFactors::Stored(Box::new(buffer.clone())),
                    None => StepFactors::Passed(Factors::new(&self.hyper, self.step)),
                };
                moments.step(factors, parameters)
            }
            MomentState::Host(moments) => {
                host_step(moments, &Factors::new(&self.hyper, self.step), parameters)
            }
            MomentState::New => parameters.into_iter().map(|(value, _)| value).collect(),
        }
    }
}

impl MomentState {
    fn for_parameters(parameters: &[(Tensor<1>, Tensor<1>)]) -> MomentState {
        #[cfg(feature = "gpu")]
        if let Some((value, _)) = parameters.first()
            && let burn::backend::DispatchDevice::Cube(device) = value.device().as_dispatch()
        {
            let lengths: Vec<usize> = parameters
                .iter()
                .map(|(value, _)| value.dims()[0])
                .collect();
            return MomentState::Device(device::Moments::new(device.clone(), lengths));
        }
        let zeros = |value: &Tensor<1>| [(); 2].map(|()| vec![0.0; value.dims()[0]]);
        MomentState::Host(parameters.iter().map(|(value, _)| zeros(value)).collect())
    }
}

/// Updates every parameter in place, unless it has another reader, in one launch.
fn host_step(
    moments: &mut [[Vec<f32>; 2]],
    factors: &Factors,
    parameters: Vec<(Tensor<1>, Tensor<1>)>,
) -> Vec<Tensor<1>> {
    let mut tensors: Vec<_> = parameters
        .into_iter()
        .map(|(value, gradient)| (flex::primitive(value), flex::primitive(gradient)))
        .collect();
    let each = tensors.iter_mut().zip(moments);
    let each = each.map(|((value, gradient), [first, second])| HostParameters {
        values: flex::values_mut(value),
        gradients: flex::values(gradient),
        first_moments: first,
        second_moments: second,
    });
    host::step(each.collect(), factors);
    let values = tensors.into_iter().map(|(value, _)| value);
    values.map(Tensor::from_primitive::<Flex>).collect()
}

#[cfg(feature = "gpu")]
use device::StepFactors;

#[cfg(feature = "gpu")]
mod device {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};

    use burn::backend::Cube;
    use burn::backend::fusion::custom::{
        CustomOpIr, HandleContainer, Operation, OperationIr, StreamId, TensorIr,
    };
    use burn::backend::fusion::{ExecutionError, FusionRuntime, FusionTensor};
    use burn::tensor::{DType, Shape, Tensor};
    use burn_cubecl::CubeDevice;
    use burn_cubecl::fusion::FusionCubeRuntime;
    use burn_cubecl::ops::numeric::zeros;

    use tinyllama_kernel_catalog::adamw::{Factors, state_elements};

    use crate::adamw::{AdamWParameter, AdamWTypes, FactorSource, choose_block, step};
    use crate::binding::FixedBuffer;
    use crate::binding::cube::{CubeBackend, CubeTensor, into_contiguous};
    use crate::launch::F32;

    /// Both moments of all parameters; they are on the device from the first step on.
    #[derive(Clone, Debug)]
    pub struct Moments {
        device: CubeDevice,
        lengths: Vec<usize>,
        buffers: Arc<Mutex<Option<[CubeTensor; 2]>>>,
        /// True once a parameter was updated in a copy.
        copied: Arc<AtomicBool>,
    }

    /// Where a step's factors come from.
    #[derive(Clone, Debug)]
    pub enum StepFactors {
        Passed(Factors),
        Stored(Box<FixedBuffer>),
    }

    type Handles = HandleContainer<<FusionCubeRuntime as FusionRuntime>::FusionHandle>;

    impl Moments {
        pub fn new(device: CubeDevice, lengths: Vec<usize>) -> Self {
            Moments {
                device,
                lengths,
                buffers: Arc::default(),
                copied: Arc::default(),
            }
        }

        pub fn take_copied(&self) -> bool {
            self.copied.swap(false, Ordering::AcqRel)
        }

        /// Registers one operation over all tensors. It runs when burn's queue reaches it.
        pub fn step(
            &mut self,
            factors: StepFactors,
            parameters: Vec<(Tensor<1>, Tensor<1>)>,
        ) -> Vec<Tensor<1>> {
            let (values, gradients): (Vec<_>, Vec<_>) = parameters
                .into_iter()
                .map(|(value, gradient)| (fused(value), fused(gradient)))
                .unzip();
            let Some(client) = values.first().map(|value| value.client.clone()) else {
                return vec![];
            };
            let into_ir = |tensors: Vec<FusionTensor<FusionCubeRuntime>>| -> Vec<TensorIr> {
                tensors.into_iter().map(FusionTensor::into_ir).collect()
            };
            let (values, gradients) = (into_ir(values), into_ir(gradients));
            let outputs: Vec<TensorIr> = values
                .iter()
                .map(|value| {
                    TensorIr::uninit(
                        client.create_empty_handle(),
                        value.shape.clone(),
                        value.dtype,
                    )
                })
                .collect();
            let inputs = [values.as_slice(), gradients.as_slice()].concat();
            let description = OperationIr::Custom(CustomOpIr::new("adamw", &inputs, &outputs));
            let operation = AdamWUpdate {
                moments: self.clone(),
                factors,
                values,
                gradients,
                outputs,
            };
            client
                .register(StreamId::current(), description, operation)
                .into_iter()
                .map(Tensor::from_primitive::<Cube>)
                .collect()
        }
    }

    /// Returns the tensor in the form that burn's fusion queues.
    fn fused(tensor: Tensor<1>) -> FusionTensor<FusionCubeRuntime> {
        tensor.try_into_primitive::<Cube>().unwrap_or_else(|error| {
            unreachable!("a tensor of a GPU backend changed its kind: {error:?}")
        })
    }

    #[derive(Debug)]
    struct AdamWUpdate {
        moments: Moments,
        factors: StepFactors,
        values: Vec<TensorIr>,
        gradients: Vec<TensorIr>,
        outputs: Vec<TensorIr>,
    }

    impl Operation<FusionCubeRuntime> for AdamWUpdate {
        fn execute(&self, handles: &mut Handles) -> Result<(), ExecutionError> {
            let mut resolve = |tensors: &[TensorIr]| -> Vec<CubeTensor> {
                tensors
                    .iter()
                    .map(|tensor| into_contiguous(handles.get_float_tensor::<CubeBackend>(tensor)))
                    .collect()
            };
            // A parameter that has another reader is updated in a copy.
            let values: Vec<CubeTensor> = resolve(&self.values)
                .into_iter()
                .map(|value| {
                    if value.handle.can_mut() {
                        value
                    } else {
                        self.moments.copied.store(true, Ordering::Release);
                        value.copy()
                    }
                })
                .collect();
            let gradients = resolve(&self.gradients);
            self.launch(&values, &gradients)?;
            for (output, value) in self.outputs.iter().zip(values) {
                handles.register_float_tensor::<CubeBackend>(&output.id, value);
            }
            Ok(())
        }
    }

    impl AdamWUpdate {
        fn launch(
            &self,
            values: &[CubeTensor],
            gradients: &[CubeTensor],
        ) -> Result<(), ExecutionError> {
            let mut buffers = self
                .moments
                .buffers
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            let [first, second] = buffers.get_or_insert_with(|| {
                let shape = Shape::new([state_elements(self.moments.lengths.iter().copied())]);
                [(); 2].map(|()| zeros(self.moments.device.clone(), shape.clone(), DType::F32))
            });
            let parameters: Vec<AdamWParameter<'_>> = values
                .iter()
                .zip(gradients)
                .zip(&self.moments.lengths)
                .map(|((value, gradient), elements)| AdamWParameter {
                    value: &value.handle,
                    gradient: &gradient.handle,
                    copy: None,
                    elements: *elements,
                })
                .collect();
            let client = &first.client;
            let state = [&first.handle, &second.handle];
            let factors = match &self.factors {
                StepFactors::Passed(factors) => FactorSource::Values(*factors),
                StepFactors::Stored(buffer) => FactorSource::Buffer(buffer.handle()),
            };
            let dtypes = AdamWTypes {
                gradient: F32,
                copy: F32,
            };
            let block = choose_block(client, None);
            step(client, &parameters, state, factors, dtypes, &block)
                .map(drop)
                .map_err(|error| ExecutionError::with_context(error.to_string()))
        }
    }
}
