//! The launch: checks first, then as few launches as the device allows.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::kernel::adamw_step;
use super::plan::{Launch, plan};
use super::{F32, FACTORS, Factors, KERNEL, state_elements};
use crate::{
    KernelError,
    launch::{
        buffer, check_buffer, check_elements, check_float, check_units, cube_count, units_per_cube,
    },
};

/// More would leave most of a device idle on any parameter.
const MOST_VECTORS_PER_UNIT: usize = 1024;

/// Block sizes; comptime values of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdamwBlock {
    /// Units of a cube.
    pub units: usize,
    /// Vectors that each unit updates, one after the other.
    pub vectors_per_unit: usize,
    /// Parameters of one launch at most; 1 gives every parameter a launch of its own.
    pub parameters_per_launch: usize,
}

impl AdamwBlock {
    /// Block sizes for this device: enough loads in flight for each unit, small enough that a small tensor does not
    /// leave most of a cube idle.
    pub fn for_device(client: &Client) -> AdamwBlock {
        AdamwBlock {
            units: units_per_cube(KERNEL, client),
            vectors_per_unit: 4,
            parameters_per_launch: usize::MAX,
        }
    }
}

/// One parameter: contiguous buffers of `elements` values.
#[derive(Clone, Copy, Debug)]
pub struct Parameter<'a> {
    /// f32, updated in place.
    pub value: &'a Handle,
    pub gradient: &'a Handle,
    /// A copy in another element type that is refreshed, if there is one.
    pub copy: Option<&'a Handle>,
    pub elements: usize,
}

/// Moments of all parameters, f32, [`state_elements`] each; zero before the first step.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    pub first_moment: &'a Handle,
    pub second_moment: &'a Handle,
}

/// Where a launch finds its factors.
#[derive(Clone, Copy, Debug)]
pub enum FactorSource<'a> {
    /// Passed with the launch.
    Values(Factors),
    /// Read from a buffer that holds [`Factors::to_array`], which the host rewrites before each step: a captured graph
    /// repeats its arguments, but reads buffers anew.
    Buffer(&'a Handle),
}

/// Element types of gradients and of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dtypes {
    pub gradient: ElemType,
    pub copy: ElemType,
}

/// One optimizer step over all `parameters`, and the number of launches it took.
///
/// One launch, unless the device binds too few buffers for that or some lengths are no multiple of four: those
/// parameters are updated by a launch of their own, one value at a time. The moments of a parameter are found by its
/// place in the list, so the list must be in the same order each step.
///
/// # Errors
/// Buffers and block sizes that do not fit, before anything is launched.
pub fn step(
    client: &Client,
    parameters: &[Parameter<'_>],
    state: State<'_>,
    factors: FactorSource<'_>,
    dtypes: Dtypes,
    block: &AdamwBlock,
) -> Result<usize, KernelError> {
    check_arguments(client, parameters, state, factors, dtypes, block)?;
    let launches = plan(client, parameters, state, factors, dtypes, block)?;
    for launch in &launches {
        launch.run(client, parameters, state, factors, dtypes, block);
    }
    Ok(launches.len())
}

fn check_arguments(
    client: &Client,
    parameters: &[Parameter<'_>],
    state: State<'_>,
    factors: FactorSource<'_>,
    dtypes: Dtypes,
    block: &AdamwBlock,
) -> Result<(), KernelError> {
    check_float(KERNEL, dtypes.gradient)?;
    check_float(KERNEL, dtypes.copy)?;
    check_units(KERNEL, client, block.units)?;
    let reason = if block.parameters_per_launch == 0 {
        Some("parameters_per_launch must be at least 1".to_string())
    } else if !(1..=MOST_VECTORS_PER_UNIT).contains(&block.vectors_per_unit) {
        Some(format!(
            "vectors_per_unit is {}, not 1 to {MOST_VECTORS_PER_UNIT}",
            block.vectors_per_unit
        ))
    } else {
        None
    };
    if let Some(reason) = reason {
        return Err(KernelError::Block {
            kernel: KERNEL,
            reason,
        });
    }
    for parameter in parameters {
        let elements = parameter.elements;
        check_buffer(KERNEL, "value", parameter.value, elements, F32)?;
        check_buffer(
            KERNEL,
            "gradient",
            parameter.gradient,
            elements,
            dtypes.gradient,
        )?;
        if let Some(copy) = parameter.copy {
            check_buffer(KERNEL, "copy", copy, elements, dtypes.copy)?;
        }
    }
    let total = state_elements(parameters.iter().map(|parameter| parameter.elements));
    check_elements(KERNEL, &[total])?;
    check_buffer(KERNEL, "first_moment", state.first_moment, total, F32)?;
    check_buffer(KERNEL, "second_moment", state.second_moment, total, F32)?;
    if let FactorSource::Buffer(stored) = factors {
        check_buffer(KERNEL, "factors", stored, FACTORS, F32)?;
    }
    Ok(())
}

impl Launch {
    fn run(
        &self,
        client: &Client,
        parameters: &[Parameter<'_>],
        state: State<'_>,
        factors: FactorSource<'_>,
        dtypes: Dtypes,
        block: &AdamwBlock,
    ) {
        let vector = self.vector;
        let mut values = SequenceArg::new();
        let mut gradients = SequenceArg::new();
        let mut copies = SequenceArg::new();
        let members = self.members.iter().map(|member| &parameters[*member]);
        let (stored, values_of_step) = match factors {
            FactorSource::Values(factors) => (None, factors),
            FactorSource::Buffer(stored) => (Some(stored), Factors::UNUSED),
        };
        // SAFETY: every buffer was checked against its length, and the kernel stays inside the segments.
        unsafe {
            for parameter in members {
                values.push(buffer(parameter.value, parameter.elements, vector));
                gradients.push(buffer(parameter.gradient, parameter.elements, vector));
                if let Some(copy) = parameter.copy {
                    copies.push(buffer(copy, parameter.elements, vector));
                }
            }
            adamw_step::launch_unchecked(
                client,
                cube_count(client, self.cubes),
                CubeDim::new_1d(block.units as u32),
                vector,
                values,
                gradients,
                copies,
                buffer(state.first_moment, self.state, vector),
                buffer(state.second_moment, self.state, vector),
                stored.map(|stored| buffer(stored, FACTORS, 1)).into(),
                values_of_step.argument(),
                self.segments.clone(),
                block.units,
                block.vectors_per_unit,
                dtypes.gradient,
                dtypes.copy,
            );
        }
    }
}
