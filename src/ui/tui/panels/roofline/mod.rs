//! Plots kernels or model parts below the limits of memory bandwidth and arithmetic.

mod open;
#[cfg(test)]
mod tests;

use ratatui::prelude::{Buffer, Constraint, Layout, Line, Rect};

pub use self::open::PANEL;

use crate::tui::{
    Cell, Cursor, Effect, Effects, HandOver, Pane, Panel, PanelCommand, Plot, PlotAxis, PlotSeries,
    PlotShape, Scale, TableView, Tabs, Theme, Tone, pane, paragraph, plain_number,
};
use tinyllama_base::roofline::{CeilingSource, Grain, RooflineLimit};
use tinyllama_base::triage::Triage;
use tinyllama_base::{Align, Ceiling, Point, Roofline, Share, percent};
use tinyllama_tutor_core::PanelAction;

/// The picture and the table become two sections if they do not fit together.
const SECTIONS: usize = 2;

#[derive(Clone, Debug, Default)]
pub struct RooflinePanel {
    roofline: Roofline,
    /// The letter of each point, if the plot shows the point.
    letters: Vec<Option<char>>,
    section: Tabs,
    cursor: Cursor,
    /// Arguments of the command that measures the ceilings, if there are none yet.
    calibrate: Option<Vec<String>>,
    /// True if the last draw showed picture and table together.
    together: std::cell::Cell<bool>,
}

impl RooflinePanel {
    pub fn new(roofline: Roofline) -> Self {
        RooflinePanel {
            letters: roofline.letters(),
            roofline,
            ..RooflinePanel::default()
        }
    }

    /// Offers a command that measures the ceilings of this run's backend.
    pub fn without_ceilings(self, backend: &str) -> Self {
        let argv = ["calibrate", "--backend", backend].map(String::from);
        Self {
            calibrate: Some(argv.into()),
            ..self
        }
    }

    fn table(&self) -> TableView {
        let mut table = TableView::new(&[
            ("", Align::Left),
            ("FLOP/byte", Align::Right),
            ("reached", Align::Right),
            ("bound by", Align::Left),
            ("FLOP/s", Align::Right),
            ("B/s", Align::Right),
        ]);
        for (point, letter) in self.roofline.points.iter().zip(&self.letters) {
            let reached = point.share.map(|share| {
                let tone = match point.bound {
                    Some(RooflineLimit::Overhead) => Tone::Warning,
                    _ if share >= 0.6 => Tone::Good,
                    _ => Tone::Plain,
                };
                Cell::new(percent(Share(share)), tone)
            });
            table.rows.push(vec![
                format!("{} {}", letter.unwrap_or(' '), name(point)).into(),
                match point.has_place() {
                    true => format!("{:.2}", point.intensity).into(),
                    false => Cell::new("no FLOP", Tone::Muted),
                },
                reached.unwrap_or_else(|| Cell::new("no ceiling", Tone::Muted)),
                Cell::figure(point.bound.map(|bound| bound.to_string())),
                plain_number(point.flops_per_s).into(),
                plain_number(point.bytes_per_s).into(),
            ]);
        }
        table.with_cursor(&self.cursor)
    }

    fn plot(&self) -> Option<Plot> {
        let picture = self.roofline.picture()?;
        let line = |(at, (ceiling, from, to)): (usize, &(&Ceiling, _, _))| {
            PlotSeries::new(short(ceiling), 1 + at, PlotShape::Line(vec![*from, *to]))
        };
        let mut series: Vec<PlotSeries> = picture.lines.iter().enumerate().map(line).collect();
        // If points overlap, the selected one is visible, else the one with the longer time.
        let selected = self.letters.get(self.cursor.row).copied().flatten();
        let mut points: Vec<_> = picture.points.iter().rev().collect();
        points.sort_by_key(|(letter, _)| Some(*letter) == selected);
        series.extend(points.into_iter().map(|(letter, point)| {
            let shape = PlotShape::Letter(point.intensity, point.flops_per_s, *letter);
            PlotSeries::new("", 0, shape)
        }));
        let axis = |(low, high): (f64, f64), label: &str| PlotAxis {
            low: 10_f64.powf(low),
            high: 10_f64.powf(high),
            scale: Scale::Log,
            label: label.into(),
        };
        Some(Plot {
            title: "FLOP/s over FLOP/byte".to_owned(),
            x: axis(picture.x, "FLOP/byte"),
            y: axis(picture.y, "FLOP/s"),
            series,
        })
    }

    /// The selected point in sentences.
    fn detail(&self, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if let Some(point) = self.roofline.points.get(self.cursor.row) {
            lines.extend(paragraph(&self.sentence(point), wide, theme.text()));
            if let Some(advice) = &point.what_would_help {
                let text = format!("{} {advice}", theme.glyphs.arrow);
                lines.extend(paragraph(&text, wide, theme.accent()));
            }
        }
        lines
    }

    /// The sources of all figures.
    fn sources(&self, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
        let ceilings: Vec<String> = self
            .roofline
            .ceilings
            .iter()
            .map(Ceiling::to_string)
            .collect();
        let ceilings = match ceilings.as_slice() {
            [] if self.calibrate.is_some() => {
                "no ceiling is known yet: Enter measures them, then open this page again".into()
            }
            [] => "no ceiling is known".into(),
            some => format!("ceilings {}", some.join(", ")),
        };
        let Roofline {
            title, work, notes, ..
        } = &self.roofline;
        let pace = Triage::from_roofline(&self.roofline);
        let pace = pace.map(|triage| format!("Sets the pace: {triage}"));
        let source = format!("{title}: work from {work}; {ceilings}");
        let texts = pace.iter().chain([&source]).chain(notes);
        let lines = texts.map(|text| paragraph(text, wide, theme.muted()));
        lines.flatten().collect()
    }

