//! What a profiler's files say: hotspots, timeline, launches, counters, occupancy, another profile beside it, and the files.

mod hotspots;
mod sections;
#[cfg(test)]
mod tests;
mod timeline;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use self::hotspots::HotspotTable;
use self::sections::{Content, Section};
use self::timeline::Timeline;
use super::roofline::RooflinePanel;
use super::table::Table;
use super::text::{cut, keep_to_character_set, paragraph, put, width, wrap};
use crate::base::table::TextTable;
use crate::profiler::read::Import;
use crate::profiler::show::parts::Parts;
use crate::tui::panel::{Panel, PanelAction, PanelCommand};
use crate::tui::theme::Theme;

/// Rows a page goes by.
const PAGE: usize = 10;

/// Names up to so many columns are whole in every table.
const SHORT_NAME: usize = 14;

/// Where a section is looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Of several tables, the one shown.
    table: usize,
    row: usize,
    /// Columns scrolled past.
    shift: usize,
}

#[derive(Debug)]
pub struct ProfilePanel {
    import: Import,
    parts: Parts,
    beside: Option<(String, Import)>,
    sections: Vec<Section>,
    at: usize,
    place: Place,
    hotspots: HotspotTable,
    timeline: Timeline,
}

impl ProfilePanel {
    pub fn new(import: Import) -> Self {
        let mut panel = ProfilePanel {
            hotspots: HotspotTable::new(&import.profile, &Parts::default()),
            timeline: Timeline::new(&import.profile),
            import,
            parts: Parts::default(),
            beside: None,
            sections: Vec::new(),
            at: 0,
            place: Place::default(),
        };
        panel.rebuild();
        panel
    }

    /// Names kernels after the parts of the model that issued them, as the same run's events tell.
    pub fn with_parts(mut self, parts: Parts) -> Self {
        self.hotspots = HotspotTable::new(&self.import.profile, &parts);
        self.parts = parts;
        self.rebuild();
        self
    }

    /// Another, later profile to hold this one against, called `label`.
    pub fn beside(mut self, label: impl Into<String>, later: Import) -> Self {
        self.beside = Some((label.into(), later));
        self.rebuild();
        self
    }

    fn rebuild(&mut self) {
        let beside = self
            .beside
            .as_ref()
            .map(|(label, later)| (label.as_str(), later));
        self.sections = sections::of(&self.import, &self.parts, beside);
        self.at = self.at.min(self.sections.len().saturating_sub(1));
    }

    fn section(&self) -> Option<&Section> {
        self.sections.get(self.at)
    }

    /// The names of all sections, or of the one shown where there is no room.
    fn tabs(&self, wide: u16, theme: &Theme) -> Line<'static> {
        let all: usize = self
            .sections
            .iter()
            .map(|section| width(section.name) + 2)
            .sum();
        if all > usize::from(wide) {
            let name = self.section().map_or("", |section| section.name);
            let text = format!(" {name} ({} of {}) ", self.at + 1, self.sections.len());
            return Line::styled(text, theme.selection());
        }
        let spans = self.sections.iter().enumerate().map(|(at, section)| {
            let style = if at == self.at {
                theme.selection()
            } else {
                theme.muted()
            };
            Span::styled(format!(" {} ", section.name), style)
        });
        Line::from(spans.collect::<Vec<_>>())
    }

    /// Rows that can be selected, or lines of text.
    fn rows(&self) -> usize {
        match self.section().map(|section| &section.content) {
            Some(Content::Hotspots) => self.hotspots.len(),
            Some(Content::Tables(tables)) => tables
                .get(self.place.table)
                .map_or(0, |table| table.rows.len()),
            Some(Content::Lines(lines)) => lines.len(),
            Some(Content::Timeline | Content::Roofline(_)) | None => 0,
        }
    }

    fn columns(&self) -> usize {
        match self.section().map(|section| &section.content) {
            Some(Content::Hotspots) => HotspotTable::COLUMNS,
            Some(Content::Tables(tables)) => tables
                .get(self.place.table)
                .map_or(0, |table| table.columns.len()),
            _ => 0,
        }
    }

    fn turn(&mut self, by: usize) {
        let count = self.sections.len().max(1);
        self.at = (self.at + by) % count;
        self.place = Place::default();
    }

    fn act_in_table(&mut self, action: PanelAction) -> bool {
        let last = self.rows().saturating_sub(1);
        let before = (self.place.row, self.place.shift);
        let row = self.place.row.min(last);
        self.place.row = match action {
            PanelAction::Up => row.saturating_sub(1),
            PanelAction::Down => row + 1,
            PanelAction::PageUp => row.saturating_sub(PAGE),
            PanelAction::PageDown => row + PAGE,
            PanelAction::Top => 0,
            PanelAction::Bottom => last,
            _ => row,
        }
        .min(last);
        let last_shift = self.columns().saturating_sub(2);
        self.place.shift = match action {
            PanelAction::Left => self.place.shift.saturating_sub(1),
            PanelAction::Right => (self.place.shift + 1).min(last_shift),
            _ => self.place.shift,
        };
        before != (self.place.row, self.place.shift)
    }

    fn roofline(&mut self) -> Option<&mut RooflinePanel> {
        match &mut self.sections.get_mut(self.at)?.content {
            Content::Roofline(panel) => Some(panel),
            _ => None,
        }
    }

    /// The next of several tables.
    fn next_table(&mut self) -> bool {
        let Some(Content::Tables(tables)) = self.section().map(|section| &section.content) else {
            return false;
        };
        let several = tables.len() > 1;
        self.place = Place {
            table: (self.place.table + 1) % tables.len().max(1),
            ..Place::default()
        };
        several
    }
}

