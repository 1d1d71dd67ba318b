//! Ceilings of a device for a run's type of matrix products.

use crate::calibration::{Calibration, ComputeUnit, Level};
use crate::gpus::DataSheet;
use tinyllama_base::roofline::{CeilingSource, Ceilings, Roof};
use tinyllama_contract::MatrixProducts;

const VECTOR: &str = "f32 vector";
const MEMORY: &str = "memory";
const CACHE: &str = "cache";

/// Types whose arithmetic units may compute a run's products, the fastest first. If tuning chooses the rounding for each
/// shape, the fastest of them is the upper limit.
pub fn product_units<'a>(dtype: &'a str, products: &MatrixProducts) -> Vec<&'a str> {
    match products.operands() {
        Some(operands) => operands.units().to_vec(),
        None => vec![dtype],
    }
}

/// Collects measured ceilings, then those of the data sheet. `units` has the fastest type first. The result has the
/// slowest first: if a point lies above a line, the units of a later line computed it.
pub fn ceilings(
    units: &[&str],
    calibration: Option<&Calibration>,
    sheet: Option<&DataSheet>,
) -> Ceilings {
    let mut ceilings = Ceilings::default();
    let label = |name: &str| format!("{name} products");
    if let Some(kept) = calibration {
        let mut add =
            |roof, label: &str, value| ceilings.add(roof, label, value, CeilingSource::Measured);
        for name in units.iter().rev() {
            add(Roof::Products, &label(name), kept.flops_per_s(name, None));
        }
        add(
            Roof::Vector,
            VECTOR,
            kept.flops_per_s("f32", Some(ComputeUnit::Vector)),
        );
        add(Roof::Memory, MEMORY, kept.bytes_per_s(Level::Cold));
        add(Roof::Cache, CACHE, kept.bytes_per_s(Level::Warm));
    }
    if let Some(sheet) = sheet {
        let mut add =
            |roof, label: &str, value| ceilings.add(roof, label, value, CeilingSource::DataSheet);
        for name in units.iter().rev() {
            add(Roof::Products, &label(name), sheet.flops_per_s(name));
        }
        add(Roof::Vector, VECTOR, sheet.flops_per_s("f32"));
        add(Roof::Memory, MEMORY, Some(sheet.bytes_per_s()));
    }
    ceilings
}

/// Returns what a ceiling limits, by the label that [`ceilings`] gives it.
pub fn named(label: &str) -> Roof {
    match label {
        VECTOR => Roof::Vector,
        MEMORY => Roof::Memory,
        CACHE => Roof::Cache,
        _ => Roof::Products,
    }
}
