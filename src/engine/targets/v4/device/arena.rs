//! Device memory of a schedule: one allocation for all arrays except the parameters.

use anyhow::Result;

use super::parameters::Parameters;
use crate::device::driver::{DeviceBuffer, Driver, DriverError, GemmPrecision, Slice, Stream};
use crate::model::rotary_table;
use crate::targets::v4::buffers::{BufferHandle, Element};
use crate::targets::v4::schedule::Schedule;

/// Every buffer starts at a multiple of this many bytes.
const ALIGNMENT: usize = 256;

/// The schedule's buffers, and the table of rotations.
pub struct ActivationBuffers {
    /// The allocation to which the slices belong.
    _memory: DeviceBuffer,
    slices: Vec<Slice>,
    pub rotary: Slice,
}

impl ActivationBuffers {
    pub fn new(
        driver: &Driver,
        stream: &Stream,
        schedule: &Schedule,
        precision: GemmPrecision,
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
        let angles = slices.pop().unwrap_or(memory.as_slice());
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
        Ok(ActivationBuffers {
            _memory: memory,
            slices,
            rotary: angles,
        })
    }

    pub fn slice(&self, handle: BufferHandle) -> Option<Slice> {
        match handle {
            BufferHandle::Buffer(index) => self.slices.get(index).copied(),
            BufferHandle::Weight(_) | BufferHandle::Gradient(_) => None,
        }
    }
}

/// Maps handles to device memory.
pub struct BufferMap<'a> {
    pub parameters: &'a Parameters,
    pub activations: &'a ActivationBuffers,
}

impl BufferMap<'_> {
    /// Returns the array as matrix products read it: for a weight, its copy.
    pub fn operand(&self, handle: BufferHandle) -> Result<Slice, DriverError> {
        match handle {
            BufferHandle::Weight(index) => self.parameters.operand(index),
            other => self.value(other),
        }
    }

    /// Returns the array as all other kernels read it: for a weight, f32.
    pub fn value(&self, handle: BufferHandle) -> Result<Slice, DriverError> {
        match handle {
            BufferHandle::Buffer(_) => self
                .activations
                .slice(handle)
                .ok_or_else(|| DriverError::Invalid("a buffer of another schedule".into())),
            BufferHandle::Weight(index) => self.parameters.weight(index),
            BufferHandle::Gradient(index) => self.parameters.gradient(index),
        }
    }
}
