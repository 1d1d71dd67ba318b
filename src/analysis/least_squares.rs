//! Small linear fits of a few coefficients, solved exactly.

/// A fit of `y` by a sum of features, each times its coefficient.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    pub coefficients: Vec<f64>,
    /// Standard error of each coefficient. `None` if there are no more points than coefficients.
    pub standard_errors: Option<Vec<f64>>,
    /// Degrees of freedom: points less coefficients.
    pub freedom: usize,
}

/// Fits by least squares over rows of features. Returns `None` if the features depend on each other.
pub fn fit(rows: &[Vec<f64>], y: &[f64]) -> Option<Fit> {
    let unknowns = rows.first()?.len();
    let (normal, right) = normal_equations(rows, y, unknowns);
    let coefficients = solve(normal.clone(), right)?;
    let freedom = rows.len().checked_sub(unknowns)?;
    let variance = residual(rows, y, &coefficients) / freedom as f64;
    let standard_error = |at: usize| {
        let unit = (0..unknowns).map(|i| f64::from(u8::from(i == at)));
        Some((variance * solve(normal.clone(), unit.collect())?[at]).sqrt())
    };
    let standard_errors = match freedom {
        0 => None,
        _ => (0..unknowns).map(standard_error).collect(),
    };
    Some(Fit {
        coefficients,
        standard_errors,
        freedom,
    })
}

/// Fits by least squares with coefficients of at least zero: the best over all choices of features to leave out.
///
/// The features are few, so every choice is tried. Returns `None` if no choice can be solved.
pub fn fit_non_negative(rows: &[Vec<f64>], y: &[f64]) -> Option<Vec<f64>> {
    let unknowns = rows.first()?.len();
    let mut best: Option<(f64, Vec<f64>)> = None;
    for chosen in 1..1_usize << unknowns {
        let kept: Vec<usize> = (0..unknowns).filter(|at| chosen >> at & 1 == 1).collect();
        let reduced = |row: &Vec<f64>| kept.iter().map(|at| row[*at]).collect();
        let reduced: Vec<Vec<f64>> = rows.iter().map(reduced).collect();
        let (normal, right) = normal_equations(&reduced, y, kept.len());
        let Some(solution) = solve(normal, right) else {
            continue;
        };
        if solution.iter().any(|value| *value < 0.0) {
            continue;
        }
        let mut coefficients = vec![0.0; unknowns];
        for (at, value) in kept.iter().zip(solution) {
            coefficients[*at] = value;
        }
        let residual = residual(rows, y, &coefficients);
        if best.as_ref().is_none_or(|(least, _)| residual < *least) {
            best = Some((residual, coefficients));
        }
    }
    best.map(|(_, coefficients)| coefficients)
}

fn residual(rows: &[Vec<f64>], y: &[f64], coefficients: &[f64]) -> f64 {
    let pairs = rows.iter().zip(y);
    pairs
        .map(|(row, y)| (y - dot(row, coefficients)).powi(2))
        .sum()
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn normal_equations(rows: &[Vec<f64>], y: &[f64], unknowns: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let column = |at: usize| rows.iter().map(move |row| row[at]);
    let product = |i, j| column(i).zip(column(j)).map(|(a, b)| a * b).sum();
    let row = |i| (0..unknowns).map(|j| product(i, j)).collect();
    let right = (0..unknowns).map(|i| column(i).zip(y).map(|(a, y)| a * y).sum());
    ((0..unknowns).map(row).collect(), right.collect())
}

/// A pivot this much smaller than the largest entry of its column means that the features depend on each other.
const SINGULAR: f64 = 1e-10;

/// Gaussian elimination with row pivoting.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    let scales: Vec<f64> = (0..n).map(|at| matrix[at][at].abs()).collect();
    for column in 0..n {
        let size = |row: usize| matrix[row][column].abs();
        let pivot = (column..n).max_by(|a, b| size(*a).total_cmp(&size(*b)))?;
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let head = matrix[column][column];
        if !head.is_finite() || head.abs() <= SINGULAR * scales[column].max(f64::MIN_POSITIVE) {
            return None;
        }
        let pivot_row = matrix[column].clone();
        for row in column + 1..n {
            let factor = matrix[row][column] / head;
            for (entry, above) in matrix[row].iter_mut().zip(&pivot_row).skip(column) {
                *entry -= factor * above;
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|at| matrix[row][at] * right[at]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right.iter().all(|value| value.is_finite()).then_some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_with_its_errors() {
        let rows: Vec<Vec<f64>> = (0..5).map(|x| vec![1.0, f64::from(x)]).collect();
        let y = [1.1, 2.9, 5.0, 7.1, 8.9];
        let fit = fit(&rows, &y).unwrap();
        assert!((fit.coefficients[1] - 1.98).abs() < 1e-9, "{fit:?}");
        // Computed by hand: residual sum of squares 0.036, over 3 degrees of freedom and a sum of squares of x of 10.
        let errors = fit.standard_errors.unwrap();
        assert!(
            (errors[1] - (0.036_f64 / 3.0 / 10.0).sqrt()).abs() < 1e-9,
            "{errors:?}"
        );
    }

    #[test]
    fn features_that_say_the_same_are_refused() {
        let rows: Vec<Vec<f64>> = (0..5)
            .map(|x| vec![f64::from(x), 2.0 * f64::from(x)])
            .collect();
        assert!(fit(&rows, &[0.0, 1.0, 2.0, 3.0, 4.0]).is_none());
        assert!(fit(&[], &[]).is_none());
    }

    #[test]
    fn a_coefficient_that_would_be_negative_is_left_out() {
        let rows: Vec<Vec<f64>> = (1..6)
            .map(|x| vec![f64::from(x), f64::from(x * x)])
            .collect();
        let y: Vec<f64> = (1..6).map(|x| f64::from(10 * x - x * x)).collect();
        let coefficients = fit_non_negative(&rows, &y).unwrap();
        assert!(
            coefficients[0] > 0.0 && coefficients[1] == 0.0,
            "{coefficients:?}"
        );
    }
}
