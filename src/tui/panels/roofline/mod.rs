//! Kernels or parts of the model under the ceilings of memory and arithmetic.

mod input;
#[cfg(test)]
mod tests;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

pub use self::input::{Bound, Ceiling, Judgement, Limit, Origin, Point, RooflineInput};

use super::plot::{Axis, Plot, Series, Shape};
use super::table::{Cell, Table, Tone};
use super::text::{keep_to_character_set, paragraph, put};
use crate::analysis::Unit;
use crate::base::table::Align;
use crate::tui::panel::{Panel, PanelAction, PanelCommand};
use crate::tui::theme::Theme;

/// Rows a page goes by.
const PAGE: usize = 10;

/// Points beyond these are in the table only.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Picture,
    Table,
}

#[derive(Clone, Debug)]
pub struct RooflinePanel {
    input: RooflineInput,
    section: Section,
    selected: usize,
    shift: usize,
}

impl RooflinePanel {
    pub fn new(input: RooflineInput) -> Self {
        RooflinePanel {
            input: input.usable(),
            section: Section::default(),
            selected: 0,
            shift: 0,
        }
    }

    fn letter(at: usize) -> Option<char> {
        LETTERS.chars().nth(at)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&[
            ("", Align::Left),
            ("FLOP/byte", Align::Right),
            ("reached", Align::Right),
            ("bound by", Align::Left),
            ("FLOP/s", Align::Right),
            ("B/s", Align::Right),
        ]);
        for (at, point) in self.input.points.iter().enumerate() {
            let letter =
                Self::letter(at).map_or_else(|| "  ".to_owned(), |letter| format!("{letter} "));
            let judgement = self.input.judge(point);
            let reached = judgement.as_ref().map(|judgement| {
                let tone = match judgement.bound {
                    Bound::Neither => Tone::Warning,
                    _ if judgement.reached >= 0.6 => Tone::Good,
                    _ => Tone::Plain,
                };
                Cell::new(format!("{:.1} %", 100.0 * judgement.reached), tone)
            });
            let bound = judgement.map(|judgement| judgement.bound.to_string());
            table.rows.push(vec![
                format!("{letter}{}", point.name).into(),
                match point.intensity() {
                    Some(intensity) => format!("{intensity:.2}").into(),
                    None => Cell::new("no FLOP", Tone::Muted),
                },
                reached.unwrap_or_else(|| Cell::new("no ceiling", Tone::Muted)),
                Cell::figure(bound),
                rate(point.performance()).into(),
                rate(point.bandwidth()).into(),
            ]);
        }
        table.selected = (!table.rows.is_empty()).then(|| self.selected.min(table.rows.len() - 1));
        table.shift = self.shift;
        table
    }

    fn plot(&self) -> Option<Plot> {
        let placed: Vec<(usize, f64, f64)> = self
            .input
            .points
            .iter()
            .enumerate()
            .filter_map(|(at, point)| Some((at, point.intensity()?, point.performance())))
            .collect();
        let compute = self.ceilings(|ceiling| match ceiling.limit {
            Limit::Compute(limit) => Some(limit),
            Limit::Bandwidth(_) => None,
        });
        let bandwidths = self.ceilings(|ceiling| match ceiling.limit {
            Limit::Bandwidth(limit) => Some(limit),
            Limit::Compute(_) => None,
        });
        let highest = compute
            .iter()
            .map(|(_, limit)| *limit)
            .chain(placed.iter().map(|(_, _, performance)| *performance))
            .reduce(f64::max)?;
        let steepest = bandwidths.iter().map(|(_, limit)| *limit).reduce(f64::max);
        // Both sides of the ridge are shown, and every point.
        let ridge = steepest.map(|bandwidth| highest / bandwidth);
        let intensities = || {
            let intensities = placed.iter().map(|(_, intensity, _)| *intensity);
            intensities
                .chain(ridge.map(|ridge| ridge * 4.0))
                .chain(ridge.map(|ridge| ridge / 30.0))
        };
        let x = Axis::decades(
            intensities().reduce(f64::min)?,
            intensities().reduce(f64::max)?,
            "FLOP/byte",
        );
        let lowest_roof = steepest.map(|bandwidth| bandwidth * x.low);
        let performances = placed.iter().map(|(_, _, performance)| *performance);
        let lowest = performances.chain(lowest_roof).reduce(f64::min)?;
        let y = Axis::decades(lowest, highest * 1.2, "FLOP/s");
        let mut series = Vec::new();
        for (ceiling, limit) in &compute {
            let from = steepest.map_or(x.low, |bandwidth| (limit / bandwidth).max(x.low));
            series.push(Series {
                name: short(ceiling),
                look: 1 + series.len(),
                shape: Shape::Line(vec![(from, *limit), (x.high, *limit)]),
            });
        }
        for (ceiling, bandwidth) in &bandwidths {
            let ridge = (highest / bandwidth).min(x.high);
            let start = (y.low / bandwidth).max(x.low);
            series.push(Series {
                name: short(ceiling),
                look: 1 + series.len(),
                shape: Shape::Line(vec![(start, start * bandwidth), (ridge, ridge * bandwidth)]),
            });
        }
        // Where points lie on each other the selected one is seen, else the one with the longer time.
        let mut placed = placed;
        placed.sort_by_key(|(at, _, _)| (*at == self.selected, std::cmp::Reverse(*at)));
        for (at, intensity, performance) in placed {
            if let Some(letter) = Self::letter(at) {
                series.push(Series {
                    name: String::new(),
                    look: 0,
                    shape: Shape::Letter(intensity, performance, letter),
                });
            }
        }
        Some(Plot {
            title: "FLOP/s over FLOP/byte".to_owned(),
            x,
            y,
            series,
        })
    }

    /// The ceilings of one kind, measured ones before promised ones of the same name.
    fn ceilings(&self, limit: impl Fn(&Ceiling) -> Option<f64>) -> Vec<(&Ceiling, f64)> {
        let mut found: Vec<(&Ceiling, f64)> = self
            .input
            .ceilings
            .iter()
            .filter_map(|ceiling| Some((ceiling, limit(ceiling)?)))
            .filter(|(_, limit)| limit.is_finite() && *limit > 0.0)
            .collect();
        found.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.name.cmp(&b.name)));
        found
    }

    /// The selected point in sentences, and where all figures come from.
    fn detail(&self, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if let Some(point) = self.input.points.get(self.selected) {
            lines.extend(paragraph(&self.sentence(point), wide, theme.text()));
            if let Some(advice) = &point.advice {
                let text = format!("{} {advice}", theme.glyphs.arrow);
                lines.extend(paragraph(&text, wide, theme.accent()));
            }
        }
        let ceilings: Vec<String> = self
            .input
            .ceilings
            .iter()
            .map(|ceiling| {
                let value = match ceiling.limit {
                    Limit::Bandwidth(limit) => format!("{}B/s", rate_with_space(limit)),
                    Limit::Compute(limit) => format!("{}FLOP/s", rate_with_space(limit)),
                };
                format!("{} {value} ({})", ceiling.name, ceiling.origin)
            })
            .collect();
        let mut source = format!("{}: work from {}; ", self.input.device, self.input.work);
        if ceilings.is_empty() {
            source.push_str("no ceiling is known: calibrate measures them");
        } else {
            source.push_str(&format!("ceilings {}", ceilings.join(", ")));
        }
        lines.extend(paragraph(&source, wide, theme.muted()));
        lines
    }

    fn sentence(&self, point: &Point) -> String {
        let Some(judgement) = self.input.judge(point) else {
            return format!("{}: no ceiling to hold it against.", point.name);
        };
        let reached = 100.0 * judgement.reached;
        let ceiling = format!("{} ({})", judgement.ceiling.name, judgement.ceiling.origin);
        match judgement.bound {
            Bound::Memory => format!(
                "{} is bound by memory: it reaches {reached:.1} % of {ceiling}. Moving fewer bytes is what would help.",
                point.name
            ),
            Bound::Compute => format!(
                "{} is bound by arithmetic: it reaches {reached:.1} % of {ceiling}.",
                point.name
            ),
            Bound::Neither => format!(
                "{} reaches only {reached:.1} % of {ceiling}, its nearest limit: something that is not in this picture costs its time, such as launching, waiting or too little parallel work.",
                point.name
            ),
        }
    }
}

