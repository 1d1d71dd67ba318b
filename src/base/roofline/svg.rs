//! The diagram as SVG without scripts or fonts, as a separate file or as a part of a page.

use super::{CeilingSource, RooflineLimit};
use crate::{
    HtmlWriter as Text, Point, Roofline, RooflinePicture, Share, milliseconds, percent, rate,
};

/// Width in units of the drawing.
pub const WIDTH: f64 = 760.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = WIDTH - 200.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 400.0;
/// Height of a line of text.
const LINE: f64 = 15.0;
/// Width of a ceiling's label and of a letter.
const CEILING: f64 = 150.0;
const LETTER: f64 = 10.0;

/// The page's style sheet defines classes with these names, too.
const STYLE: &str = "text { font: 12px sans-serif; } .axis { stroke: #ddd; } .roof { stroke: #333; stroke-width: 1.5; } \
     .sheet { stroke-dasharray: 6 4; } .dot { fill: #222; } .memory { fill: #1b6ca8; } .arithmetic { fill: #b5460f; } \
     .neither { fill: #777; }";

/// Renders the whole document; without any point it contains a sentence that says so.
pub fn document(roofline: &Roofline) -> String {
    let title = Text(&roofline.title);
    let (height, drawing) = match roofline.picture() {
        Some(picture) => drawing(&picture),
        None => (
            60.0,
            text((LEFT, 44.0), "start", "No work was counted and timed."),
        ),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{}{drawing}</svg>\n",
        text((LEFT, 14.0), "start", &roofline.title)
    )
}

/// Returns the height and the elements: axes, ceilings, points by letter, and a legend.
pub fn drawing(picture: &RooflinePicture<'_>) -> (f64, String) {
    let mut out = axes(picture);
    let mut labels = Vec::new();
    for (ceiling, from, to) in &picture.lines {
        let (from, to) = (pixel(picture, *from), pixel(picture, *to));
        // Dashed lines mark data sheet values, because nothing on this device reached them.
        let class = match ceiling.source {
            CeilingSource::Measured => "roof",
            CeilingSource::DataSheet => "roof sheet",
        };
        out.push_str(&line(class, from, to, &ceiling.to_string()));
        let (x, y) = match ceiling.roof.is_arithmetic() {
            true => (RIGHT + 4.0, to.1 + 4.0),
            false => (from.0 + 10.0, from.1),
        };
        let y = free(&mut labels, x, y, CEILING);
        out.push_str(&text((x, y), "start", &ceiling.to_string()));
    }
    let mut y = BOTTOM + 40.0;
    for (letter, point) in &picture.points {
        let (cx, cy) = pixel(picture, (point.intensity, point.flops_per_s));
        let bound = point
            .bound
            .map_or(String::new(), |bound: RooflineLimit| format!(" {bound}"));
        out.push_str(&format!(
            "<circle class=\"dot{bound}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"5\"><title>{}</title></circle>\n",
            Text(&point.name)
        ));
        let beside = free(&mut labels, cx + 8.0, cy + 4.0, LETTER);
        out.push_str(&text((cx + 8.0, beside), "start", &letter.to_string()));
        out.push_str(&text((LEFT, y), "start", &point_text(*letter, point)));
        y += LINE;
    }
    (y, out)
}

fn point_text(letter: char, point: &Point) -> String {
    let share = point.share.map_or(String::new(), |share| {
        format!(", {} of its limit", percent(Share(share)))
    });
    let rate = rate(point.flops_per_s, "FLOP");
    format!(
        "{letter}  {}: {:.2} FLOP/byte, {rate}, {}{share}",
        point.name,
        point.intensity,
        milliseconds(point.ms)
    )
}

fn pixel(picture: &RooflinePicture<'_>, place: (f64, f64)) -> (f64, f64) {
    let (x, y) = picture.coordinates(place);
    (LEFT + x * (RIGHT - LEFT), BOTTOM - y * (BOTTOM - TOP))
}

fn axes(picture: &RooflinePicture<'_>) -> String {
    let decades = |(low, high): (f64, f64)| {
        (low as i32..=high as i32).map(|decade| (decade, 10_f64.powi(decade)))
    };
    let corner = (10_f64.powf(picture.x.0), 10_f64.powf(picture.y.0));
    let mut out = String::new();
    for (decade, value) in decades(picture.x) {
        let (x, _) = pixel(picture, (value, corner.1));
        out.push_str(&line("axis", (x, TOP), (x, BOTTOM), ""));
        out.push_str(&text((x, BOTTOM + 14.0), "middle", &format!("1e{decade}")));
    }
    for (decade, value) in decades(picture.y) {
        let (_, y) = pixel(picture, (corner.0, value));
        out.push_str(&line("axis", (LEFT, y), (RIGHT, y), ""));
        out.push_str(&text((LEFT - 6.0, y + 4.0), "end", &format!("1e{decade}")));
    }
    out.push_str(&text((RIGHT + 4.0, BOTTOM + 14.0), "start", "FLOP/byte"));
    out.push_str(&text((LEFT - 6.0, TOP - 8.0), "end", "FLOP/s"));
    out
}

/// Moves a label down if it would lie on another one.
fn free(labels: &mut Vec<(f64, f64)>, x: f64, mut y: f64, length: f64) -> f64 {
    labels.sort_by(|a, b| a.1.total_cmp(&b.1));
    for (other, taken) in &*labels {
        if (other - x).abs() < length && (taken - y).abs() < LINE {
            y = taken + LINE;
        }
    }
    labels.push((x, y));
    y
}

fn line(class: &str, from: (f64, f64), to: (f64, f64), title: &str) -> String {
    format!(
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"><title>{}</title></line>\n",
        from.0,
        from.1,
        to.0,
        to.1,
        Text(title)
    )
}

fn text((x, y): (f64, f64), anchor: &str, text: &str) -> String {
    format!(
        "<text class=\"label\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
        Text(text)
    )
}
