//! Buffers and launches on the host.

use cubecl::{ir::ElemType, prelude::*, server::Handle};
use tinyllama_kernel_catalog::matmul::{Layout, MatmulShape};

use super::NAME;
use super::fma::{FmaTiling, matmul_fma};
use super::mma::{Instruction, MmaTiling, matmul_mma};
use super::plan::{MatmulBlock, MatmulPlan, instruction, staged};
use super::sum::matmul_sum;
use super::tile::{DepthStepsLaunch, OperandPlaceLaunch, OperandTile, OutputPlaceLaunch};
use crate::KernelError;
use crate::launch::{
    CheckedBuffer, F32, check_elements, check_shape, check_units, default_units, linear,
    plane_size, vector_size,
};

/// An operand in a buffer.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    pub handle: &'a Handle,
    pub layout: Layout,
}

/// A checked operand: its lines are the rows as stored.
struct BoundOperand<'a> {
    buffer: CheckedBuffer<'a>,
    lines: usize,
    length: usize,
    stride: usize,
    depth_adjacent: bool,
}

impl<'a> Operand<'a> {
    pub fn new(handle: &'a Handle, layout: Layout) -> Self {
        Operand { handle, layout }
    }
}

impl<'a> BoundOperand<'a> {
    fn new(
        name: &'static str,
        operand: Operand<'a>,
        [rows, columns]: [usize; 2],
        depth_adjacent: bool,
        dtype: ElemType,
    ) -> Result<Self, KernelError> {
        let Layout { transposed, stride } = operand.layout;
        let (lines, length) = match transposed {
            true => (columns, rows),
            false => (rows, columns),
        };
        let elements = (lines - 1) * stride + length;
        check_shape(NAME, &[lines, stride.max(length)], &[])?;
        Ok(BoundOperand {
            buffer: CheckedBuffer::new(NAME, name, operand.handle, elements, dtype)?,
            lines,
            length,
            stride,
            depth_adjacent,
        })
    }

    fn tile(&self, side: usize, depth: usize, width: usize, padding: usize) -> OperandTile {
        let [lines, length] = match self.depth_adjacent {
            true => [side, depth],
            false => [depth, side],
        };
        OperandTile {
            side,
            depth,
            depth_adjacent: self.depth_adjacent,
            width,
            padding: padding.div_ceil(width),
            checked: !self.lines.is_multiple_of(lines) || !self.length.is_multiple_of(length),
        }
    }

    fn place(&self, width: usize) -> OperandPlaceLaunch {
        OperandPlaceLaunch::new(self.lines, self.length / width, self.stride / width)
    }
}

/// Computes `[m, n] = [m, k] x [k, n]` in one launch, or in two if the plan has parts, which then lie in `workspace`.
///
/// # Errors
/// Refuses buffers that are too short, and types and blocks for which the device has no instruction.
pub fn matmul(
    client: &Client,
    [left, right]: [Operand<'_>; 2],
    output: &Handle,
    workspace: Option<&Handle>,
    shape: MatmulShape,
    dtype: ElemType,
    plan: &MatmulPlan,
) -> Result<(), KernelError> {
    let MatmulShape { m, n, k } = shape;
    check_shape(NAME, &[m, n], &[dtype])?;
    check_shape(NAME, &[m, k], &[])?;
    check_shape(NAME, &[k, n], &[])?;
    let output = CheckedBuffer::new(NAME, "output", output, m * n, dtype)?;
    let [all, part, parts] = plan.steps(shape);
    let product = Product {
        left: BoundOperand::new("left", left, [m, k], !left.layout.transposed, dtype)?,
        right: BoundOperand::new("right", right, [k, n], right.layout.transposed, dtype)?,
        shape,
        dtype,
        steps: [all, part],
        parts,
    };
    if parts == 1 {
        return product.launch(client, output, plan.block);
    }
    let Some(workspace) = workspace else {
        return Err(KernelError::Shape(
            NAME,
            format!("{parts} parts need a workspace"),
        ));
    };
    check_elements(NAME, &[parts, m, n])?;
    let sums = CheckedBuffer::new(NAME, "workspace", workspace, parts * m * n, F32)?;
    product.launch(client, sums, plan.block)?;
    let vector = vector_size(client, F32, m * n, &[output, sums]);
    let count = m * n / vector;
    let (cubes, dim) = linear(client, count, default_units(client));
    // SAFETY: the workspace holds `parts` results, and the kernel stays within `count` vectors of each.
    launch!(client, matmul_sum[cubes, dim], vector: [sums output], count as u32, parts, dtype)
}

/// A product whose operands were checked.
struct Product<'a> {
    left: BoundOperand<'a>,
    right: BoundOperand<'a>,
    shape: MatmulShape,
    dtype: ElemType,
    /// Of the whole sum, and of a part.
    steps: [usize; 2],
    parts: usize,
}

