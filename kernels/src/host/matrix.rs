//! Matrix products of slices, computed by the gemm crate on all cores.
//!
//! The crate can divide a product among threads itself. It then packs and multiplies in turns, with a wait for all
//! threads after each, and reaches 77 % of the rate of its single thread. Here each thread multiplies its own block of
//! the result with the crate's single-threaded form, so the threads wait for each other once.

use rayon::prelude::*;

/// A matrix in a slice: row `r`, column `c` at `r * row_step + c * column_step`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    values: &'a [f32],
    row_step: usize,
    column_step: usize,
}

/// Least multiplications of a block, so that handing it to a thread pays: some 20 microseconds of work.
const LEAST_BLOCK: usize = 1 << 20;

/// Least rows of a block, unless the result has fewer.
const LEAST_ROWS: usize = 64;

/// Rows and columns of a block are multiples of it, so that few of the crate's inner tiles are cut.
const BLOCK_STEP: usize = 32;

impl<'a> View<'a> {
    /// Views row-major values with `columns` columns.
    pub fn rows(values: &'a [f32], columns: usize) -> Self {
        View::strided(values, columns, 1)
    }

    /// Views values whose rows and columns are any number of values apart.
    pub fn strided(values: &'a [f32], row_step: usize, column_step: usize) -> Self {
        View {
            values,
            row_step,
            column_step,
        }
    }

    pub fn transposed(self) -> Self {
        View::strided(self.values, self.column_step, self.row_step)
    }

    fn check(&self, rows: usize, columns: usize) {
        let rows = rows.saturating_sub(1).checked_mul(self.row_step);
        let columns = columns.saturating_sub(1).checked_mul(self.column_step);
        // A product that overflows reaches past every slice.
        let last = rows.zip(columns).and_then(|(a, b)| a.checked_add(b));
        let is_inside = last.is_some_and(|last| last < self.values.len());
        assert!(is_inside, "a matrix reaches past its slice");
    }

    /// Returns the view without its first rows and columns.
    fn from(&self, row: usize, column: usize) -> View<'a> {
        View {
            values: &self.values[row * self.row_step + column * self.column_step..],
            ..*self
        }
    }
}

/// Sets `out` to `factor · a b`, `[m, k] x [k, n]`, or adds it to `out`. Rows of `out` have n values.
///
/// # Panics
/// Panics if a slice is shorter than its matrix.
pub fn multiply(size: [usize; 3], factor: f32, a: View, b: View, out: &mut [f32], add: bool) {
    let [m, n, k] = size;
    a.check(m, k);
    b.check(k, n);
    View::rows(out, n).check(m, n);
    let out = Output {
        values: out.as_mut_ptr(),
        row_step: n,
    };
    // SAFETY: the three matrices lie within their slices, as just checked, and `out` is borrowed mutably.
    unsafe { multiply_block(size, factor, a, b, out, add) }
}

/// As [`multiply`] on all cores.
///
/// # Panics
/// Panics if a slice is shorter than its matrix.
pub fn multiply_on_all_cores(
    size: [usize; 3],
    factor: f32,
    a: View,
    b: View,
    out: &mut [f32],
    add: bool,
) {
    let blocks = block(size, rayon::current_num_threads());
    multiply_in_blocks(size, blocks, factor, a, b, out, add);
}

fn multiply_in_blocks(
    size: [usize; 3],
    [rows, columns]: [usize; 2],
    factor: f32,
    a: View,
    b: View,
    out: &mut [f32],
    add: bool,
) {
    let [m, n, k] = size;
    if rows >= m && columns >= n {
        return multiply(size, factor, a, b, out, add);
    }
    a.check(m, k);
    b.check(k, n);
    View::rows(out, n).check(m, n);
    let whole = Output {
        values: out.as_mut_ptr(),
        row_step: n,
    };
    let across = n.div_ceil(columns);
    let blocks = m.div_ceil(rows) * across;
    (0..blocks)
        .into_par_iter()
        .with_max_len(1)
        .for_each(|block| {
            let (row, column) = (block / across * rows, block % across * columns);
            let size = [rows.min(m - row), columns.min(n - column), k];
            let (a, b) = (a.from(row, 0), b.from(0, column));
            // SAFETY: the matrices lie within their slices, as checked above. Blocks do not overlap, and `out` is borrowed
            // mutably until all of them are done.
            unsafe { multiply_block(size, factor, a, b, whole.from(row, column), add) }
        });
}

