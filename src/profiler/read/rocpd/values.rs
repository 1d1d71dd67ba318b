//! Values of a database row, checked.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use crate::profiler::model::Interval;

/// A row, whose values SQLite may have stored under any type.
pub struct Values<'a, 'stmt> {
    pub row: &'a Row<'stmt>,
    pub columns: &'a [&'a str],
}

impl Values<'_, '_> {
    fn value(&self, column: usize) -> Result<ValueRef<'_>, String> {
        self.row
            .get_ref(column)
            .map_err(|error| format!("{}: {error}", self.name(column)))
    }

    fn name(&self, column: usize) -> &str {
        self.columns.get(column).copied().unwrap_or("?")
    }

    pub fn text(&self, column: usize) -> Result<Option<String>, String> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(text) => std::str::from_utf8(text)
                .map(|text| Some(text.to_owned()))
                .map_err(|_| format!("{} is not UTF-8 text", self.name(column))),
            _ => Err(format!("{} is no text", self.name(column))),
        }
    }

    pub fn needed_text(&self, column: usize) -> Result<String, String> {
        self.text(column)?
            .ok_or_else(|| format!("{} is empty", self.name(column)))
    }

    pub fn number(&self, column: usize) -> Result<Option<f64>, String> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number as f64)),
            ValueRef::Real(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(format!("{} is no finite number", self.name(column))),
        }
    }

    fn integer(&self, column: usize) -> Result<Option<i64>, String> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            _ => Err(format!("{} is no whole number", self.name(column))),
        }
    }

    pub fn whole(&self, column: usize) -> Result<Option<u64>, String> {
        self.integer(column)?
            .map(|number| {
                u64::try_from(number)
                    .map_err(|_| format!("{} is negative: {number}", self.name(column)))
            })
            .transpose()
    }

    pub fn small(&self, column: usize) -> Result<Option<u32>, String> {
        self.whole(column)?
            .map(|number| {
                u32::try_from(number)
                    .map_err(|_| format!("{} is too large: {number}", self.name(column)))
            })
            .transpose()
    }

    pub fn axes<T: TryFrom<u64>>(&self, columns: [usize; 3]) -> Result<Option<[T; 3]>, String> {
        let mut axes = Vec::with_capacity(3);
        for column in columns {
            let Some(axis) = self.whole(column)? else {
                return Ok(None);
            };
            axes.push(
                T::try_from(axis)
                    .map_err(|_| format!("{} is too large: {axis}", self.name(column)))?,
            );
        }
        Ok(axes.try_into().ok())
    }

    pub fn interval(&self, start: usize, end: usize) -> Result<Interval, String> {
        let needed = |column| {
            self.integer(column)?
                .ok_or_else(|| format!("{} is empty", self.name(column)))
        };
        let (start, end): (i64, i64) = (needed(start)?, needed(end)?);
        Interval::new(start, end)
            .ok_or_else(|| format!("ends {} ns before it starts", start.abs_diff(end)))
    }
}
