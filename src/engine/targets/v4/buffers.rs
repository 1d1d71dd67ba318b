//! The arrays that a step keeps in memory, by name and shape, before anything is allocated.

use super::layout::{ParameterIndex, ParameterLayout};

/// An array that an operation reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferHandle {
    /// An activation or an intermediate result; index into [`Buffers::specifications`].
    Buffer(usize),
    Weight(ParameterIndex),
    Gradient(ParameterIndex),
}

/// Type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    F32,
    /// The type of operands of matrix products: f32 or bf16, depending on the precision.
    Operand,
    /// Token numbers and counters.
    I32,
}

/// One buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferSpec {
    pub name: String,
    pub rows: usize,
    pub columns: usize,
    pub element: Element,
}

impl BufferSpec {
    pub fn elements(&self) -> usize {
        self.rows * self.columns
    }

    /// Returns the size in bytes; an operand takes `operand` bytes.
    pub fn bytes(&self, operand: usize) -> usize {
        let size = match self.element {
            Element::Operand => operand,
            Element::F32 | Element::I32 => 4,
        };
        self.elements() * size
    }
}

/// All arrays except the parameters, their gradients, moments and copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    pub specifications: Vec<BufferSpec>,
}

impl Buffers {
    pub(super) fn add(
        &mut self,
        name: impl Into<String>,
        rows: usize,
        columns: usize,
        element: Element,
    ) -> BufferHandle {
        self.specifications.push(BufferSpec {
            name: name.into(),
            rows,
            columns,
            element,
        });
        BufferHandle::Buffer(self.specifications.len() - 1)
    }

    /// Returns the buffer of a handle; `None` for a parameter.
    pub fn get(&self, handle: BufferHandle) -> Option<&BufferSpec> {
        match handle {
            BufferHandle::Buffer(index) => self.specifications.get(index),
            BufferHandle::Weight(_) | BufferHandle::Gradient(_) => None,
        }
    }

    /// Returns the type of a handle's elements in matrix products.
    pub fn element(&self, handle: BufferHandle) -> Element {
        match handle {
            BufferHandle::Buffer(_) => self
                .get(handle)
                .map_or(Element::F32, |buffer| buffer.element),
            BufferHandle::Weight(_) | BufferHandle::Gradient(_) => Element::Operand,
        }
    }

    /// Returns the number of elements of a handle's array.
    pub fn elements(&self, handle: BufferHandle, layout: &ParameterLayout) -> usize {
        match handle {
            BufferHandle::Buffer(_) => self.get(handle).map_or(0, BufferSpec::elements),
            BufferHandle::Weight(index) | BufferHandle::Gradient(index) => layout
                .parameters
                .get(index)
                .map_or(0, super::layout::Parameter::elements),
        }
    }
}
