//! Matrix products, on all cores or within one thread.

use gemm::Parallelism;

use crate::targets::v4::operation::Product;

/// A matrix in a slice: row `r`, column `c` at `r * row_step + c * column_step`.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub values: &'a [f32],
    pub row_step: usize,
    pub column_step: usize,
}

impl<'a> View<'a> {
    /// Row-major, `columns` wide.
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
        let last = (rows.max(1) - 1) * self.row_step + (columns.max(1) - 1) * self.column_step;
        assert!(last < self.values.len(), "a matrix reaches past its slice");
    }
}

/// Size of a product: `[m, k] x [k, n]`.
#[derive(Clone, Copy)]
pub struct Size {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

/// `out = factor · a b`, or added to `out`; `out` has rows of `out_step` values, n of them written. In this thread.
///
/// # Panics
/// If a slice is shorter than its matrix.
pub fn multiply(
    size: Size,
    factor: f32,
    a: View,
    b: View,
    out: &mut [f32],
    out_step: usize,
    add: bool,
) {
    run(size, factor, a, b, out, out_step, add, Parallelism::None);
}

/// The schedule's product, on all cores. With an addend, `out` already holds it.
pub fn product(product: &Product, a: &[f32], b: &[f32], out: &mut [f32]) {
    let Product { m, n, k, .. } = *product;
    let view = |values, transposed, rows, columns| match transposed {
        true => View::rows(values, rows).transposed(),
        false => View::rows(values, columns),
    };
    let a = view(a, product.a_transposed, m, k);
    let b = view(b, product.b_transposed, k, n);
    let add = product.addend.is_some();
    run(
        Size { m, n, k },
        1.0,
        a,
        b,
        out,
        n,
        add,
        Parallelism::Rayon(0),
    );
}

#[expect(clippy::too_many_arguments, reason = "those of a matrix product")]
fn run(
    Size { m, n, k }: Size,
    factor: f32,
    a: View,
    b: View,
    out: &mut [f32],
    out_step: usize,
    add: bool,
    parallelism: Parallelism,
) {
    a.check(m, k);
    b.check(k, n);
    View::rows(out, out_step).check(m, n);
    let step = |step: usize| step as isize;
    // SAFETY: the three matrices lie within their slices, as just checked, and `out` is borrowed for writing.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            step(out_step),
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
