//! Reads rocpd, the SQLite database that rocprofv3 writes since ROCm 7.0.
//!
//! Its tables have a unique suffix. The views without it are the stable interface, and only those are read.

use super::{FormatContent, ProfileFormat};
use crate::read::damage::{Damage, FileLocation};
use crate::read::database::Database;
use crate::read::fields::{Field, FieldSource};
use crate::read::{FileImport, RowCount};
use itertools::Itertools;

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocpd (SQLite)",
    recognises: |file| file.has_table("rocpd_metadata"),
    read,
    content: FormatContent::WholeRun,
};

/// The schema generation whose views are read.
const SCHEMA: &str = "3";

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let database = Database::open(reading.path)?;
    check_schema(&database, reading)?;
    reading.guids.extend(metadata(&database, "guid"));
    database.for_each_row("processes", reading, |records, row| {
        let command = row.text(Field::Command)?;
        records.profile.commands.extend(command.map(str::to_owned));
        Ok(())
    })?;
    database.for_each_row("rocpd_info_agent", reading, |records, row| {
        // Further properties in JSON. Without them the agent still has a name.
        let extra = row.text(Field::Extra)?.unwrap_or_default();
        let extra: serde_json::Value = serde_json::from_str(extra).unwrap_or_default();
        records.agent(row, |key| {
            Ok(extra.get(key).and_then(|value| value.as_u64()))
        })
    })?;
    let mut rows = 0;
    rows += database.for_each_row("kernels", reading, |records, row| records.dispatch(row))?;
    rows += database.for_each_row("regions", reading, |records, row| records.call(row))?;
    rows += database.for_each_row("memory_copies", reading, |records, row| records.copy(row))?;
    rows += database.for_each_row("memory_allocations", reading, |records, row| {
        records.allocation(row)
    })?;
    rows += database.for_each_row("counters_collection", reading, |records, row| {
        records.counter(row)
    })?;
    Ok(rows)
}

fn metadata(database: &Database<'_>, tag: &str) -> Option<String> {
    let query = "SELECT value FROM rocpd_metadata WHERE tag = ?1";
    let value = database
        .connection
        .query_row(query, [tag], |row| row.get(0));
    value.ok()
}

fn check_schema(database: &Database<'_>, reading: &FileImport<'_>) -> Result<(), Damage> {
    let problem = match metadata(database, "schema_version") {
        Some(version) if version.split('.').next() == Some(SCHEMA) => return Ok(()),
        Some(version) => format!(
            "has schema version {version}, and only {SCHEMA}.x is read. `rocpd convert --output-format csv` of the ROCm that wrote it makes files that are read"
        ),
        None => "names no schema version: the file is not a complete rocpd database".to_owned(),
    };
    let place = FileLocation {
        name: Some("rocpd_metadata".to_owned()),
        ..FileLocation::file(reading.path)
    };
    Err(Damage::new(place, problem))
}
