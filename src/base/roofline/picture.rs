//! What every drawing of a roofline shows, and where: both axes logarithmic.

use crate::{Ceiling, Point, Roofline};

/// A place: FLOP a byte and FLOP/s.
pub type Place = (f64, f64);

/// Lines and points within whole decades.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture<'a> {
    /// Decadic logarithms of the first and the last FLOP a byte.
    pub x: (f64, f64),
    /// The same of FLOP/s.
    pub y: (f64, f64),
    /// Slanted for bandwidths, level for arithmetic, from where the steepest bandwidth meets it.
    pub lines: Vec<(&'a Ceiling, Place, Place)>,
    /// With their letters.
    pub points: Vec<(char, &'a Point)>,
}

impl Roofline {
    /// None where no point has a place in it.
    pub fn picture(&self) -> Option<Picture<'_>> {
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
        // The ridges, where the lines meet, belong in the picture.
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
        (!points.is_empty()).then_some(Picture {
            x,
            y,
            lines,
            points,
        })
    }
}

impl Picture<'_> {
    /// Shares of the way from left to right and from bottom to top.
    pub fn at(&self, (x, y): Place) -> (f64, f64) {
        let share = |value: f64, (low, high): (f64, f64)| (value.log10() - low) / (high - low);
        (share(x, self.x), share(y, self.y))
    }
}

/// Whole decades around all values, with some air.
fn decades(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let logs = values.map(f64::log10).filter(|log| log.is_finite());
    let ends = |log: f64| ((log - 0.3).floor(), (log + 0.3).ceil());
    logs.map(ends)
        .reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
}
