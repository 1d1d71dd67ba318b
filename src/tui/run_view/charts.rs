//! The run over its steps: time, parts, loss, launches, memory, power.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::history::{Bucket, History};
use super::state::RunState;
use crate::analysis::Metric;
use crate::tui::panels::plot::{Axis, Plot, Series, Shape};
use crate::tui::panels::text::{NOT_REPORTED, milliseconds, paragraph, put};
use crate::tui::theme::Theme;

/// Which steps a chart shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// The latest, one by one, as many as there is room for.
    #[default]
    Recent,
    /// All, put together where there is no room: the middle, and a band from least to greatest.
    Whole,
}

/// Times above so many medians are outside the picture; the title tells of them.
const HIGHEST: f64 = 3.0;

/// One curve of a chart.
struct Curve<'a> {
    name: &'static str,
    look: usize,
    history: &'a History,
}

/// What all curves of a chart have in common.
struct Frame {
    what: String,
    unit: &'static str,
    /// Shown values are measured ones divided by this.
    divisor: f64,
    /// Steps before the first one of the histories.
    offset: f64,
    /// Whether the axis begins at zero and leaves outliers out.
    times: bool,
    /// A level to hold the curve against, with its name.
    level: Option<(&'static str, f64)>,
}

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

fn empty(title: &str, text: &str, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let title = Line::styled(title.to_owned(), theme.emphasis());
    let lines = [title]
        .into_iter()
        .chain(paragraph(text, area.width, theme.muted()));
    put(lines, area, buffer);
}

fn chart(
    frame: Frame,
    curves: &[Curve],
    span: Span,
    area: Rect,
    buffer: &mut Buffer,
    theme: &Theme,
) {
    // The gutter and its axis take some columns; a little too many steps only make the curve denser.
    let columns = usize::from(area.width).saturating_sub(6).max(8);
    let room = if theme.glyphs.unicode {
        2 * columns
    } else {
        columns
    };
    let drawn: Vec<Drawn> = curves
        .iter()
        .map(|curve| Drawn::of(curve, &frame, span, room))
        .collect();
    let extreme = |pick: fn(f64, f64) -> f64, of: fn(&(f64, Bucket)) -> f64| {
        let values = drawn.iter().flat_map(|drawn| drawn.buckets.iter().map(of));
        values.reduce(pick)
    };
    let (Some(least), Some(greatest)) = (
        extreme(f64::min, |(_, bucket)| bucket.min),
        extreme(f64::max, |(_, bucket)| bucket.max),
    ) else {
        return empty(&frame.title(span, 0), NOT_REPORTED, area, buffer, theme);
    };
    let mut title = frame.title(
        span,
        drawn.iter().map(|drawn| drawn.steps).max().unwrap_or(0),
    );
    let y = if frame.times {
        let middle = drawn.iter().filter_map(Drawn::median).fold(0.0, f64::max);
        let level = frame.level.map_or(0.0, |(_, level)| level);
        let top = greatest.max(level.min(2.0 * greatest));
        let limit = HIGHEST * middle.max(level.min(greatest));
        if greatest > limit && limit > 0.0 {
            title.push_str(&format!(
                ", up to {}",
                match frame.unit {
                    "ms" => milliseconds(greatest),
                    unit => format!("{greatest:.0} {unit}"),
                }
            ));
            Axis::from_zero(limit, frame.unit)
        } else {
            Axis::from_zero(top, frame.unit)
        }
    } else {
        Axis::around(least, greatest, frame.unit)
    };
    let ends = drawn.iter().flat_map(|drawn| [drawn.first, drawn.last]);
    let first = ends.clone().fold(f64::INFINITY, f64::min);
    let last = ends.fold(f64::NEG_INFINITY, f64::max);
    let x = Axis::exactly(first, last, "step");
    let mut series = Vec::new();
    if let Some((name, level)) = frame.level {
        series.push(Series {
            name: name.to_owned(),
            look: 1,
            shape: Shape::Line(vec![(x.low, level), (x.high, level)]),
        });
    }
    for drawn in drawn {
        series.extend(drawn.series(y.high, columns));
    }
    Plot {
        title,
        x,
        y,
        series,
    }
    .render(area, buffer, theme);
}

impl Frame {
    fn title(&self, span: Span, steps: usize) -> String {
        let unit = match self.unit {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        let of = match span {
            Span::Recent => format!("last {steps} steps"),
            Span::Whole => "whole run".to_owned(),
        };
        format!("{}{unit}: {of}", self.what)
    }
}

/// A curve, ready for the picture.
struct Drawn {
    name: &'static str,
    look: usize,
    buckets: Vec<(f64, Bucket)>,
    /// Whether each bucket is a single step.
    single: bool,
    first: f64,
    last: f64,
    steps: usize,
}

impl Drawn {
    fn of(curve: &Curve, frame: &Frame, span: Span, room: usize) -> Self {
        let scaled = |bucket: Bucket| Bucket {
            count: bucket.count,
            min: bucket.min / frame.divisor,
            max: bucket.max / frame.divisor,
            middle: bucket.middle / frame.divisor,
        };
        let one = |value: f64| Bucket {
            count: 1,
            min: value,
            max: value,
            middle: value,
        };
        let history = curve.history;
        let steps = history.steps() as usize;
        let (buckets, first, shown): (Vec<(f64, Bucket)>, f64, usize) = match span {
            Span::Recent => {
                let shown: Vec<(f64, Option<f64>)> = history.recent(room).collect();
                let first = shown.first().map_or(1.0, |(place, _)| *place);
                let values = shown.iter();
                let values = values.filter_map(|(place, value)| Some((*place, one((*value)?))));
                (values.collect(), first, shown.len())
            }
            // One bucket a column of the screen: the band is drawn in whole characters.
            Span::Whole => (history.whole(room / 2), 1.0, steps),
        };
        Drawn {
            name: curve.name,
            look: curve.look,
            single: buckets.iter().all(|(_, bucket)| bucket.count <= 1),
            buckets: buckets
                .into_iter()
                .map(|(place, bucket)| (place + frame.offset, scaled(bucket)))
                .collect(),
            first: first + frame.offset,
            last: steps as f64 + frame.offset,
            steps: shown,
        }
    }

    fn median(&self) -> Option<f64> {
        let mut values: Vec<f64> = self
            .buckets
            .iter()
            .map(|(_, bucket)| bucket.middle)
            .collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }

    /// What is above `top` is drawn at its edge.
    fn series(self, top: f64, columns: usize) -> Vec<Series> {
        let mut series = Vec::new();
        if !self.single {
            series.push(Series {
                name: String::new(),
                look: self.look,
                shape: Shape::Band(self.band(top, columns)),
            });
        }
        let points = self.buckets.iter();
        series.push(Series {
            name: self.name.to_owned(),
            look: self.look,
            shape: Shape::Line(
                points
                    .map(|(x, bucket)| (*x, bucket.middle.min(top)))
                    .collect(),
            ),
        });
        series
    }

    /// Least and greatest at every column of the screen, so that fewer buckets leave no stripes.
    fn band(&self, top: f64, columns: usize) -> Vec<(f64, f64, f64)> {
        let apart = (self.last - self.first) / columns.max(2) as f64;
        let places = (0..=columns).map(|column| self.first + apart * column as f64);
        let nearest = |x: f64| {
            let distance = |bucket: &&(f64, Bucket)| (bucket.0 - x).abs();
            self.buckets
                .iter()
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        places
            .filter_map(|x| {
                let (_, bucket) = nearest(x)?;
                Some((x, bucket.min.min(top), bucket.max.min(top)))
            })
            .collect()
    }
}
