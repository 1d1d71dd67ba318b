//! The host side: block sizes, buffers, launches.

use cubecl::{ir::ElemType, prelude::*, server::Handle};

use super::{Dtypes, KERNEL, Shape, cross_entropy_backward, cross_entropy_rows, mean_of};
use crate::{
    KernelError,
    launch::{
        F32, buffer, check_buffer, check_elements, check_float, cube_count, default_units,
        vector_size,
    },
    team::{Team, default_team, team_of},
};

/// Block sizes; comptime values of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CrossEntropyBlock {
    /// Units that share a row; a power of two.
    pub units_per_row: usize,
    /// Rows a cube holds at a time.
    pub rows_per_cube: usize,
}

impl CrossEntropyBlock {
    /// Block sizes for this device and shape.
    pub fn for_device(client: &Client, shape: Shape) -> CrossEntropyBlock {
        let (units_per_row, rows_per_cube) = team_of(KERNEL, client, shape.classes);
        CrossEntropyBlock {
            units_per_row,
            rows_per_cube,
        }
    }
}

/// Contiguous buffers of [`forward`]: `logits` is `[rows, classes]`, the others are `[rows]`; losses and log_sums are f32.
pub struct Forward<'a> {
    pub logits: &'a Handle,
    pub targets: &'a Handle,
    pub losses: &'a Handle,
    pub log_sums: &'a Handle,
}

/// Contiguous buffers of [`backward`], shaped as in [`Forward`].
pub struct Backward<'a> {
    pub logits: &'a Handle,
    pub targets: &'a Handle,
    pub log_sums: &'a Handle,
    /// One f32: the gradient of the scaled sum of losses.
    pub upstream: &'a Handle,
    /// `None` overwrites the logits.
    pub gradient: Option<&'a Handle>,
}

/// Contiguous buffers of [`fused`], shaped as in [`Forward`].
pub struct Fused<'a> {
    pub logits: &'a Handle,
    pub targets: &'a Handle,
    pub losses: &'a Handle,
    /// `None` overwrites the logits.
    pub gradient: Option<&'a Handle>,
}

/// Loss and log-sum-exp of every row: one launch.
pub fn forward(
    client: &Client,
    buffers: Forward<'_>,
    shape: Shape,
    dtypes: Dtypes,
    block: &CrossEntropyBlock,
) -> Result<(), KernelError> {
    let elements = check_shape(shape, dtypes)?;
    check_buffer(KERNEL, "logits", buffers.logits, elements, dtypes.logits)?;
    check_buffer(
        KERNEL,
        "targets",
        buffers.targets,
        shape.rows,
        dtypes.targets,
    )?;
    check_buffer(KERNEL, "losses", buffers.losses, shape.rows, F32)?;
    check_buffer(KERNEL, "log_sums", buffers.log_sums, shape.rows, F32)?;
    let vector = vector_size(
        client,
        dtypes.logits,
        shape.classes,
        &[(buffers.logits, dtypes.logits)],
    );
    // No gradient is written here; the argument needs a buffer all the same.
    let gradient = BufferArg::alias(0, elements / vector);
    // SAFETY: the lengths were checked above.
    unsafe {
        let log_sums = buffer(buffers.log_sums, shape.rows, 1);
        let rows = Rows {
            shape,
            dtypes,
            scale: 1.0,
            fused: false,
            vector,
        };
        rows.launch(
            client,
            block,
            buffers.logits,
            buffers.targets,
            buffers.losses,
            log_sums,
            gradient,
        )
    }
}

/// Loss of every row, and the gradient of `scale · Σ loss`: one launch. For the mean of the losses `scale` is 1 / rows.
pub fn fused(
    client: &Client,
    buffers: Fused<'_>,
    shape: Shape,
    scale: f32,
    dtypes: Dtypes,
    block: &CrossEntropyBlock,
) -> Result<(), KernelError> {
    let elements = check_shape(shape, dtypes)?;
    let gradient = buffers.gradient.unwrap_or(buffers.logits);
    check_buffer(KERNEL, "logits", buffers.logits, elements, dtypes.logits)?;
    check_buffer(
        KERNEL,
        "targets",
        buffers.targets,
        shape.rows,
        dtypes.targets,
    )?;
    check_buffer(KERNEL, "losses", buffers.losses, shape.rows, F32)?;
    check_buffer(KERNEL, "gradient", gradient, elements, dtypes.logits)?;
    let vector = vector_size(
        client,
        dtypes.logits,
        shape.classes,
        &[(buffers.logits, dtypes.logits), (gradient, dtypes.logits)],
    );
    // SAFETY: the lengths were checked above. No log-sum-exp is written here; the argument needs a buffer all the same.
    unsafe {
        let log_sums = BufferArg::alias(2, shape.rows);
        let gradient = match buffers.gradient {
            Some(gradient) => buffer(gradient, elements, vector),
            None => BufferArg::alias(0, elements / vector),
        };
        let rows = Rows {
            shape,
            dtypes,
            scale,
            fused: true,
            vector,
        };
        rows.launch(
            client,
            block,
            buffers.logits,
            buffers.targets,
            buffers.losses,
            log_sums,
            gradient,
        )
    }
}

