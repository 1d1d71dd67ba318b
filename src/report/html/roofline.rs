//! The roofline of a report: parts of a step under the lines of their device.

use super::axis::LogAxis;
use super::charts::{WIDTH, figure, short};
use super::markup::Text;
use crate::report::document::{Ceiling, CeilingKind};
use crate::report::words;

const LEFT: f64 = 96.0;
const RIGHT: f64 = WIDTH - 176.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 300.0;

/// FLOP per byte and FLOP/s.
pub struct Point {
    pub name: String,
    pub intensity: f64,
    pub rate: f64,
}

impl Point {
    fn can_be_drawn(&self) -> bool {
        [self.intensity, self.rate]
            .iter()
            .all(|value| value.is_finite() && *value > 0.0)
    }
}

/// Arithmetic intensity against the rate that was reached, both logarithmic; nothing without a point.
pub fn chart(
    id: &str,
    title: &str,
    description: &str,
    points: &[Point],
    ceilings: &[Ceiling],
) -> String {
    let mut points: Vec<&Point> = points.iter().filter(|point| point.can_be_drawn()).collect();
    if points.is_empty() {
        return String::new();
    }
    let window = Window::around(&points, ceilings);
    let mut out = window.grid();
    window.bandwidths(&mut out);
    window.arithmetic(&mut out);
    points.sort_by(|a, b| b.rate.total_cmp(&a.rate));
    let mut labels: Vec<(f64, f64)> = Vec::new();
    for point in points {
        let (px, py) = (window.x.at(point.intensity), window.y.at(point.rate));
        let text = free_place(&labels, px, py + 4.0);
        labels.push((px, text));
        out.push_str(&format!(
            "<circle class=\"dot\" cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"5\"/><text x=\"{:.1}\" y=\"{text:.1}\">{}</text>",
            px + 9.0,
            Text(&short(&point.name))
        ));
    }
    let lowest = labels.iter().map(|(_, y)| *y).fold(BOTTOM, f64::max);
    let height = (BOTTOM + 22.0).max(lowest + 10.0);
    figure(id, title, description, height, &out)
}

/// Labels stand beside their points; one that would lie on another moves down.
fn free_place(labels: &[(f64, f64)], x: f64, mut y: f64) -> f64 {
    const LENGTH: f64 = 110.0;
    const LINE: f64 = 13.0;
    let mut others: Vec<f64> = labels
        .iter()
        .filter(|(other, _)| (other - x).abs() < LENGTH)
        .map(|(_, y)| *y)
        .collect();
    others.sort_by(f64::total_cmp);
    for other in others {
        if (other - y).abs() < LINE {
            y = other + LINE;
        }
    }
    y
}

/// The axes and what limits the points in them.
struct Window<'a> {
    x: LogAxis,
    y: LogAxis,
    arithmetic: Vec<&'a Ceiling>,
    bandwidth: Vec<&'a Ceiling>,
}

impl<'a> Window<'a> {
    /// Shows every point, the arithmetic lines, and where the first bandwidth meets them.
    fn around(points: &[&Point], ceilings: &'a [Ceiling]) -> Self {
        let of = |kind| -> Vec<&Ceiling> {
            let usable =
                |line: &&Ceiling| line.kind == kind && line.value.is_finite() && line.value > 0.0;
            ceilings.iter().filter(usable).collect()
        };
        let (arithmetic, bandwidth) = (of(CeilingKind::Arithmetic), of(CeilingKind::Bandwidth));
        let (least, mut most) = bounds(points.iter().map(|point| point.intensity));
        let (slowest, mut fastest) = bounds(points.iter().map(|point| point.rate));
        if let Some(roof) = highest(&arithmetic) {
            fastest = fastest.max(roof);
            most = bandwidth
                .first()
                .map_or(most, |line| most.max(2.0 * roof / line.value));
        }
        Self {
            x: LogAxis::new(least, most, LEFT, RIGHT),
            y: LogAxis::new(slowest, fastest, BOTTOM - 8.0, TOP),
            arithmetic,
            bandwidth,
        }
    }

    fn grid(&self) -> String {
        let mut out = self.x.grid(TOP, BOTTOM, "FLOP/byte");
        for (value, at) in self.y.ticks() {
            out.push_str(&format!(
                "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"label\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                giga(value)
            ));
        }
        out
    }

