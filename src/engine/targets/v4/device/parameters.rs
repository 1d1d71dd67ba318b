//! The parameters on the device, with gradients, moments and copies.

use std::ops::Range;

use anyhow::Result;
use half::bf16;

use crate::device::driver::{DeviceBuffer, Driver, DriverError, GemmPrecision, Slice, Stream};
use crate::targets::v4::layout::ParameterLayout;
use crate::targets::v4::schedule::Schedule;
use crate::targets::v4::shards::Shards;

/// Parameters, gradients, moments, and copies of the parameters for matrix products, all in one layout. Gradients have
/// the operands' type, because matrix products write them. Only updates use moments and lower halves, so these arrays
/// leave out the parts that other ranks update.
pub struct Parameters {
    weights: DeviceBuffer,
    /// The lower half of each matrix element's bits, if copies are bf16. The copies are the upper half, so no f32 array
    /// is needed.
    lower_halves: Option<DeviceBuffer>,
    pub gradients: DeviceBuffer,
    pub first_moments: DeviceBuffer,
    pub second_moments: DeviceBuffer,
    /// `None` if products take the parameters themselves.
    copies: Option<DeviceBuffer>,
    layout: ParameterLayout,
    shards: Option<Shards>,
    precision: GemmPrecision,
}

impl Parameters {
    pub fn new(
        driver: &Driver,
        schedule: &Schedule,
        precision: GemmPrecision,
    ) -> Result<Self, DriverError> {
        let (layout, shards) = (&schedule.layout, &schedule.shards);
        let kept = |length: usize| {
            shards
                .as_ref()
                .map_or(length, |shards| shards.index(length))
        };
        let array = || driver.allocate(kept(layout.length) * 4);
        let halves = precision == GemmPrecision::Bf16;
        let copies = halves.then(|| driver.allocate(layout.length * 2));
        let split = if halves { layout.matrices().len() } else { 0 };
        let lower = kept(layout.matrices().end) - layout.matrices().start;
        let lower_halves = (split > 0).then(|| driver.allocate(lower * 2));
        Ok(Parameters {
            weights: driver.allocate((layout.length - split) * 4)?,
            lower_halves: lower_halves.transpose()?,
            gradients: driver.allocate(layout.length * precision.element_bytes())?,
            first_moments: array()?,
            second_moments: array()?,
            copies: copies.transpose()?,
            layout: layout.clone(),
            shards: shards.clone(),
            precision,
        })
    }

    /// Replaces the parameters and clears moments and gradients. Gaps become zero and stay zero.
    pub fn set(&self, stream: &Stream, weights: &[f32]) -> Result<(), DriverError> {
        let halves = self.halves();
        let apart = [&weights[..halves.start], &weights[halves.end..]].concat();
        stream.upload(self.weights.as_slice(), &apart)?;
        for array in [&self.gradients, &self.first_moments, &self.second_moments] {
            // SAFETY: the stream is waited for below.
            unsafe { stream.clear(array.as_slice())? };
        }
        if let Some(copies) = &self.copies {
            let upper: Vec<u16> = weights.iter().map(|weight| split(*weight).0).collect();
            stream.upload(copies.as_slice(), &upper)?;
        }
        if let Some(buffer) = &self.lower_halves {
            let own = self.own_halves().into_iter().flatten();
            let lower: Vec<u16> = own.map(|element| split(weights[element]).1).collect();
            stream.upload(buffer.as_slice(), &lower)?;
        }
        stream.synchronize()
    }

