//! Draws curves in a frame of two labelled axes.

mod axis;

use ratatui::prelude::{Color, Line, Rect, Span, Widget};
use ratatui::symbols::Marker;
use ratatui::widgets::canvas::{Canvas, Context, Line as Stroke, Points};

pub use self::axis::{PlotAxis, Scale, tick_label};

use self::axis::end_label;

use crate::tui::{Pane, Theme, cut, width};

/// The form in which a series is drawn.
#[derive(Clone, Debug)]
pub enum PlotShape {
    /// Points, joined to their neighbours.
    Line(Vec<(f64, f64)>),
    /// A band from the smallest to the greatest value at each x.
    Band(Vec<(f64, f64, f64)>),
    /// One letter, for a point that a table explains.
    Letter(f64, f64, char),
}

#[derive(Clone, Debug)]
pub struct PlotSeries {
    /// Name in the legend. A series with an empty name gets no entry.
    pub name: String,
    /// Index of the theme's series style.
    pub look: usize,
    pub shape: PlotShape,
}

impl PlotSeries {
    pub fn new(name: impl Into<String>, look: usize, shape: PlotShape) -> Self {
        let name = name.into();
        PlotSeries { name, look, shape }
    }
}

#[derive(Clone, Debug)]
pub struct Plot {
    /// Title above the plot. It should contain the unit of the vertical axis.
    pub title: String,
    pub x: PlotAxis,
    pub y: PlotAxis,
    /// Later series are drawn over earlier ones.
    pub series: Vec<PlotSeries>,
}

/// With less room than this, only the title is drawn.
const LEAST: (u16, u16) = (16, 4);

/// Columns that the title keeps next to a legend.
const LEAST_TITLE: usize = 13;

impl Plot {
    pub fn draw(&self, pane: &mut Pane) {
        let area = pane.area;
        if area.is_empty() {
            return;
        }
        self.title_line(&mut pane.take(1));
        if area.width < LEAST.0 || area.height < LEAST.1 {
            return;
        }
        let rows = area.height - 2;
        let ticks = self.y.ticks(usize::from(rows).div_ceil(3).clamp(2, 8));
        // The two ends come first. A tick gives way if it would share a row with one of them.
        let ends = [self.y.high, self.y.low].map(|end| (self.y.share(end), end_label(end)));
        let inside = ticks
            .iter()
            .map(|tick| (self.y.share(*tick), tick_label(*tick)))
            .filter(|(share, _)| (0.0..=1.0).contains(share));
        let labels: Vec<(f64, String)> = ends.into_iter().chain(inside).collect();
        let gutter = labels.iter().map(|(_, label)| width(label)).max();
        let gutter = (gutter.unwrap_or(0) as u16).min(area.width / 3);
        let picture = Rect {
            x: area.x + gutter + 1,
            y: area.y + 1,
            width: area.width - gutter - 1,
            height: rows,
        };
        vertical_axis(&labels, gutter, &mut pane.take(rows));
        self.horizontal_axis(picture, pane);
        self.picture(pane.sub_pane(picture));
    }

    fn title_line(&self, pane: &mut Pane) {
        let (area, theme) = (pane.area, pane.theme);
        let names: Vec<&PlotSeries> = self
            .series
            .iter()
            .filter(|series| !series.name.is_empty())
            .collect();
        // The names of the curves matter more than the end of the title, and more than what they say in brackets.
        let whole = |name: &str| name.to_owned();
        let short = |name: &str| name.split(" (").next().unwrap_or(name).to_owned();
        let named = [whole as fn(&str) -> String, short]
            .into_iter()
            .find_map(|shown| {
                let names: Vec<String> = names.iter().map(|series| shown(&series.name)).collect();
                let legend: usize = names.iter().map(|name| width(name) + 4).sum();
                (legend + LEAST_TITLE <= pane.width()).then_some((names, legend))
            });
        let (shown, legend) = named.unwrap_or_default();
        let room = pane.width() - legend;
        let shorter = [": ", " over "].map(|end| self.title.split(end).next().unwrap_or_default());
        let title = [&*self.title]
            .into_iter()
            .chain(shorter)
            .find(|title| width(title) <= room);
        let title = cut(title.unwrap_or(&self.title), room, theme);
        pane.put([Line::styled(title, theme.emphasis())]);
        if legend == 0 {
            return;
        }
        let mut x = area.right() - legend as u16;
        for (series, name) in names.into_iter().zip(shown) {
            let sample = Span::styled(self.sample(series, theme), theme.series(series.look));
            x = pane.buffer.set_span(x + 2, area.y, &sample, 1).0;
            let name = Span::styled(format!(" {name}"), theme.muted());
            x = pane.buffer.set_span(x, area.y, &name, area.right() - x).0;
        }
    }

