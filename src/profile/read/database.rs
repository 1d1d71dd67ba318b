//! Opens SQLite databases read-only and reads their views row by row.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::budget::{QueryBudget, TOO_MUCH};
use super::damage::{Damage, FileLocation};
use super::fields::{self, Field, FieldColumns};
use super::file_import::FileImport;
use super::records::ProfileRowWriter;
use super::table::normalised;

/// A database. Errors name its file.
pub struct Database<'a> {
    // Fields are dropped in their order, so the connection is closed before its budget is dropped.
    pub connection: Connection,
    path: &'a Path,
    budget: QueryBudget,
}

impl<'a> Database<'a> {
    pub fn open(path: &'a Path) -> Result<Self, Damage> {
        let sql = |error| Damage::new(FileLocation::file(path), explain(&error));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(sql)?;
        // The views come with the file. They may compute, but must not call functions with an effect.
        let trust = connection.pragma_update(None, "trusted_schema", false);
        trust.map_err(sql)?;
        let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
        let budget = QueryBudget::limit(&connection, bytes).map_err(sql)?;
        Ok(Database {
            connection,
            path,
            budget,
        })
    }

    /// Passes each row of a view to `add`, and returns how many it accepted. A missing column is not an error, because an
    /// older schema has fewer. A missing view has no rows.
    pub fn for_each_row(
        &self,
        view: &str,
        reading: &mut FileImport<'_>,
        mut add: impl FnMut(&mut ProfileRowWriter<'_>, &DatabaseRow<'_, '_>) -> Result<(), String>,
    ) -> Result<u64, Damage> {
        let place = |row: String| FileLocation {
            name: Some(format!("view {view}{row}")),
            ..FileLocation::file(self.path)
        };
        let sql = |error| Damage::new(place(String::new()), explain(&error));
        let mut names = columns(&self.connection, view).map_err(sql)?;
        names.retain(|name| fields::is_known(&normalised(name)));
        if names.is_empty() {
            return Ok(0);
        }
        let known: Vec<String> = names.iter().map(|name| normalised(name)).collect();
        let columns = FieldColumns::from_names(&known);
        let query = format!("SELECT \"{}\" FROM \"{view}\"", names.join("\", \""));
        let mut statement = self.connection.prepare(&query).map_err(sql)?;
        let mut rows = statement.query([]).map_err(sql)?;
        let process = reading.process();
        let mut records = ProfileRowWriter::new(reading.profile, process, reading.guids);
        let (mut good, mut number) = (0, 0u64);
        while let Some(row) = rows.next().map_err(sql)? {
            number += 1;
            if !self.budget.take_row() {
                return Err(Damage::new(place(String::new()), TOO_MUCH));
            }
            let row = DatabaseRow {
                row,
                columns: &columns,
                names: &names,
                budget: &self.budget,
            };
            match add(&mut records, &row) {
                Ok(()) => good += 1,
                Err(problem) if problem == TOO_MUCH => {
                    return Err(Damage::new(place(String::new()), problem));
                }
                Err(problem) => {
                    let place = place(format!(", row {number}"));
                    reading.log.add(Damage::new(place, problem))?;
                }
            }
        }
        Ok(good)
    }

    /// Reads the first row of a view as texts by column, for facts that people read. Returns 0 if there is no such view.
    pub fn facts(&self, view: &str, into: &mut BTreeMap<String, String>) -> Result<u64, Damage> {
        let sql = |error| Damage::new(FileLocation::file(self.path), explain(&error));
        let columns = columns(&self.connection, view).map_err(sql)?;
        if columns.is_empty() {
            return Ok(0);
        }
        let query = format!("SELECT * FROM \"{view}\" LIMIT 1");
        let mut statement = self.connection.prepare(&query).map_err(sql)?;
        let mut rows = statement.query([]).map_err(sql)?;
        let Some(row) = rows.next().map_err(sql)? else {
            return Ok(0);
        };
        for (at, column) in columns.into_iter().enumerate() {
            let text = match row.get_ref(at).map_err(sql)? {
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Real(number) => number.to_string(),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                ValueRef::Null | ValueRef::Blob(_) => continue,
            };
            if !self.budget.take_text(&text) {
                return Err(Damage::new(FileLocation::file(self.path), TOO_MUCH));
            }
            match serde_json::from_str::<BTreeMap<String, Value>>(&text) {
                // Some versions store these facts as a JSON document.
                Ok(facts) => {
                    let text = |value: &Value| match value {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    into.extend(
                        facts
                            .iter()
                            .map(|(name, value)| (name.clone(), text(value))),
                    );
                }
                Err(_) => drop(into.insert(column, text)),
            }
        }
        Ok(1)
    }
}

/// Names of all tables and views.
pub fn tables(path: &Path) -> Result<Vec<String>, Damage> {
    let names = "SELECT name FROM sqlite_master WHERE type IN ('view', 'table') AND name <> ?1";
    strings(&Database::open(path)?.connection, names, "")
        .map_err(|error| Damage::new(FileLocation::file(path), explain(&error)))
}

/// Names of the columns of a table or view.
pub fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let query = "SELECT name FROM pragma_table_info(?1)";
    strings(connection, query, table)
}

/// The first column of the rows that `query` finds for `parameter`.
pub fn strings(
    connection: &Connection,
    query: &str,
    parameter: &str,
) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(query)?;
    let strings = statement.query_map([parameter], |row| row.get(0))?;
    strings.collect()
}

