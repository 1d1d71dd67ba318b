//! Launches AdamW: checks first, then as few launches as the device allows.

use cubecl::{ir::ElemType, prelude::*, server::Handle};
use tinyllama_kernel_catalog::adamw::{AdamwBlock, FACTORS, Factors, state_elements};

use super::NAME;
use super::kernels::{adamw_step, factor_argument};
use super::plan::{PlannedLaunch, plan};
use crate::{
    KernelError,
    launch::{
        CheckedBuffer, F32, check_elements, check_float, check_units, cube_block, cube_count,
    },
};

/// With more vectors per unit, most of a device would be idle for any parameter.
const MOST_VECTORS_PER_UNIT: usize = 1024;

/// Returns the chosen block, or the one that suits this device. It gives each unit enough loads in flight, and is small
/// enough that a small tensor does not leave most of a cube idle.
pub fn choose_block(client: &Client, chosen: Option<usize>) -> AdamwBlock {
    AdamwBlock {
        units: cube_block(NAME, client, chosen).units_per_cube,
        vectors_per_unit: 4,
        parameters_per_launch: usize::MAX,
    }
}

/// One parameter: contiguous buffers of `elements` values.
#[derive(Clone, Copy, Debug)]
pub struct AdamWParameter<'a> {
    /// f32, updated in place.
    pub value: &'a Handle,
    pub gradient: &'a Handle,
    /// A copy in another element type that the step refreshes, if there is one.
    pub copy: Option<&'a Handle>,
    pub elements: usize,
}

/// The source of a launch's factors.
#[derive(Clone, Copy, Debug)]
pub enum FactorSource<'a> {
    /// Passed with the launch.
    Values(Factors),
    /// Read from a buffer, which the host rewrites before each step. A captured graph repeats its arguments, but reads
    /// buffers again.
    Buffer(&'a Handle),
}

/// Element types of gradients and of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdamWTypes {
    pub gradient: ElemType,
    pub copy: ElemType,
}

/// Does one optimizer step over all `parameters` and returns the number of launches.
///
/// It needs one launch, unless the device binds too few buffers or some lengths are no multiple of four. A separate
/// launch updates those parameters, one value at a time. Both moments of all parameters are f32, [`state_elements`]
/// each, and zero before the first step. The place of a parameter in the list determines the place of its moments, so
/// the list must have the same order in each step.
///
/// # Errors
/// Fails before any launch if buffers or block sizes do not fit.
pub fn step(
    client: &Client,
    parameters: &[AdamWParameter<'_>],
    [first, second]: [&Handle; 2],
    factors: FactorSource<'_>,
    dtypes: AdamWTypes,
    block: &AdamwBlock,
) -> Result<usize, KernelError> {
    check_block(client, dtypes, block)?;
    let total = state_elements(parameters.iter().map(|parameter| parameter.elements));
    check_elements(NAME, &[total])?;
    let bound: Vec<BoundParameter<'_>> = parameters
        .iter()
        .map(|parameter| parameter.bind(dtypes))
        .collect::<Result<_, _>>()?;
    let moments = [
        CheckedBuffer::new(NAME, "first_moment", first, total, F32)?,
        CheckedBuffer::new(NAME, "second_moment", second, total, F32)?,
    ];
    let (stored, passed) = match factors {
        FactorSource::Values(factors) => (None, factors.to_array()),
        FactorSource::Buffer(stored) => {
            let stored = CheckedBuffer::new(NAME, "factors", stored, FACTORS, F32)?;
            (Some(stored), [0.0; FACTORS])
        }
    };
    let launches = plan(
        client,
        &bound,
        moments,
        usize::from(stored.is_some()),
        block,
    )?;
    for launch in &launches {
        let PlannedLaunch { vector, cubes, .. } = *launch;
        let ([first, second], dim) = (moments, CubeDim::new_1d(block.units as u32));
        let mut values = SequenceArg::new();
        let mut gradients = SequenceArg::new();
        let mut copies = SequenceArg::new();
        for parameter in launch.members.iter().map(|member| &bound[*member]) {
            values.push(parameter.value.argument(vector));
            gradients.push(parameter.gradient.argument(vector));
            if let Some(copy) = parameter.copy {
                copies.push(copy.argument(vector));
            }
        }
        // SAFETY: every buffer holds what its parameter says, and the kernel stays inside the segments.
        launch!(client, adamw_step[cube_count(client, cubes), dim], vector:
            [(values) (gradients) (copies) first second (stored.map(|stored| stored.argument(1)).into()) (factor_argument(passed))],
            launch.segments.clone(), block.units, block.vectors_per_unit, dtypes.gradient, dtypes.copy)?;
    }
    Ok(launches.len())
}

/// A parameter whose buffers have been checked to be long enough.
pub(super) struct BoundParameter<'a> {
    pub elements: usize,
    pub value: CheckedBuffer<'a>,
    pub gradient: CheckedBuffer<'a>,
    pub copy: Option<CheckedBuffer<'a>>,
}

impl<'a> AdamWParameter<'a> {
    fn bind(&self, dtypes: AdamWTypes) -> Result<BoundParameter<'a>, KernelError> {
        let buffer =
            |name, handle, dtype| CheckedBuffer::new(NAME, name, handle, self.elements, dtype);
        Ok(BoundParameter {
            elements: self.elements,
            value: buffer("value", self.value, F32)?,
            gradient: buffer("gradient", self.gradient, dtypes.gradient)?,
            copy: self
                .copy
                .map(|copy| buffer("copy", copy, dtypes.copy))
                .transpose()?,
        })
    }
}

fn check_block(client: &Client, dtypes: AdamWTypes, block: &AdamwBlock) -> Result<(), KernelError> {
    check_float(NAME, dtypes.gradient)?;
    check_float(NAME, dtypes.copy)?;
    check_units(NAME, client, block.units)?;
    let refuse = |reason: String| Err(KernelError::Block(NAME, reason));
    if block.parameters_per_launch == 0 {
        return refuse("parameters_per_launch must be at least 1".to_string());
    }
    if !(1..=MOST_VECTORS_PER_UNIT).contains(&block.vectors_per_unit) {
        let given = block.vectors_per_unit;
        return refuse(format!(
            "vectors_per_unit is {given}, not 1 to {MOST_VECTORS_PER_UNIT}"
        ));
    }
    Ok(())
}
