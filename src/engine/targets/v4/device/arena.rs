//! Device memory of a schedule: one allocation for all arrays except the parameters.

use anyhow::Result;

use super::parameters::Parameters;
use crate::device::driver::{Buffer, Driver, DriverError, Precision, Slice, Stream};
use crate::model::rotary_table;
use crate::targets::v4::buffers::{Element, Handle};
use crate::targets::v4::schedule::Schedule;

/// Every buffer starts at a multiple of this many bytes.
const ALIGNMENT: usize = 256;

/// The schedule's buffers, and the table of rotations.
pub struct Activations {
    /// The allocation to which the slices belong.
    _memory: Buffer,
    slices: Vec<Slice>,
    pub rotary: Slice,
}

impl Activations {
    pub fn new(
        driver: &Driver,
        stream: &Stream,
        schedule: &Schedule,
        precision: Precision,
    ) -> Result<Self, DriverError> {
        let rotary = rotary_table(&schedule.config);
        let operand = precision.element_bytes();
        let buffers = &schedule.buffers.specifications;
        let sizes = buffers.iter().map(|buffer| buffer.bytes(operand));
        let mut ends = 0;
        let places = sizes.chain([rotary.len() * 4]).map(|bytes| {
            let start = ends;
            ends = (start + bytes).next_multiple_of(ALIGNMENT);
            (start, bytes)
        });
        let places: Vec<(usize, usize)> = places.collect();
        let memory = driver.allocate(ends.max(ALIGNMENT))?;
        let slices = places
            .iter()
            .map(|(start, bytes)| memory.slice(*start, *bytes));
        let mut slices = slices.collect::<Result<Vec<_>, _>>()?;
        let angles = slices.pop().unwrap_or(memory.whole());
        stream.upload(angles, &rotary)?;
        // Counters start at zero; everything else is written before it is read.
        for (buffer, slice) in buffers.iter().zip(&slices) {
            let handle = |handle| schedule.buffers.get(handle) == Some(buffer);
            if handle(schedule.losses) || handle(schedule.factors) || buffer.element == Element::I32
            {
                // SAFETY: the stream is waited for below.
                unsafe { stream.clear(*slice)? };
            }
        }
        stream.synchronize()?;
        Ok(Activations {
            _memory: memory,
            slices,
            rotary: angles,
        })
    }

    pub fn slice(&self, handle: Handle) -> Option<Slice> {
        match handle {
            Handle::Buffer(index) => self.slices.get(index).copied(),
            Handle::Weight(_) | Handle::Gradient(_) => None,
        }
    }
}

/// Maps handles to device memory.
pub struct Places<'a> {
    pub parameters: &'a Parameters,
    pub activations: &'a Activations,
}

impl Places<'_> {
    /// Returns the array as matrix products read it: for a weight, its copy.
    pub fn operand(&self, handle: Handle) -> Result<Slice, DriverError> {
        match handle {
            Handle::Weight(index) => self.parameters.operand(index),
            other => self.value(other),
        }
    }

    /// Returns the array as all other kernels read it: for a weight, f32.
    pub fn value(&self, handle: Handle) -> Result<Slice, DriverError> {
        match handle {
            Handle::Buffer(_) => self
                .activations
                .slice(handle)
                .ok_or_else(|| DriverError::Invalid("a buffer of another schedule".into())),
            Handle::Weight(index) => self.parameters.weight(index),
            Handle::Gradient(index) => self.parameters.gradient(index),
        }
    }
}
