//! Which rows of a table are shown, and in which order.

use itertools::Itertools;

use super::{Cell, TableView};
use crate::tui::Cursor;
use tinyllama_tutor_core::PanelAction;

impl TableView {
    /// Indices of the rows that a cursor shows. Figures are sorted from the greatest down, texts from a to z.
    pub(super) fn shown_rows(&self, cursor: &Cursor) -> Vec<usize> {
        let is_shown = |row: &Vec<Cell>| row.iter().any(|cell| cursor.shows(&cell.text));
        let rows = self.rows.iter().enumerate();
        let mut shown: Vec<usize> = rows
            .filter(|(_, row)| is_shown(row))
            .map(|(at, _)| at)
            .collect();
        if let Some(column) = cursor.order {
            let text = |row: &usize| self.rows[*row].get(column).map_or("", |cell| &cell.text);
            shown.sort_by(|a, b| {
                let figures = (figure_in(text(a)), figure_in(text(b)));
                match figures {
                    (Some(a), Some(b)) => b.total_cmp(&a),
                    (a, b) => b.is_some().cmp(&a.is_some()),
                }
                .then_with(|| text(a).cmp(text(b)))
            });
        }
        shown
    }

    /// Shows only rows with a text, and selects the first of them.
    pub fn filter(&self, cursor: &mut Cursor, text: &str) -> bool {
        text.clone_into(&mut cursor.filter);
        self.move_cursor(cursor, PanelAction::Top);
        true
    }

    /// Moves a cursor over the rows that it shows, or sorts them by the next column with a title. Returns false if nothing
    /// changed.
    pub fn move_cursor(&self, cursor: &mut Cursor, action: PanelAction) -> bool {
        if action == PanelAction::Sort {
            let next = cursor.order.map_or(0, |column| column + 1);
            let columns = self.columns.iter().enumerate().skip(next);
            let mut titled = columns.filter(|(_, (title, _))| !title.is_empty());
            cursor.order = titled.next().map(|(column, _)| column);
            return self.move_cursor(cursor, PanelAction::Top) || self.rows.len() > 1;
        }
        if action == PanelAction::Mark {
            let Some(key) = self.key(cursor.row) else {
                return false;
            };
            match cursor.marks.iter().position(|mark| *mark == key) {
                Some(at) => drop(cursor.marks.remove(at)),
                None => cursor.marks.push(key),
            }
            self.move_cursor(cursor, PanelAction::Down);
            return true;
        }
        let shown = self.shown_rows(cursor);
        let before = cursor.row;
        let at = shown.iter().position(|row| *row == cursor.row);
        cursor.row = at.unwrap_or(0);
        let moved = cursor.act(action, shown.len(), self.columns.len());
        // No row of the table is selected if none is shown.
        cursor.row = shown.get(cursor.row).copied().unwrap_or(usize::MAX);
        moved || before != cursor.row
    }

    /// A row's name, and how many rows above have the same.
    fn key(&self, row: usize) -> Option<(String, usize)> {
        let name = |row: &Vec<Cell>| Some(row.first()?.text.clone());
        let own = name(self.rows.get(row)?)?;
        let above = self.rows[..row].iter().filter_map(name);
        Some((own.clone(), above.filter(|name| *name == own).count()))
    }

    /// Indices of the marked rows, in the order of marking.
    pub fn marked(&self, cursor: &Cursor) -> Vec<usize> {
        let place = |(name, above): &(String, usize)| {
            let has_name = |row: &Vec<Cell>| row.first().is_some_and(|cell| cell.text == *name);
            self.rows.iter().positions(has_name).nth(*above)
        };
        cursor.marks.iter().filter_map(place).collect()
    }

    /// Indices of the rows that are drawn.
    pub(super) fn in_order(&self) -> Vec<usize> {
        let all = || (0..self.rows.len()).collect();
        self.shown.clone().unwrap_or_else(all)
    }
}

