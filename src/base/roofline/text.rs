//! The diagram as characters.

use crate::{Roofline, RooflinePicture};

/// The text of a diagram without points.
pub(super) const NOTHING_TO_DRAW: &str = "Nothing to draw: no work was counted and timed.\n";

/// Renders `width` by `height` characters with axes, or a line that says there is nothing to draw.
pub fn text(roofline: &Roofline, width: usize, height: usize) -> String {
    let Some(picture) = roofline.picture() else {
        return NOTHING_TO_DRAW.into();
    };
    let mut grid = CharGrid::new(width.saturating_sub(9).max(20), height.max(8));
    grid.lines(&picture);
    for (letter, point) in &picture.points {
        grid.point(
            picture.coordinates((point.intensity, point.flops_per_s)),
            *letter,
        );
    }
    let mut text = String::new();
    for (row, cells) in grid.0.iter().enumerate() {
        let label = decade_of_row(picture.y, row, grid.0.len());
        let label = label.map_or(String::new(), |decade| format!("1e{decade:.0}"));
        let line: String = cells.iter().collect();
        text.push_str(&format!("{label:>6} |{}\n", line.trim_end()));
    }
    let columns = grid.0[0].len();
    text.push_str(&format!("{:>6} +{}\n", "FLOP/s", "-".repeat(columns)));
    text.push_str(&axis(picture.x, columns));
    text
}

/// Rows of characters, highest first. There is at least one row and one column.
struct CharGrid(Vec<Vec<char>>);

/// Offsets (rows down, columns right) to try for a letter whose cell is taken. Right and left come first, then above
/// and below.
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

impl CharGrid {
    fn new(columns: usize, rows: usize) -> Self {
        CharGrid(vec![vec![' '; columns]; rows])
    }

    fn lines(&mut self, picture: &RooflinePicture<'_>) {
        let last = (self.0[0].len() - 1) as f64;
        for (ceiling, from, to) in &picture.lines {
            let (from, to) = (picture.coordinates(*from), picture.coordinates(*to));
            let glyph = if ceiling.roof.is_arithmetic() {
                '-'
            } else {
                '/'
            };
            for column in 0..self.0[0].len() {
                let x = column as f64 / last;
                let along = (x - from.0) / (to.0 - from.0);
                if (0.0..=1.0).contains(&along) {
                    let (row, column) = self.cell((x, from.1 + along * (to.1 - from.1)));
                    self.0[row][column] = glyph;
                }
            }
        }
    }

    fn point(&mut self, at: (f64, f64), letter: char) {
        let (row, column) = self.cell(at);
        for (down, right) in BESIDE {
            let place = row
                .checked_add_signed(down)
                .zip(column.checked_add_signed(right));
            let cell = place.and_then(|(row, column)| self.0.get_mut(row)?.get_mut(column));
            if let Some(cell) = cell.filter(|cell| !cell.is_ascii_alphabetic()) {
                *cell = letter;
                return;
            }
        }
    }

    /// Row and column of a position within the picture.
    fn cell(&self, (x, y): (f64, f64)) -> (usize, usize) {
        let nearest = |share: f64, cells: usize| {
            (share.clamp(0.0, 1.0) * (cells - 1) as f64).round() as usize
        };
        (nearest(1.0 - y, self.0.len()), nearest(x, self.0[0].len()))
    }
}

/// The whole decade nearest to a row, if that row is also the nearest to the decade.
fn decade_of_row((bottom, top): (f64, f64), row: usize, rows: usize) -> Option<f64> {
    let last = (rows - 1) as f64;
    let decade = (bottom + (top - bottom) * (1.0 - row as f64 / last)).round();
    let nearest = (last * (1.0 - (decade - bottom) / (top - bottom))).round();
    (nearest == row as f64).then_some(decade)
}

fn axis((left, right): (f64, f64), columns: usize) -> String {
    let mut line = vec![' '; columns + 8];
    for decade in left as i32..=right as i32 {
        let label = format!("1e{decade}");
        let share = (f64::from(decade) - left) / (right - left);
        let at = 8 + (share * (columns - 1) as f64).round() as usize;
        let at = at.min(line.len() - label.len());
        for (cell, character) in line[at..].iter_mut().zip(label.chars()) {
            *cell = character;
        }
    }
    let line: String = line.iter().collect();
    format!("{}  FLOP/byte\n", line.trim_end())
}
