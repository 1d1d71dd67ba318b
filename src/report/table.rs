//! A table of a report with its columns. Every format writes the same table.

use serde::Serialize;

/// Style of a cell, for formats that have styles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnStyle {
    Text,
    /// Aligned to the right, for figures that are compared.
    Number,
    Code,
    /// Code that stays on one line.
    Id,
    /// In the colour of its verdict. The word itself stays.
    Verdict,
}

#[derive(Serialize)]
pub struct ReportTable<T> {
    #[serde(skip)]
    things: Vec<T>,
    pub columns: Vec<(&'static str, ColumnStyle)>,
    pub rows: Vec<Vec<String>>,
}

impl<T> ReportTable<T> {
    /// Builds a row for each of `things`, in their order.
    pub fn new(things: impl IntoIterator<Item = T>) -> Self {
        let things: Vec<T> = things.into_iter().collect();
        ReportTable {
            rows: vec![vec![]; things.len()],
            columns: vec![],
            things,
        }
    }

    pub fn text<C: ToString>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(name, ColumnStyle::Text, cell)
    }

    pub fn number<C: ToString>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(name, ColumnStyle::Number, cell)
    }

    pub fn code<C: ToString>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(name, ColumnStyle::Code, cell)
    }

    pub fn id<C: ToString>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(name, ColumnStyle::Id, cell)
    }

    pub fn verdict<C: ToString>(self, name: &'static str, cell: impl Fn(&T) -> C) -> Self {
        self.column(name, ColumnStyle::Verdict, cell)
    }

    fn column<C: ToString>(
        mut self,
        name: &'static str,
        kind: ColumnStyle,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        self.columns.push((name, kind));
        for (row, thing) in self.rows.iter_mut().zip(&self.things) {
            row.push(cell(thing).to_string());
        }
        self
    }

    pub fn without_column(mut self, name: &str) -> Self {
        if let Some(at) = self.columns.iter().position(|(of, _)| *of == name) {
            self.columns.remove(at);
            self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
        self
    }
}