    /// Reads all parameters. Of matrices that another rank updates, only the upper halves are here: the numbers are rounded
    /// as products read them.
    pub fn read(&self, stream: &Stream) -> Result<Vec<f32>, DriverError> {
        let halves = self.halves();
        let apart: Vec<f32> =
            stream.download(self.weights.as_slice(), self.layout.length - halves.len())?;
        let (Some(copies), Some(lower)) = (&self.copies, &self.lower_halves) else {
            return Ok(apart);
        };
        let upper: Vec<u16> = stream.download(
            copies.slice(halves.start * 2, halves.len() * 2)?,
            halves.len(),
        )?;
        let own = || self.own_halves().into_iter().flatten();
        let lower: Vec<u16> = stream.download(lower.as_slice(), own().count())?;
        let mut joined: Vec<f32> = upper.iter().map(|upper| join((*upper, 0))).collect();
        for (element, lower) in own().zip(lower) {
            let at = element - halves.start;
            joined[at] = join((upper[at], lower));
        }
        Ok([&apart[..halves.start], &joined, &apart[halves.start..]].concat())
    }

    /// Returns the range of elements that are stored in halves.
    fn halves(&self) -> Range<usize> {
        match &self.lower_halves {
            Some(_) => self.layout.matrices(),
            None => 0..0,
        }
    }

    /// Returns the ranges of elements whose lower halves are here.
    fn own_halves(&self) -> Vec<Range<usize>> {
        match &self.shards {
            Some(shards) => shards.all_own().collect(),
            None => vec![self.halves()],
        }
    }

    /// Returns the index of an element in the arrays that leave out other ranks' parts.
    fn kept(&self, element: usize) -> usize {
        let shards = self.shards.as_ref();
        shards.map_or(element, |shards| shards.index(element))
    }

    /// Returns ranges of gradients on the device.
    ///
    /// # Errors
    /// A range outside of the parameters.
    pub fn gradient_ranges(&self, ranges: &[Range<usize>]) -> Result<Vec<Slice>, DriverError> {
        self.slices(&self.gradients, ranges, self.precision.element_bytes())
    }

    /// Returns ranges of parameters as matrix products read them.
    ///
    /// # Errors
    /// A range outside of the parameters.
    pub fn operand_ranges(&self, ranges: &[Range<usize>]) -> Result<Vec<Slice>, DriverError> {
        let array = self.copies.as_ref().unwrap_or(&self.weights);
        self.slices(array, ranges, self.precision.element_bytes())
    }

    fn slices(
        &self,
        array: &DeviceBuffer,
        ranges: &[Range<usize>],
        size: usize,
    ) -> Result<Vec<Slice>, DriverError> {
        let slice = |range: &Range<usize>| array.slice(range.start * size, range.len() * size);
        ranges.iter().map(slice).collect()
    }

    /// Splits a range of elements into pieces that are stored in the same way.
    pub fn pieces(&self, elements: &Range<usize>) -> Vec<ParameterPiece> {
        let halves = self.halves();
        let all = [
            0..halves.start,
            halves.clone(),
            halves.end..self.layout.length,
        ];
        let within = all.map(|kept| kept.start.max(elements.start)..kept.end.min(elements.end));
        let pieces = within.into_iter().filter(|range| !range.is_empty());
        let pieces = pieces.map(|elements| ParameterPiece {
            in_halves: halves.contains(&elements.start),
            elements,
        });
        pieces.collect()
    }

    /// Returns the arrays of a piece: parameters (or upper and lower halves), gradients, both moments, and copies
    /// unless the parameters are in halves.
    pub fn arrays(&self, piece: &ParameterPiece) -> Result<PieceArrays, DriverError> {
        let (start, count) = (piece.elements.start, piece.elements.len());
        let part = |buffer: &DeviceBuffer, start: usize, size: usize| {
            buffer.slice(start * size, count * size)
        };
        let size = self.precision.element_bytes();
        let copies = self.copies.as_ref().map(|copies| part(copies, start, size));
        let (copies, lower) = (copies.transpose()?, self.lower_halves.as_ref());
        let (weights, copies) = match (piece.in_halves, copies, lower) {
            (true, Some(upper), Some(lower)) => {
                let lower = part(lower, self.kept(start) - self.halves().start, 2)?;
                (vec![upper, lower], None)
            }
            (_, copies, _) => (vec![part(&self.weights, self.in_f32(start), 4)?], copies),
        };
        Ok(PieceArrays {
            weights,
            gradients: part(&self.gradients, start, size)?,
            moments: [
                part(&self.first_moments, self.kept(start), 4)?,
                part(&self.second_moments, self.kept(start), 4)?,
            ],
            copies,
        })
    }

