//! Draws the memory hierarchy with a kernel's rates and hit rates. The selected level shows its formulas below.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::tui::markdown::wrap::hanging;
use crate::tui::{Cursor, Pane, Panel, PanelCommand, Snippet, TableView, bar, cut, paragraph};
use tinyllama_base::Share;
use tinyllama_base::table::TextTable;
use tinyllama_profile::show::memory_chart::MemoryChart;
use tinyllama_tutor_core::PanelAction;

/// Columns of a level's name, of its rate, and of its bar at least and at most.
const NAME: usize = 12;
const RATE: usize = 13;
const BAR: [usize; 2] = [2, 20];

#[derive(Debug)]
pub struct MemoryChartPanel {
    charts: Vec<MemoryChart>,
    at: usize,
    /// The row is the selected level.
    cursor: Cursor,
}

impl MemoryChartPanel {
    /// Selects the level that is nearest to its ceiling.
    pub fn new(charts: Vec<MemoryChart>) -> Self {
        let mut panel = Self {
            charts,
            at: 0,
            cursor: Cursor::default(),
        };
        panel.select_nearest();
        panel
    }

    fn select_nearest(&mut self) {
        let nearest = self.charts.get(self.at).and_then(|chart| chart.nearest);
        self.cursor.row = nearest.unwrap_or(0);
    }

    fn table(&self) -> Option<TextTable> {
        Some(self.charts.get(self.at)?.table())
    }
}

impl Panel for MemoryChartPanel {
    fn paint(&self, pane: &mut Pane) {
        let Some(chart) = self.charts.get(self.at) else {
            return;
        };
        let (theme, wide) = (pane.theme, pane.width());
        let mut title = chart.title.clone();
        if self.charts.len() > 1 {
            title.push_str(&format!(" ({} of {})", self.at + 1, self.charts.len()));
        }
        pane.heading(&title);
        pane.put([Line::styled("compute units", theme.muted())]);
        let [branch, trunk] = [theme.glyphs.horizontal, " "];
        let [branch, trunk] = [branch, trunk].map(|it| format!(" {}{it} ", theme.glyphs.vertical));
        let used = chart.levels.iter().map(|level| level.used_text().width());
        let others = branch.width() + NAME + RATE + used.max().unwrap_or(0) + " ".len() * 4;
        let room = wide.saturating_sub(others).clamp(BAR[0], BAR[1]);
        for (at, level) in chart.levels.iter().enumerate() {
            let mark = chart.mark(at);
            let style = match mark {
                "" => theme.text(),
                _ => theme.warning(),
            };
            let name = cut(level.name, NAME, theme);
            let is_selected = at == self.cursor.row;
            let named = if is_selected {
                theme.selection()
            } else {
                theme.emphasis()
            };
            let name = Span::styled(format!("{name:NAME$}"), named);
            let (full, empty) = bar(Share::from(level.used.unwrap_or_default()).0, room, theme);
            let figures = format!(" {:>RATE$}  {}", level.rate_text(), level.used_text());
            let lead = format!("{trunk}{:NAME$} ", "");
            let more = format!("{}; {}", level.share_text(), level.traffic_text());
            let more = match is_selected {
                true => {
                    let [first, rest, more] =
                        [&lead, &lead, &more].map(|text| Span::styled(text.clone(), theme.muted()));
                    hanging(vec![first], rest, vec![more], wide)
                }
                false => vec![Line::styled(
                    cut(&(lead.clone() + &more), wide, theme),
                    theme.muted(),
                )],
            };
            let figures = Line::from(vec![
                Span::styled(branch.clone(), theme.muted()),
                name,
                Span::raw(" "),
                Span::styled(full, style),
                Span::styled(empty, theme.muted()),
                Span::styled(figures, style),
            ]);
            pane.put([vec![figures], more].concat());
            if !mark.is_empty() {
                let mark = format!("{lead}{} {mark}", theme.glyphs.here);
                pane.put([Line::styled(mark, style)]);
            }
        }
        pane.put([Line::default()]);
        let sources = chart
            .levels
            .get(self.cursor.row)
            .map(|level| level.sources());
        for source in sources.into_iter().flatten() {
            pane.put(paragraph(&source, pane.area.width, theme.muted()));
        }
    }

    fn act(&mut self, action: PanelAction) -> bool {
        if action == PanelAction::Toggle {
            self.at = (self.at + 1) % self.charts.len().max(1);
            self.select_nearest();
            return self.charts.len() > 1;
        }
        let levels = self
            .charts
            .get(self.at)
            .map_or(0, |chart| chart.levels.len());
        self.cursor.act(action, levels, 0)
    }

    fn copies(&self) -> Vec<Snippet> {
        let table = self.table();
        table.map_or(vec![], |table| {
            let mut copies = TableView::from_text(&table).copies();
            copies.push(Snippet::new("the formulas", table.notes.join("\n")));
            copies
        })
    }

    fn commands(&self) -> Vec<PanelCommand> {
        let mut commands = vec![(PanelAction::Toggle, "next kernel")];
        commands.truncate(self.charts.len().saturating_sub(1));
        commands.push((PanelAction::Down, "next level"));
        commands
    }
}