fn short(ceiling: &Ceiling) -> String {
    let origin = match ceiling.origin {
        Origin::Measured => "",
        Origin::DataSheet => " (sheet)",
    };
    format!("{}{origin}", ceiling.name)
}

fn rate(per_second: f64) -> String {
    Unit::Count("").show(per_second).trim_end().to_owned()
}

fn rate_with_space(per_second: f64) -> String {
    let text = rate(per_second);
    // `170.48 T` is followed by its unit, `950` by a blank and its unit.
    if text.ends_with(|last: char| last.is_ascii_digit()) {
        format!("{text} ")
    } else {
        text
    }
}

impl Panel for RooflinePanel {
    fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let area = area.intersection(buffer.area);
        if self.input.points.is_empty() {
            let text = "There is no point to draw: a point needs counted work and a time measured on the device. On a GPU, --profile-steps 5 and --flops give both.";
            put(paragraph(text, area.width, theme.muted()), area, buffer);
            keep_to_character_set(area, buffer, theme);
            return;
        }
        let table = self.table();
        let plot = self.plot();
        let [picture, figures] = self.areas(area, &table);
        if let Some(plot) = &plot {
            plot.render(picture, buffer, theme);
        } else {
            let text = "No picture: nothing here computes.";
            put([Line::styled(text, theme.muted())], picture, buffer);
        }
        let detail = self.detail(figures.width, theme);
        let least = figures.height.min(table.height()).min(4);
        let room = usize::from(figures.height - least);
        let detail: Vec<Line> = detail.into_iter().take(room).collect();
        let height = (figures.height - detail.len() as u16).min(table.height());
        table.render(Rect { height, ..figures }, buffer, theme);
        let below = Rect {
            y: figures.y + height,
            height: figures.height - height,
            ..figures
        };
        put(detail, below, buffer);
        keep_to_character_set(area, buffer, theme);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let last = self.input.points.len().saturating_sub(1);
        let before = (self.section, self.selected, self.shift);
        match action {
            PanelAction::Up => self.selected = self.selected.saturating_sub(1),
            PanelAction::Down => self.selected += 1,
            PanelAction::PageUp => self.selected = self.selected.saturating_sub(PAGE),
            PanelAction::PageDown => self.selected += PAGE,
            PanelAction::Top => self.selected = 0,
            PanelAction::Bottom => self.selected = last,
            PanelAction::Left => self.shift = self.shift.saturating_sub(1),
            PanelAction::Right => self.shift = (self.shift + 1).min(4),
            PanelAction::NextSection | PanelAction::PreviousSection => {
                self.section = match self.section {
                    Section::Picture => Section::Table,
                    Section::Table => Section::Picture,
                };
            }
            PanelAction::Sort | PanelAction::Toggle | PanelAction::Select => {}
        }
        self.selected = self.selected.min(last);
        before != (self.section, self.selected, self.shift)
    }

    fn commands(&self) -> Vec<PanelCommand> {
        if self.input.points.is_empty() {
            return Vec::new();
        }
        let other = match self.section {
            Section::Picture => "table",
            Section::Table => "picture",
        };
        vec![
            PanelCommand::new(PanelAction::Down, "next point"),
            PanelCommand::new(PanelAction::NextSection, other),
        ]
    }
}

impl RooflinePanel {
    /// Where the picture and the figures go; on a small screen one of them.
    fn areas(&self, area: Rect, table: &Table) -> [Rect; 2] {
        let nothing = Rect { height: 0, ..area };
        if area.width >= 140 {
            let left = area.width * 11 / 20;
            let picture = Rect {
                width: left,
                ..area
            };
            let figures = Rect {
                x: area.x + left + 2,
                width: area.width - left - 2,
                ..area
            };
            return [picture, figures];
        }
        if area.height >= 18 && area.width >= 76 {
            let wanted = table.height().saturating_add(6);
            let below = wanted.clamp(8, area.height / 2);
            let picture = Rect {
                height: area.height - below,
                ..area
            };
            let figures = Rect {
                y: area.y + picture.height,
                height: below,
                ..area
            };
            return [picture, figures];
        }
        match self.section {
            Section::Picture => [area, nothing],
            Section::Table => [nothing, area],
        }
    }
}
