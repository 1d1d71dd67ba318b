//! The schedule's buffers as vectors on the host.

use std::ops::Range;

use tinyllama_kernel_catalog::adamw::Factors;
use tinyllama_kernels::adamw::{self, host::HostParameters};

use crate::targets::v4::buffers::{BufferHandle, Element};
use crate::targets::v4::layout::ParameterLayout;
use crate::targets::v4::schedule::Schedule;

/// Parameters with gradients and moments, and every buffer of a schedule.
pub struct Memory {
    layout: ParameterLayout,
    pub weights: Vec<f32>,
    pub gradients: Vec<f32>,
    first_moments: Vec<f32>,
    second_moments: Vec<f32>,
    buffers: Vec<Vec<f32>>,
    integers: Vec<Vec<i32>>,
}

impl Memory {
    pub fn new(schedule: &Schedule) -> Memory {
        let (mut buffers, mut integers) = (Vec::new(), Vec::new());
        for specification in &schedule.buffers.specifications {
            let elements = specification.elements();
            let (floats, whole) = match specification.element {
                Element::I32 => (0, elements),
                Element::F32 | Element::Operand => (elements, 0),
            };
            buffers.push(vec![0.0; floats]);
            integers.push(vec![0; whole]);
        }
        let zeros = || vec![0.0; schedule.layout.length];
        Memory {
            layout: schedule.layout.clone(),
            weights: zeros(),
            gradients: zeros(),
            first_moments: zeros(),
            second_moments: zeros(),
            buffers,
            integers,
        }
    }

    pub fn read(&self, handle: BufferHandle) -> &[f32] {
        match handle {
            BufferHandle::Buffer(index) => &self.buffers[index],
            BufferHandle::Weight(index) => &self.weights[self.layout.parameters[index].range()],
            BufferHandle::Gradient(index) => &self.gradients[self.layout.parameters[index].range()],
        }
    }

    pub fn integers(&self, handle: BufferHandle) -> &[i32] {
        match handle {
            BufferHandle::Buffer(index) => &self.integers[index],
            BufferHandle::Weight(_) | BufferHandle::Gradient(_) => &[],
        }
    }

    /// Returns the bits of a buffer, whether it holds floats or integers.
    pub fn bits(&self, handle: BufferHandle) -> Vec<u32> {
        let integers = self
            .integers(handle)
            .iter()
            .map(|word| word.cast_unsigned());
        let floats = self.read(handle).iter().map(|value| value.to_bits());
        integers.chain(floats).collect()
    }

    /// Returns the arrays of an update, under the names that the exercise uses.
    pub fn of_update(&mut self) -> [(&'static str, &mut Vec<f32>); 4] {
        [
            ("weights", &mut self.weights),
            ("gradients", &mut self.gradients),
            ("first", &mut self.first_moments),
            ("second", &mut self.second_moments),
        ]
    }

    pub fn set_integers(&mut self, handle: BufferHandle, values: &[i32]) {
        if let BufferHandle::Buffer(index) = handle {
            self.integers[index].copy_from_slice(values);
        }
    }

    /// Calls `work` with `outputs` for writing and everything else for reading. At most one output is a gradient, none
    /// is a weight, and none is read.
    pub fn update<const N: usize>(
        &mut self,
        outputs: [BufferHandle; N],
        work: impl FnOnce(&Memory, [&mut [f32]; N]),
    ) {
        let mut taken = outputs.map(|handle| match handle {
            BufferHandle::Buffer(index) => std::mem::take(&mut self.buffers[index]),
            BufferHandle::Gradient(_) => std::mem::take(&mut self.gradients),
            BufferHandle::Weight(_) => Vec::new(),
        });
        let mut handles = outputs.iter();
        let slices = taken.each_mut().map(|vector| match handles.next() {
            Some(BufferHandle::Gradient(index)) => {
                &mut vector[self.layout.parameters[*index].range()]
            }
            _ => vector.as_mut_slice(),
        });
        work(self, slices);
        for (handle, vector) in outputs.into_iter().zip(taken) {
            match handle {
                BufferHandle::Buffer(index) => self.buffers[index] = vector,
                BufferHandle::Gradient(_) => self.gradients = vector,
                BufferHandle::Weight(_) => {}
            }
        }
    }

    /// Does one step of AdamW over `elements`.
    pub fn adamw(&mut self, elements: Range<usize>, factors: &Factors) {
        let parameters = HostParameters {
            values: &mut self.weights[elements.clone()],
            gradients: &self.gradients[elements.clone()],
            first_moments: &mut self.first_moments[elements.clone()],
            second_moments: &mut self.second_moments[elements],
        };
        adamw::host::step(vec![parameters], factors);
    }

    pub fn set_weights(&mut self, weights: &[f32]) {
        self.weights.copy_from_slice(weights);
        self.first_moments.fill(0.0);
        self.second_moments.fill(0.0);
    }

    pub fn bytes(&self) -> u64 {
        let buffers: usize = self.buffers.iter().map(Vec::len).sum();
        let integers: usize = self.integers.iter().map(Vec::len).sum();
        4 * (4 * self.weights.len() + buffers + integers) as u64
    }
}
