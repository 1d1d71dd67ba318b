//! The run over its steps: time, parts, loss, launches, memory, power.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::curves::{Curve, Frame, Span, chart, empty};
use super::state::RunState;
use crate::analysis::Metric;
use crate::tui::panels::plot::{Axis, Plot, Series, Shape};
use crate::tui::panels::text::{NOT_REPORTED, milliseconds};
use crate::tui::theme::Theme;

/// Step time, with the prediction where there is one of it.
pub fn time(state: &RunState, span: Span, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let level = state
        .context
        .prediction
        .as_ref()
        .filter(|prediction| prediction.metric == Some(Metric::TotalMs))
        .map(|prediction| ("predicted", prediction.value));
    let frame = Frame {
        what: "step time".to_owned(),
        unit: "ms",
        divisor: 1.0,
        offset: offset(state),
        times: true,
        level,
    };
    let curves = [Curve {
        name: "",
        look: 0,
        history: &state.times.total,
    }];
    if state.times.total.steps() == 0 {
        let text = match (&state.step, &state.phase) {
            (Some((_, step)), _) => format!(
                "Warm-up step {} took {}. The chart begins with the first measured step.",
                step.n,
                milliseconds(step.total_ms)
            ),
            (None, Some((_, phase))) => phase.message.clone(),
            (None, None) => "No step yet.".to_owned(),
        };
        return empty("step time, ms", &text, area, buffer, theme);
    }
    chart(frame, &curves, span, area, buffer, theme);
}

/// Forward, backward and optimizer.
pub fn parts(state: &RunState, span: Span, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let times = &state.times;
    let curves = [
        ("forward", &times.forward),
        ("backward", &times.backward),
        ("optimizer", &times.optimizer),
    ];
    let curves: Vec<Curve> = curves
        .into_iter()
        .enumerate()
        .filter(|(_, (_, history))| history.reported() > 0)
        .map(|(at, (name, history))| Curve {
            name,
            look: at + 1,
            history,
        })
        .collect();
    if curves.is_empty() {
        let text = "This run did not time the parts of a step apart.";
        return empty("parts of a step, ms", text, area, buffer, theme);
    }
    let frame = Frame {
        what: "parts of a step".to_owned(),
        unit: "ms",
        divisor: 1.0,
        offset: offset(state),
        times: true,
        level: None,
    };
    chart(frame, &curves, span, area, buffer, theme);
}

pub fn loss(state: &RunState, span: Span, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let frame = Frame {
        what: "loss".to_owned(),
        unit: "nats",
        divisor: 1.0,
        offset: 0.0,
        times: false,
        level: None,
    };
    let curves = [Curve {
        name: "",
        look: 3,
        history: &state.loss,
    }];
    if state.loss.reported() == 0 {
        return empty("loss, nats", "No step yet.", area, buffer, theme);
    }
    chart(frame, &curves, span, area, buffer, theme);
}

pub fn launches(state: &RunState, span: Span, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    if state.launches.reported() == 0 {
        let title = "launches by the host a step";
        return empty(title, reported_yet(state), area, buffer, theme);
    }
    let frame = Frame {
        what: "launches by the host a step".to_owned(),
        unit: "",
        divisor: 1.0,
        offset: 0.0,
        times: true,
        level: None,
    };
    let curves = [Curve {
        name: "",
        look: 4,
        history: &state.launches,
    }];
    chart(frame, &curves, span, area, buffer, theme);
}

pub fn memory(state: &RunState, span: Span, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let curves = [
        ("reserved", 1, &state.bytes_reserved),
        ("in use", 0, &state.bytes_in_use),
    ];
    let curves: Vec<Curve> = curves
        .into_iter()
        .filter(|(_, _, history)| history.reported() > 0)
        .map(|(name, look, history)| Curve {
            name,
            look,
            history,
        })
        .collect();
    let greatest = curves
        .iter()
        .filter_map(|curve| curve.history.range())
        .map(|(_, greatest)| greatest)
        .fold(0.0, f64::max);
    if curves.is_empty() {
        return empty("device memory", reported_yet(state), area, buffer, theme);
    }
    let (unit, divisor) = bytes_unit(greatest);
    let frame = Frame {
        what: "device memory".to_owned(),
        unit,
        divisor,
        offset: 0.0,
        times: true,
        level: None,
    };
    chart(frame, &curves, span, area, buffer, theme);
}

/// Power over the last minutes, by the second.
pub fn power(state: &RunState, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let points: Vec<(f64, f64)> = state
        .gpu
        .readings()
        .filter_map(|(t, gpu)| Some((*t, gpu.power?)))
        .collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return empty("GPU power, W", NOT_REPORTED, area, buffer, theme);
    };
    let highest = points.iter().map(|(_, watts)| *watts).fold(0.0, f64::max);
    Plot {
        title: match state.gpu.source() {
            Some(source) => format!("GPU power, W, from {source}"),
            None => "GPU power, W".to_owned(),
        },
        x: Axis::exactly(first.0, last.0, "seconds"),
        y: Axis::from_zero(highest, "W"),
        series: vec![Series {
            name: String::new(),
            look: 5,
            shape: Shape::Line(points),
        }],
    }
    .render(area, buffer, theme);
}

/// Binary unit in which `bytes` is a small number, and its size.
pub fn bytes_unit(bytes: f64) -> (&'static str, f64) {
    const UNITS: [(&str, f64); 4] = [
        ("GiB", 1024.0 * 1024.0 * 1024.0),
        ("MiB", 1024.0 * 1024.0),
        ("KiB", 1024.0),
        ("bytes", 1.0),
    ];
    UNITS
        .into_iter()
        .find(|(_, size)| bytes >= 2.0 * size)
        .unwrap_or(("bytes", 1.0))
}

fn reported_yet(state: &RunState) -> &'static str {
    if state.step.is_some() {
        "Not reported by this backend."
    } else {
        "No step yet."
    }
}

/// Steps before the first measured one.
fn offset(state: &RunState) -> f64 {
    state
        .start
        .map_or(0.0, |start| start.step.saturating_sub(1) as f64)
}
