//! Both passes against their reference, on awkward shapes and in every layout a model hands over.

use cubecl::{
    ir::{ElemType, FloatKind},
    prelude::*,
    server::Handle,
};

use super::{
    AttentionTile, Backward, FlashAttentionBlock, Forward, HeadView, KERNEL, LogSumExp, Shape,
    backward, forward, log_sum_exp, reference,
};
use crate::{
    KernelError,
    check::{Check, Trial},
    launch::check_float,
};

const F32: ElemType = ElemType::Float(FloatKind::F32);

/// Where queries, keys and values lie, and their gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Three tensors `[batch, seq, heads, head_dim]`.
    RowsFirst,
    /// Three tensors `[batch, heads, seq, head_dim]`.
    HeadsFirst,
    /// Columns of one matrix `[batch * seq, (heads + 2 key_heads) head_dim]`.
    Fused,
    /// Three tensors `[batch, heads, head_dim, seq]`: the values of a row lie apart.
    Transposed,
}

/// Shapes that find mistakes: one position, fewer than a tile, one more than a tile; key heads of their own and shared.
pub fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for seq in [1, 7, 129] {
        for head_dim in [8, 32, 64, 128] {
            shapes.push(Shape::new(1, seq, 6, 3, head_dim));
        }
    }
    shapes.push(Shape::new(2, 33, 3, 3, 32));
    shapes.push(Shape::new(3, 40, 4, 1, 16));
    // Not a multiple of four: vectors of two and of one.
    shapes.push(Shape::new(2, 19, 4, 2, 6));
    shapes.push(Shape::new(1, 19, 2, 1, 5));
    shapes
}

/// Tiles that find mistakes: one row and column a unit, vectors of two and four, more rows than queries, and rows shared
/// by more units than a plane has, which takes the path for devices without planes.
pub fn tiles() -> Vec<AttentionTile> {
    [
        (1, 8, 1, 1),
        (4, 8, 3, 2),
        (8, 16, 4, 4),
        (16, 5, 2, 4),
        (128, 2, 1, 1),
    ]
    .into_iter()
    .map(
        |(units_x, units_y, rows_per_unit, columns_per_unit)| AttentionTile {
            units_x,
            units_y,
            rows_per_unit,
            columns_per_unit,
        },
    )
    .collect()
}

/// Every shape with the block sizes of this device, and one shape with every tile. The layout changes from shape to
/// shape, so that each head size meets each layout.
///
/// # Errors
/// Where a launch is refused or the device fails.
pub fn check(client: &Client, dtype: ElemType, seed: u64) -> Result<Vec<Check>, KernelError> {
    let layouts = [
        Layout::RowsFirst,
        Layout::HeadsFirst,
        Layout::Fused,
        Layout::Transposed,
    ];
    let mut checks = Vec::new();
    for (index, shape) in shapes().into_iter().enumerate() {
        let layout = layouts[(index / layouts.len() + index) % layouts.len()];
        let block = FlashAttentionBlock::for_device(client, shape);
        let seed = seed.wrapping_add(index as u64);
        checks.extend(check_shape(client, shape, layout, dtype, &block, seed)?);
    }
    for tile in tiles() {
        let block = FlashAttentionBlock {
            forward: tile,
            query_gradient: tile,
            key_gradient: tile,
        };
        let shape = Shape::new(2, 37, 4, 2, 16);
        checks.extend(check_shape(
            client,
            shape,
            Layout::Fused,
            dtype,
            &block,
            seed,
        )?);
    }
    checks.extend(check_low_scores(client, dtype, seed)?);
    Ok(checks)
}