    fn sentence(&self, point: &Point) -> String {
        let name = name(point);
        let Some(judgement) = self.roofline.ceilings.judge(point) else {
            return format!("{name}: no ceiling to compare it with.");
        };
        let reached = percent(Share(judgement.share));
        let (label, source) = (&judgement.ceiling.label, judgement.ceiling.source);
        match judgement.bound {
            RooflineLimit::Overhead => format!(
                "{name} reaches only {reached} of {label} ({source}), its nearest limit: something that is not in this picture takes its time, such as launching, waiting or too little parallel work."
            ),
            bound => {
                format!("{name} is bound by {bound}: it reaches {reached} of {label} ({source}).")
            }
        }
    }
}

/// The picture in ASCII; `None` if no point fits on the axes.
pub fn picture_in_ascii(roofline: &Roofline, width: u16, height: u16) -> Option<String> {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    let plot = RooflinePanel::new(roofline.clone()).plot()?;
    plot.draw(&mut Pane::new(
        buffer.area,
        &mut buffer,
        &Theme::new(true, true),
    ));
    Some(pane::text(&buffer))
}

fn name(point: &Point) -> String {
    match point.grain {
        Grain::Step => "the whole step".into(),
        Grain::Phase => format!("{} (host)", point.name),
        Grain::Part | Grain::Kernel => point.name.clone(),
    }
}

fn short(ceiling: &Ceiling) -> String {
    match ceiling.source {
        CeilingSource::Measured => ceiling.label.clone(),
        CeilingSource::DataSheet => format!("{} (sheet)", ceiling.label),
    }
}

impl Panel for RooflinePanel {
    fn title(&self) -> String {
        "Roofline".into()
    }

    fn paint(&self, pane: &mut Pane) {
        if self.roofline.points.is_empty() {
            let text = "There is no point to draw: a point needs counted work and a time measured on the device. On a GPU, --profile-steps 5 and --flops give both.";
            return pane.remark(text);
        }
        let table = self.table();
        let [mut picture, figures] = self.areas(pane.area, &table);
        let together = picture.height > 0 && figures.height > 0;
        self.together.set(together);
        let sources = self.sources(pane.area.width.min(figures.width), pane.theme);
        let mut detail = self.detail(figures.width, pane.theme);
        if together {
            detail.extend(sources);
        } else if picture.height > 0 {
            // The table has no room for them.
            let rows = [
                Constraint::Fill(1),
                Constraint::Length(sources.len() as u16),
            ];
            let [above, below] = Layout::vertical(rows).areas(picture);
            pane.sub_pane(below).put(sources);
            picture = above;
        }
        if let Some(plot) = self.plot() {
            plot.draw(&mut pane.sub_pane(picture));
        } else {
            pane.sub_pane(picture)
                .remark("No picture: nothing here computes.");
        }
        let least = figures
            .height
            .min(table.height(figures.width.into()))
            .min(4);
        table.draw_over(detail, figures.height - least, &mut pane.sub_pane(figures));
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let table = self.table();
        match action {
            PanelAction::Toggle => self.section.act(PanelAction::NextSection, SECTIONS),
            _ => self.section.act(action, SECTIONS) || table.move_cursor(&mut self.cursor, action),
        }
    }

    fn effects(&self, action: PanelAction) -> Effects {
        let argv = self.calibrate.clone();
        let argv = argv.filter(|_| action == PanelAction::Select)?;
        Some(vec![Effect::HandOver(HandOver::Command(argv))])
    }

    fn filter(&mut self, text: &str) -> bool {
        self.table().filter(&mut self.cursor, text)
    }

    fn commands(&self) -> Vec<PanelCommand> {
        if self.roofline.points.is_empty() {
            return Vec::new();
        }
        let measure = (PanelAction::Select, "measure the ceilings");
        let measure = self.calibrate.as_ref().map(|_| measure);
        let other = match self.section.at {
            0 => "table",
            _ => "picture",
        };
        let turn = (PanelAction::NextSection, other);
        let turn = (!self.together.get()).then_some(turn);
        let down = (PanelAction::Down, "next point");
        measure.into_iter().chain([down]).chain(turn).collect()
    }
}

impl RooflinePanel {
    /// Areas of the plot and the table. On a small screen one of them is empty.
    fn areas(&self, area: Rect, table: &TableView) -> [Rect; 2] {
        let nothing = Rect { height: 0, ..area };
        if area.width >= 140 {
            // Kernel names are long, so the table gets more than half.
            let left = area.width * 9 / 20;
            let columns = [left, 2, area.width - left - 2].map(Constraint::Length);
            let [picture, _, figures] = Layout::horizontal(columns).areas(area);
            return [picture, figures];
        }
        if area.height >= 18 && area.width >= 76 {
            let wanted = table.height(area.width.into()).saturating_add(6);
            let below = wanted.clamp(8, area.height / 2);
            return Layout::vertical([area.height - below, below]).areas(area);
        }
        match self.section.at {
            0 => [area, nothing],
            _ => [nothing, area],
        }
    }
}