    /// The mark of a series, for the legend.
    fn sample(&self, series: &PlotSeries, theme: &Theme) -> String {
        match (&series.shape, marker(series, theme)) {
            (PlotShape::Letter(_, _, letter), _) => letter.to_string(),
            (_, Marker::Custom(letter)) => letter.to_string(),
            (PlotShape::Line(_), _) => theme.glyphs.horizontal.to_owned(),
            _ => "⠶".to_owned(),
        }
    }

    /// One line: the axis with the numbers at its ends and its label.
    fn horizontal_axis(&self, picture: Rect, pane: &mut Pane) {
        let (y, muted) = (picture.bottom(), pane.theme.muted());
        let glyphs = &pane.theme.glyphs;
        let line = glyphs.horizontal.repeat(usize::from(picture.width));
        let line = format!("{}{line}", glyphs.border.bottom_left);
        let axis = Span::styled(line, pane.theme.muted());
        pane.buffer
            .set_span(picture.x - 1, y, &axis, picture.width + 1);
        let mut write = |from: u16, text: &str| {
            let room = picture.right() - from.min(picture.right());
            if from >= picture.x && usize::from(room) >= width(text) {
                pane.buffer.set_string(from, y, text, muted);
            }
        };
        let room = picture.width;
        if self.x.scale == Scale::Log {
            for tick in self.x.ticks(usize::from(room) / 8) {
                let text = format!(" {} ", tick_label(tick));
                let wide = width(&text) as u16;
                let centre = picture.x + (self.x.share(tick) * f64::from(room - 1)).round() as u16;
                let from = centre
                    .saturating_sub(wide / 2)
                    .clamp(picture.x, picture.right().saturating_sub(wide));
                write(from, &text);
            }
            return;
        }
        let low = format!(" {} ", end_label(self.x.low));
        let high = format!(" {} ", end_label(self.x.high));
        let label = format!(" {} ", self.x.label);
        let [low_wide, high_wide, wide] = [&low, &high, &label].map(|text| width(text) as u16);
        let end = picture.right().saturating_sub(high_wide);
        write(picture.x, &low);
        write(end, &high);
        let middle = picture.x + room.saturating_sub(wide) / 2;
        if middle > picture.x + low_wide && middle + wide < end {
            write(middle, &label);
        }
    }

    fn picture(&self, pane: Pane) {
        let bounds = |axis: &PlotAxis| [axis.scale.place(axis.low), axis.scale.place(axis.high)];
        Canvas::default()
            .x_bounds(bounds(&self.x))
            .y_bounds(bounds(&self.y))
            .paint(|context| {
                for series in &self.series {
                    self.draw_series(series, context, pane.theme);
                }
            })
            .render(pane.area, pane.buffer);
    }

    fn draw_series(&self, series: &PlotSeries, context: &mut Context, theme: &Theme) {
        let colour = theme.series(series.look).fg.unwrap_or(Color::Reset);
        let place = |x: f64, y: f64| (self.x.scale.place(x), self.y.scale.place(y));
        // Each series gets a separate layer: a later one then covers an earlier one instead of mixing its
        // dots with it.
        context.layer();
        context.marker(marker(series, theme));
        match &series.shape {
            PlotShape::Line(points) => {
                for pair in points.windows(2) {
                    let ((x1, y1), (x2, y2)) =
                        (place(pair[0].0, pair[0].1), place(pair[1].0, pair[1].1));
                    context.draw(&Stroke::new(x1, y1, x2, y2, colour));
                }
                if let [(x, y)] = points[..] {
                    context.draw(&Points::new(&[place(x, y)], colour));
                }
            }
            PlotShape::Band(spans) => {
                for (x, low, high) in spans {
                    let ((x, low), (_, high)) = (place(*x, *low), place(*x, *high));
                    context.draw(&Stroke::new(x, low, x, high, colour));
                }
            }
            PlotShape::Letter(x, y, letter) => {
                let (x, y) = place(*x, *y);
                let style = theme.series(series.look).patch(theme.emphasis());
                context.print(x, y, Span::styled(letter.to_string(), style));
            }
        }
    }
}