impl Panel for ProfilePanel {
    fn render(&self, area: Rect, buffer: &mut Buffer, theme: &Theme) {
        let area = area.intersection(buffer.area);
        let Some(section) = self.section() else {
            let text = "No profiler wrote anything here that can be read.";
            put(paragraph(text, area.width, theme.muted()), area, buffer);
            return;
        };
        let body = put([self.tabs(area.width, theme)], area, buffer);
        match &section.content {
            Content::Hotspots => self.hotspots.render(self.place, body, buffer, theme),
            Content::Timeline => {
                self.timeline
                    .render(&self.import.profile, body, buffer, theme);
            }
            Content::Tables(tables) => tables_section(tables, self.place, body, buffer, theme),
            Content::Lines(lines) => lines_section(lines, self.place.row, body, buffer, theme),
            Content::Roofline(panel) => panel.render(body, buffer, theme),
        }
        keep_to_character_set(area, buffer, theme);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let content = self.section().map(|section| &section.content);
        let in_timeline = matches!(content, Some(Content::Timeline));
        let in_hotspots = matches!(content, Some(Content::Hotspots));
        match action {
            PanelAction::NextSection => self.turn(1),
            PanelAction::PreviousSection => self.turn(self.sections.len().saturating_sub(1)),
            _ if in_timeline => return self.timeline.act(action),
            _ if let Some(panel) = self.roofline() => {
                // Its own two sections are a toggle here: the section keys turn the profile's.
                return panel.act(match action {
                    PanelAction::Toggle => PanelAction::NextSection,
                    action => action,
                });
            }
            PanelAction::Sort if in_hotspots => {
                self.hotspots.sort_next();
                self.place.row = 0;
            }
            PanelAction::Toggle if in_hotspots => {
                self.hotspots.group_next(&self.import.profile, &self.parts);
                self.place.row = 0;
            }
            PanelAction::Toggle => return self.next_table(),
            PanelAction::Sort | PanelAction::Select => return false,
            _ => return self.act_in_table(action),
        }
        self.sections.len() > 1 || in_hotspots
    }

    fn commands(&self) -> Vec<PanelCommand> {
        let mut commands = Vec::new();
        if self.sections.len() > 1 {
            commands.push(PanelCommand::new(PanelAction::NextSection, "next section"));
        }
        match self.section().map(|section| &section.content) {
            Some(Content::Hotspots) => {
                let sort = self.hotspots.next_order();
                commands.push(PanelCommand::new(PanelAction::Sort, sort));
                let group = self.hotspots.next_group();
                commands.push(PanelCommand::new(PanelAction::Toggle, group));
            }
            Some(Content::Timeline) => commands.extend(Timeline::commands()),
            Some(Content::Tables(tables)) if tables.len() > 1 => {
                commands.push(PanelCommand::new(PanelAction::Toggle, "next table"));
            }
            Some(Content::Roofline(_)) => {
                commands.push(PanelCommand::new(PanelAction::Down, "next point"));
                let other = PanelCommand::new(PanelAction::Toggle, "picture or table");
                commands.push(other);
            }
            _ => {}
        }
        commands
    }
}

/// Title, rows and notes of one of the tables.
fn tables_section(
    tables: &[TextTable],
    place: Place,
    area: Rect,
    buffer: &mut Buffer,
    theme: &Theme,
) {
    let Some(text) = tables.get(place.table) else {
        return;
    };
    let mut title = text.title.clone();
    if tables.len() > 1 {
        title.push_str(&format!(" ({} of {})", place.table + 1, tables.len()));
    }
    let title = cut(&title, usize::from(area.width), theme);
    let rest = put([Line::styled(title, theme.emphasis())], area, buffer);
    let mut table = Table::of_text(text);
    table.selected = (!table.rows.is_empty()).then(|| place.row.min(table.rows.len() - 1));
    table.shift = place.shift;
    let selected = table.selected.and_then(|row| text.rows.get(row)?.first());
    let whole_name = selected.filter(|name| width(name) > SHORT_NAME);
    let notes: Vec<Line> = whole_name
        .into_iter()
        .flat_map(|name| paragraph(name, area.width, theme.code()))
        .chain(
            text.notes
                .iter()
                .flat_map(|note| paragraph(note, area.width, theme.muted())),
        )
        .collect();
    // At most half of the room: the figures come first.
    let room = usize::from(rest.height / 2);
    let notes: Vec<Line> = notes.into_iter().take(room).collect();
    let height = (rest.height - notes.len() as u16).min(table.height());
    table.render(Rect { height, ..rest }, buffer, theme);
    let below = Rect {
        y: rest.y + height,
        height: rest.height - height,
        ..rest
    };
    put(notes, below, buffer);
}

fn lines_section(
    lines: &[sections::SourceLine],
    first: usize,
    area: Rect,
    buffer: &mut Buffer,
    theme: &Theme,
) {
    let first = first.min(lines.len().saturating_sub(1));
    let shown = lines.iter().skip(first).flat_map(|line| {
        let style = line.tone.style(theme);
        wrap(&line.text, usize::from(area.width))
            .into_iter()
            .map(move |text| Line::styled(text, style))
    });
    put(shown, area, buffer);
}
