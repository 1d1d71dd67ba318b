//! Compares both passes with their reference, on awkward shapes and in every layout that a model uses.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use tinyllama_kernel_catalog::flash_attention::{AttentionShape, AttentionTile, reference};

use super::NAME;
use super::block::FlashAttentionBlock;
use super::launch::{backward, check_sizes, forward};
use super::view::HeadView;
use crate::{
    KernelError,
    check::{KernelTrial, OutputCheck},
    launch::F32,
    workload::{BufferContent, BufferSource},
};

/// Layout of queries, keys, values and their gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TensorLayout {
    /// Three tensors `[batch, seq, heads, head_dim]`.
    RowsFirst,
    /// Three tensors `[batch, heads, seq, head_dim]`.
    HeadsFirst,
    /// Columns of one matrix `[batch * seq, (heads + 2 key_heads) head_dim]`.
    Fused,
    /// Three tensors `[batch, heads, head_dim, seq]`: the values of a row are not adjacent.
    Transposed,
}

/// Returns shapes that reveal mistakes: one position, fewer than a tile, one more than a tile; own and shared key heads.
fn shapes() -> Vec<AttentionShape> {
    let mut shapes = Vec::new();
    for seq in [1, 7, 129] {
        for head_dim in [8, 32, 64, 128] {
            shapes.push(AttentionShape::new(1, seq, 6, 3, head_dim));
        }
    }
    shapes.push(AttentionShape::new(2, 33, 3, 3, 32));
    shapes.push(AttentionShape::new(3, 40, 4, 1, 16));
    // Head widths that are no multiple of four: vectors of two and of one.
    shapes.push(AttentionShape::new(2, 19, 4, 2, 6));
    shapes.push(AttentionShape::new(1, 19, 2, 1, 5));
    shapes
}

/// Tiles that reveal mistakes: one row and column per unit, vectors of two and four, and more rows than queries. In one
/// tile more units share a row than a plane has, which takes the path for devices without planes. The arguments are
/// units across and down, then rows and columns per unit.
const TILES: [AttentionTile; 5] = [
    AttentionTile::new(1, 8, 1, 1),
    AttentionTile::new(4, 8, 3, 2),
    AttentionTile::new(8, 16, 4, 4),
    AttentionTile::new(16, 5, 2, 4),
    AttentionTile::new(128, 2, 1, 1),
];

/// Checks every shape with the block sizes of this device, and one shape with every tile that fits it. The layout
/// changes from shape to shape, so that each head size meets each layout.
///
/// # Errors
/// Fails if a launch is refused or the device fails.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<OutputCheck>, KernelError> {
    let layouts = [
        TensorLayout::RowsFirst,
        TensorLayout::HeadsFirst,
        TensorLayout::Fused,
        TensorLayout::Transposed,
    ];
    let mut checks = Vec::new();
    for (index, shape) in shapes().into_iter().enumerate() {
        let layout = layouts[(index / layouts.len() + index) % layouts.len()];
        let seed = seed.wrapping_add(index as u64);
        let inputs = Inputs::new(shape, layout);
        checks.extend(inputs.check(client, None, dtype, seed)?);
    }
    let inputs = Inputs::new(AttentionShape::new(2, 37, 4, 2, 16), TensorLayout::Fused);
    let fits =
        |tile: &AttentionTile| FlashAttentionBlock::uniform(*tile).fits(client, inputs.shape);
    for tile in TILES.into_iter().filter(fits) {
        checks.extend(inputs.check(client, Some(tile), dtype, seed)?);
    }
    checks.extend(check_low_scores(client, dtype, seed)?);
    Ok(checks)
}

/// Checks scores so low that `exp(-score)` overflows: rows that only fill a tile must not let that through.
///
/// Gradients of queries and keys are differences of nearly equal numbers here. Their distance shows rounding rather
/// than mistakes of the kernels, so only values that are not finite are reported.
fn check_low_scores(
    client: &Client,
    dtype: ElemType,
    seed: u64,
) -> Result<Vec<OutputCheck>, KernelError> {
    let shape = AttentionShape {
        scale: 4.0,
        ..AttentionShape::new(2, 5, 4, 2, 8)
    };
    let inputs = Inputs {
        centers: [-2.0, 2.0, 0.0],
        ..Inputs::new(shape, TensorLayout::RowsFirst)
    };
    let mut checks = inputs.check(client, None, dtype, seed)?;
    checks.retain(|check| match check.output {
        "query gradient" | "key gradient" => !check.error.is_finite(),
        _ => true,
    });
    Ok(checks)
}

/// Queries, keys and values in the buffers of one layout.
struct Inputs {
    shape: AttentionShape,
    layout: TensorLayout,
    /// Mean of the values of each; a fused matrix uses only the first.
    centers: [f64; 3],
}

/// Names of their buffers, and of the buffers of their gradients; a fused matrix uses only the first.
const NAMES: [[&str; 3]; 2] = [
    ["query", "key", "value"],
    ["query gradient", "key gradient", "value gradient"],
];

impl Inputs {
    fn new(shape: AttentionShape, layout: TensorLayout) -> Inputs {
        Inputs {
            shape,
            layout,
            centers: [0.0; 3],
        }
    }