impl Product<'_> {
    /// Launches the kernel of `block`. `output` holds every part of the result.
    fn launch(
        &self,
        client: &Client,
        output: CheckedBuffer<'_>,
        block: MatmulBlock,
    ) -> Result<(), KernelError> {
        match block {
            MatmulBlock::Fma { units, each, .. } => {
                self.launch_fma(client, output, block, units, each)
            }
            MatmulBlock::Mma { planes, each, .. } => {
                self.launch_mma(client, output, block, planes, each)
            }
        }
    }

    fn launch_fma(
        &self,
        client: &Client,
        output: CheckedBuffer<'_>,
        block: MatmulBlock,
        [units_y, units_x]: [usize; 2],
        [rows, columns]: [usize; 2],
    ) -> Result<(), KernelError> {
        let width = self.width(client).min(4);
        let [left, right] = self.tiles(block, width, |_| 4);
        let output_width = match right.depth_adjacent {
            true => 1,
            false => vector_size(client, output.dtype(), width, &[output]),
        };
        let tiling = FmaTiling {
            units_y,
            units_x,
            rows,
            columns,
            left,
            right,
            output_width,
        };
        check_tiles(client, [left, right], tiling.units(), F32)?;
        let dim = CubeDim::new_1d(tiling.units() as u32);
        let [left_at, right_at] = self.places(width);
        // SAFETY: the buffers hold the operands and the result, outside of which the kernel touches nothing.
        unsafe {
            matmul_fma::launch_unchecked(
                client,
                self.cubes(block),
                dim,
                width,
                output_width,
                self.left.buffer.argument(width),
                self.right.buffer.argument(width),
                output.argument(output_width),
                left_at,
                right_at,
                self.output_place(),
                self.depth_steps(),
                tiling,
                self.dtype,
                output.dtype(),
            );
        }
        Ok(())
    }

    fn launch_mma(
        &self,
        client: &Client,
        output: CheckedBuffer<'_>,
        block: MatmulBlock,
        [planes_y, planes_x]: [usize; 2],
        [rows, columns]: [usize; 2],
    ) -> Result<(), KernelError> {
        let Some((instruction, plane_size)) =
            instruction(client, self.dtype).zip(plane_size(client))
        else {
            let reason = format!("no matrix units for {:?} on this device", self.dtype);
            return Err(KernelError::Block(NAME, reason));
        };
        let width = self.width(client);
        // Lanes read lines of 16-bit numbers 16 bytes at a time, and f32 number by number.
        let padding = |adjacent| if self.dtype == F32 && adjacent { 4 } else { 8 };
        let [left, right] = self.tiles(block, width, padding);
        let pairs = instruction.n == 8 && self.shape.n.is_multiple_of(2);
        let output_width = if pairs { 2 } else { 1 };
        let tiling = MmaTiling {
            planes_y,
            planes_x,
            rows: rows / instruction.m,
            columns: columns / instruction.n,
            plane_size,
            instruction: Instruction {
                loads: instruction.loads && width * self.dtype.size() == 16,
                ..instruction
            },
            left,
            right,
            output_width,
        };
        check_tiles(client, [left, right], tiling.units(), self.dtype)?;
        let dim = CubeDim::new_1d(tiling.units() as u32);
        let [left_at, right_at] = self.places(width);
        // SAFETY: as above.
        unsafe {
            matmul_mma::launch_unchecked(
                client,
                self.cubes(block),
                dim,
                width,
                output_width,
                self.left.buffer.argument(width),
                self.right.buffer.argument(width),
                output.argument(output_width),
                left_at,
                right_at,
                self.output_place(),
                self.depth_steps(),
                tiling,
                self.dtype,
                staged(self.dtype),
                output.dtype(),
            );
        }
        Ok(())
    }

    fn cubes(&self, block: MatmulBlock) -> CubeCount {
        let [rows, columns] = block.tile();
        let (x, y) = (self.shape.n.div_ceil(columns), self.shape.m.div_ceil(rows));
        CubeCount::Static(x as u32, y as u32, self.parts as u32)
    }

    /// Returns the widest vector in which both operands can be moved.
    fn width(&self, client: &Client) -> VectorSize {
        let (left, right) = (&self.left, &self.right);
        let lengths = [left.length, left.stride, right.length, right.stride];
        let common = lengths.into_iter().fold(16, common_divisor);
        vector_size(client, self.dtype, common, &[left.buffer, right.buffer])
    }

    /// Returns the tiles of both operands. `padding` is in elements, and depends on whether those of the sum are adjacent.
    fn tiles(
        &self,
        block: MatmulBlock,
        width: usize,
        padding: impl Fn(bool) -> usize,
    ) -> [OperandTile; 2] {
        let [rows, columns] = block.tile();
        [(&self.left, rows), (&self.right, columns)].map(|(operand, side)| {
            operand.tile(side, block.depth(), width, padding(operand.depth_adjacent))
        })
    }

    fn places(&self, width: usize) -> [OperandPlaceLaunch; 2] {
        [self.left.place(width), self.right.place(width)]
    }

    fn output_place(&self) -> OutputPlaceLaunch {
        let MatmulShape { m, n, .. } = self.shape;
        OutputPlaceLaunch::new(m, n, m * n)
    }

    fn depth_steps(&self) -> DepthStepsLaunch {
        let [all, part] = self.steps;
        DepthStepsLaunch::new(all, part)
    }
}

/// Refuses tiles that `units` cannot divide among themselves, or two stages of which shared memory cannot hold.
fn check_tiles(
    client: &Client,
    tiles: [OperandTile; 2],
    units: usize,
    stage: ElemType,
) -> Result<(), KernelError> {
    check_units(NAME, client, units)?;
    if tiles
        .iter()
        .any(|tile| !tile.vectors().is_multiple_of(units))
    {
        let reason = format!("{units} units do not divide a tile");
        return Err(KernelError::Block(NAME, reason));
    }
    let elements: usize = tiles.iter().map(|tile| 2 * tile.size() * tile.width).sum();
    let needed = elements * stage.size();
    let limit = client.properties().hardware.max_shared_memory_size;
    if needed > limit {
        let reason = format!("{needed} bytes of shared memory; this device has {limit}");
        return Err(KernelError::Block(NAME, reason));
    }
    Ok(())
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}
