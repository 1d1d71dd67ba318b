//! The lines of the roofline.

use serde::Serialize;

use crate::analysis::calibration::{Calibration, Level, Unit};
use crate::analysis::gpus::DataSheet;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// By `calibrate`, on this device.
    Measured,
    DataSheet,
}

impl Source {
    pub fn name(self) -> &'static str {
        match self {
            Source::Measured => "measured",
            Source::DataSheet => "data sheet",
        }
    }
}

/// A line: FLOP/s for arithmetic, bytes/s for bandwidths.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    pub label: String,
    pub value: f64,
    pub source: Source,
}

/// Every line that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ceilings {
    /// Of matrix products in the run's type; the limit for products.
    pub products: Vec<Ceiling>,
    /// Of the vector units in f32; the limit for everything else.
    pub vector: Vec<Ceiling>,
    pub memory: Vec<Ceiling>,
    pub cache: Vec<Ceiling>,
}

impl Ceilings {
    /// Lines for a run whose products take operands of `dtype` and round them as `precision` says.
    pub fn new(
        dtype: &str,
        precision: &str,
        calibration: Option<&Calibration>,
        sheet: Option<&DataSheet>,
    ) -> Self {
        let product_type = product_type(dtype, precision);
        let mut ceilings = Ceilings::default();
        if let Some(calibration) = calibration {
            let line = |label: String, value: Option<f64>| line(label, value, Source::Measured);
            ceilings.products.extend(line(
                format!("{product_type} products"),
                calibration.flops_per_s(product_type, None),
            ));
            ceilings.vector.extend(line(
                "f32 vector".into(),
                calibration.flops_per_s("f32", Some(Unit::Vector)),
            ));
            ceilings
                .memory
                .extend(line("memory".into(), calibration.bytes_per_s(Level::Cold)));
            ceilings
                .cache
                .extend(line("cache".into(), calibration.bytes_per_s(Level::Warm)));
        }
        if let Some(sheet) = sheet {
            let line = |label: String, value: Option<f64>| line(label, value, Source::DataSheet);
            ceilings.products.extend(line(
                format!("{product_type} products"),
                sheet.flops_per_s(product_type),
            ));
            ceilings
                .vector
                .extend(line("f32 vector".into(), sheet.flops_per_s("f32")));
            ceilings
                .memory
                .extend(line("memory".into(), Some(sheet.bytes_per_s())));
        }
        ceilings
    }

    pub fn is_empty(&self) -> bool {
        self.limits(true).is_none()
    }

    /// FLOP/s and bytes/s that a point is held against: measured lines where there are any. Parts of a step hold products and
    /// everything else; they are held against the products' line, the higher one.
    pub fn limits(&self, products: bool) -> Option<(f64, f64)> {
        let first = |lines: &[Ceiling]| lines.first().map(|line| line.value);
        let vector = first(&self.vector);
        let arithmetic = if products {
            first(&self.products).or(vector)
        } else {
            vector.or(first(&self.products))
        };
        arithmetic.zip(first(&self.memory))
    }

    /// Arithmetic lines, then bandwidths.
    pub fn all(&self) -> (Vec<&Ceiling>, Vec<&Ceiling>) {
        let arithmetic = self.products.iter().chain(&self.vector).collect();
        let bandwidth = self.memory.iter().chain(&self.cache).collect();
        (arithmetic, bandwidth)
    }
}

fn line(label: String, value: Option<f64>, source: Source) -> Option<Ceiling> {
    let value = value.filter(|value| value.is_finite() && *value > 0.0)?;
    Some(Ceiling {
        label,
        value,
        source,
    })
}

/// What carries out the products: an f32 run whose operands are rounded runs on the tf32 units.
pub fn product_type<'a>(dtype: &'a str, precision: &str) -> &'a str {
    if dtype == "f32" && precision.contains("tf32") {
        "tf32"
    } else {
        dtype
    }
}