/// What [`cross_entropy_rows`] is launched with, whichever outputs it has.
struct Rows {
    shape: Shape,
    dtypes: Dtypes,
    scale: f32,
    fused: bool,
    vector: VectorSize,
}

impl Rows {
    /// # Safety
    /// Every buffer must hold what the shape says.
    #[allow(clippy::too_many_arguments)]
    unsafe fn launch(
        self,
        client: &Client,
        block: &CrossEntropyBlock,
        logits: &Handle,
        targets: &Handle,
        losses: &Handle,
        log_sums: BufferArg,
        gradient: BufferArg,
    ) -> Result<(), KernelError> {
        let Shape { rows, classes } = self.shape;
        let team = Team::new(KERNEL, client, block.units_per_row, block.rows_per_cube)?;
        unsafe {
            cross_entropy_rows::launch_unchecked(
                client,
                cube_count(client, rows.div_ceil(team.rows)),
                team.cube_dim(),
                self.vector,
                buffer(logits, rows * classes, self.vector),
                buffer(targets, rows, 1),
                buffer(losses, rows, 1),
                log_sums,
                gradient,
                rows as u32,
                self.scale,
                classes / self.vector,
                team,
                self.fused,
                self.dtypes.logits,
                self.dtypes.targets,
            );
        }
        Ok(())
    }
}

/// The gradient of `upstream · scale · Σ loss`: one launch.
pub fn backward(
    client: &Client,
    buffers: Backward<'_>,
    shape: Shape,
    scale: f32,
    dtypes: Dtypes,
) -> Result<(), KernelError> {
    let elements = check_shape(shape, dtypes)?;
    let gradient = buffers.gradient.unwrap_or(buffers.logits);
    check_buffer(KERNEL, "logits", buffers.logits, elements, dtypes.logits)?;
    check_buffer(
        KERNEL,
        "targets",
        buffers.targets,
        shape.rows,
        dtypes.targets,
    )?;
    check_buffer(KERNEL, "log_sums", buffers.log_sums, shape.rows, F32)?;
    check_buffer(KERNEL, "upstream", buffers.upstream, 1, F32)?;
    check_buffer(KERNEL, "gradient", gradient, elements, dtypes.logits)?;
    let vector = vector_size(
        client,
        dtypes.logits,
        shape.classes,
        &[(buffers.logits, dtypes.logits), (gradient, dtypes.logits)],
    );
    let units = default_units(client);
    // SAFETY: the lengths were checked above, and the kernel stays within `count` vectors.
    unsafe {
        cross_entropy_backward::launch_unchecked(
            client,
            cube_count(client, (elements / vector).div_ceil(units)),
            CubeDim::new_1d(units as u32),
            vector,
            buffer(buffers.logits, elements, vector),
            buffer(buffers.targets, shape.rows, 1),
            buffer(buffers.log_sums, shape.rows, 1),
            buffer(buffers.upstream, 1, 1),
            match buffers.gradient {
                Some(gradient) => buffer(gradient, elements, vector),
                None => BufferArg::alias(0, elements / vector),
            },
            (elements / vector) as u32,
            scale,
            shape.classes / vector,
            dtypes.logits,
            dtypes.targets,
        );
    }
    Ok(())
}

/// The mean of `count` f32 values into one f32: one launch of one cube.
pub fn mean(
    client: &Client,
    values: &Handle,
    mean: &Handle,
    count: usize,
) -> Result<(), KernelError> {
    if count == 0 {
        let reason = "the mean of no values".to_string();
        return Err(KernelError::Shape {
            kernel: KERNEL,
            reason,
        });
    }
    check_elements(KERNEL, &[count])?;
    check_buffer(KERNEL, "losses", values, count, F32)?;
    check_buffer(KERNEL, "mean", mean, 1, F32)?;
    let (units, _) = default_team(client, count);
    let team = Team::new(KERNEL, client, units, 1)?;
    // SAFETY: the lengths were checked above, and the kernel stays within `count`.
    unsafe {
        mean_of::launch_unchecked(
            client,
            CubeCount::new_single(),
            team.cube_dim(),
            buffer(values, count, 1),
            buffer(mean, 1, 1),
            count as u32,
            team,
        );
    }
    Ok(())
}

fn check_shape(shape: Shape, dtypes: Dtypes) -> Result<usize, KernelError> {
    check_float(KERNEL, dtypes.logits)?;
    if !matches!(dtypes.targets, ElemType::Int(_) | ElemType::UInt(_)) {
        let dtype = format!("{:?} for targets", dtypes.targets);
        return Err(KernelError::ElementType {
            kernel: KERNEL,
            dtype,
        });
    }
    if shape.rows == 0 || shape.classes == 0 {
        let reason = format!("{shape:?} has nothing to score");
        return Err(KernelError::Shape {
            kernel: KERNEL,
            reason,
        });
    }
    check_elements(KERNEL, &[shape.rows, shape.classes])
}
