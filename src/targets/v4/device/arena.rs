//! Device memory: the parameters and what belongs to them, and one allocation for everything else.

use anyhow::Result;
use half::bf16;

use crate::device::driver::{Buffer, Driver, DriverError, Precision, Slice, Stream};
use crate::model::rotary_table;
use crate::targets::v4::buffers::{Element, Handle};
use crate::targets::v4::layout::Layout;
use crate::targets::v4::schedule::Schedule;

/// Every buffer starts at a multiple of this.
const ALIGNMENT: usize = 256;

/// Parameters, gradients, moments, and copies of the parameters for matrix products, all in one layout. Gradients are in the
/// operands' type, as matrix products write them.
pub struct Parameters {
    pub weights: Buffer,
    pub gradients: Buffer,
    pub first_moments: Buffer,
    pub second_moments: Buffer,
    /// `None` where products take the parameters themselves.
    pub copies: Option<Buffer>,
    layout: Layout,
    precision: Precision,
}

impl Parameters {
    pub fn new(
        driver: &Driver,
        layout: &Layout,
        precision: Precision,
    ) -> Result<Self, DriverError> {
        let array = || driver.allocate(layout.length * 4);
        let copies = match precision {
            Precision::Bf16 => Some(driver.allocate(layout.length * 2)?),
            Precision::F32 | Precision::Tf32 => None,
        };
        Ok(Parameters {
            weights: array()?,
            gradients: driver.allocate(layout.length * precision.element_bytes())?,
            first_moments: array()?,
            second_moments: array()?,
            copies,
            layout: layout.clone(),
            precision,
        })
    }

    /// Replaces the parameters, and forgets moments and gradients: gaps are zero and stay it.
    pub fn set(&self, stream: &Stream, weights: &[f32]) -> Result<(), DriverError> {
        stream.upload(self.weights.whole(), weights)?;
        for array in [&self.gradients, &self.first_moments, &self.second_moments] {
            // SAFETY: waited for below.
            unsafe { stream.clear(array.whole())? };
        }
        if let Some(copies) = &self.copies {
            let halves: Vec<u16> = weights.iter().map(|weight| to_bf16(*weight)).collect();
            stream.upload(copies.whole(), &halves)?;
        }
        stream.synchronize()
    }

    /// A parameter as matrix products take it.
    fn operand(&self, index: usize) -> Result<Slice, DriverError> {
        match &self.copies {
            Some(copies) => self.part(copies, index, self.precision.element_bytes()),
            None => self.part(&self.weights, index, 4),
        }
    }

    fn gradient(&self, index: usize) -> Result<Slice, DriverError> {
        self.part(&self.gradients, index, self.precision.element_bytes())
    }

    /// All gradients, in f32.
    pub fn read_gradients(&self, stream: &Stream) -> Result<Vec<f32>, DriverError> {
        let gradients = self.gradients.whole();
        match self.precision {
            Precision::F32 | Precision::Tf32 => stream.download(gradients, self.layout.length),
            Precision::Bf16 => {
                let halves: Vec<u16> = stream.download(gradients, self.layout.length)?;
                let widen = |half: &u16| bf16::from_bits(*half).to_f32();
                Ok(halves.iter().map(widen).collect())
            }
        }
    }

    fn part(&self, array: &Buffer, index: usize, size: usize) -> Result<Slice, DriverError> {
        let range = self.layout.parameters[index].range();
        array.slice(range.start * size, range.len() * size)
    }
}

/// Rounded to nearest, ties to even.
pub fn to_bf16(value: f32) -> u16 {
    bf16::from_f32(value).to_bits()
}

/// The schedule's buffers and the table of rotations.
pub struct Activations {
    /// What the slices refer to.
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
                // SAFETY: waited for below.
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

/// Where handles are on the device.
pub struct Places<'a> {
    pub parameters: &'a Parameters,
    pub activations: &'a Activations,
}

impl Places<'_> {
    /// As matrix products take it: a weight's copy.
    pub fn operand(&self, handle: Handle) -> Result<Slice, DriverError> {
        match handle {
            Handle::Weight(index) => self.parameters.operand(index),
            other => self.value(other),
        }
    }

    /// As everything else takes it: a weight in f32.
    pub fn value(&self, handle: Handle) -> Result<Slice, DriverError> {
        match handle {
            Handle::Buffer(_) => self
                .activations
                .slice(handle)
                .ok_or_else(|| DriverError::Invalid("a buffer of another schedule".into())),
            Handle::Weight(index) => self.parameters.part(&self.parameters.weights, index, 4),
            Handle::Gradient(index) => self.parameters.gradient(index),
        }
    }
}
