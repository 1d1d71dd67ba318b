//! Results of a query, read to the end before they are returned: a row of SQLite borrows its statement, a row of turso
//! owns its values.

use crate::Result;
use rusqlite::types::{FromSql, Value};

pub struct Rows(std::vec::IntoIter<Row>);

impl Rows {
    pub(crate) fn new(rows: Vec<Row>) -> Rows {
        Rows(rows.into_iter())
    }

    /// Returns the next row, or `None` after the last.
    ///
    /// # Errors
    /// Never fails; turso reads the file here and can fail.
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

    /// Returns the value of a column, counted from 0.
    ///
    /// # Errors
    /// Fails if there is no such column or its value has another type.
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
