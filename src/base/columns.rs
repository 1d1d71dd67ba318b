//! Fits the columns of a table to a width: in further blocks, by scrolling, by narrowing, or as many as are whole.

use unicode_width::UnicodeWidthStr;

/// Blanks between two columns.
pub const GAP: usize = 2;

/// Minimum width of the first column, which names the row.
const NARROWEST_NAME: usize = 16;

/// Minimum width of text on a page, where further columns have room below.
const NARROWEST_WORDS: usize = 20;

/// Minimum width of text on a screen, where further columns are reached by scrolling.
const NARROWEST_TEXT: usize = 10;

/// Minimum width of a cell in prose. A tiny screen cuts the table instead of showing one letter a line.
const NARROWEST_CELL: usize = 5;

/// Columns of the arrows that point to hidden columns.
const ARROWS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text; broken over lines if a line is too narrow.
    Left,
    /// Numbers; never broken.
    Right,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// From 0, among all columns of the table.
    pub index: usize,
    pub align: Align,
    /// In columns of the terminal, without gaps.
    pub width: usize,
}

impl Column {
    /// Blanks before and after a cell's text of so many columns.
    pub fn blanks(&self, text: usize) -> [String; 2] {
        let blanks = " ".repeat(self.width.saturating_sub(text));
        match self.align {
            Align::Left => [String::new(), blanks],
            Align::Right => [blanks, String::new()],
        }
    }

    pub fn is_text(&self) -> bool {
        self.align == Align::Left
    }

    fn at_most(self, width: usize) -> Self {
        Column {
            width: self.width.min(width),
            ..self
        }
    }
}

/// The widths that the columns of a table need, and the ways to fit them to less.
pub struct ColumnLayout {
    columns: Vec<Column>,
}

/// Columns of a table on a screen, the first one always among them.
#[derive(Default)]
pub struct ScrolledColumns {
    pub shown: Vec<Column>,
    pub hidden_left: usize,
    pub hidden_right: usize,
}

impl ColumnLayout {
    pub fn new(aligns: impl IntoIterator<Item = Align>) -> Self {
        let columns = aligns.into_iter().enumerate();
        let columns = columns.map(|(index, align)| Column {
            index,
            align,
            width: 0,
        });
        ColumnLayout {
            columns: columns.collect(),
        }
    }

