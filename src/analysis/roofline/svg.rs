//! The diagram as SVG: one file, no script, no font of its own.

use std::fmt::Write;

use super::draw::{Window, letter, shown};
use super::{Bound, Ceiling, Roofline, Source};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Height of a line of the legend.
const LINE: f64 = 16.0;

/// The whole document; without a point it says so.
pub fn document(roofline: &Roofline) -> String {
    let points = shown(roofline);
    let legend = HEIGHT + LINE * (points.len() as f64 + 1.0);
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {legend}" font-family="sans-serif" font-size="12" role="img">"#
    );
    let title = format!(
        "Roofline of {} on {} ({}), products in {}",
        roofline.target, roofline.device, roofline.backend, roofline.dtype
    );
    let _ = writeln!(svg, "<title>{}</title>", escaped(&title));
    let _ = writeln!(svg, r#"<rect width="100%" height="100%" fill="white"/>"#);
    label(&mut svg, (LEFT, 24.0), "start", &title);
    let Some(window) = Window::around(roofline, &points) else {
        label(
            &mut svg,
            (LEFT, 60.0),
            "start",
            "No work was counted and timed.",
        );
        svg.push_str("</svg>\n");
        return svg;
    };
    axes(&mut svg, &window);
    ceilings(&mut svg, roofline, &window);
    for (n, point) in points.iter().enumerate() {
        let (x, y) = at(&window, point.intensity, point.flops_per_s);
        let colour = match point.bound {
            Some(Bound::Memory) => "#1b6ca8",
            Some(Bound::Arithmetic) => "#b5460f",
            Some(Bound::Overhead) => "#777777",
            None => "#222222",
        };
        let _ = writeln!(
            svg,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="5" fill="{colour}"><title>{}</title></circle>"#,
            escaped(&point.name)
        );
        label(
            &mut svg,
            (x + 7.0, y - 6.0),
            "start",
            &letter(n).to_string(),
        );
        let share = point.share.map_or(String::new(), |share| {
            format!(", {:.0} % of its limit", 100.0 * share)
        });
        let line = format!(
            "{}  {}: {:.2} FLOP/byte, {:.3} TFLOP/s, {:.3} ms{share}",
            letter(n),
            point.name,
            point.intensity,
            point.flops_per_s / 1e12,
            point.ms
        );
        label(
            &mut svg,
            (LEFT, HEIGHT + LINE * (n as f64 + 0.5)),
            "start",
            &line,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn at(window: &Window, intensity: f64, flops_per_s: f64) -> (f64, f64) {
    let (x, y) = window.place(intensity, flops_per_s);
    (
        LEFT + x * (WIDTH - LEFT - RIGHT),
        HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM),
    )
}

fn axes(svg: &mut String, window: &Window) {
    let (left, right, floor) = (LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM);
    let mut decade = window.left;
    while decade <= window.right {
        let (x, _) = at(window, 10_f64.powf(decade), 10_f64.powf(window.bottom));
        line(svg, (x, TOP), (x, floor), "#dddddd", "");
        label(svg, (x, floor + 18.0), "middle", &format!("1e{decade:.0}"));
        decade += 1.0;
    }
    let mut decade = window.bottom;
    while decade <= window.top {
        let (_, y) = at(window, 10_f64.powf(window.left), 10_f64.powf(decade));
        line(svg, (left, y), (right, y), "#dddddd", "");
        label(svg, (left - 8.0, y + 4.0), "end", &format!("1e{decade:.0}"));
        decade += 1.0;
    }
    label(
        svg,
        ((left + right) / 2.0, floor + 40.0),
        "middle",
        "FLOP/byte, counted from shapes",
    );
    label(svg, (left, TOP - 8.0), "start", "FLOP/s");
}

fn ceilings(svg: &mut String, roofline: &Roofline, window: &Window) {
    let (arithmetic, bandwidth) = roofline.ceilings.all();
    let highest = |lines: &[&Ceiling]| lines.iter().map(|line| line.value).max_by(f64::total_cmp);
    let (roof, steepest) = (highest(&arithmetic), highest(&bandwidth));
    let (leftmost, rightmost) = (10_f64.powf(window.left), 10_f64.powf(window.right));
    for ceiling in &bandwidth {
        let top = roof.unwrap_or(10_f64.powf(window.top));
        let from = leftmost.max(10_f64.powf(window.bottom) / ceiling.value);
        let to = rightmost.min(top / ceiling.value);
        if from < to {
            let start = at(window, from, from * ceiling.value);
            let end = at(window, to, to * ceiling.value);
            line(svg, start, end, "#1b6ca8", dashes(ceiling));
            let text = format!(
                "{} {:.0} GB/s ({})",
                ceiling.label,
                ceiling.value / 1e9,
                ceiling.source.name()
            );
            label(svg, (start.0 + 6.0, start.1 - 6.0), "start", &text);
        }
    }
    for ceiling in &arithmetic {
        let from = steepest.map_or(leftmost, |steepest| leftmost.max(ceiling.value / steepest));
        if from < rightmost {
            let start = at(window, from, ceiling.value);
            let end = at(window, rightmost, ceiling.value);
            line(svg, start, end, "#b5460f", dashes(ceiling));
            let text = format!(
                "{} {:.1} TFLOP/s ({})",
                ceiling.label,
                ceiling.value / 1e12,
                ceiling.source.name()
            );
            label(svg, (end.0 - 4.0, end.1 - 5.0), "end", &text);
        }
    }
}

/// Data sheets are drawn broken: nothing on this device reached them.
fn dashes(ceiling: &Ceiling) -> &'static str {
    match ceiling.source {
        Source::Measured => "",
        Source::DataSheet => r#" stroke-dasharray="6 4""#,
    }
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str, more: &str) {
    let _ = writeln!(
        svg,
        r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{colour}"{more}/>"#,
        from.0, from.1, to.0, to.1
    );
}

fn label(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
        escaped(text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
