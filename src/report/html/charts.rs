//! Coordinates of a chart's parts. The drawing is 760 units wide and scales with the page. Without data there is no chart.
//! `assets/report/charts.html.jinja` draws them.

use serde_json::{Value, json};

use super::axis::LogAxis;
use tinyllama_base::shortened;

const WIDTH: f64 = 760.0;
const LABELS: f64 = 190.0;
const VALUES: f64 = 110.0;
const ROW: f64 = 24.0;
/// Characters of a label.
const MAX_LABEL: usize = 28;

/// A coordinate in tenths of a unit, and one in whole units.
fn fine(place: f64) -> String {
    format!("{place:.1}")
}

fn rounded(place: f64) -> String {
    format!("{place:.0}")
}

/// One line of a bar chart.
pub struct Bar {
    pub name: String,
    pub value: f64,
    pub plan: Option<f64>,
    pub text: String,
}

pub fn bars(bars: &[Bar]) -> Value {
    let most = bars
        .iter()
        .flat_map(|bar| [bar.value, bar.plan.unwrap_or(0.0)])
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    if bars.is_empty() || most <= 0.0 {
        return Value::Null;
    }
    let room = WIDTH - LABELS - VALUES;
    let width = |value: f64| fine((value / most * room).clamp(0.0, room));
    let row = |(row, bar): (usize, &Bar)| {
        let y = row as f64 * ROW;
        json!({
            "name": shortened(&bar.name, MAX_LABEL),
            "text": bar.text,
            "label": rounded(y + 16.0),
            "bar": fine(y + 5.0),
            "width": width(bar.value),
            "outline": fine(y + 3.0),
            "plan": bar.plan.map(width),
        })
    };
    let rows: Vec<Value> = bars.iter().enumerate().map(row).collect();
    json!({"rows": rows, "height": rounded(bars.len() as f64 * ROW + 4.0)})
}

/// One line of a chart of medians with their spread.
pub struct ChartRange {
    pub name: String,
    pub low: f64,
    pub median: f64,
    pub high: f64,
    pub text: String,
}

pub fn ranges(ranges: &[ChartRange]) -> Value {
    let good = |range: &&ChartRange| range.low > 0.0 && range.high.is_finite();
    let ranges: Vec<&ChartRange> = ranges.iter().filter(good).collect();
    let least = ranges
        .iter()
        .map(|range| range.low)
        .fold(f64::INFINITY, f64::min);
    let most = ranges.iter().map(|range| range.high).fold(0.0, f64::max);
    if ranges.is_empty() {
        return Value::Null;
    }
    let axis = LogAxis::new(least, most, LABELS + 8.0, WIDTH - VALUES - 8.0);
    let bottom = ranges.len() as f64 * ROW + 4.0;
    let tick = |(value, at): (f64, f64)| {
        let value = (value * 1e6).round() / 1e6;
        json!({"x": fine(at), "value": value.to_string()})
    };
    let row = |(row, range): (usize, &&ChartRange)| {
        let y = row as f64 * ROW + 12.0;
        json!({
            "name": shortened(&range.name, MAX_LABEL),
            "text": range.text,
            "label": rounded(y + 4.0),
            "low": fine(axis.position(range.low)),
            "median": fine(axis.position(range.median)),
            "high": fine(axis.position(range.high)),
            "y": rounded(y),
            "above": rounded(y - 8.0),
            "under": rounded(y + 8.0),
        })
    };
    json!({
        "ticks": axis.ticks().into_iter().map(tick).collect::<Vec<_>>(),
        "rows": ranges.iter().enumerate().map(row).collect::<Vec<_>>(),
        "bottom": rounded(bottom),
        "below": rounded(bottom + 14.0),
        "height": rounded(bottom + 18.0),
    })
}

pub fn curve(values: &[f64]) -> Value {
    const MOST_POINTS: usize = 200;
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let (least, most) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if values.len() < 2 || !least.is_finite() {
        return Value::Null;
    }
    let (left, right, top, bottom) = (60.0, WIDTH - 10.0, 12.0, 150.0);
    let height = |value: f64| match most - least {
        range if range > 0.0 => bottom - (value - least) / range * (bottom - top),
        _ => (top + bottom) / 2.0,
    };
    let last = (values.len() - 1) as f64;
    let points = values.iter().enumerate();
    let points = points.step_by(values.len().div_ceil(MOST_POINTS));
    let points = points.filter(|(_, value)| value.is_finite());
    let points = points.map(|(index, value)| {
        let x = left + index as f64 / last * (right - left);
        format!("{x:.1},{:.1}", height(*value))
    });
    json!({
        "most": format!("{most:.3}"),
        "least": format!("{least:.3}"),
        "steps": values.len(),
        "points": points.collect::<Vec<_>>().join(" "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_awkward_values_hold_no_nan_and_stay_inside() {
        let range = |low, median, high| ChartRange {
            name: "x".into(),
            low,
            median,
            high,
            text: "t".into(),
        };
        let drawn = ranges(&[
            range(1.0, 1.0, 1.0),
            range(0.0, 0.0, 0.0),
            range(f64::NAN, 1.0, 2.0),
        ]);
        let text = drawn.to_string();
        assert_eq!(drawn["rows"].as_array().map(Vec::len), Some(1), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        let flat = curve(&[2.0, 2.0, f64::NAN, 2.0]).to_string();
        assert!(
            flat.contains("60.0,81.0 ") && !flat.contains("NaN"),
            "{flat}"
        );
        assert_eq!(curve(&[f64::NAN, f64::NAN]), Value::Null);
        assert_eq!(bars(&[]), Value::Null);
    }
}