    /// Slanted: twice the work a byte, twice the rate.
    fn bandwidths(&self, out: &mut String) {
        let (left, right) = self.x.range();
        let (bottom, top) = self.y.range();
        let roof = highest(&self.arithmetic).unwrap_or(top);
        for line in &self.bandwidth {
            let (from, to) = (left.max(bottom / line.value), right.min(roof / line.value));
            if from < to {
                let end = |x: f64| (self.x.at(x), self.y.at(x * line.value));
                draw(out, line, end(from), end(to));
            }
        }
    }

    /// Level, from where the fastest memory would feed it.
    fn arithmetic(&self, out: &mut String) {
        let (left, right) = self.x.range();
        let feeds = highest(&self.bandwidth);
        let mut lowest = f64::NEG_INFINITY;
        let mut lines = self.arithmetic.clone();
        lines.sort_by(|a, b| b.value.total_cmp(&a.value));
        for line in lines {
            let from = feeds.map_or(left, |feeds| left.max(line.value / feeds));
            if from >= right {
                continue;
            }
            let y = self.y.at(line.value);
            draw(out, line, (self.x.at(from), y), (RIGHT, y));
            let text = (y + 4.0).max(lowest + 12.0);
            lowest = text;
            out.push_str(&format!(
                "<text class=\"label\" x=\"{:.0}\" y=\"{text:.1}\">{}</text>",
                RIGHT + 4.0,
                Text(&short(&format!("{}, {}", line.label, line.source)))
            ));
        }
    }
}

/// A data sheet's line is broken: nothing on this device reached it. Its figures are its title.
fn draw(out: &mut String, line: &Ceiling, from: (f64, f64), to: (f64, f64)) {
    let class = match line.source.as_str() {
        "measured" => "roof",
        _ => "roof sheet",
    };
    out.push_str(&format!(
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"><title>{}</title></line>",
        from.0,
        from.1,
        to.0,
        to.1,
        Text(&words::ceiling(line))
    ));
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

fn highest(lines: &[&Ceiling]) -> Option<f64> {
    lines.iter().map(|line| line.value).max_by(f64::total_cmp)
}

fn giga(value: f64) -> String {
    match value {
        value if value >= 1e12 => format!("{} TFLOP/s", value / 1e12),
        value if value >= 1e9 => format!("{} GFLOP/s", value / 1e9),
        value => format!("{} MFLOP/s", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(intensity: f64, rate: f64) -> Point {
        Point {
            name: "<x>".into(),
            intensity,
            rate,
        }
    }

    fn line(kind: CeilingKind, value: f64, source: &str) -> Ceiling {
        Ceiling {
            kind,
            label: "line".into(),
            value,
            source: source.into(),
        }
    }

    #[test]
    fn without_a_point_that_can_be_drawn_there_is_no_chart() {
        assert_eq!(chart("p", "T", "D", &[point(0.0, 1.0)], &[]), "");
        assert_eq!(chart("p", "T", "D", &[point(1.0, f64::NAN)], &[]), "");
        let drawn = chart("p", "T", "D", &[point(1.0, 1e9)], &[]);
        assert!(drawn.contains("dot") && !drawn.contains("<x>"), "{drawn}");
    }

    /// The slanted line meets the level one at the ridge, inside the drawing.
    #[test]
    fn memory_and_arithmetic_meet_at_the_ridge() {
        let lines = [
            line(CeilingKind::Arithmetic, 1e14, "measured"),
            line(CeilingKind::Bandwidth, 4e12, "measured"),
            line(CeilingKind::Arithmetic, 2e14, "data sheet"),
            line(CeilingKind::Bandwidth, f64::NAN, "data sheet"),
        ];
        let points = [point(0.1, 1e11)];
        let window = Window::around(&points.iter().collect::<Vec<_>>(), &lines);
        let ridge = window.x.at(1e14 / 4e12);
        assert!((LEFT..RIGHT).contains(&ridge), "{ridge}");
        let drawn = chart("p", "T", "D", &points, &lines);
        let level = drawn.find(&format!(
            "x1=\"{ridge:.1}\" y1=\"{:.1}\"",
            window.y.at(1e14)
        ));
        assert!(level.is_some(), "{drawn}");
        assert_eq!(drawn.matches("class=\"roof\"").count(), 2, "{drawn}");
        assert_eq!(drawn.matches("class=\"roof sheet\"").count(), 1, "{drawn}");
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    }
}
