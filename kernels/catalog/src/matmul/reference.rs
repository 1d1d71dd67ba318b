//! The reference in plain Rust and f64, with which the kernel is compared.

use super::MatmulShape;
use crate::number::Scalar;

/// How an operand lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// True if rows and columns are exchanged.
    pub transposed: bool,
    /// Elements from one stored row to the next.
    pub stride: usize,
}

impl Layout {
    /// Returns the layout of a matrix of `rows` and `columns` without gaps.
    pub fn dense([rows, columns]: [usize; 2], transposed: bool) -> Layout {
        let stride = if transposed { rows } else { columns };
        Layout { transposed, stride }
    }

    fn at(self, row: usize, column: usize) -> usize {
        match self.transposed {
            true => column * self.stride + row,
            false => row * self.stride + column,
        }
    }
}

/// Computes `[m, n] = a b`, rows one after the other.
pub fn reference<N: Scalar>(
    [a, b]: [&[N]; 2],
    [a_layout, b_layout]: [Layout; 2],
    MatmulShape { m, n, k }: MatmulShape,
) -> Vec<N> {
    let mut y = Vec::with_capacity(m * n);
    for row in 0..m {
        for column in 0..n {
            let mut sum = N::from(0.0);
            for at in 0..k {
                sum += a[a_layout.at(row, at)] * b[b_layout.at(at, column)];
            }
            y.push(sum);
        }
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_read_either_way() {
        let shape = MatmulShape { m: 2, n: 2, k: 3 };
        let layout = |transposed, stride| Layout { transposed, stride };
        let expected = vec![58.0, 64.0, 139.0, 154.0];
        let (a, b) = (
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            [7.0, 8.0, 9.0, 10.0, 11.0, 12.0],
        );
        let y = reference([&a, &b], [layout(false, 3), layout(false, 2)], shape);
        assert_eq!(y, expected);
        let a = [1.0, 4.0, f64::NAN, 2.0, 5.0, f64::NAN, 3.0, 6.0];
        let b = [7.0, 9.0, 11.0, 8.0, 10.0, 12.0];
        let y = reference([&a, &b], [layout(true, 3), layout(true, 3)], shape);
        assert_eq!(y, expected);
    }
}