fn explain(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode::{
        DatabaseCorrupt, NotADatabase, OperationInterrupted, OutOfMemory, TooBig,
    };
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => format!(
            "the database is damaged ({error}); it was probably cut off: profile again, and let the program finish"
        ),
        Some(OperationInterrupted | OutOfMemory | TooBig) => TOO_MUCH.to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// A row. SQLite may have stored its values under any type.
pub struct DatabaseRow<'a, 'stmt> {
    row: &'a rusqlite::Row<'stmt>,
    columns: &'a FieldColumns,
    names: &'a [String],
    budget: &'a QueryBudget,
}

impl DatabaseRow<'_, '_> {
    fn value(&self, field: Field) -> Result<ValueRef<'_>, String> {
        match self.columns.column_of(field) {
            Some(column) => self
                .row
                .get_ref(column)
                .map_err(|error| format!("{}: {error}", self.names[column])),
            None => Ok(ValueRef::Null),
        }
    }
}

impl fields::FieldSource for DatabaseRow<'_, '_> {
    type Problem = String;

    fn has(&self, field: Field) -> bool {
        self.columns.column_of(field).is_some()
    }

    fn text(&self, field: Field) -> Result<Option<&str>, String> {
        match self.value(field)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text)
                    .map_err(|_| self.problem(field, "is not UTF-8 text".to_owned()))?;
                let is_affordable = self.budget.take_text(text);
                is_affordable
                    .then_some(Some(text))
                    .ok_or_else(|| TOO_MUCH.to_owned())
            }
            _ => Err(self.problem(field, "is not text".to_owned())),
        }
    }

    fn unsigned(&self, field: Field) -> Result<Option<u64>, String> {
        let negative = |number| self.problem(field, format!("is negative: {number}"));
        self.stamp(field)?
            .map(|number| u64::try_from(number).map_err(|_| negative(number)))
            .transpose()
    }

    fn number(&self, field: Field) -> Result<Option<f64>, String> {
        match self.value(field)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number as f64)),
            ValueRef::Real(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(self.problem(field, "is not a finite number".to_owned())),
        }
    }

    fn any_number(&self, field: Field) -> Result<Option<f64>, String> {
        match self.value(field)? {
            ValueRef::Real(number) => Ok(Some(number)),
            _ => self.number(field),
        }
    }

    fn stamp(&self, field: Field) -> Result<Option<i64>, String> {
        match self.value(field)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            _ => Err(self.problem(field, "is not a whole number".to_owned())),
        }
    }

    fn problem(&self, field: Field, problem: String) -> String {
        let name = self
            .columns
            .column_of(field)
            .map_or("?", |at| &self.names[at]);
        format!("{name} {problem}")
    }

    fn disorder(&self, problem: String) -> String {
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Profile;
    use crate::read::damage::DamageLog;
    use crate::read::fields::FieldSource as _;
    use crate::read::guids::RunGuids;

    /// An error if it is computed.
    const OVERFLOW: &str = "abs(-9223372036854775807 - 1)";

    fn with_database<T>(statements: &str, then: impl FnOnce(Database<'_>) -> T) -> T {
        let file = tempfile::NamedTempFile::new().unwrap();
        let connection = Connection::open(file.path()).unwrap();
        connection.execute_batch(statements).unwrap();
        then(Database::open(file.path()).unwrap())
    }

    /// Reads a view. Returns the number of accepted rows or the reason why not, and the places and faults of the others.
    fn read(
        database: &Database<'_>,
        view: &str,
        mut add: impl FnMut(&DatabaseRow<'_, '_>) -> Result<(), String>,
    ) -> (Result<u64, String>, Vec<String>) {
        let (mut profile, mut log) = (Profile::default(), DamageLog::default());
        let mut reading = FileImport {
            path: database.path,
            profile: &mut profile,
            log: &mut log,
            guids: &mut RunGuids::default(),
        };
        let count = database.for_each_row(view, &mut reading, |_, row| add(row));
        let damage = log.found.into_iter();
        let faults = damage.map(|it| format!("{}: {}", it.location.name.unwrap(), it.problem));
        (count.map_err(|damage| damage.problem), faults.collect())
    }

    #[test]
    fn a_value_of_another_type_is_named_with_its_column() {
        let statements = "CREATE TABLE v(name, value, start, end);
            INSERT INTO v VALUES ('a', 1.5, 2, 3), (NULL, NULL, NULL, 3), (x'00', 9e999, -1, -2),
                (CAST(x'ff' AS TEXT), 2, 0.5, 3), (3, 'x', 'x', 3)";
        let mut shown = String::new();
        with_database(statements, |database| {
            let (count, _) = read(&database, "v", |row| {
                let (name, start) = (row.text(Field::Name), row.unsigned(Field::Start));
                let [finite, any] = [row.number(Field::Value), row.any_number(Field::Value)];
                let (stamp, time) = (row.stamp(Field::Start), row.time().map(|it| it.is_some()));
                let part = format!("{name:?} {finite:?} {any:?} {start:?} {stamp:?} {time:?}\n");
                shown.push_str(&part);
                assert!(row.has(Field::Start) && !row.has(Field::Queue));
                assert_eq!(row.problem(Field::Queue, "is odd".into()), "? is odd");
                Ok(())
            });
            assert_eq!(count, Ok(5));
        });
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn only_known_columns_are_computed() {
        let statements = format!(
            "CREATE VIEW v AS SELECT 1 AS start, {OVERFLOW} AS unheard_of;
            CREATE VIEW unknown AS SELECT 1 AS unheard_of"
        );
        with_database(&statements, |database| {
            let of = |view| read(&database, view, |_| Ok(()));
            assert_eq!(of("v"), (Ok(1), vec![]));
            assert_eq!(of("unknown"), (Ok(0), vec![]));
            assert_eq!(of("missing"), (Ok(0), vec![]));
            assert_eq!(database.facts("missing", &mut BTreeMap::new()), Ok(0));
        });
    }

    #[test]
    fn a_fault_is_named_by_its_row_and_what_costs_too_much_ends_the_reading() {
        let statements = format!(
            "CREATE TABLE v(start); INSERT INTO v VALUES (1), (2), (3);
            CREATE VIEW failing AS SELECT {OVERFLOW} AS start"
        );
        with_database(&statements, |database| {
            let refuse = |problem: &'static str| {
                move |row: &DatabaseRow<'_, '_>| match row.stamp(Field::Start)? {
                    Some(2) => Err(problem.to_owned()),
                    _ => Ok(()),
                }
            };
            let odd = vec!["view v, row 2: odd".to_owned()];
            assert_eq!(read(&database, "v", refuse("odd")), (Ok(2), odd));
            let ended = (Err(TOO_MUCH.to_owned()), vec![]);
            assert_eq!(read(&database, "v", refuse(TOO_MUCH)), ended);
            let (failed, _) = read(&database, "failing", |_| Ok(()));
            insta::assert_snapshot!(failed.unwrap_err());
        });
    }

    #[test]
    fn facts_are_columns_or_a_document() {
        let statements = r#"CREATE VIEW v AS SELECT 'text' AS a, 2 AS b, 0.5 AS c, NULL AS d, x'00' AS e,
            '{"f": "text", "g": 2}' AS h; CREATE VIEW empty AS SELECT 1 AS a WHERE 0"#;
        with_database(statements, |database| {
            let mut facts = BTreeMap::new();
            assert_eq!(database.facts("empty", &mut facts), Ok(0));
            assert_eq!(database.facts("v", &mut facts), Ok(1));
            insta::assert_snapshot!(format!("{facts:?}"));
        });
    }

    #[test]
    fn rows_and_texts_have_a_budget_and_a_file_that_was_cut_off_is_named() {
        let many = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 200000)";
        let columns = (0..70).map(|n| format!("'{n}' || hex(zeroblob(500000)) AS c{n}"));
        let columns = columns.collect::<Vec<_>>().join(", ");
        let statements = format!(
            "CREATE VIEW rows AS {many} SELECT n AS start FROM c; CREATE VIEW texts AS SELECT {columns}"
        );
        with_database(&statements, |database| {
            let rows = read(&database, "rows", |_| Ok(()));
            assert_eq!(rows, (Err(TOO_MUCH.to_owned()), vec![]));
            let texts = database.facts("texts", &mut BTreeMap::new());
            assert_eq!(texts.unwrap_err().problem, TOO_MUCH);
        });
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(
            file.path(),
            "SQLite format 3\0, and then something else".repeat(99),
        )
        .unwrap();
        let error = tables(file.path()).unwrap_err();
        assert!(error.problem.contains("cut off"), "{error}");
    }
}
