//! The lines that are known of a device, for a run's type of products.

use crate::analysis::calibration::{Calibration, Level, Unit};
use crate::analysis::gpus::DataSheet;
use tinyllama_base::roofline::{Ceilings, Roof, Source};
use tinyllama_contract::MatrixProducts;

const VECTOR: &str = "f32 vector";
const MEMORY: &str = "memory";
const CACHE: &str = "cache";

/// Types whose arithmetic units may carry out the products of a run, the fastest first: where tuning decides for each shape
/// whether to round, nothing faster than the fastest of them is possible.
pub fn product_units<'a>(dtype: &'a str, products: &MatrixProducts) -> Vec<&'a str> {
    match products.operands() {
        Some(operands) => operands.units().to_vec(),
        None => vec![dtype],
    }
}

/// Measured lines, then those of the data sheet, for products on these units, which come the fastest first. The slowest line is
/// the first: what goes beyond it was carried out by the next one.
pub fn ceilings(
    units: &[&str],
    calibration: Option<&Calibration>,
    sheet: Option<&DataSheet>,
) -> Ceilings {
    let mut ceilings = Ceilings::default();
    let label = |name: &str| format!("{name} products");
    if let Some(kept) = calibration {
        let mut add = |roof, label: &str, value| ceilings.add(roof, label, value, Source::Measured);
        for name in units.iter().rev() {
            add(Roof::Products, &label(name), kept.flops_per_s(name, None));
        }
        add(
            Roof::Vector,
            VECTOR,
            kept.flops_per_s("f32", Some(Unit::Vector)),
        );
        add(Roof::Memory, MEMORY, kept.bytes_per_s(Level::Cold));
        add(Roof::Cache, CACHE, kept.bytes_per_s(Level::Warm));
    }
    if let Some(sheet) = sheet {
        let mut add =
            |roof, label: &str, value| ceilings.add(roof, label, value, Source::DataSheet);
        for name in units.iter().rev() {
            add(Roof::Products, &label(name), sheet.flops_per_s(name));
        }
        add(Roof::Vector, VECTOR, sheet.flops_per_s("f32"));
        add(Roof::Memory, MEMORY, Some(sheet.bytes_per_s()));
    }
    ceilings
}

/// What a line limits, by the name it was given above.
pub fn named(label: &str) -> Roof {
    match label {
        VECTOR => Roof::Vector,
        MEMORY => Roof::Memory,
        CACHE => Roof::Cache,
        _ => Roof::Products,
    }
}
