//! Tiles of the two operands in shared memory: from where they come, and how they lie there.
//!
//! A tile keeps the order that its operand has in memory, so both are moved in whole vectors, whichever is transposed.

use cubecl::prelude::*;

/// One operand's tile, known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperandTile {
    /// Rows of the left operand, or columns of the right one.
    pub side: usize,
    /// Length of the sum: columns of the left operand, rows of the right one.
    pub depth: usize,
    /// True if elements that are summed up are adjacent in memory: a left operand as it is, a right one transposed.
    pub depth_adjacent: bool,
    /// Elements of a vector.
    pub width: usize,
    /// Vectors between two lines that nobody uses; they move lines into different memory banks.
    pub padding: usize,
    /// False if every tile lies inside the operand.
    pub checked: bool,
}

impl OperandTile {
    /// Returns the number of lines; elements of a line are adjacent in memory.
    pub const fn lines(self) -> usize {
        if self.depth_adjacent {
            self.side
        } else {
            self.depth
        }
    }

    /// Returns the vectors of a line.
    pub const fn line_vectors(self) -> usize {
        let elements = if self.depth_adjacent {
            self.depth
        } else {
            self.side
        };
        elements / self.width
    }

    /// Returns the vectors from one line to the next.
    pub const fn stride(self) -> usize {
        self.line_vectors() + self.padding
    }

    /// Returns the vectors that a cube moves.
    pub const fn vectors(self) -> usize {
        self.lines() * self.line_vectors()
    }

    /// Returns the vectors of shared memory.
    pub const fn size(self) -> usize {
        self.lines() * self.stride()
    }

    /// Returns the vectors that each of `units` moves, which divide them without rest.
    pub const fn share(self, units: usize) -> usize {
        self.vectors() / units
    }
}

/// An operand in memory. Lines and vectors are those of the whole operand.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct OperandPlace {
    pub lines: usize,
    pub line_vectors: usize,
    /// Vectors from one line to the next.
    pub stride: usize,
}

/// Reads this unit's share of the tile that begins at `side` and `depth`. Elements outside of the operand are zero.
///
/// The share keeps the operand's type: a conversion here would wait for the memory before the multiplication begins.
#[cube]
pub fn fetch<E: Numeric, N: Size>(
    source: &[Vector<E, N>],
    share: &mut Array<Vector<E, N>>,
    at: OperandPlace,
    side: usize,
    depth: usize,
    #[comptime] tile: OperandTile,
    #[comptime] units: usize,
) {
    let mut first_line = side;
    let mut first_vector = depth / tile.width;
    if comptime!(!tile.depth_adjacent) {
        first_line = depth;
        first_vector = side / tile.width;
    }
    let count = comptime!(tile.share(units));
    #[unroll]
    for step in 0..count {
        let index = UNIT_POS as usize + step * units;
        let line = first_line + index / comptime!(tile.line_vectors());
        let vector = first_vector + index % comptime!(tile.line_vectors());
        if comptime!(tile.checked) {
            let mut value = Vector::<E, N>::cast_from(Vector::<f32, N>::new(0.0f32));
            if line < at.lines && vector < at.line_vectors {
                value = source[line * at.stride + vector];
            }
            share[step] = value;
        } else {
            share[step] = source[line * at.stride + vector];
        }
    }
}

/// Writes this unit's share into the stage that begins at vector `start`, in the stage's type.
#[cube]
pub fn put<E: Numeric, S: Numeric, N: Size>(
    stage: &mut Shared<[Vector<S, N>]>,
    share: &Array<Vector<E, N>>,
    start: usize,
    #[comptime] tile: OperandTile,
    #[comptime] units: usize,
) {
    let count = comptime!(tile.share(units));
    #[unroll]
    for step in 0..count {
        let index = UNIT_POS as usize + step * units;
        let line = index / comptime!(tile.line_vectors());
        let vector = index % comptime!(tile.line_vectors());
        stage[start + line * comptime!(tile.stride()) + vector] = Vector::cast_from(share[step]);
    }
}

/// The result in memory, or the parts of which it is the sum.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct OutputPlace {
    pub rows: usize,
    pub columns: usize,
    /// Elements from one part to the next.
    pub part: usize,
}

/// Steps of the sum: all of them, and those of one part.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct DepthSteps {
    pub all: usize,
    pub part: usize,
}
