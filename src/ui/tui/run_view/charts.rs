//! Charts of the run over its steps: time, parts, loss, launches, memory, power.

use super::curves::{Chart, Curve};
use super::history::FigureHistory;
use super::state::RunState;
use crate::tui::{
    NOT_REPORTED, PARTS_OF_A_STEP, Pane, Plot, PlotAxis, PlotSeries, PlotShape, milliseconds,
};
use tinyllama_runs::Metric;

/// Step time, with the prediction if it is about the step time.
pub fn time(state: &RunState) -> Chart<'_> {
    let prediction = state.context.prediction.as_ref();
    let prediction = prediction.filter(|prediction| prediction.metric == Some(Metric::TotalMs));
    Chart {
        unit: "ms",
        offset: offset(state),
        level: prediction.map(|prediction| ("your guess", prediction.value)),
        nothing: match (&state.step, &state.phase) {
            (Some((_, step)), _) => format!(
                "Warm-up step {} took {}. The chart begins with the first measured step.",
                step.n,
                milliseconds(step.total_ms)
            ),
            (None, Some((_, phase))) => phase.message.clone(),
            (None, None) => "No step yet.".to_owned(),
        },
        ..Chart::new("step time", curve("", 0, state.times.get(&Metric::TotalMs)))
    }
}

/// Forward, backward and optimizer.
pub fn parts(state: &RunState) -> Chart<'_> {
    let parts = PARTS_OF_A_STEP.into_iter().zip(1..);
    let curves =
        parts.flat_map(|((metric, name), look)| curve(name, look, state.times.get(&metric)));
    Chart {
        unit: "ms",
        offset: offset(state),
        nothing: match state.step {
            Some(_) => "This run did not time the parts of a step apart.".to_owned(),
            None => "No step yet.".to_owned(),
        },
        ..Chart::new("parts of a step", curves)
    }
}

pub fn loss(state: &RunState) -> Chart<'_> {
    Chart {
        unit: "nats",
        from_zero: false,
        nothing: "No step yet.".to_owned(),
        ..Chart::new("loss", curve("", 3, Some(&state.loss)))
    }
}

pub fn launches(state: &RunState) -> Chart<'_> {
    let curve = curve("", 4, Some(&state.launches));
    Chart {
        nothing: reported_yet(state),
        ..Chart::new("launches by the host a step", curve)
    }
}

pub fn memory(state: &RunState) -> Chart<'_> {
    let reserved = curve("reserved", 1, Some(&state.bytes_reserved));
    let curves = reserved.chain(curve("in use", 0, Some(&state.bytes_in_use)));
    let chart = Chart::new("memory", curves);
    let ranges = chart.curves.iter();
    let greatest = ranges.filter_map(|curve| curve.history.range());
    let greatest = greatest.map(|(_, greatest)| greatest).reduce(f64::max);
    let (unit, divisor) = greatest.map_or(("", 1.0), bytes_unit);
    Chart {
        unit,
        divisor,
        nothing: reported_yet(state),
        ..chart
    }
}

/// Power of the last minutes, one point a second.
pub fn power(state: &RunState, mut pane: Pane) {
    let readings = state.gpu.readings.iter();
    let points: Vec<(f64, f64)> = readings
        .filter_map(|(t, gpu)| Some((*t, gpu.power?)))
        .collect();
    let title = "GPU power, W";
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return super::curves::empty(title, NOT_REPORTED, &mut pane);
    };
    let highest = points.iter().map(|(_, watts)| *watts).fold(0.0, f64::max);
    let source = state.gpu.source;
    let plot = Plot {
        title: source.map_or(title.to_owned(), |source| format!("{title}, from {source}")),
        x: PlotAxis::exactly(first.0, last.0, "seconds"),
        y: PlotAxis::from_zero(highest, "W"),
        series: vec![PlotSeries::new("", 5, PlotShape::Line(points))],
    };
    plot.draw(&mut pane);
}

/// A curve, if the run reported the figure at all.
fn curve<'a>(
    name: &'static str,
    look: usize,
    history: Option<&'a FigureHistory>,
) -> impl Iterator<Item = Curve<'a>> {
    let history = history.filter(|history| history.reported > 0);
    history.into_iter().map(move |history| Curve {
        name,
        look,
        history,
    })
}

/// The binary unit in which `bytes` is a small number, and the size of the unit.
fn bytes_unit(bytes: f64) -> (&'static str, f64) {
    const UNITS: [(&str, f64); 3] = [
        ("GiB", 1024.0 * 1024.0 * 1024.0),
        ("MiB", 1024.0 * 1024.0),
        ("KiB", 1024.0),
    ];
    let fits = |(_, size): &(&str, f64)| bytes >= 2.0 * size;
    UNITS.into_iter().find(fits).unwrap_or(("bytes", 1.0))
}

fn reported_yet(state: &RunState) -> String {
    match state.step {
        Some(_) => "Not reported by this backend.".to_owned(),
        None => "No step yet.".to_owned(),
    }
}

/// Number of steps before the first measured one.
fn offset(state: &RunState) -> f64 {
    state
        .start
        .map_or(0.0, |start| start.step.saturating_sub(1) as f64)
}