    /// For columns with titles, and the texts of rows.
    pub fn from_texts<'a, Row: IntoIterator<Item = &'a str>>(
        columns: impl Iterator<Item = (&'a str, Align)> + Clone,
        rows: impl Iterator<Item = Row>,
    ) -> Self {
        let mut layout = ColumnLayout::new(columns.clone().map(|(_, align)| align));
        layout.measure(columns.map(|(title, _)| title.width()));
        for row in rows {
            layout.measure(row.into_iter().map(UnicodeWidthStr::width));
        }
        layout
    }

    /// Makes each column as wide as its cell in this row.
    pub fn measure(&mut self, widths: impl IntoIterator<Item = usize>) {
        for (column, width) in self.columns.iter_mut().zip(widths) {
            column.width = column.width.max(width);
        }
    }

    /// The columns in the widths that they need.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// All columns, in blocks that stand below each other. Each begins with the first column, which shrinks first.
    pub fn blocks(&self, width: usize) -> Vec<Vec<Column>> {
        let Some((name, others)) = self.columns.split_first() else {
            return Vec::new();
        };
        let name = name.at_most(NARROWEST_NAME);
        let mut blocks = Vec::new();
        let mut block = vec![name];
        for column in others {
            let column = match column.align {
                Align::Left => column.at_most(NARROWEST_WORDS),
                Align::Right => *column,
            };
            let needed = total_width(&block) + GAP + column.width;
            if block.len() > 1 && needed > width {
                blocks.push(std::mem::replace(&mut block, vec![name]));
            }
            block.push(column);
        }
        blocks.push(block);
        for block in &mut blocks {
            let mut left = width.saturating_sub(total_width(block));
            for column in block {
                let more = (self.columns[column.index].width - column.width).min(left);
                column.width += more;
                left -= more;
            }
        }
        blocks
    }

    /// As many columns as have room, the first one and those from `shift` further on. Texts that fold may become narrow
    /// to leave room for the name.
    pub fn scrolled(&self, width: usize, shift: usize, texts_fold: bool) -> ScrolledColumns {
        let Some((name, others)) = self.columns.split_first() else {
            return ScrolledColumns::default();
        };
        let narrow = name.width.min(NARROWEST_NAME);
        let needed: usize = others.iter().map(|column| GAP + column.width).sum();
        let (shift, arrows) = match narrow + needed <= width {
            true => (0, 0),
            false => (shift.min(others.len().saturating_sub(1)), ARROWS),
        };
        // At least one figure is complete, even if that shortens the name. Texts can fold.
        let figure = others.get(shift).map_or(0, |column| {
            let folds = texts_fold && column.is_text();
            GAP + if folds { NARROWEST_TEXT } else { column.width }
        });
        let narrow = narrow.min(width.saturating_sub(figure + arrows));
        let mut left = width.saturating_sub(narrow + arrows);
        let mut shown = vec![*name];
        for column in others.iter().skip(shift) {
            let wanted = GAP + column.width;
            // The start of a text is useful; the start of a number is not.
            let may_be_cut = column.is_text() && left >= GAP + NARROWEST_TEXT;
            if wanted > left && shown.len() > 1 && !may_be_cut {
                break;
            }
            let given = wanted.min(left);
            if given <= GAP {
                break;
            }
            shown.push(column.at_most(given - GAP));
            left -= given;
        }
        shown[0].width = (narrow + left).min(name.width).min(width);
        ScrolledColumns {
            hidden_left: shift,
            hidden_right: self.columns.len() - shift - shown.len(),
            shown,
        }
    }

    /// All columns, the widest ones narrowed.
    pub fn narrowed(mut self, width: usize) -> Vec<Column> {
        while total_width(&self.columns) > width {
            let widest = self.columns.iter_mut().max_by_key(|column| column.width);
            match widest {
                Some(column) if column.width > NARROWEST_CELL => column.width -= 1,
                _ => break,
            }
        }
        self.columns
    }

    /// As many columns from the first on as fit whole.
    pub fn whole(mut self, width: usize) -> Vec<Column> {
        while total_width(&self.columns) > width {
            self.columns.pop();
        }
        self.columns
    }
}

/// Columns with the gaps between them.
fn total_width(columns: &[Column]) -> usize {
    let widths: usize = columns.iter().map(|column| column.width).sum();
    widths + GAP * columns.len().saturating_sub(1)
}

/// A row of plain text, without blanks at its end.
pub fn row_text<'a>(columns: &[Column], cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells = columns.iter().zip(cells).map(|(column, cell)| {
        let [before, after] = column.blanks(cell.width());
        format!("{before}{cell}{after}")
    });
    let cells: Vec<String> = cells.collect();
    cells.join(&" ".repeat(GAP)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name, a number and a text of these widths.
    fn layout(widths: [usize; 3]) -> ColumnLayout {
        let mut layout = ColumnLayout::new([Align::Left, Align::Right, Align::Left]);
        layout.measure(widths);
        layout
    }

    fn widths(columns: &[Column]) -> Vec<(usize, usize)> {
        let widths = columns.iter().map(|column| (column.index, column.width));
        widths.collect()
    }

    #[test]
    fn each_way_to_fit_gives_up_something_else() {
        let [fits, narrow] = [54, 40];
        let layout = || layout([20, 10, 20]);
        let all = [(0, 20), (1, 10), (2, 20)];
        assert_eq!(widths(&layout().whole(fits)), all);
        assert_eq!(widths(&layout().whole(narrow)), all[..2]);
        assert_eq!(widths(&layout().narrowed(fits)), all);
        assert_eq!(
            widths(&layout().narrowed(narrow)),
            [(0, 13), (1, 10), (2, 13)]
        );
        let blocks = layout().blocks(narrow);
        let blocks: Vec<_> = blocks.iter().map(|block| widths(block)).collect();
        assert_eq!(blocks, [&[(0, 20), (1, 10)][..], &[(0, 18), (2, 20)]]);
        let scrolled = |width, shift| layout().scrolled(width, shift, false);
        assert_eq!(widths(&scrolled(fits, 0).shown), all);
        // The start of a text is useful, that of a figure is not.
        assert_eq!(widths(&scrolled(44, 0).shown), [(0, 16), (1, 10), (2, 12)]);
        let left = scrolled(narrow, 0);
        assert_eq!(widths(&left.shown), all[..2]);
        assert_eq!((left.hidden_left, left.hidden_right), (0, 1));
        let right = scrolled(narrow, 1);
        assert_eq!(widths(&right.shown), [(0, 16), (2, 20)]);
        assert_eq!((right.hidden_left, right.hidden_right), (1, 0));
    }

    #[test]
    fn a_row_has_its_columns_and_no_blanks_at_its_end() {
        let row = row_text(layout([4, 6, 8]).columns(), ["学", "1.5", "text"]);
        assert_eq!(row, "学       1.5  text");
    }
}
