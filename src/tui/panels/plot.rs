//! Curves in a frame of two labelled axes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Span;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Context, Line as Stroke, Points};

use super::text::{cut, width};
use crate::tui::theme::{Palette, Theme};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// Decades at equal distances; bounds and values above zero.
    Log,
}

impl Scale {
    fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log => value.log10(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Axis {
    pub low: f64,
    pub high: f64,
    pub scale: Scale,
    /// With the unit: `ms`, `FLOP/byte`, `step`.
    pub label: String,
}

impl Axis {
    /// From 0 to a little above `high`.
    pub fn from_zero(high: f64, label: impl Into<String>) -> Self {
        let high = if high > 0.0 && high.is_finite() {
            high * 1.05
        } else {
            1.0
        };
        Axis {
            low: 0.0,
            high,
            scale: Scale::Linear,
            label: label.into(),
        }
    }

    /// Around what is shown, with a little air.
    pub fn around(low: f64, high: f64, label: impl Into<String>) -> Self {
        let air = match high - low {
            air if air > 0.0 && air.is_finite() => 0.05 * air,
            _ => 0.5 * low.abs().max(1e-9),
        };
        Axis {
            low: low - air,
            high: high + air,
            scale: Scale::Linear,
            label: label.into(),
        }
    }

    /// From `low` to `high` exactly; a range of one value gets some width.
    pub fn exactly(low: f64, high: f64, label: impl Into<String>) -> Self {
        Axis {
            low,
            high: if high > low { high } else { low + 1.0 },
            scale: Scale::Linear,
            label: label.into(),
        }
    }

    /// Whole decades that hold `low` to `high`, both above zero.
    pub fn decades(low: f64, high: f64, label: impl Into<String>) -> Self {
        let low = 10f64.powf(low.max(1e-30).log10().floor());
        let high = 10f64.powf(high.max(1e-30).log10().ceil());
        Axis {
            low,
            high: if high > low { high } else { low * 10.0 },
            scale: Scale::Log,
            label: label.into(),
        }
    }

    /// Where `value` lies between the bounds: 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let (low, high) = (self.scale.place(self.low), self.scale.place(self.high));
        (self.scale.place(value) - low) / (high - low)
    }

    /// Round values between the bounds, at most `most` of them.
    fn ticks(&self, most: usize) -> Vec<f64> {
        let most = most.max(1);
        if self.scale == Scale::Log {
            let (low, high) = (self.low.log10().ceil(), self.high.log10().floor());
            let decades = (high - low).max(0.0) as usize + 1;
            let every = decades.div_ceil(most).max(1);
            return (0..decades)
                .step_by(every)
                .map(|decade| 10f64.powf(low + decade as f64))
                .collect();
        }
        let span = self.high - self.low;
        if !(span > 0.0 && span.is_finite()) {
            return vec![self.low];
        }
        let step = round_step(span / most as f64);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }
}

/// The least of 1, 2, 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * decade)
        .find(|step| *step >= least * (1.0 - 1e-9))
        .unwrap_or(10.0 * decade)
}

/// A value beside a tick, short: `0.25`, `12`, `1.5k`, `20M`.
pub fn tick_label(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = match size {
        _ if size >= 1e18 || (size > 0.0 && size < 1e-4) => return format!("{value:.0e}"),
        _ if size >= 1e15 => (value / 1e15, "P"),
        _ if size >= 1e12 => (value / 1e12, "T"),
        _ if size >= 1e9 => (value / 1e9, "G"),
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Shortest form that is the rounded value: ticks are round numbers.
    let text = format!("{scaled:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", if text == "-0" { "0" } else { text })
}

/// What is drawn for a series.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Points, joined where they are neighbours.
    Line(Vec<(f64, f64)>),
    Dots(Vec<(f64, f64)>),
    /// From the least to the greatest at each place.
    Band(Vec<(f64, f64, f64)>),
    /// One letter, for a point that a table beside explains.
    Letter(f64, f64, char),
}

