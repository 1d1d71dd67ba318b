//! Charts as inline SVG, each with a title and a description for those who cannot see it; the tables beside them hold the figures.

use super::axis::LogAxis;
use crate::base::foreign::Html as Text;

/// Units of the drawing; it scales with the page.
pub(super) const WIDTH: f64 = 760.0;
const LABELS: f64 = 190.0;
const VALUES: f64 = 110.0;
const ROW: f64 = 24.0;

pub(super) fn figure(
    id: &str,
    title: &str,
    description: &str,
    height: f64,
    drawing: &str,
) -> String {
    format!(
        "<figure>\n<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
         <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>\n{drawing}</svg>\n\
         <figcaption>{title}. {description}</figcaption>\n</figure>\n",
        title = Text(title),
        description = Text(description),
    )
}

/// A label short enough for its column.
pub(super) fn short(label: &str) -> String {
    const MOST: usize = 28;
    if label.chars().count() <= MOST {
        return label.to_string();
    }
    label.chars().take(MOST - 1).chain(['…']).collect()
}

fn label(out: &mut String, row: usize, name: &str, value: &str) {
    let y = row as f64 * ROW + 16.0;
    out.push_str(&format!("<text x=\"0\" y=\"{y:.0}\">{}</text><text x=\"{WIDTH}\" y=\"{y:.0}\" text-anchor=\"end\">{}</text>",
        Text(&short(name)),
        Text(value)
    ));
}

/// One line of a bar chart.
pub struct Bar {
    pub name: String,
    pub value: f64,
    /// Drawn as an outline around the bar, such as a plan.
    pub plan: Option<f64>,
    pub text: String,
}

/// Horizontal bars from zero.
pub fn bars(id: &str, title: &str, description: &str, bars: &[Bar]) -> String {
    let most = bars
        .iter()
        .flat_map(|bar| [bar.value, bar.plan.unwrap_or(0.0)])
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    if bars.is_empty() || most <= 0.0 {
        return String::new();
    }
    let room = WIDTH - LABELS - VALUES;
    let mut out = String::new();
    for (row, bar) in bars.iter().enumerate() {
        let y = row as f64 * ROW + 5.0;
        let width = |value: f64| (value / most * room).clamp(0.0, room);
        label(&mut out, row, &bar.name, &bar.text);
        out.push_str(&format!(
            "<rect class=\"bar\" x=\"{LABELS}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"14\"/>",
            width(bar.value)
        ));
        if let Some(plan) = bar.plan {
            out.push_str(&format!(
                "<rect class=\"plan\" x=\"{LABELS}\" y=\"{:.1}\" width=\"{:.1}\" height=\"18\"/>",
                y - 2.0,
                width(plan)
            ));
        }
        out.push('\n');
    }
    figure(id, title, description, bars.len() as f64 * ROW + 4.0, &out)
}

/// One line of a chart of medians with their spread.
pub struct Range {
    pub name: String,
    pub low: f64,
    pub median: f64,
    pub high: f64,
    pub text: String,
}

/// Medians as ticks on the range around them, on a logarithmic axis: equal distances are equal ratios.
pub fn ranges(id: &str, title: &str, description: &str, ranges: &[Range]) -> String {
    let good = |range: &&Range| range.low > 0.0 && range.high.is_finite();
    let ranges: Vec<&Range> = ranges.iter().filter(good).collect();
    let least = ranges
        .iter()
        .map(|range| range.low)
        .fold(f64::INFINITY, f64::min);
    let most = ranges.iter().map(|range| range.high).fold(0.0, f64::max);
    if ranges.is_empty() {
        return String::new();
    }
    let axis = LogAxis::new(least, most, LABELS + 8.0, WIDTH - VALUES - 8.0);
    let bottom = ranges.len() as f64 * ROW + 4.0;
    let mut out = axis.grid(0.0, bottom, "ms");
    for (row, range) in ranges.iter().enumerate() {
        let y = row as f64 * ROW + 12.0;
        label(&mut out, row, &range.name, &range.text);
        let (low, median, high) = (
            axis.at(range.low),
            axis.at(range.median),
            axis.at(range.high),
        );
        out.push_str(&format!("<line class=\"range\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{y}\" y2=\"{y}\"/>\
             <line class=\"median\" x1=\"{median:.1}\" x2=\"{median:.1}\" y1=\"{:.0}\" y2=\"{:.0}\"/>",
            y - 8.0,
            y + 8.0
        ));
    }
    figure(id, title, description, bottom + 18.0, &out)
}

/// A line over the steps of a run.
pub fn curve(id: &str, title: &str, description: &str, values: &[f64]) -> String {
    const MOST_POINTS: usize = 200;
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let (least, most) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if values.len() < 2 || !least.is_finite() {
        return String::new();
    }
    let (left, right, top, bottom) = (60.0, WIDTH - 10.0, 12.0, 150.0);
    let height = |value: f64| match most - least {
        range if range > 0.0 => bottom - (value - least) / range * (bottom - top),
        _ => (top + bottom) / 2.0,
    };
    let stride = values.len().div_ceil(MOST_POINTS);
    let last = (values.len() - 1) as f64;
    let mut path = String::new();
    for (index, value) in values
        .iter()
        .enumerate()
        .step_by(stride)
        .filter(|(_, value)| value.is_finite())
    {
        let x = left + index as f64 / last * (right - left);
        path.push_str(&format!("{x:.1},{:.1} ", height(*value)));
    }
    let drawing = format!(
        "<line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\
         <text class=\"label\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{most:.3}</text>\
         <text class=\"label\" x=\"{:.0}\" y=\"{bottom}\" text-anchor=\"end\">{least:.3}</text>\
         <text class=\"label\" x=\"{right}\" y=\"{:.0}\" text-anchor=\"end\">step {}</text>\
         <polyline class=\"line\" points=\"{}\"/>",
        left - 6.0,
        top + 8.0,
        left - 6.0,
        bottom + 16.0,
        values.len(),
        path.trim_end()
    );
    figure(id, title, description, bottom + 22.0, &drawing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_awkward_values_hold_no_nan_and_stay_inside() {
        let range = |low, median, high| Range {
            name: "<x>".into(),
            low,
            median,
            high,
            text: "t".into(),
        };
        let drawn = ranges(
            "r",
            "T",
            "D",
            &[
                range(1.0, 1.0, 1.0),
                range(0.0, 0.0, 0.0),
                range(f64::NAN, 1.0, 2.0),
            ],
        );
        assert!(
            drawn.contains("<svg") && !drawn.contains("NaN") && !drawn.contains("inf"),
            "{drawn}"
        );
        assert!(!drawn.contains("<x>"));
        let flat = curve("c", "T", "D", &[2.0, 2.0, f64::NAN, 2.0]);
        assert!(flat.contains("polyline") && !flat.contains("NaN"), "{flat}");
        assert_eq!(curve("c", "T", "D", &[f64::NAN, f64::NAN]), "");
        assert_eq!(bars("b", "T", "D", &[]), "");
    }
}