/// Reads a figure and the size of its unit, so that `2 ms` is less than `1 s`. `None` for other texts, such as a date.
fn figure_in(text: &str) -> Option<f64> {
    let text = text.trim();
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        .then_some(())?;
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
    let (number, unit) = ends.into_iter().find_map(|end| {
        let number = text[..end].replace(' ', "").parse::<f64>();
        Some((number.ok()?, text[end..].trim()))
    })?;
    let factor = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        _ if unit.starts_with("min") => 60.0,
        _ => match unit.chars().next() {
            Some('h') => 3600.0,
            Some('k' | 'K') => 1e3,
            Some('M') => 1e6,
            Some('G') => 1e9,
            Some('T') => 1e12,
            Some(c) if !c.is_alphabetic() && c != '%' => return None,
            _ => 1.0,
        },
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{drawn, table};
    use super::*;
    use tinyllama_base::Align;

    #[test]
    fn figures_are_sorted_by_size_and_texts_by_letter() {
        let mut table = TableView::new(&[("name", Align::Left), ("time", Align::Right)]);
        for (name, time) in [("b", "2 ms"), ("c", "-"), ("a", "1.5 s"), ("d", "900 us")] {
            table.rows.push(vec![name.into(), time.into()]);
        }
        let mut cursor = Cursor::default();
        let names = |cursor: &Cursor| {
            let text = drawn(&table.clone().with_cursor(cursor), 30, 6);
            let lines = text.lines().skip(1);
            lines
                .filter_map(|line| line.chars().next())
                .collect::<String>()
        };
        assert_eq!(names(&cursor).trim(), "bcad");
        assert!(table.move_cursor(&mut cursor, PanelAction::Sort));
        assert_eq!(names(&cursor).trim(), "abcd");
        assert_eq!(
            cursor.row, 2,
            "the first row is selected, which is the table's third"
        );
        assert!(table.move_cursor(&mut cursor, PanelAction::Sort));
        assert_eq!(
            names(&cursor).trim(),
            "abdc",
            "what is not reported comes last"
        );
        assert!(table.move_cursor(&mut cursor, PanelAction::Down));
        assert_eq!(cursor.row, 0);
        let copied = &table.clone().with_cursor(&cursor).copies()[1].text;
        assert!(
            copied.starts_with("| name | time |\n| --- | ---: |\n| a | 1.5 s |\n| b"),
            "{copied}"
        );
        table.move_cursor(&mut cursor, PanelAction::Sort);
        assert_eq!(names(&cursor).trim(), "bcad");
        for (less, more) in [
            ("900 us", "1.2 ms"),
            ("2 min 03 s", "1 h 01 min"),
            ("9 999", "1.2e5"),
        ] {
            assert!(figure_in(less) < figure_in(more), "{less} {more}");
        }
        assert_eq!(figure_in("11-26 08:00"), None);
        assert_eq!(figure_in("inf"), None);
    }

    #[test]
    fn marked_rows_stay_marked_in_every_order_and_are_copied_together() {
        let mut table = TableView::new(&[("run", Align::Left), ("time", Align::Right)]);
        for (name, time) in [("same", "3 ms"), ("same", "2 ms"), ("a|b", "9 ms")] {
            table.rows.push(vec![name.into(), time.into()]);
        }
        let mut cursor = Cursor::default();
        assert!(table.move_cursor(&mut cursor, PanelAction::Down));
        assert!(table.move_cursor(&mut cursor, PanelAction::Mark));
        assert!(table.move_cursor(&mut cursor, PanelAction::Mark));
        assert_eq!(table.marked(&cursor), [1, 2]);
        let text = drawn(&table.clone().with_cursor(&cursor), 30, 6);
        let marked: Vec<bool> = text.lines().map(|line| line.starts_with('*')).collect();
        assert_eq!(marked[..4], [false, false, true, true], "{text}");
        table.move_cursor(&mut cursor, PanelAction::Sort);
        let copies = table.clone().with_cursor(&cursor).copies();
        let copied = copies
            .iter()
            .find(|copy| copy.name == "the marked rows (2)");
        let rows = "| run | time |\n| --- | ---: |\n| same | 2 ms |\n| a\\|b | 9 ms |";
        assert_eq!(copied.unwrap().text, rows);
        // The first row is the one that sorting selects.
        assert!(table.move_cursor(&mut cursor, PanelAction::Mark));
        assert_eq!(table.marked(&cursor), [1]);
    }

    #[test]
    fn a_filter_hides_rows_and_never_selects_a_hidden_one() {
        let table = table();
        let mut cursor = Cursor::default();
        assert!(table.filter(&mut cursor, "NAME_7"));
        assert_eq!(cursor.row, 7);
        let text = drawn(&table.clone().with_cursor(&cursor), 60, 12);
        assert!(text.contains("_7 ") && !text.contains("_6 "), "{text}");
        assert!(
            text.contains("rows 1 to 1 of 1 with \"NAME_7\"; 8 are hidden"),
            "{text}"
        );
        assert!(!table.move_cursor(&mut cursor, PanelAction::Down));
        table.filter(&mut cursor, "nothing has this");
        assert_eq!(cursor.row, usize::MAX);
        assert_eq!(table.clone().with_cursor(&cursor).selected_name(), "");
        assert!(drawn(&table.clone().with_cursor(&cursor), 60, 12).contains("9 are hidden"));
        table.filter(&mut cursor, "");
        assert_eq!(
            drawn(&table.clone().with_cursor(&cursor), 60, 12)
                .lines()
                .count(),
            12
        );
        assert_eq!(cursor.row, 0);
    }
}