#[derive(Clone, Debug)]
pub struct Series {
    /// In the legend; none is drawn for an empty one.
    pub name: String,
    /// Which of the theme's series it looks like.
    pub look: usize,
    pub shape: Shape,
}

#[derive(Clone, Debug)]
pub struct Plot {
    /// Over the picture; the unit of the vertical axis belongs into it.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// Later ones are drawn over earlier ones.
    pub series: Vec<Series>,
}

/// Where there is less room than this, only the title is drawn.
const LEAST: (u16, u16) = (16, 4);

/// Columns the title keeps beside a legend.
const LEAST_TITLE: usize = 13;

impl Plot {
    pub fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        if area.height == 0 || area.width == 0 {
            return;
        }
        self.title_line(area, buffer, theme);
        if area.width < LEAST.0 || area.height < LEAST.1 {
            return;
        }
        let rows = area.height - 2;
        let ticks = self.y.ticks(usize::from(rows).div_ceil(3).clamp(2, 8));
        let labels: Vec<(f64, String)> = ticks
            .iter()
            .map(|tick| (self.y.share(*tick), tick_label(*tick)))
            .filter(|(share, _)| (-1e-9..=1.0 + 1e-9).contains(share))
            .collect();
        let gutter = labels.iter().map(|(_, label)| width(label)).max();
        let gutter = (gutter.unwrap_or(0) as u16).min(area.width / 3);
        let picture = Rect {
            x: area.x + gutter + 1,
            y: area.y + 1,
            width: area.width - gutter - 1,
            height: rows,
        };
        self.vertical_axis(&labels, gutter, area, rows, buffer, theme);
        self.horizontal_axis(picture, buffer, theme);
        self.picture(picture, buffer, theme);
    }

    fn title_line(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let names: Vec<&Series> = self
            .series
            .iter()
            .filter(|series| !series.name.is_empty())
            .collect();
        let legend: usize = names.iter().map(|series| width(&series.name) + 4).sum();
        // What the curves are matters more than the end of the title.
        let legend = if legend + LEAST_TITLE <= usize::from(area.width) {
            legend
        } else {
            0
        };
        let room = usize::from(area.width) - legend;
        let title = Span::styled(cut(&self.title, room, theme), theme.emphasis());
        buffer.set_span(area.x, area.y, &title, area.width);
        if legend == 0 {
            return;
        }
        let mut x = area.right() - legend as u16;
        for series in names {
            let sample = Span::styled(self.sample(series, theme), theme.series(series.look));
            x = buffer.set_span(x + 2, area.y, &sample, 1).0;
            let name = Span::styled(format!(" {}", series.name), theme.muted());
            x = buffer.set_span(x, area.y, &name, area.right() - x).0;
        }
    }

    /// The mark a series is drawn with.
    fn sample(&self, series: &Series, theme: &Theme) -> String {
        match (&series.shape, marker(series, theme)) {
            (Shape::Letter(_, _, letter), _) => letter.to_string(),
            (_, Marker::Custom(letter)) => letter.to_string(),
            (Shape::Line(_), _) => theme.glyphs.horizontal.to_owned(),
            _ => "⠶".to_owned(),
        }
    }

    fn vertical_axis(
        &self,
        labels: &[(f64, String)],
        gutter: u16,
        area: Rect,
        rows: u16,
        buffer: &mut Buffer,
        theme: &Theme,
    ) {
        let border = theme.border();
        let x = area.x + gutter;
        for row in 0..rows {
            buffer.set_string(x, area.y + 1 + row, theme.glyphs.vertical, border);
        }
        let mut taken = None;
        for (share, label) in labels {
            let row = ((1.0 - share) * f64::from(rows - 1)).round() as u16;
            if taken == Some(row) {
                continue;
            }
            taken = Some(row);
            let y = area.y + 1 + row;
            let label = cut(label, usize::from(gutter), theme);
            let start = x - width(&label) as u16;
            buffer.set_string(start, y, label, theme.muted());
            let tick = if theme.glyphs.unicode { "┤" } else { "+" };
            buffer.set_string(x, y, tick, border);
        }
    }

    /// One line: the axis with the numbers of its ends and its label written into it.
    fn horizontal_axis(&self, picture: Rect, buffer: &mut Buffer, theme: &Theme) {
        let y = picture.bottom();
        let corner = theme.glyphs.border.bottom_left;
        buffer.set_string(picture.x - 1, y, corner, theme.border());
        let line = theme.glyphs.horizontal.repeat(usize::from(picture.width));
        buffer.set_stringn(
            picture.x,
            y,
            line,
            usize::from(picture.width),
            theme.border(),
        );
        let mut write = |from: u16, text: &str, style: Style| {
            if from >= picture.x
                && usize::from(picture.right() - from.min(picture.right())) >= width(text)
            {
                buffer.set_string(from, y, text, style);
            }
        };
        let room = picture.width;
        if self.x.scale == Scale::Log {
            let ticks = self.x.ticks(usize::from(room) / 8);
            for tick in ticks {
                let text = format!(" {} ", tick_label(tick));
                let wide = width(&text) as u16;
                let centre = picture.x + (self.x.share(tick) * f64::from(room - 1)).round() as u16;
                let from = centre
                    .saturating_sub(wide / 2)
                    .clamp(picture.x, picture.right().saturating_sub(wide));
                write(from, &text, theme.muted());
            }
            return;
        }
        let (low, high) = (tick_label(self.x.low), tick_label(self.x.high));
        let (low, high) = (format!(" {low} "), format!(" {high} "));
        let label = format!(" {} ", self.x.label);
        write(picture.x, &low, theme.muted());
        let end = picture.right().saturating_sub(width(&high) as u16);
        write(end, &high, theme.muted());
        let middle = picture.x + (room.saturating_sub(width(&label) as u16)) / 2;
        let free = picture.x + (width(&low) as u16);
        if middle > free && middle + (width(&label) as u16) < end {
            write(middle, &label, theme.muted());
        }
    }

    fn picture(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let bounds = |axis: &Axis| [axis.scale.place(axis.low), axis.scale.place(axis.high)];
        Canvas::default()
            .x_bounds(bounds(&self.x))
            .y_bounds(bounds(&self.y))
            .paint(|context| {
                for series in &self.series {
                    self.draw(series, context, theme);
                }
            })
            .render(area, buffer);
    }

    fn draw(&self, series: &Series, context: &mut Context, theme: &Theme) {
        let colour = theme.series(series.look).fg.unwrap_or(Color::Reset);
        let place = |x: f64, y: f64| (self.x.scale.place(x), self.y.scale.place(y));
        // A layer of its own, so that a later series covers an earlier one instead of mixing dots with it.
        context.layer();
        context.marker(marker(series, theme));
        match &series.shape {
            Shape::Line(points) => {
                for pair in points.windows(2) {
                    let ((x1, y1), (x2, y2)) =
                        (place(pair[0].0, pair[0].1), place(pair[1].0, pair[1].1));
                    context.draw(&Stroke::new(x1, y1, x2, y2, colour));
                }
                if let [(x, y)] = points[..] {
                    context.draw(&Points::new(&[place(x, y)], colour));
                }
            }
            Shape::Dots(points) => {
                let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| place(*x, *y)).collect();
                context.draw(&Points::new(&points, colour));
            }
            Shape::Band(spans) => {
                for (x, low, high) in spans {
                    let ((x, low), (_, high)) = (place(*x, *low), place(*x, *high));
                    context.draw(&Stroke::new(x, low, x, high, colour));
                }
            }
            Shape::Letter(x, y, letter) => {
                let (x, y) = place(*x, *y);
                let style = theme.series(series.look).patch(theme.emphasis());
                context.print(x, y, Span::styled(letter.to_string(), style));
            }
        }
    }
}