    /// Checks both passes with the block sizes of this device or with one tile.
    fn check(
        &self,
        client: &Client,
        tile: Option<AttentionTile>,
        dtype: ElemType,
        seed: u64,
    ) -> Result<Vec<OutputCheck>, KernelError> {
        let shape = self.shape;
        check_sizes(shape)?;
        let block = tile.map_or_else(
            || FlashAttentionBlock::new(client, shape, None),
            FlashAttentionBlock::uniform,
        );
        let tile = block.forward;
        let [batch, seq, heads, key_heads, head_dim] = shape.sides();
        let (layout, y, x) = (self.layout, tile.units_y, tile.units_x);
        let (rows, columns) = (tile.rows_per_unit, tile.columns_per_unit);
        let case = format!(
            "{batch}x{seq} heads {heads}/{key_heads} dim {head_dim} {layout:?}, tile {y}x{x} units of {rows}x{columns}"
        );
        let mut trial = KernelTrial::new(client, NAME, case, dtype, seed);
        let handles = self.buffers(|tensor, length| {
            let center = BufferContent::Around(self.centers[tensor]);
            trial.buffer(NAMES[0][tensor], length, dtype, center)
        });
        let results = self.buffers(|tensor, length| trial.output(NAMES[1][tensor], length, dtype));
        let elements = shape.query_elements();
        let output = trial.output("output", elements, dtype);
        let upstream = trial.input("output gradient", elements, dtype);
        let [sums, delta] =
            ["log_sum_exp", "delta"].map(|name| trial.output(name, shape.statistics(), F32));
        let [output, upstream] =
            [output, upstream].map(|handle| HeadView::rows_first(&handle, shape, shape.heads));
        let views = self.views(&handles);
        let gradients = self.views(&results);

        let [query, key, value] = &views;
        forward(
            client,
            [query, key, value, &output],
            &sums,
            shape,
            dtype,
            &block,
        )?;
        let [dq, dk, dv] = &gradients;
        let all = [query, key, value, &output, &upstream, dq, dk, dv];
        backward(client, all, [&sums, &delta], shape, dtype, &block)?;

        let [query, key, value] = std::array::from_fn(|tensor| {
            let values = trial.values(NAMES[0][tensor.min(handles.len() - 1)]);
            let read = self.indices(&views[tensor], tensor);
            read.map(|at| values[at]).collect::<Vec<f64>>()
        });
        let expected = reference::forward(shape, &query, &key, &value);
        let upstream = trial.values("output gradient");
        let pulled = reference::backward(shape, &query, &key, &value, upstream);
        trial.compare("output", &expected.output)?;
        trial.compare("log_sum_exp", &expected.log_sum_exp)?;
        let mut buffers: Vec<Vec<f64>> = Vec::new();
        self.buffers(|_, length| buffers.push(vec![f64::NAN; length]));
        let last = buffers.len() - 1;
        for (tensor, values) in [pulled.query, pulled.key, pulled.value].iter().enumerate() {
            let written = self.indices(&gradients[tensor], tensor);
            for (value, at) in values.iter().zip(written) {
                buffers[tensor.min(last)][at] = *value;
            }
        }
        for (name, values) in NAMES[1].into_iter().zip(&buffers) {
            trial.compare(name, values)?;
        }
        Ok(trial.finish())
    }

    fn heads(&self) -> [usize; 3] {
        [self.shape.heads, self.shape.key_heads, self.shape.key_heads]
    }

    /// Calls `make` for each buffer, with its number and its length.
    fn buffers<T>(&self, mut make: impl FnMut(usize, usize) -> T) -> Vec<T> {
        let rows = self.shape.tokens();
        match self.layout {
            TensorLayout::Fused => vec![make(0, rows * self.shape.width())],
            _ => self
                .heads()
                .into_iter()
                .enumerate()
                .map(|(tensor, heads)| make(tensor, rows * heads * self.shape.head_dim))
                .collect(),
        }
    }

    fn views(&self, handles: &[Handle]) -> [HeadView; 3] {
        let each = |view: fn(&Handle, AttentionShape, usize) -> HeadView| {
            let heads = self.heads();
            std::array::from_fn(|tensor| view(&handles[tensor], self.shape, heads[tensor]))
        };
        match self.layout {
            TensorLayout::RowsFirst => each(HeadView::rows_first),
            TensorLayout::HeadsFirst => each(HeadView::heads_first),
            TensorLayout::Transposed => each(HeadView::transposed),
            TensorLayout::Fused => HeadView::fused(&handles[0], self.shape),
        }
    }

    /// Returns the index in its buffer of each element of a tensor, in the order `[batch, seq, heads, head_dim]`.
    fn indices<'a>(
        &self,
        view: &'a HeadView,
        tensor: usize,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let AttentionShape { seq, head_dim, .. } = self.shape;
        let heads = self.heads()[tensor];
        (0..self.shape.tokens() * heads * head_dim).filter_map(move |index| {
            let (column, index) = (index % head_dim, index / head_dim);
            let (head, row) = (index % heads, index / heads);
            view.index([row / seq, row % seq, head, column])
        })
    }
}
