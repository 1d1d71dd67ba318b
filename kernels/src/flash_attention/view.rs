//! Layout of a tensor's heads in its buffer, so that no kernel needs a transposed or sliced copy.

use cubecl::{ir::ElemType, prelude::*, server::Handle};
use tinyllama_kernel_catalog::flash_attention::AttentionShape;

use super::NAME;
use super::tile::Rows;
use crate::KernelError;
use crate::launch::{CheckedBuffer, vector_size};

/// Values `[batch, seq, heads, head_dim]` in a buffer. Offset and strides are in elements.
#[derive(Clone, Debug)]
pub struct HeadView {
    handle: Handle,
    /// Index of the first value.
    offset: usize,
    /// Distances between sequences, between positions, between heads, and between the values of a head. The last is 1
    /// if memory is to be read in whole lines.
    strides: [usize; 4],
}

impl HeadView {
    /// Views contiguous `[batch, seq, heads, head_dim]`, as a projection writes it.
    pub fn rows_first(handle: &Handle, shape: AttentionShape, heads: usize) -> HeadView {
        HeadView::columns(handle, 0, heads * shape.head_dim, shape)
    }

    /// Views contiguous `[batch, heads, seq, head_dim]`.
    pub fn heads_first(handle: &Handle, shape: AttentionShape, heads: usize) -> HeadView {
        let AttentionShape { seq, head_dim, .. } = shape;
        HeadView {
            handle: handle.clone(),
            offset: 0,
            strides: [heads * seq * head_dim, head_dim, seq * head_dim, 1],
        }
    }

    /// Views contiguous `[batch, heads, head_dim, seq]` as transposed, so that the values of one row lie `seq` apart.
    /// The result is correct, and the slowest layout for a kernel that reads rows in lines.
    pub fn transposed(handle: &Handle, shape: AttentionShape, heads: usize) -> HeadView {
        let mut view = HeadView::heads_first(handle, shape, heads);
        (view.strides[1], view.strides[3]) = (1, shape.seq);
        view
    }

    /// Views queries, keys and values inside the result of one fused projection, `[batch * seq, width]`.
    pub fn fused(handle: &Handle, shape: AttentionShape) -> [HeadView; 3] {
        let AttentionShape {
            heads, key_heads, ..
        } = shape;
        [0, heads, heads + key_heads]
            .map(|first| HeadView::columns(handle, first * shape.head_dim, shape.width(), shape))
    }

    /// Views columns from `first` on of a matrix `[batch * seq, width]`.
    fn columns(handle: &Handle, first: usize, width: usize, shape: AttentionShape) -> HeadView {
        HeadView {
            handle: handle.clone(),
            offset: first,
            strides: [shape.seq * width, width, shape.head_dim, 1],
        }
    }

    /// Returns the index in the buffer for a sequence, position, head and column; `None` on overflow.
    pub(super) fn index(&self, at: [usize; 4]) -> Option<usize> {
        at.iter()
            .zip(self.strides)
            .try_fold(self.offset, |index, (at, stride)| {
                index.checked_add(at.checked_mul(stride)?)
            })
    }

    /// Returns the view if it lies inside its buffer.
    pub(super) fn bind(
        &self,
        name: &'static str,
        shape: AttentionShape,
        heads: usize,
        dtype: ElemType,
    ) -> Result<BoundView<'_>, KernelError> {
        let last = [
            shape.batch - 1,
            shape.seq - 1,
            heads - 1,
            shape.head_dim - 1,
        ];
        let extent = self
            .index(last)
            .filter(|last| *last < u32::MAX as usize)
            .ok_or_else(|| {
                KernelError::Shape(
                    NAME,
                    format!("`{name}` reaches beyond 32-bit indices; split the batch"),
                )
            })?;
        Ok(BoundView {
            view: self,
            buffer: CheckedBuffer::new(NAME, name, &self.handle, extent + 1, dtype)?,
        })
    }
}

/// A view that has been checked to lie inside its buffer.
#[derive(Clone, Copy)]
pub(super) struct BoundView<'a> {
    view: &'a HeadView,
    buffer: CheckedBuffer<'a>,
}

impl BoundView<'_> {
    /// Returns the buffer as a kernel argument.
    pub fn argument(&self, vector: VectorSize) -> BufferArg {
        self.buffer.argument(vector)
    }

    /// Returns the place of the view in its buffer.
    pub fn place(&self, vector: VectorSize) -> HeadStridesLaunch {
        let [batch, row, head, column] = self.view.strides;
        HeadStridesLaunch::new(
            self.view.offset / vector,
            batch / vector,
            row / vector,
            head / vector,
            column,
        )
    }
}

/// Returns the widest vector, at most four elements, in which every view can be read. Tiles are kept in f32, where four
/// elements are the 16 bytes of one access.
pub(super) fn common_vector_size(
    client: &Client,
    dtype: ElemType,
    head_dim: usize,
    views: &[BoundView<'_>],
) -> VectorSize {
    if views.iter().any(|bound| bound.view.strides[3] != 1) {
        return 1;
    }
    let common = views
        .iter()
        .flat_map(|bound| {
            let [batch, row, head, _] = bound.view.strides;
            [bound.view.offset, batch, row, head]
        })
        .fold(
            greatest_common_divisor(4, head_dim),
            greatest_common_divisor,
        );
    let buffers: Vec<CheckedBuffer<'_>> = views.iter().map(|bound| bound.buffer).collect();
    vector_size(client, dtype, common, &buffers)
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

/// Offset and strides of a [`HeadView`] inside a kernel, in vectors. They are in single values if columns are not adjacent.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct HeadStrides {
    offset: usize,
    batch_stride: usize,
    row_stride: usize,
    head_stride: usize,
    column_stride: usize,
}

#[cube]
impl HeadStrides {
    /// Returns the `count` rows of one head of one sequence.
    pub fn rows(&self, sequence: usize, head: usize, count: usize) -> Rows {
        Rows {
            start: self.offset + sequence * self.batch_stride + head * self.head_stride,
            stride: self.row_stride,
            column_stride: self.column_stride,
            count,
        }
    }
}
