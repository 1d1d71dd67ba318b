//! Reads the database that the first rocprof writes with its traces: one table for each kind of activity.

use super::ProfileFormat;
use crate::read::database::Database;
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "first rocprof's trace (SQLite)",
    recognises: |file| file.has_table("OPS") && file.has_table("COPY"),
    read,
};

/// Tables of calls, with the domain of each.
const CALLS: [(&str, &str); 4] = [
    ("HIP", "HIP_API"),
    ("HSA", "HSA_API"),
    ("KFD", "KFD_API"),
    ("ROCTX", "MARKER_API"),
];

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let database = Database::open(reading.path)?;
    let mut rows = database.for_each_row("OPS", reading, |records, row| records.dispatch(row))?;
    rows += database.for_each_row("COPY", reading, |records, row| records.copy(row))?;
    for (table, domain) in CALLS {
        rows +=
            database.for_each_row(table, reading, |records, row| records.call_in(domain, row))?;
    }
    Ok(rows)
}