/// All scores so low that `exp(-score)` overflows: rows that only fill a tile must not let that through.
///
/// Gradients of queries and keys are differences of nearly equal numbers here, so their distance says more about
/// rounding than about the kernels: of them only what is not finite is reported.
fn check_low_scores(
    client: &Client,
    dtype: ElemType,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    let shape = Shape {
        scale: 4.0,
        ..Shape::new(2, 5, 4, 2, 8)
    };
    let block = FlashAttentionBlock::for_device(client, shape);
    let centers = [-2.0, 2.0, 0.0];
    let layout = Layout::RowsFirst;
    let mut checks = check_inputs(client, shape, layout, centers, dtype, &block, seed)?;
    checks.retain(|check| match check.output {
        "query gradient" | "key gradient" => !check.error.is_finite(),
        _ => true,
    });
    Ok(checks)
}

/// One shape with chosen block sizes.
///
/// # Errors
/// As [`check`].
pub fn check_shape(
    client: &Client,
    shape: Shape,
    layout: Layout,
    dtype: ElemType,
    block: &FlashAttentionBlock,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    check_inputs(client, shape, layout, [0.0; 3], dtype, block, seed)
}

/// One shape with chosen block sizes, and inputs around `centers`, of which a fused matrix has only the first.
fn check_inputs(
    client: &Client,
    shape: Shape,
    layout: Layout,
    centers: [f64; 3],
    dtype: ElemType,
    block: &FlashAttentionBlock,
    seed: u64,
) -> Result<Vec<Check>, KernelError> {
    check_float(KERNEL, dtype)?;
    shape.check()?;
    let tile = block.forward;
    let case = format!(
        "{}x{} heads {}/{} dim {} {layout:?}, tile {}x{} units of {}x{}",
        shape.batch,
        shape.seq,
        shape.heads,
        shape.key_heads,
        shape.head_dim,
        tile.units_y,
        tile.units_x,
        tile.rows_per_unit,
        tile.columns_per_unit
    );
    let mut trial = Trial::new(client, KERNEL, case, dtype, seed);
    let places = Places { shape, layout };
    let rows_first = |handle: &Handle| {
        HeadView::rows_first(handle.clone(), shape.seq, shape.heads, shape.head_dim)
    };

    let (values, handles): (Vec<Vec<f64>>, Vec<Handle>) = places
        .lengths()
        .into_iter()
        .zip(centers)
        .map(|(length, center)| trial.input(length, center))
        .unzip();
    let [query, key, value] = places.gather(&values);
    let (upstream, output_gradient) = trial.input(shape.query_elements(), 0.0);
    let expected = reference::forward(shape, &query, &key, &value);
    let gradients = reference::backward(shape, &query, &key, &value, &upstream);

    let output = trial.output(shape.query_elements());
    let [statistics, statistics_alone] = [(); 2].map(|()| trial.output_of(shape.statistics(), F32));
    let delta = trial.output_of(shape.statistics(), F32);
    let results: Vec<Handle> = places
        .lengths()
        .into_iter()
        .map(|length| trial.output(length))
        .collect();
    let [query, key, value] = &places.views(&handles);
    let [query_gradient, key_gradient, value_gradient] = &places.views(&results);

    let forward_tensors = Forward {
        query,
        key,
        value,
        output: &rows_first(&output),
        log_sum_exp: &statistics,
    };
    forward(client, forward_tensors, shape, dtype, block)?;
    let alone = LogSumExp {
        query,
        key,
        log_sum_exp: &statistics_alone,
    };
    log_sum_exp(client, alone, shape, dtype, block)?;
    let backward_tensors = Backward {
        query,
        key,
        value,
        output: &rows_first(&output),
        output_gradient: &rows_first(&output_gradient),
        log_sum_exp: &statistics,
        delta: &delta,
        query_gradient,
        key_gradient,
        value_gradient,
    };
    backward(client, backward_tensors, shape, dtype, block)?;

    trial.compare("output", output, &expected.output)?;
    for (name, handle) in [
        ("log_sum_exp", statistics),
        ("log_sum_exp alone", statistics_alone),
    ] {
        trial.compare_of(name, handle, &expected.log_sum_exp, F32)?;
    }
    let expected = places.scatter([&gradients.query, &gradients.key, &gradients.value]);
    let names = match layout {
        Layout::Fused => &["fused gradient"][..],
        _ => &["query gradient", "key gradient", "value gradient"],
    };
    for ((name, handle), expected) in names.iter().zip(results).zip(&expected) {
        trial.compare(name, handle, expected)?;
    }
    Ok(trial.finish())
}