/// Divides a result of `[m, n]` into a block for each of `threads` threads and returns rows and columns of a block. Rows are
/// divided first, because blocks of whole rows are the fastest.
fn block([m, n, k]: [usize; 3], threads: usize) -> [usize; 2] {
    let work = m.saturating_mul(n).saturating_mul(k);
    let blocks = threads.min(work / LEAST_BLOCK).max(1);
    let fits = |down: &usize| blocks.is_multiple_of(*down) && down * LEAST_ROWS <= m;
    let down = (1..=blocks).rev().find(fits).unwrap_or(1);
    let side = |whole: usize, parts: usize| match parts {
        1 => whole,
        _ => whole.div_ceil(parts).next_multiple_of(BLOCK_STEP),
    };
    [side(m, down), side(n, blocks / down)]
}

/// Where a block of the result begins.
#[derive(Clone, Copy)]
struct Output {
    values: *mut f32,
    row_step: usize,
}

// SAFETY: each thread writes to its own block through it.
unsafe impl Send for Output {}
// SAFETY: as for `Send`.
unsafe impl Sync for Output {}

impl Output {
    fn from(self, row: usize, column: usize) -> Output {
        let offset = row * self.row_step + column;
        Output {
            values: self.values.wrapping_add(offset),
            ..self
        }
    }
}

/// Multiplies on the thread that calls.
///
/// # Safety
/// The three matrices lie within their memory, and nothing else uses that of `out`.
unsafe fn multiply_block(
    [m, n, k]: [usize; 3],
    factor: f32,
    a: View,
    b: View,
    out: Output,
    add: bool,
) {
    let step = |step: usize| step as isize;
    // SAFETY: the caller promises it.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.values,
            1,
            step(out.row_step),
            add,
            a.values.as_ptr(),
            step(a.column_step),
            step(a.row_step),
            b.values.as_ptr(),
            step(b.column_step),
            step(b.row_step),
            1.0,
            factor,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "a matrix reaches past its slice")]
    fn a_size_that_no_number_holds_is_refused() {
        let values = [0.0; 4];
        View::rows(&values, usize::MAX / 2 + 1).check(3, 1);
    }

    #[test]
    fn blocks_cover_the_result_and_each_thread_has_one() {
        for size in [
            [1024, 256, 512],
            [256, 1024, 1024],
            [1000, 256, 1024],
            [1024, 1024, 1],
        ] {
            for threads in [2, 4, 16, 64] {
                let [rows, columns] = block(size, threads);
                let blocks = size[0].div_ceil(rows) * size[1].div_ceil(columns);
                if size[2] > 1 {
                    assert!(
                        blocks >= threads,
                        "{size:?} on {threads}: {rows} x {columns}"
                    );
                }
                assert!(
                    blocks <= threads,
                    "{size:?} on {threads}: {rows} x {columns}"
                );
            }
        }
        assert_eq!(block([8, 8, 8], 16), [8, 8]);
        assert_eq!(block([1024, 1024, 1024], 1), [1024, 1024]);
    }

    #[test]
    fn blocks_compute_what_the_whole_does() {
        let [m, n, k] = [130, 257, 300];
        let values = |count: usize, seed: usize| -> Vec<f32> {
            let number = |at: usize| ((at * 7919 + seed) % 101) as f32 / 50.0 - 1.0;
            (0..count).map(number).collect()
        };
        let (a, b, before) = (values(m * k, 1), values(k * n, 2), values(m * n, 3));
        let (a, b) = (
            View::rows(&a, m).transposed(),
            View::rows(&b, k).transposed(),
        );
        let mut whole = before.clone();
        multiply([m, n, k], 0.5, a, b, &mut whole, true);
        for blocks in [[64, n], [m, 96], [64, 96], [32, 32]] {
            let mut parts = before.clone();
            multiply_in_blocks([m, n, k], blocks, 0.5, a, b, &mut parts, true);
            for (index, (whole, part)) in whole.iter().zip(&parts).enumerate() {
                assert!(
                    (whole - part).abs() < 1e-4,
                    "{blocks:?} {index}: {whole} {part}"
                );
            }
        }
        assert_ne!(whole, before);
    }
}