    /// Returns the index of an f32 element in the array of all f32 elements.
    fn in_f32(&self, element: usize) -> usize {
        let halves = self.halves();
        element
            - if element < halves.end {
                0
            } else {
                halves.len()
            }
    }

    /// Returns a parameter as matrix products read it.
    pub fn operand(&self, index: usize) -> Result<Slice, DriverError> {
        match &self.copies {
            Some(copies) => self.part(copies, index, self.precision.element_bytes()),
            None => self.weight(index),
        }
    }

    /// Returns a parameter in f32. It must not be stored in halves.
    pub fn weight(&self, index: usize) -> Result<Slice, DriverError> {
        let range = self.layout.parameters[index].range();
        if self.halves().contains(&range.start) {
            return Err(DriverError::Invalid("a matrix in halves is not f32".into()));
        }
        self.weights
            .slice(self.in_f32(range.start) * 4, range.len() * 4)
    }

    pub fn gradient(&self, index: usize) -> Result<Slice, DriverError> {
        self.part(&self.gradients, index, self.precision.element_bytes())
    }

    /// Reads all gradients as f32.
    pub fn read_gradients(&self, stream: &Stream) -> Result<Vec<f32>, DriverError> {
        let gradients = self.gradients.as_slice();
        match self.precision {
            GemmPrecision::F32 | GemmPrecision::Tf32 => {
                stream.download(gradients, self.layout.length)
            }
            GemmPrecision::Bf16 => {
                let halves: Vec<u16> = stream.download(gradients, self.layout.length)?;
                let widen = |half: &u16| bf16::from_bits(*half).to_f32();
                Ok(halves.iter().map(widen).collect())
            }
        }
    }

    fn part(&self, array: &DeviceBuffer, index: usize, size: usize) -> Result<Slice, DriverError> {
        let range = self.layout.parameters[index].range();
        array.slice(range.start * size, range.len() * size)
    }
}

/// A part of the parameters that one launch updates.
pub struct ParameterPiece {
    pub elements: Range<usize>,
    pub in_halves: bool,
}

/// The arrays of a piece.
pub struct PieceArrays {
    pub weights: Vec<Slice>,
    pub gradients: Slice,
    pub moments: [Slice; 2],
    pub copies: Option<Slice>,
}

/// Rounds to nearest, ties to even.
pub fn to_bf16(value: f32) -> u16 {
    bf16::from_f32(value).to_bits()
}

/// Splits a number as the kernel `adamw_halves` does: bf16 with ties away from zero, and the lower half of the bits.
fn split(value: f32) -> (u16, u16) {
    if value.is_nan() {
        return (bf16::NAN.to_bits(), 0);
    }
    let bits = value.to_bits();
    let [upper, lower] = [bits.wrapping_add(0x8000) >> 16, bits & 0xffff];
    (upper as u16, lower as u16)
}

/// Reverses [`split`].
fn join((upper, lower): (u16, u16)) -> f32 {
    let rounded_up = lower >> 15;
    f32::from_bits(u32::from(upper.wrapping_sub(rounded_up)) << 16 | u32::from(lower))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_make_the_number_again_and_the_upper_one_is_it_rounded() {
        let numbers = (0..=u16::MAX).flat_map(|upper| {
            let lower = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
            lower.map(|lower| f32::from_bits(u32::from(upper) << 16 | lower))
        });
        for number in numbers {
            let halves = split(number);
            let (again, rounded) = (join(halves), bf16::from_bits(halves.0).to_f32());
            if number.is_nan() {
                assert!(again.is_nan() && rounded.is_nan());
                continue;
            }
            assert_eq!(again.to_bits(), number.to_bits());
            let nearest = bf16::from_f32(number).to_f32();
            let tie = number.to_bits() & 0xffff == 0x8000;
            assert!(rounded == nearest || tie, "{number} {rounded}");
        }
    }
}