/// Queries, keys and values in the buffers of one layout.
struct Places {
    shape: Shape,
    layout: Layout,
}

impl Places {
    fn heads(&self) -> [usize; 3] {
        [self.shape.heads, self.shape.key_heads, self.shape.key_heads]
    }

    /// Elements of a row of the fused matrix.
    fn width(&self) -> usize {
        (self.shape.heads + 2 * self.shape.key_heads) * self.shape.head_dim
    }

    /// Elements of each buffer.
    fn lengths(&self) -> Vec<usize> {
        match self.layout {
            Layout::Fused => vec![self.shape.batch * self.shape.seq * self.width()],
            _ => vec![
                self.shape.query_elements(),
                self.shape.key_elements(),
                self.shape.key_elements(),
            ],
        }
    }

    fn views(&self, handles: &[Handle]) -> [HeadView; 3] {
        let Shape { seq, head_dim, .. } = self.shape;
        let heads = self.heads();
        let first = [0, heads[0], heads[0] + heads[1]];
        std::array::from_fn(|tensor| match self.layout {
            Layout::RowsFirst => {
                HeadView::rows_first(handles[tensor].clone(), seq, heads[tensor], head_dim)
            }
            Layout::HeadsFirst => {
                HeadView::heads_first(handles[tensor].clone(), seq, heads[tensor], head_dim)
            }
            Layout::Transposed => {
                HeadView::transposed(handles[tensor].clone(), seq, heads[tensor], head_dim)
            }
            Layout::Fused => HeadView::columns(
                handles[0].clone(),
                first[tensor] * head_dim,
                self.width(),
                seq,
                head_dim,
            ),
        })
    }

    /// The three tensors as the reference wants them, `[batch, seq, heads, head_dim]`.
    fn gather(&self, buffers: &[Vec<f64>]) -> [Vec<f64>; 3] {
        std::array::from_fn(|tensor| {
            self.indices(tensor)
                .map(|(buffer, at)| buffers[buffer][at])
                .collect()
        })
    }

    /// The reverse of [`Places::gather`].
    fn scatter(&self, tensors: [&[f64]; 3]) -> Vec<Vec<f64>> {
        let mut buffers: Vec<Vec<f64>> = self
            .lengths()
            .into_iter()
            .map(|length| vec![f64::NAN; length])
            .collect();
        for (tensor, values) in tensors.into_iter().enumerate() {
            for (value, (buffer, at)) in values.iter().zip(self.indices(tensor)) {
                buffers[buffer][at] = *value;
            }
        }
        buffers
    }

    /// Buffer and index of each element of a tensor, in the order `[batch, seq, heads, head_dim]`.
    fn indices(&self, tensor: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let Shape {
            batch,
            seq,
            head_dim,
            ..
        } = self.shape;
        let all = self.heads();
        let heads = all[tensor];
        let before: usize = all[..tensor].iter().sum();
        (0..batch * seq * heads * head_dim).map(move |index| {
            let (dim, index) = (index % head_dim, index / head_dim);
            let (head, row) = (index % heads, index / heads);
            let (position, sequence) = (row % seq, row / seq);
            match self.layout {
                Layout::RowsFirst => (tensor, (row * heads + head) * head_dim + dim),
                Layout::HeadsFirst => (
                    tensor,
                    ((sequence * heads + head) * seq + position) * head_dim + dim,
                ),
                Layout::Transposed => (
                    tensor,
                    ((sequence * heads + head) * head_dim + dim) * seq + position,
                ),
                Layout::Fused => (0, row * self.width() + (before + head) * head_dim + dim),
            }
        })
    }
}
