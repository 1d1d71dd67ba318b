//! Matrix products and number formats on the host in their plainest form, for comparison with the libraries' results.

use crate::device::driver::{GemmSpec, Operand};

/// Computes `alpha * op(a) op(b) + beta * c` in f64 from the stored elements, laid out like `d`. Elements between rows
/// and between matrices of the batch keep the values of `c`.
///
/// Returns `None` if a slice is shorter than [`GemmSpec::bytes`] says.
pub fn multiply(
    spec: &GemmSpec,
    alpha: f32,
    a: &[f32],
    b: &[f32],
    beta: f32,
    c: &[f32],
) -> Option<Vec<f64>> {
    let mut d: Vec<f64> = c.iter().map(|number| f64::from(*number)).collect();
    for batch in 0..spec.batch {
        for row in 0..spec.m {
            for column in 0..spec.n {
                let mut sum = 0.0;
                for inner in 0..spec.k {
                    let left = *a.get(place(spec.a, batch, row, inner))?;
                    let right = *b.get(place(spec.b, batch, inner, column))?;
                    sum += f64::from(left) * f64::from(right);
                }
                let element = d.get_mut(place(spec.d, batch, row, column))?;
                // As in the libraries: with beta 0, `c` is not read, so a NaN in it has no effect.
                let added = if beta == 0.0 {
                    0.0
                } else {
                    f64::from(beta) * *element
                };
                *element = f64::from(alpha) * sum + added;
            }
        }
    }
    Some(d)
}

/// Returns the index at which element `[row, column]` of an operand is stored.
fn place(operand: Operand, batch: usize, row: usize, column: usize) -> usize {
    let (row, column) = operand.stored(row, column);
    batch * operand.batch_stride + row * operand.row_stride + column
}

/// Returns whether two lists hold the same finite numbers, bit for bit.
pub fn same_bits(a: &[f32], b: &[f32]) -> bool {
    let same = |(a, b): (&f32, &f32)| a.is_finite() && a.to_bits() == b.to_bits();
    a.len() == b.len() && a.iter().zip(b).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::driver::GemmPrecision;

    #[test]
    fn transposed_operands_and_padded_rows_are_read_where_they_are() {
        // Case: a = [[1, 2], [3, 4], [5, 6]] stored transposed, b = [[1, 0, 2], [0, 1, 3]] with rows of 4.
        let mut spec = GemmSpec::new(3, 3, 2, GemmPrecision::F32).transpose_a();
        spec.b.row_stride = 4;
        let a = [1., 3., 5., 2., 4., 6.];
        let b = [1., 0., 2., 9., 0., 1., 3., 9.];
        let c = [1.0; 9];
        let d = multiply(&spec, 1.0, &a, &b, 10.0, &c).unwrap();
        assert_eq!(d, [11., 12., 18., 13., 14., 28., 15., 16., 38.]);
        assert_eq!(multiply(&spec, 1.0, &a[..5], &b, 0.0, &c), None);
    }

    #[test]
    fn a_batch_is_stored_densely_where_its_strides_say() {
        // Case: two products of a column [2, 1], stored as a row, and a row [1, 2].
        let spec = GemmSpec::new(2, 2, 1, GemmPrecision::F32)
            .transpose_a()
            .batched(2, 2, 0, 4);
        assert_eq!(spec.a.row_stride, 2);
        assert_eq!(
            GemmSpec::new(2, 3, 5, GemmPrecision::F32)
                .transpose_b()
                .b
                .row_stride,
            5
        );
        let d = multiply(
            &spec,
            1.0,
            &[1., 2., 3., 4.],
            &[1., 10.],
            0.0,
            &[f32::NAN; 8],
        )
        .unwrap();
        assert_eq!(d, [1., 10., 2., 20., 3., 30., 4., 40.]);
    }

    #[test]
    fn a_number_that_is_not_finite_is_no_agreement() {
        assert!(same_bits(&[1.0, -0.0], &[1.0, -0.0]));
        assert!(!same_bits(&[0.0], &[-0.0]) && !same_bits(&[1.0], &[1.0, 2.0]));
        assert!(!same_bits(&[f32::NAN], &[f32::NAN]));
        assert!(!same_bits(&[f32::INFINITY], &[f32::INFINITY]));
    }
}
