//! Matrix products of the schedule, on all cores.

use tinyllama_kernels::host::matrix::{View, multiply_on_all_cores};

use crate::targets::v4::operation::MatrixProduct;

/// Computes a product. If it has an addend, `out` already holds it.
pub fn product(product: &MatrixProduct, a: &[f32], b: &[f32], out: &mut [f32]) {
    let MatrixProduct { m, n, k, .. } = *product;
    let view = |values, transposed, rows, columns| match transposed {
        true => View::rows(values, rows).transposed(),
        false => View::rows(values, columns),
    };
    let a = view(a, product.a_transposed, m, k);
    let b = view(b, product.b_transposed, k, n);
    let add = product.addend.is_some();
    multiply_on_all_cores([m, n, k], 1.0, a, b, out, add);
}
