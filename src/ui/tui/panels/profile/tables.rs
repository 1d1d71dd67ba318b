//! Shows several plain-text tables, one at a time.

use crate::tui::{Cursor, Pane, Panel, PanelCommand, Snippet, TableView, paragraph, width};
use tinyllama_base::TextTable;
use tinyllama_tutor_core::PanelAction;

/// Names up to this many columns are shown whole in every table.
const SHORT_NAME: usize = 14;

#[derive(Debug, Default)]
pub struct TablesPanel {
    tables: Vec<TextTable>,
    at: usize,
    cursor: Cursor,
}

impl TablesPanel {
    pub fn new(tables: Vec<TextTable>) -> Self {
        TablesPanel {
            tables,
            ..TablesPanel::default()
        }
    }
}

impl Panel for TablesPanel {
    fn paint(&self, pane: &mut Pane) {
        let Some(text) = self.tables.get(self.at) else {
            return;
        };
        let (theme, wide) = (pane.theme, pane.area.width);
        let mut title = text.title.clone();
        if self.tables.len() > 1 {
            title.push_str(&format!(" ({} of {})", self.at + 1, self.tables.len()));
        }
        pane.heading(&title);
        let table = TableView::from_text(text).folded();
        let table = table.with_cursor(&self.cursor);
        let selected = table.selected.and_then(|row| text.rows.get(row)?.first());
        let name = selected.filter(|name| width(name) > SHORT_NAME);
        let name = name.map(|name| paragraph(name, wide, theme.code()));
        let notes = text.notes.iter();
        let notes = notes.map(|note| paragraph(note, wide, theme.muted()));
        let foot = name.into_iter().chain(notes).flatten().collect();
        // The text gets at most half of the room, because the figures come first.
        table.draw_over(foot, pane.area.height / 2, pane);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        if action == PanelAction::Toggle {
            self.at = (self.at + 1) % self.tables.len().max(1);
            self.cursor = Cursor::default();
            return self.tables.len() > 1;
        }
        let table = self.tables.get(self.at).map(TableView::from_text);
        table.is_some_and(|table| table.move_cursor(&mut self.cursor, action))
    }

    fn filter(&mut self, text: &str) -> bool {
        let table = self.tables.get(self.at).map(TableView::from_text);
        table.is_some_and(|table| table.filter(&mut self.cursor, text))
    }

    fn copies(&self) -> Vec<Snippet> {
        let table = self.tables.get(self.at);
        table.map_or(vec![], |table| {
            TableView::from_text(table)
                .with_cursor(&self.cursor)
                .copies()
        })
    }

    fn commands(&self) -> Vec<PanelCommand> {
        let mut commands = vec![(PanelAction::Sort, "sort")];
        if self.tables.len() > 1 {
            commands.insert(0, (PanelAction::Toggle, "next table"));
        }
        commands
    }
}