fn vertical_axis(labels: &[(f64, String)], gutter: u16, pane: &mut Pane) {
    let (area, theme) = (pane.area, pane.theme);
    let x = area.x + gutter;
    for y in area.top()..area.bottom() {
        pane.buffer
            .set_string(x, y, theme.glyphs.vertical, theme.muted());
    }
    let mut taken: Vec<u16> = Vec::new();
    for (share, label) in labels {
        let row = ((1.0 - share) * f64::from(area.height - 1)).round() as u16;
        if taken.iter().any(|other| other.abs_diff(row) < 2) {
            continue;
        }
        taken.push(row);
        let label = cut(label, usize::from(gutter), theme);
        let start = x - width(&label) as u16;
        let tick = if theme.glyphs.unicode { "┤" } else { "+" };
        pane.buffer
            .set_string(start, area.y + row, label, theme.muted());
        pane.buffer.set_string(x, area.y + row, tick, theme.muted());
    }
}

/// Without colour only the first series may use dots, because letters tell the others apart.
fn marker(series: &PlotSeries, theme: &Theme) -> Marker {
    if matches!(series.shape, PlotShape::Band(_)) {
        let shade = theme.glyphs.bar[1].chars().next().unwrap_or('.');
        return Marker::Custom(shade);
    }
    match theme.is_mono && series.look > 0 {
        true => Theme::new(true, true).marker(series.look),
        false => theme.marker(series.look),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::tui::sheet;

    #[test]
    fn any_size_and_any_values_are_drawn_without_a_panic() {
        let nothing = PlotAxis::from_zero(f64::NAN, "");
        assert_eq!((nothing.low, nothing.high), (0.0, 1.0));
        let values = [(1.0, 0.0), (2.0, f64::MAX), (3.0, -5.0)];
        for theme in [Theme::default(), Theme::new(true, true)] {
            for (width, height) in [(0, 0), (1, 1), (16, 4), (17, 5), (80, 3), (3, 40), (40, 12)] {
                let area = Rect::new(0, 0, width, height);
                let mut buffer = Buffer::empty(area);
                let plot = Plot {
                    title: "time, ms".into(),
                    x: PlotAxis::exactly(1.0, 1.0, "step"),
                    y: PlotAxis::fitted(2.0, 2.0, "ms"),
                    series: vec![
                        PlotSeries {
                            name: "a".into(),
                            look: 0,
                            shape: PlotShape::Line(values.to_vec()),
                        },
                        PlotSeries {
                            name: "b".into(),
                            look: 7,
                            shape: PlotShape::Band(vec![(1.0, 2.0, 3.0)]),
                        },
                    ],
                };
                plot.draw(&mut Pane::new(area, &mut buffer, &theme));
            }
        }
    }

    #[test]
    fn a_curve_rises_to_the_right_between_labelled_axes() {
        let plot = Plot {
            title: "throughput, samples/s".into(),
            x: PlotAxis::exactly(1.0, 30.0, "step"),
            y: PlotAxis::from_zero(100.0, "samples/s"),
            series: vec![PlotSeries {
                name: String::new(),
                look: 0,
                shape: PlotShape::Line(vec![(1.0, 0.0), (30.0, 100.0)]),
            }],
        };
        let area = Rect::new(0, 0, 40, 10);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::new(true, true);
        plot.draw(&mut Pane::new(area, &mut buffer, &theme));
        insta::assert_snapshot!(sheet::text(&buffer), @r"
        throughput, samples/s
        105+                                 ***
           |                            *****
           |                       *****
           |                  *****
         50+             *****
           |        *****
           |   *****
          0+***
           + 1 ------------ step ----------- 30
        ");
    }
}
