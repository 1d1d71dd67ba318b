//! The diagram in characters: both axes logarithmic, a letter a point.

use super::{Ceiling, Point, Roofline};

/// Extent of the diagram in both axes, as decadic logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub left: f64,
    pub right: f64,
    pub bottom: f64,
    pub top: f64,
}

impl Window {
    /// Around everything with a finite place; none when there is nothing.
    pub fn around(roofline: &Roofline, shown: &[&Point]) -> Option<Self> {
        let (arithmetic, bandwidth) = roofline.ceilings.all();
        let mut x: Vec<f64> = shown.iter().map(|point| point.intensity).collect();
        let mut y: Vec<f64> = shown.iter().map(|point| point.flops_per_s).collect();
        // The ridges, where the lines meet, belong in the picture.
        for roof in &arithmetic {
            y.push(roof.value);
            x.extend(bandwidth.iter().map(|slope| roof.value / slope.value));
        }
        let range = |values: &[f64]| {
            let logs = values
                .iter()
                .map(|value| value.log10())
                .filter(|log| log.is_finite());
            let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| {
                (low.min(log), high.max(log))
            });
            (low.is_finite() && high.is_finite())
                .then(|| ((low - 0.3).floor(), (high + 0.3).ceil()))
        };
        let ((left, right), (bottom, top)) = (range(&x)?, range(&y)?);
        Some(Window {
            left,
            right,
            bottom,
            top,
        })
    }

    /// Place of a value between 0 and 1 in both axes.
    pub fn place(&self, intensity: f64, flops_per_s: f64) -> (f64, f64) {
        (
            (intensity.log10() - self.left) / (self.right - self.left),
            (flops_per_s.log10() - self.bottom) / (self.top - self.bottom),
        )
    }
}

/// The points that a diagram shows: kernels where they are known, else parts, else phases, and always the step.
pub fn shown(roofline: &Roofline) -> Vec<&Point> {
    use super::Grain;
    let finest = [Grain::Kernel, Grain::Part, Grain::Phase]
        .into_iter()
        .find(|grain| roofline.points.iter().any(|point| point.grain == *grain));
    roofline
        .points
        .iter()
        .filter(|point| point.grain == Grain::Step || Some(point.grain) == finest)
        .collect()
}

/// The letter of the n-th point.
pub fn letter(n: usize) -> char {
    char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[n % 52])
}

/// `width` by `height` characters with axes; a line that says so when there is nothing to draw.
pub fn text(roofline: &Roofline, width: usize, height: usize) -> String {
    let points = shown(roofline);
    let Some(window) = Window::around(roofline, &points) else {
        return "Nothing to draw: no work was counted and timed.\n".into();
    };
    let (columns, rows) = (width.saturating_sub(9).max(20), height.max(8));
    let mut grid = vec![vec![' '; columns]; rows];
    let (arithmetic, bandwidth) = roofline.ceilings.all();
    let roof = arithmetic.iter().map(|line| line.value).fold(0.0, f64::max);
    for column in 0..columns {
        let x = 10_f64.powf(
            window.left + (window.right - window.left) * column as f64 / (columns - 1) as f64,
        );
        for slope in &bandwidth {
            let y = x * slope.value;
            if y <= roof || roof == 0.0 {
                put(&mut grid, &window, x, y, '/');
            }
        }
        for line in &arithmetic {
            let meets = highest(&bandwidth).is_none_or(|slope| x * slope >= line.value);
            if meets {
                put(&mut grid, &window, x, line.value, '-');
            }
        }
    }
    for (n, point) in points.iter().enumerate() {
        put_point(&mut grid, &window, point, letter(n));
    }
    let mut text = String::new();
    for (row, line) in grid.iter().enumerate() {
        let label = decade_of_row(&window, row, rows)
            .map_or(String::new(), |decade| format!("1e{decade:.0}"));
        let line: String = line.iter().collect();
        text.push_str(&format!("{label:>6} |{}\n", line.trim_end()));
    }
    text.push_str(&format!("{:>6} +{}\n", "FLOP/s", "-".repeat(columns)));
    text.push_str(&axis(&window, columns));
    text
}

/// The whole decade that lies nearest to a row, if the row is also the nearest one to it.
fn decade_of_row(window: &Window, row: usize, rows: usize) -> Option<f64> {
    let last = (rows - 1) as f64;
    let height = window.top - window.bottom;
    let decade = (window.bottom + height * (1.0 - row as f64 / last)).round();
    let nearest = (last * (1.0 - (decade - window.bottom) / height)).round();
    (nearest == row as f64).then_some(decade)
}

fn axis(window: &Window, columns: usize) -> String {
    let mut line = vec![' '; columns + 8];
    let mut decade = window.left.ceil();
    while decade <= window.right {
        let place = (decade - window.left) / (window.right - window.left);
        let at = 8 + (place * (columns - 1) as f64).round() as usize;
        let label = format!("1e{decade:.0}");
        let at = at.min(line.len() - label.len());
        for (cell, c) in line[at..].iter_mut().zip(label.chars()) {
            *cell = c;
        }
        decade += 1.0;
    }
    let line: String = line.iter().collect();
    format!("{}  FLOP/byte\n", line.trim_end())
}

fn highest(lines: &[&Ceiling]) -> Option<f64> {
    lines.iter().map(|line| line.value).max_by(f64::total_cmp)
}

fn put(grid: &mut [Vec<char>], window: &Window, intensity: f64, flops_per_s: f64, glyph: char) {
    let Some((row, column)) = cell_of(grid, window, intensity, flops_per_s) else {
        return;
    };
    if let Some(cell) = grid.get_mut(row).and_then(|line| line.get_mut(column)) {
        *cell = glyph;
    }
}

/// Where a point goes when another one is already there: beside it, else above or below.
const BESIDE: [(isize, isize); 11] = [
    (0, 0),
    (0, 1),
    (0, -1),
    (0, 2),
    (0, -2),
    (-1, 0),
    (1, 0),
    (-1, 1),
    (1, 1),
    (-1, -1),
    (1, -1),
];

fn put_point(grid: &mut [Vec<char>], window: &Window, point: &Point, glyph: char) {
    let Some((row, column)) = cell_of(grid, window, point.intensity, point.flops_per_s) else {
        return;
    };
    for (down, right) in BESIDE {
        let place = row
            .checked_add_signed(down)
            .zip(column.checked_add_signed(right));
        let cell = place.and_then(|(row, column)| grid.get_mut(row)?.get_mut(column));
        if let Some(cell) = cell.filter(|cell| !cell.is_ascii_alphabetic()) {
            *cell = glyph;
            return;
        }
    }
}

/// Row and column; none outside the window.
fn cell_of(
    grid: &[Vec<char>],
    window: &Window,
    intensity: f64,
    flops_per_s: f64,
) -> Option<(usize, usize)> {
    let (x, y) = window.place(intensity, flops_per_s);
    if !((0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y)) {
        return None;
    }
    let (rows, columns) = (grid.len(), grid.first()?.len());
    let column = (x * (columns.saturating_sub(1)) as f64).round() as usize;
    let row = ((1.0 - y) * (rows.saturating_sub(1)) as f64).round() as usize;
    Some((row, column))
}
