//! Answers of a query, read to the end before they are handed out: a row of SQLite borrows its statement, a row of turso owns
//! what it holds.

use crate::Result;
use rusqlite::types::{FromSql, Value};

pub struct Rows(std::vec::IntoIter<Row>);

impl Rows {
    pub(crate) fn new(rows: Vec<Row>) -> Rows {
        Rows(rows.into_iter())
    }

    /// The next row, or `None` after the last.
    ///
    /// # Errors
    /// None; turso's reads the file here.
    pub async fn next(&mut self) -> Result<Option<Row>> {
        Ok(self.0.next())
    }
}

pub struct Row(Vec<Value>);

impl Row {
    pub(crate) fn read(row: &rusqlite::Row<'_>, columns: usize) -> rusqlite::Result<Row> {
        (0..columns)
            .map(|column| row.get(column))
            .collect::<rusqlite::Result<_>>()
            .map(Row)
    }

    /// The value of a column, from 0.
    ///
    /// # Errors
    /// When there is no such column or its value is of another type.
    pub fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        let value = self
            .0
            .get(column)
            .ok_or(rusqlite::Error::InvalidColumnIndex(column))?;
        T::column_result(value.into()).map_err(|_| {
            rusqlite::Error::InvalidColumnType(
                column,
                format!("column {column}"),
                value.data_type(),
            )
            .into()
        })
    }
}
