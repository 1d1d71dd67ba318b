//! Where the heads of a tensor lie in its buffer, so that no kernel needs a transposed or sliced copy.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::Shape;
use super::tile::Rows;
use crate::{KernelError, launch::vector_size};

/// Values `[batch, seq, heads, head_dim]` somewhere in a buffer. Offset and strides are in elements.
#[derive(Clone, Debug)]
pub struct HeadView {
    pub handle: Handle,
    /// Where the first value is.
    pub offset: usize,
    /// From one sequence to the next.
    pub batch_stride: usize,
    /// From one position to the next.
    pub row_stride: usize,
    /// From one head to the next.
    pub head_stride: usize,
    /// From one value of a head to the next: 1 wherever memory is to be read in whole lines.
    pub column_stride: usize,
}

impl HeadView {
    /// Contiguous `[batch, seq, heads, head_dim]`: what a projection writes.
    pub fn rows_first(handle: Handle, seq: usize, heads: usize, head_dim: usize) -> HeadView {
        HeadView::columns(handle, 0, heads * head_dim, seq, head_dim)
    }

    /// Contiguous `[batch, heads, seq, head_dim]`.
    pub fn heads_first(handle: Handle, seq: usize, heads: usize, head_dim: usize) -> HeadView {
        HeadView {
            handle,
            offset: 0,
            batch_stride: heads * seq * head_dim,
            row_stride: head_dim,
            head_stride: seq * head_dim,
            column_stride: 1,
        }
    }

    /// A transposed view: contiguous `[batch, heads, head_dim, seq]`, so that the values of one row lie `seq` apart.
    /// Correct, and the worst way to hand rows to a kernel that reads them in lines.
    pub fn transposed(handle: Handle, seq: usize, heads: usize, head_dim: usize) -> HeadView {
        HeadView {
            row_stride: 1,
            column_stride: seq,
            ..HeadView::heads_first(handle, seq, heads, head_dim)
        }
    }

    /// Columns from `first` on of a matrix `[batch * seq, width]`: queries, keys or values inside the result of one
    /// fused projection.
    pub fn columns(
        handle: Handle,
        first: usize,
        width: usize,
        seq: usize,
        head_dim: usize,
    ) -> HeadView {
        HeadView {
            handle,
            offset: first,
            batch_stride: seq * width,
            row_stride: width,
            head_stride: head_dim,
            column_stride: 1,
        }
    }

    /// Elements from the start of the buffer to the end of the last value.
    pub(super) fn extent(&self, shape: Shape, heads: usize) -> Option<usize> {
        let steps = [
            (shape.batch - 1, self.batch_stride),
            (shape.seq - 1, self.row_stride),
            (heads - 1, self.head_stride),
            (shape.head_dim - 1, self.column_stride),
        ];
        steps
            .iter()
            .try_fold(self.offset, |at, (count, stride)| {
                at.checked_add(count.checked_mul(*stride)?)
            })?
            .checked_add(1)
            .filter(|extent| *extent <= u32::MAX as usize)
    }

    /// Refuses a view that reaches behind its buffer.
    pub(super) fn check(
        &self,
        kernel: &'static str,
        buffer: &'static str,
        shape: Shape,
        heads: usize,
        dtype: ElemType,
    ) -> Result<(), KernelError> {
        let extent = self
            .extent(shape, heads)
            .ok_or_else(|| KernelError::Shape {
                kernel,
                reason: format!("`{buffer}` reaches beyond 32-bit indices; split the batch"),
            })?;
        crate::launch::check_buffer(kernel, buffer, &self.handle, extent, dtype)
    }

    /// The buffer as a kernel argument.
    ///
    /// # Safety
    /// The view must have passed [`HeadView::check`].
    pub(super) unsafe fn buffer(
        &self,
        shape: Shape,
        heads: usize,
        vector_size: VectorSize,
    ) -> BufferArg {
        let elements = self.extent(shape, heads).unwrap_or(0);
        unsafe { crate::launch::buffer(&self.handle, elements, vector_size) }
    }

    pub(super) fn place(&self, vector_size: VectorSize) -> PlaceLaunch {
        PlaceLaunch::new(
            self.offset / vector_size,
            self.batch_stride / vector_size,
            self.row_stride / vector_size,
            self.head_stride / vector_size,
            self.column_stride,
        )
    }
}

/// The widest vector, at most four elements, in which every view can be read: tiles are kept in f32, where four are the
/// 16 bytes of one access.
pub(super) fn common_vector_size(
    client: &Client,
    dtype: ElemType,
    head_dim: usize,
    views: &[&HeadView],
) -> VectorSize {
    if views.iter().any(|view| view.column_stride != 1) {
        return 1;
    }
    let common = views
        .iter()
        .flat_map(|view| {
            [
                view.offset,
                view.batch_stride,
                view.row_stride,
                view.head_stride,
            ]
        })
        .fold(
            greatest_common_divisor(4, head_dim),
            greatest_common_divisor,
        );
    let handles: Vec<(&Handle, ElemType)> =
        views.iter().map(|view| (&view.handle, dtype)).collect();
    vector_size(client, dtype, common, &handles)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// Offset and strides of a [`HeadView`] inside a kernel, in vectors; they are single values where columns lie apart.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct Place {
    offset: usize,
    batch_stride: usize,
    row_stride: usize,
    head_stride: usize,
    column_stride: usize,
}

#[cube]
impl Place {
    /// The rows of one head of one sequence.
    pub fn rows(&self, sequence: usize, head: usize) -> Rows {
        Rows {
            start: self.offset + sequence * self.batch_stride + head * self.head_stride,
            stride: self.row_stride,
            column_stride: self.column_stride,
        }
    }
}
