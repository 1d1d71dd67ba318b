//! Matrix products of slices, computed by the gemm crate.

pub use gemm::Parallelism;

/// A matrix in a slice: row `r`, column `c` at `r * row_step + c * column_step`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    values: &'a [f32],
    row_step: usize,
    column_step: usize,
}

impl<'a> View<'a> {
    /// Views row-major values with `columns` columns.
    pub fn rows(values: &'a [f32], columns: usize) -> Self {
        View {
            values,
            row_step: columns,
            column_step: 1,
        }
    }

    pub fn transposed(self) -> Self {
        View {
            values: self.values,
            row_step: self.column_step,
            column_step: self.row_step,
        }
    }

    fn check(&self, rows: usize, columns: usize) {
        let rows = rows.saturating_sub(1).checked_mul(self.row_step);
        let columns = columns.saturating_sub(1).checked_mul(self.column_step);
        // A product that overflows reaches past every slice.
        let last = rows.zip(columns).and_then(|(a, b)| a.checked_add(b));
        let is_inside = last.is_some_and(|last| last < self.values.len());
        assert!(is_inside, "a matrix reaches past its slice");
    }
}

/// Sets `out` to `factor · a b`, `[m, k] x [k, n]`, or adds it to `out`. Rows of `out` have n values.
///
/// # Panics
/// Panics if a slice is shorter than its matrix.
pub fn multiply(
    [m, n, k]: [usize; 3],
    factor: f32,
    a: View,
    b: View,
    out: &mut [f32],
    add: bool,
    parallelism: Parallelism,
) {
    a.check(m, k);
    b.check(k, n);
    View::rows(out, n).check(m, n);
    let step = |step: usize| step as isize;
    // SAFETY: the three matrices lie within their slices, as just checked, and `out` is borrowed mutably.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            step(n),
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
            parallelism,
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
}
