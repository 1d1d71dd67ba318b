//! Rooflines: which ceiling of a device limits a piece of work, and a picture of it.
//!
//! S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore architectures",
//! CACM 52, 2009.

mod ceilings;
mod picture;
pub mod svg;

use serde::Serialize;

pub use ceilings::{Ceiling, CeilingSource, Ceilings, Judgement, Roof};
pub use picture::RooflinePicture;

/// Below this share of its limit, something other than the ceilings limits a point.
pub const NEAR: f64 = 0.15;

/// Kernels shorter than this many milliseconds spend most of their time starting and ending.
const SHORT_MS: f64 = 0.01;

named! {
    /// The level of detail at which a point divides the step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Grain {
        Step = "step",
        /// Forward, backward and optimizer, timed by the host's clock.
        Phase = "phase",
        /// Device time of a model part.
        Part = "part",
        /// Device time of a kernel, or of a group of kernels with one purpose.
        Kernel = "kernel",
    }
}

named! {
    /// The limit of a point.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RooflineLimit {
        Memory = "memory",
        Arithmetic = "arithmetic",
        /// Neither memory nor arithmetic: launches, waiting, or too little work at a time.
        Overhead = "neither",
    }
}

/// A piece of work with its measured time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub name: String,
    pub grain: Grain,
    /// True if the work includes matrix products, so that the matrix units limit it.
    #[serde(skip)]
    pub products: bool,
    pub flops: f64,
    /// The minimum of bytes that must move, or the bytes that counters measured.
    pub bytes: f64,
    /// Measured time of the same piece of work.
    pub ms: f64,
    pub launches: Option<f64>,
    /// Kernels that did the work, by the names that the run reported; empty for coarser points.
    pub kernels: Vec<String>,
    /// FLOP per byte.
    pub intensity: f64,
    pub flops_per_s: f64,
    pub bytes_per_s: f64,
    /// FLOP/s that the ceilings allow at this intensity; `None` without ceilings.
    pub attainable: Option<f64>,
    /// Reached rate divided by the attainable rate. It exceeds 1 if caches save traffic that was counted, or if a
    /// ceiling is too low.
    pub share: Option<f64>,
    pub bound: Option<RooflineLimit>,
    pub what_would_help: Option<String>,
}

impl Point {
    /// Returns `None` if there is neither work nor traffic, or if the time is zero.
    pub fn new(
        name: impl Into<String>,
        grain: Grain,
        products: bool,
        (flops, bytes): (f64, f64),
        ms: f64,
    ) -> Option<Self> {
        let figures = [flops, bytes, ms];
        let usable = figures
            .iter()
            .all(|value| value.is_finite() && *value >= 0.0);
        (usable && ms > 0.0 && flops + bytes > 0.0).then(|| Point {
            name: name.into(),
            grain,
            products,
            flops,
            bytes,
            ms,
            launches: None,
            kernels: vec![],
            intensity: flops / bytes,
            flops_per_s: flops / (ms / 1e3),
            bytes_per_s: bytes / (ms / 1e3),
            attainable: None,
            share: None,
            bound: None,
            what_would_help: None,
        })
    }

    /// True if the point fits on logarithmic axes: it computes something and moves something.
    pub fn has_place(&self) -> bool {
        self.flops > 0.0 && self.bytes > 0.0
    }

    fn judge(&mut self, ceilings: &Ceilings) {
        if let Some(judgement) = ceilings.judge(self) {
            let advice = self.advice(&judgement);
            self.attainable = Some(judgement.attainable);
            self.share = Some(judgement.share);
            self.bound = Some(judgement.bound);
            self.what_would_help = Some(advice.into());
        }
    }

    fn advice(&self, judgement: &Judgement<'_>) -> &'static str {
        let each = self.launches.map(|launches| self.ms / launches.max(1.0));
        let share = judgement.share;
        match judgement.bound {
            RooflineLimit::Memory if share > 1.0 => {
                "faster than memory allows for the counted bytes: they stay in a cache, so compare with the cache's ceiling"
            }
            RooflineLimit::Arithmetic if share > 1.0 => {
                "faster than its ceiling: measure the ceiling again while nothing else uses the device"
            }
            RooflineLimit::Overhead if each.is_some_and(|ms| ms < SHORT_MS) => {
                "kernels are too short: fuse them, or give each more work (a larger batch)"
            }
            RooflineLimit::Overhead if self.grain == Grain::Kernel => {
                "far from both ceilings: look at occupancy, coalescing and how many units have work"
            }
            RooflineLimit::Overhead => {
                "far from both ceilings: use fewer and larger launches, less waiting, a larger batch"
            }
            RooflineLimit::Memory if share > 0.7 => {
                "near the memory limit: only moving fewer bytes helps, by fusion or smaller types"
            }
            RooflineLimit::Memory => {
                "move fewer bytes (fusion, smaller types) and read whole cache lines"
            }
            RooflineLimit::Arithmetic if share > 0.7 => {
                "near the arithmetic limit: only fewer operations or a smaller type help"
            }
            RooflineLimit::Arithmetic => "use matrix units, larger tiles or a smaller type",
        }
    }
}

/// Points and the ceilings of their device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Roofline {
    /// Names the run and the device.
    #[serde(skip)]
    pub title: String,
    /// Names the source of the operation and byte counts.
    #[serde(skip)]
    pub work: &'static str,
    pub ceilings: Ceilings,
    pub points: Vec<Point>,
    /// Remarks that a reader needs.
    pub notes: Vec<String>,
}

