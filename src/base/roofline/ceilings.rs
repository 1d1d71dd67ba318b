//! The lines of the roofline, and which of them a point is held against.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Bound, NEAR};
use crate::{Point, rate};

/// What a line limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roof {
    /// FLOP/s of matrix products.
    Products,
    /// FLOP/s of everything else.
    Vector,
    /// Bytes/s of memory.
    Memory,
    /// Bytes/s of what stays in a cache. It limits nothing: bytes are counted as if each came from memory.
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
    pub enum Source {
        /// On this device.
        Measured = "measured",
        /// What the maker promises.
        DataSheet = "data sheet",
    }
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    #[serde(skip)]
    pub roof: Roof,
    pub label: String,
    /// FLOP/s or bytes/s.
    pub value: f64,
    pub source: Source,
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

/// Every line that is known; of each kind the first one counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ceilings(Vec<Ceiling>);

/// A point against the ceiling it is nearest to.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement<'a> {
    pub bound: Bound,
    /// Share of the limit that was reached.
    pub share: f64,
    /// FLOP/s that the limit allows.
    pub attainable: f64,
    pub ceiling: &'a Ceiling,
}

impl Ceilings {
    /// Adds a line below those of its kind; what is no rate is passed over.
    pub fn add(
        &mut self,
        roof: Roof,
        label: impl Into<String>,
        value: Option<f64>,
        source: Source,
    ) {
        let value = value.filter(|value| value.is_finite() && *value > 0.0);
        self.0.extend(value.map(|value| Ceiling {
            roof,
            label: label.into(),
            value,
            source,
        }));
    }

    /// Lines of arithmetic, then those of memory and caches.
    pub fn iter(&self) -> impl Iterator<Item = &Ceiling> {
        let of = |arithmetic| move |line: &&Ceiling| line.roof.is_arithmetic() == arithmetic;
        self.0
            .iter()
            .filter(of(true))
            .chain(self.0.iter().filter(of(false)))
    }

    pub fn of(&self, roof: Roof) -> impl Iterator<Item = &Ceiling> {
        self.0.iter().filter(move |line| line.roof == roof)
    }

    /// The line of arithmetic that limits `point`: of its own kind where that is known. What goes beyond the first line of
    /// several was carried out by faster units of that kind.
    fn arithmetic(&self, point: &Point) -> Option<&Ceiling> {
        let (own, other) = match point.products {
            true => (Roof::Products, Roof::Vector),
            false => (Roof::Vector, Roof::Products),
        };
        let mut lines = self.of(own).chain(self.of(other));
        let first = lines.next()?;
        let faster = lines.filter(|line| (line.roof, line.source) == (first.roof, first.source));
        Some(faster.fold(first, |limit, line| {
            let beyond = point.flops_per_s > limit.value && line.value > limit.value;
            if beyond { line } else { limit }
        }))
    }

    pub fn memory(&self) -> Option<&Ceiling> {
        self.of(Roof::Memory).next()
    }

    /// What limits `point`; none where memory's ceiling is not known.
    pub fn judge(&self, point: &Point) -> Option<Judgement<'_>> {
        let memory = self.memory()?;
        let by_memory = point.bytes_per_s / memory.value;
        let arithmetic = self.arithmetic(point);
        let by_arithmetic = arithmetic.map(|line| (line, point.flops_per_s / line.value));
        // The nearer limit is the one that binds.
        let (bound, ceiling, share, attainable) = match by_arithmetic {
            Some((line, share)) if share >= by_memory => {
                (Bound::Arithmetic, line, share, line.value)
            }
            _ => (
                Bound::Memory,
                memory,
                by_memory,
                point.intensity * memory.value,
            ),
        };
        Some(Judgement {
            bound: if share < NEAR { Bound::Overhead } else { bound },
            share,
            attainable,
            ceiling,
        })
    }
}

/// Lists by kind.
impl Serialize for Ceilings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut lists = serializer.serialize_map(Some(4))?;
        for (name, roof) in [
            ("products", Roof::Products),
            ("vector", Roof::Vector),
            ("memory", Roof::Memory),
            ("cache", Roof::Cache),
        ] {
            lists.serialize_entry(name, &self.of(roof).collect::<Vec<_>>())?;
        }
        lists.end()
    }
}
