//! Turns histories into curves: selects the steps and the range of values, and notes what lies outside.

use ratatui::text::Line;

use super::history::{Bucket, FigureHistory};
use crate::tui::{NOT_REPORTED, Pane, Plot, PlotAxis, PlotSeries, PlotShape, milliseconds};
use tinyllama_base::{named, plural};

named! {
    /// The steps that a chart shows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ChartSpan {
        /// The latest steps, one by one, as many as there is room for.
        #[default]
        Recent = "latest steps",
        /// All steps. Without room for each, several share a point with their middle and a band from minimum
        /// to maximum.
        Whole = "whole run",
    }
}

impl ChartSpan {
    pub fn toggled(self) -> Self {
        match self {
            ChartSpan::Recent => ChartSpan::Whole,
            ChartSpan::Whole => ChartSpan::Recent,
        }
    }
}

/// Times above this multiple of the median lie outside the picture; the title says so.
const HIGHEST: f64 = 3.0;

/// One curve of a chart.
pub struct Curve<'a> {
    pub name: &'static str,
    pub look: usize,
    pub history: &'a FigureHistory,
}

/// Curves over the same axes.
pub struct Chart<'a> {
    pub what: &'static str,
    pub unit: &'static str,
    /// The chart shows measured values divided by this.
    pub divisor: f64,
    /// Number of steps before the first one of the histories.
    pub offset: f64,
    /// True if the axis begins at zero and leaves outliers out.
    pub from_zero: bool,
    /// A horizontal line to compare the curve with, and its name.
    pub level: Option<(&'static str, f64)>,
    pub curves: Vec<Curve<'a>>,
    /// The text if there is no curve.
    pub nothing: String,
}

pub fn empty(title: &str, text: &str, pane: &mut Pane) {
    let title = Line::styled(title.to_owned(), pane.theme.emphasis());
    pane.put([title]);
    pane.remark(text);
}

impl<'a> Chart<'a> {
    pub fn new(what: &'static str, curves: impl IntoIterator<Item = Curve<'a>>) -> Self {
        Chart {
            what,
            unit: "",
            divisor: 1.0,
            offset: 0.0,
            from_zero: true,
            level: None,
            curves: curves.into_iter().collect(),
            nothing: String::new(),
        }
    }

    pub fn draw(&self, span: ChartSpan, mut pane: Pane) {
        if self.curves.is_empty() {
            return empty(&self.title(), &self.nothing, &mut pane);
        }
        // The labels and the axis take some columns. A few steps too many only make the curve denser.
        let columns = pane.width().saturating_sub(6).max(8);
        let room = columns * if pane.theme.glyphs.unicode { 2 } else { 1 };
        let drawn: Vec<DrawnCurve> = self
            .curves
            .iter()
            .map(|curve| DrawnCurve::new(curve, self, span, room))
            .collect();
        let steps = drawn.iter().map(|drawn| drawn.steps).max().unwrap_or(0);
        let mut title = match span {
            ChartSpan::Recent => format!("{}: last {}", self.title(), plural(steps, "step")),
            ChartSpan::Whole => format!("{}: whole run", self.title()),
        };
        let extreme = |pick: fn(f64, f64) -> f64, of: fn(&(f64, Bucket)) -> f64| {
            let values = drawn.iter().flat_map(|drawn| drawn.buckets.iter().map(of));
            values.reduce(pick)
        };
        let (Some(least), Some(greatest)) = (
            extreme(f64::min, |(_, bucket)| bucket.min),
            extreme(f64::max, |(_, bucket)| bucket.max),
        ) else {
            return empty(&title, NOT_REPORTED, &mut pane);
        };
        let y = if self.from_zero {
            let middle = drawn
                .iter()
                .filter_map(DrawnCurve::median)
                .fold(0.0, f64::max);
            let level = self.level.map_or(0.0, |(_, level)| level);
            let limit = HIGHEST * middle.max(level.min(greatest));
            if greatest > limit && limit > 0.0 {
                let outlier = match self.unit {
                    "ms" => milliseconds(greatest),
                    unit => format!("{greatest:.0} {unit}"),
                };
                title.push_str(&format!(", up to {outlier}"));
                PlotAxis::from_zero(limit, self.unit)
            } else {
                PlotAxis::from_zero(greatest.max(level.min(2.0 * greatest)), self.unit)
            }
        } else {
            PlotAxis::fitted(least, greatest, self.unit)
        };
        let ends = drawn.iter().flat_map(|drawn| [drawn.first, drawn.last]);
        let first = ends.clone().fold(f64::INFINITY, f64::min);
        let x = PlotAxis::exactly(first, ends.fold(f64::NEG_INFINITY, f64::max), "step");
        let level = self.level.map(|(name, level)| {
            let ends = vec![(x.low, level), (x.high, level)];
            PlotSeries::new(name, 1, PlotShape::Line(ends))
        });
        let curves = drawn.into_iter();
        let curves = curves.flat_map(|drawn| drawn.series(y.high, columns));
        let series = level.into_iter().chain(curves).collect();
        let plot = Plot {
            title,
            x,
            y,
            series,
        };
        plot.draw(&mut pane);
    }

    fn title(&self) -> String {
        match self.unit {
            "" => self.what.to_owned(),
            unit => format!("{}, {unit}", self.what),
        }
    }
}

/// A curve that is ready to draw.
struct DrawnCurve {
    name: &'static str,
    look: usize,
    buckets: Vec<(f64, Bucket)>,
    /// True if each bucket is a single step.
    single: bool,
    first: f64,
    last: f64,
    steps: usize,
}

impl DrawnCurve {
    fn new(curve: &Curve, chart: &Chart, span: ChartSpan, room: usize) -> Self {
        let scaled = |bucket: Bucket| Bucket {
            count: bucket.count,
            min: bucket.min / chart.divisor,
            max: bucket.max / chart.divisor,
            middle: bucket.middle / chart.divisor,
        };
        let history = curve.history;
        let steps = history.steps as usize;
        let (buckets, first, shown): (Vec<(f64, Bucket)>, f64, usize) = match span {
            ChartSpan::Recent => {
                let shown: Vec<(f64, Option<f64>)> = history.recent(room).collect();
                let first = shown.first().map_or(1.0, |(place, _)| *place);
                let values = shown.iter();
                let values = values.filter_map(|(place, value)| {
                    Some((*place, Bucket::from_values(&[(*value)?])?))
                });
                (values.collect(), first, shown.len())
            }
            // One bucket per column of the screen, because the band is drawn with whole characters.
            ChartSpan::Whole => (history.all_buckets(room / 2), 1.0, steps),
        };
        DrawnCurve {
            name: curve.name,
            look: curve.look,
            single: buckets.iter().all(|(_, bucket)| bucket.count <= 1),
            buckets: buckets
                .into_iter()
                .map(|(place, bucket)| (place + chart.offset, scaled(bucket)))
                .collect(),
            first: first + chart.offset,
            last: steps as f64 + chart.offset,
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

    /// Values above `top` are drawn at its edge.
    fn series(self, top: f64, columns: usize) -> Vec<PlotSeries> {
        let mut series = Vec::new();
        if !self.single {
            let band = PlotShape::Band(self.band(top, columns));
            series.push(PlotSeries::new("", self.look, band));
        }
        let points = self.buckets.iter();
        let points = points.map(|(x, bucket)| (*x, bucket.middle.min(top)));
        let line = PlotShape::Line(points.collect());
        series.push(PlotSeries::new(self.name, self.look, line));
        series
    }

    /// Minimum and maximum at every column of the screen, so that few buckets leave no stripes.
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