impl Roofline {
    /// Judges every point against the ceilings.
    pub fn new(
        title: impl Into<String>,
        work: &'static str,
        ceilings: Ceilings,
        mut points: Vec<Point>,
    ) -> Self {
        for point in &mut points {
            point.judge(&ceilings);
        }
        Roofline {
            title: title.into(),
            work,
            ceilings,
            points,
            notes: vec![],
        }
    }

    /// Gives a letter to each point that the picture shows. Those are kernels if known, else parts, else phases; the
    /// step also gets one. Points beyond the alphabet have none.
    pub fn letters(&self) -> Vec<Option<char>> {
        let finest = [Grain::Kernel, Grain::Part, Grain::Phase]
            .into_iter()
            .find(|grain| self.points.iter().any(|point| point.grain == *grain));
        let mut letters = ('A'..='Z').chain('a'..='z');
        let shown = |point: &Point| {
            point.has_place() && (point.grain == Grain::Step || Some(point.grain) == finest)
        };
        self.points
            .iter()
            .map(|point| if shown(point) { letters.next() } else { None })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calculated by hand at 4 TB/s, 600 TFLOP/s for products and 50 TFLOP/s for everything else.
    #[test]
    fn a_point_is_held_against_the_limit_it_is_nearest_to() {
        let mut ceilings = Ceilings::default();
        ceilings.add(
            Roof::Products,
            "products",
            Some(6e14),
            CeilingSource::Measured,
        );
        ceilings.add(Roof::Vector, "vector", Some(5e13), CeilingSource::Measured);
        ceilings.add(Roof::Vector, "vector", Some(6e13), CeilingSource::DataSheet);
        ceilings.add(Roof::Memory, "memory", Some(4e12), CeilingSource::Measured);
        ceilings.add(Roof::Memory, "nothing", Some(0.0), CeilingSource::Measured);
        let judged = |products, work, ms| {
            let point = Point::new("a", Grain::Kernel, products, work, ms).unwrap();
            let judgement = ceilings.judge(&point).unwrap();
            (judgement.bound, judgement.share, judgement.attainable)
        };
        // 100 FLOP per byte lie beyond the ridge of the vector units and before that of products.
        assert_eq!(
            judged(false, (2e10, 2e8), 1.0),
            (RooflineLimit::Arithmetic, 0.4, 5e13)
        );
        assert_eq!(
            judged(true, (2e11, 2e9), 1.0),
            (RooflineLimit::Memory, 0.5, 4e14)
        );
        // A point above the measured line is still judged by it, because the data sheet is only a promise.
        assert_eq!(judged(false, (6e10, 1e8), 1.0).1, 1.2);
        assert_eq!(judged(false, (0.0, 2e9), 1.0).0, RooflineLimit::Memory);
        assert_eq!(judged(false, (1e9, 1e8), 1.0).0, RooflineLimit::Overhead);
    }

    #[test]
    fn without_memorys_ceiling_nothing_is_judged_and_without_arithmetic_memory_judges() {
        let point = Point::new("a", Grain::Kernel, true, (1e9, 1e9), 1.0).unwrap();
        let mut ceilings = Ceilings::default();
        ceilings.add(
            Roof::Products,
            "products",
            Some(1e12),
            CeilingSource::DataSheet,
        );
        assert_eq!(ceilings.judge(&point), None);
        let mut ceilings = Ceilings::default();
        ceilings.add(Roof::Memory, "memory", Some(2e12), CeilingSource::DataSheet);
        let judgement = ceilings.judge(&point).unwrap();
        assert_eq!(
            (judgement.bound, judgement.share),
            (RooflineLimit::Memory, 0.5)
        );
    }

    /// The slanted line meets the level one at the ridge, inside the picture.
    #[test]
    fn memory_and_arithmetic_meet_at_the_ridge() {
        let mut ceilings = Ceilings::default();
        ceilings.add(
            Roof::Products,
            "products",
            Some(1e14),
            CeilingSource::Measured,
        );
        ceilings.add(Roof::Memory, "memory", Some(4e12), CeilingSource::Measured);
        let point = Point::new("<x>", Grain::Kernel, true, (1e9, 1e10), 10.0);
        let copy = Point::new("copy", Grain::Kernel, false, (0.0, 1e10), 10.0);
        let points = point.into_iter().chain(copy).collect();
        let roofline = Roofline::new("<t>", "", ceilings, points);
        let picture = roofline.picture().unwrap();
        let ends: Vec<(f64, f64)> = picture.lines.iter().map(|(_, _, to)| *to).collect();
        assert_eq!(ends[0], (25.0, 1e14));
        assert_eq!(picture.lines[1].1, (25.0, 1e14));
        assert!(picture.x.0 < 25_f64.log10() && 25_f64.log10() < picture.x.1);
        assert_eq!(roofline.letters(), [Some('A'), None]);
        let drawn = svg::document(&roofline);
        assert!(
            drawn.contains("100.00 MFLOP/s") || drawn.contains("100.00 GFLOP/s"),
            "{drawn}"
        );
        for text in ["<x>", "<t>", "NaN", "inf", "<script"] {
            assert!(!drawn.contains(text), "{text} in {drawn}");
        }
    }

    #[test]
    fn without_a_point_that_has_a_place_there_is_no_picture() {
        let copy = Point::new("copy", Grain::Kernel, false, (0.0, 1e10), 10.0);
        let roofline = Roofline::new("", "", Ceilings::default(), copy.into_iter().collect());
        assert_eq!(roofline.picture(), None);
        assert!(svg::document(&roofline).ends_with("</svg>\n"));
    }
}
