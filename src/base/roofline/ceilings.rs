//! The lines of a roofline, and the choice of the line that limits a point.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{NEAR, RooflineLimit};
use crate::{Point, rate};

/// The rate that a line limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roof {
    /// FLOP/s of matrix products.
    Products,
    /// FLOP/s of everything else.
    Vector,
    /// Bytes/s of memory.
    Memory,
    /// Bytes/s of data that stays in a cache. It is only drawn and limits nothing, because bytes are counted as if
    /// each came from memory.
    Cache,
}

impl Roof {
    pub fn is_arithmetic(self) -> bool {
        matches!(self, Roof::Products | Roof::Vector)
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CeilingSource {
        /// Measured on this device.
        Measured = "measured",
        /// The vendor's data sheet.
        DataSheet = "data sheet",
    }
}

/// One line of the roofline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    #[serde(skip)]
    pub roof: Roof,
    pub label: String,
    /// FLOP/s or bytes/s.
    pub value: f64,
    pub source: CeilingSource,
}

/// `memory 4.10 TB/s (measured)`.
impl fmt::Display for Ceiling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.roof.is_arithmetic() {
            "FLOP"
        } else {
            "B"
        };
        write!(
            f,
            "{} {} ({})",
            self.label,
            rate(self.value, unit),
            self.source
        )
    }
}

/// All known lines. The first line of each kind is the one that limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ceilings(Vec<Ceiling>);

/// A point with the ceiling it is nearest to.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement<'a> {
    pub bound: RooflineLimit,
    /// Reached share of the limit.
    pub share: f64,
    /// FLOP/s that the limit allows.
    pub attainable: f64,
    pub ceiling: &'a Ceiling,
}

impl Ceilings {
    /// Adds a line after those of its kind. A value that is not a rate is ignored.
    pub fn add(
        &mut self,
        roof: Roof,
        label: impl Into<String>,
        value: Option<f64>,
        source: CeilingSource,
    ) {
        let value = value.filter(|value| value.is_finite() && *value > 0.0);
        self.0.extend(value.map(|value| Ceiling {
            roof,
            label: label.into(),
            value,
            source,
        }));
    }

    /// Iterates over the lines: arithmetic first, then memory and caches.
    pub fn iter(&self) -> impl Iterator<Item = &Ceiling> {
        let of = |arithmetic| move |line: &&Ceiling| line.roof.is_arithmetic() == arithmetic;
        self.0
            .iter()
            .filter(of(true))
            .chain(self.0.iter().filter(of(false)))
    }

    pub fn for_roof(&self, roof: Roof) -> impl Iterator<Item = &Ceiling> {
        self.0.iter().filter(move |line| line.roof == roof)
    }

    /// Returns the arithmetic line that limits `point`: one of the point's own kind if it is known. A point above the
    /// first line of its kind used faster units, so a later line limits it.
    fn arithmetic(&self, point: &Point) -> Option<&Ceiling> {
        let (own, other) = match point.products {
            true => (Roof::Products, Roof::Vector),
            false => (Roof::Vector, Roof::Products),
        };
        let mut lines = self.for_roof(own).chain(self.for_roof(other));
        let first = lines.next()?;
        let faster = lines.filter(|line| (line.roof, line.source) == (first.roof, first.source));
        Some(faster.fold(first, |limit, line| {
            let beyond = point.flops_per_s > limit.value && line.value > limit.value;
            if beyond { line } else { limit }
        }))
    }

    pub fn memory(&self) -> Option<&Ceiling> {
        self.for_roof(Roof::Memory).next()
    }

    /// Finds the limit of `point`; `None` if memory's ceiling is unknown.
    pub fn judge(&self, point: &Point) -> Option<Judgement<'_>> {
        let memory = self.memory()?;
        let by_memory = point.bytes_per_s / memory.value;
        let arithmetic = self.arithmetic(point);
        let by_arithmetic = arithmetic.map(|line| (line, point.flops_per_s / line.value));
        // The nearer limit decides.
        let (bound, ceiling, share, attainable) = match by_arithmetic {
            Some((line, share)) if share >= by_memory => {
                (RooflineLimit::Arithmetic, line, share, line.value)
            }
            _ => (
                RooflineLimit::Memory,
                memory,
                by_memory,
                point.intensity * memory.value,
            ),
        };
        Some(Judgement {
            bound: if share < NEAR {
                RooflineLimit::Overhead
            } else {
                bound
            },
            share,
            attainable,
            ceiling,
        })
    }
}

/// Serializes as lists by kind.
impl Serialize for Ceilings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut lists = serializer.serialize_map(Some(4))?;
        for (name, roof) in [
            ("products", Roof::Products),
            ("vector", Roof::Vector),
            ("memory", Roof::Memory),
            ("cache", Roof::Cache),
        ] {
            lists.serialize_entry(name, &self.for_roof(roof).collect::<Vec<_>>())?;
        }
        lists.end()
    }
}
