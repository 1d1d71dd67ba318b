//! The geometry that every drawing of a roofline shares. Both axes are logarithmic.

use crate::{Ceiling, Point, Roofline};

/// A position: FLOP per byte and FLOP/s.
pub type PlotPosition = (f64, f64);

/// Lines and points within a range of whole decades.
#[derive(Clone, Debug, PartialEq)]
pub struct RooflinePicture<'a> {
    /// Base-10 logarithms of the first and last FLOP per byte.
    pub x: (f64, f64),
    /// Base-10 logarithms of the lowest and highest FLOP/s.
    pub y: (f64, f64),
    /// Slanted lines for bandwidths. Lines for arithmetic are level and begin at the steepest bandwidth.
    pub lines: Vec<(&'a Ceiling, PlotPosition, PlotPosition)>,
    /// Points with their letters.
    pub points: Vec<(char, &'a Point)>,
}

impl Roofline {
    /// Returns `None` if no point fits on the axes.
    pub fn picture(&self) -> Option<RooflinePicture<'_>> {
        let letters = self.letters().into_iter().zip(&self.points);
        let points: Vec<(char, &Point)> = letters
            .filter_map(|(letter, point)| Some((letter?, point)))
            .collect();
        let (arithmetic, bandwidths): (Vec<&Ceiling>, Vec<&Ceiling>) = self
            .ceilings
            .iter()
            .partition(|line| line.roof.is_arithmetic());
        let highest = |lines: &[&Ceiling]| lines.iter().map(|line| line.value).reduce(f64::max);
        let (roof, steepest) = (highest(&arithmetic), highest(&bandwidths));
        // The picture includes the ridges, the points where two lines meet.
        let ridges = arithmetic
            .iter()
            .flat_map(|roof| bandwidths.iter().map(|slope| roof.value / slope.value));
        let x = decades(
            points
                .iter()
                .map(|(_, point)| point.intensity)
                .chain(ridges),
        )?;
        let roofs = arithmetic.iter().map(|line| line.value);
        let y = decades(
            points
                .iter()
                .map(|(_, point)| point.flops_per_s)
                .chain(roofs),
        )?;
        let (left, right) = (10_f64.powf(x.0), 10_f64.powf(x.1));
        let (bottom, top) = (10_f64.powf(y.0), 10_f64.powf(y.1));
        let slanted = bandwidths.iter().map(|line| {
            let (from, to) = (
                left.max(bottom / line.value),
                right.min(roof.unwrap_or(top) / line.value),
            );
            (*line, (from, from * line.value), (to, to * line.value))
        });
        let level = arithmetic.iter().map(|line| {
            let from = steepest.map_or(left, |steepest| left.max(line.value / steepest));
            (*line, (from, line.value), (right, line.value))
        });
        let lines = slanted
            .chain(level)
            .filter(|(_, from, to)| from.0 < to.0)
            .collect();
        (!points.is_empty()).then_some(RooflinePicture {
            x,
            y,
            lines,
            points,
        })
    }
}

impl RooflinePicture<'_> {
    /// Position in the picture as shares of its width (from the left) and height (from the bottom).
    pub fn coordinates(&self, (x, y): PlotPosition) -> (f64, f64) {
        let share = |value: f64, (low, high): (f64, f64)| (value.log10() - low) / (high - low);
        (share(x, self.x), share(y, self.y))
    }
}

/// Whole decades around all values, with some margin.
fn decades(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let logs = values.map(f64::log10).filter(|log| log.is_finite());
    let ends = |log: f64| ((log - 0.3).floor(), (log + 0.3).ceil());
    logs.map(ends)
        .reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
}