/// Without colour only the first series may be dots: the others are told apart by their letters.
fn marker(series: &Series, theme: &Theme) -> Marker {
    if matches!(series.shape, Shape::Band(_)) {
        let shade = theme.glyphs.bar[1].chars().next().unwrap_or('.');
        return Marker::Custom(shade);
    }
    let ascii = Theme {
        glyphs: crate::tui::theme::Glyphs::ASCII,
        ..*theme
    };
    if theme.palette == Palette::Mono && series.look > 0 {
        return ascii.marker(series.look);
    }
    theme.marker(series.look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sheet;
    use crate::tui::theme::{Glyphs, Palette};

    #[test]
    fn ticks_are_round_numbers_within_the_axis() {
        let axis = |low, high| Axis::exactly(low, high, "");
        assert_eq!(axis(0.0, 22.47).ticks(5), [0.0, 5.0, 10.0, 15.0, 20.0]);
        let loss: Vec<String> = axis(3.68, 4.17)
            .ticks(3)
            .into_iter()
            .map(tick_label)
            .collect();
        assert_eq!(loss, ["3.8", "4"]);
        assert_eq!(axis(0.0, 1.0).ticks(2), [0.0, 0.5, 1.0]);
        let decades = Axis::decades(0.02, 700.0, "").ticks(10);
        assert!(
            (decades[0] - 0.01).abs() < 1e-12 && decades.len() == 6,
            "{decades:?}"
        );
        for label in [
            (0.0, "0"),
            (0.25, "0.25"),
            (12.0, "12"),
            (1500.0, "1500"),
            (25_000.0, "25k"),
            (2.5e9, "2.5G"),
            (-0.00001, "-1e-5"),
        ] {
            assert_eq!(tick_label(label.0), label.1);
        }
    }

    #[test]
    fn any_size_and_any_values_are_drawn_without_a_panic() {
        let nothing = Axis::from_zero(f64::NAN, "");
        assert_eq!((nothing.low, nothing.high), (0.0, 1.0));
        let values = [(1.0, 0.0), (2.0, f64::MAX), (3.0, -5.0)];
        for theme in [Theme::default(), Theme::new(Palette::Mono, Glyphs::ASCII)] {
            for (width, height) in [(0, 0), (1, 1), (16, 4), (17, 5), (80, 3), (3, 40), (40, 12)] {
                let area = Rect::new(0, 0, width, height);
                let mut buffer = Buffer::empty(area);
                let plot = Plot {
                    title: "time, ms".into(),
                    x: Axis::exactly(1.0, 1.0, "step"),
                    y: Axis::around(2.0, 2.0, "ms"),
                    series: vec![
                        Series {
                            name: "a".into(),
                            look: 0,
                            shape: Shape::Line(values.to_vec()),
                        },
                        Series {
                            name: "b".into(),
                            look: 7,
                            shape: Shape::Band(vec![(1.0, 2.0, 3.0)]),
                        },
                    ],
                };
                plot.render(area, &mut buffer, &theme);
            }
        }
    }

    #[test]
    fn a_curve_rises_to_the_right_between_labelled_axes() {
        let plot = Plot {
            title: "throughput, samples/s".into(),
            x: Axis::exactly(1.0, 30.0, "step"),
            y: Axis::from_zero(100.0, "samples/s"),
            series: vec![Series {
                name: String::new(),
                look: 0,
                shape: Shape::Line(vec![(1.0, 0.0), (30.0, 100.0)]),
            }],
        };
        let area = Rect::new(0, 0, 40, 10);
        let mut buffer = Buffer::empty(area);
        plot.render(area, &mut buffer, &Theme::new(Palette::Mono, Glyphs::ASCII));
        insta::assert_snapshot!(sheet::text(&buffer), @r"
        throughput, samples/s
        100+                                 ***
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
