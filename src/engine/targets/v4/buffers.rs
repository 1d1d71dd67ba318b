//! The arrays that a step keeps in memory, by name and shape, before anything is allocated.

use super::layout::{Layout, ParameterIndex};

/// An array that an operation reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Handle {
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
pub struct Specification {
    pub name: String,
    pub rows: usize,
    pub columns: usize,
    pub element: Element,
}

impl Specification {
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
    pub specifications: Vec<Specification>,
}

impl Buffers {
    pub(super) fn add(
        &mut self,
        name: impl Into<String>,
        rows: usize,
        columns: usize,
        element: Element,
    ) -> Handle {
        self.specifications.push(Specification {
            name: name.into(),
            rows,
            columns,
            element,
        });
        Handle::Buffer(self.specifications.len() - 1)
    }

    /// Returns the buffer of a handle; `None` for a parameter.
    pub fn get(&self, handle: Handle) -> Option<&Specification> {
        match handle {
            Handle::Buffer(index) => self.specifications.get(index),
            Handle::Weight(_) | Handle::Gradient(_) => None,
        }
    }

    /// Returns the type of a handle's elements in matrix products.
    pub fn element(&self, handle: Handle) -> Element {
        match handle {
            Handle::Buffer(_) => self
                .get(handle)
                .map_or(Element::F32, |buffer| buffer.element),
            Handle::Weight(_) | Handle::Gradient(_) => Element::Operand,
        }
    }

    /// Returns the number of elements of a handle's array.
    pub fn elements(&self, handle: Handle, layout: &Layout) -> usize {
        match handle {
            Handle::Buffer(_) => self.get(handle).map_or(0, Specification::elements),
            Handle::Weight(index) | Handle::Gradient(index) => layout
                .parameters
                .get(index)
                .map_or(0, super::layout::Parameter::elements),
        }
    }
}
