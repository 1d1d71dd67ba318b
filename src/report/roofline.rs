//! The roofline of a report: the parts of a step and their device's ceilings.

use crate::Work;
use tinyllama_analysis::roofline::{has_products, named};
use tinyllama_base::roofline::{CeilingSource, Grain};
use tinyllama_base::{Ceilings, Point, Roofline};

impl Work {
    /// Compares the parts that have a measured time with the ceilings.
    pub fn roofline(&self) -> Roofline {
        let mut ceilings = Ceilings::default();
        for line in &self.ceilings {
            let source = match line.source.as_str() {
                "measured" => CeilingSource::Measured,
                _ => CeilingSource::DataSheet,
            };
            ceilings.add(
                named(&line.label),
                line.label.as_str(),
                Some(line.value),
                source,
            );
        }
        let points = self.by_kind().into_iter().filter_map(|part| {
            let work = (part.flops, part.bytes);
            let products = has_products(&part.part);
            Point::new(part.part, Grain::Part, products, work, part.device_ms?)
        });
        Roofline::new("", "shapes, a step", ceilings, points.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{CeilingKind, CeilingLine};
    use tinyllama_contract::event::PartWork;

    /// The vector units limit parts without matrix products, in a report as everywhere.
    #[test]
    fn parts_are_held_against_the_line_of_their_own_work() {
        let line = |kind, label: &str, value| CeilingLine {
            kind,
            label: label.into(),
            value,
            source: "measured".into(),
        };
        let part = |part: &str, flops| PartWork {
            part: part.into(),
            flops,
            bytes: 1.0,
            device_ms: Some(1.0),
        };
        let work = Work {
            source: String::new(),
            flops_per_step: 2e9,
            bytes_per_step: 2.0,
            achieved_flops_per_s: None,
            parts: vec![
                part("layer 0 ffn", 1e9),
                part("norm", 1e9),
                part("loss", 0.0),
            ],
            ceilings: vec![
                line(CeilingKind::Arithmetic, "tf32 products", 4e12),
                line(CeilingKind::Arithmetic, "f32 vector", 2e12),
                line(CeilingKind::Bandwidth, "memory", 1e12),
                line(CeilingKind::Bandwidth, "cache", f64::NAN),
            ],
        };
        let roofline = work.roofline();
        let shares: Vec<Option<f64>> = roofline.points.iter().map(|point| point.share).collect();
        assert_eq!(shares, [Some(0.25), Some(0.5), Some(1e-9)]);
        assert_eq!(roofline.ceilings.iter().count(), 3);
    }
}
