//! rocpd: the SQLite database rocprofv3 writes since ROCm 7.0, and the one of rocprof-compute's analysis.
//!
//! rocpd's tables carry a unique suffix; views without it are the stable interface, and only those are read.

mod analysis;
mod values;
mod views;

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use self::views::Reading;
use super::Format;
use super::damage::{Damage, DamageLog, Place};
use crate::profiler::model::{ProcessId, Profile};

/// The schema generation whose views are read.
const SCHEMA: &str = "3";

pub struct Database {
    connection: Connection,
    pub format: Format,
    /// Marks rows exported from this database to CSV.
    pub guid: Option<String>,
}

/// Opens a database without the right to change it.
pub fn open(path: &Path) -> Result<Option<Database>, Damage> {
    let sql = |error: rusqlite::Error| Damage::new(Place::file(path), explain(&error));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(sql)?;
    // The views come with the file: they may compute, but call nothing that has an effect.
    connection
        .pragma_update(None, "trusted_schema", false)
        .map_err(sql)?;
    if exists(&connection, "rocpd_metadata").map_err(sql)? {
        check_schema(&connection, path)?;
        let guid = metadata(&connection, "guid");
        return Ok(Some(Database {
            connection,
            format: Format::Rocpd,
            guid,
        }));
    }
    if exists(&connection, "compute_metadata").map_err(sql)? {
        return Ok(Some(Database {
            connection,
            format: Format::ComputeDatabase,
            guid: None,
        }));
    }
    Ok(None)
}

impl Database {
    /// Reads every view it knows into `profile`; the number of rows read.
    pub fn read(
        &self,
        path: &Path,
        process: ProcessId,
        profile: &mut Profile,
        log: &mut DamageLog,
    ) -> Result<u64, Damage> {
        let mut reading = Reading {
            connection: &self.connection,
            path,
            process,
            profile,
            log,
        };
        match self.format {
            Format::Rocpd => reading.rocpd(),
            _ => reading.analysis(),
        }
    }
}

fn exists(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?1 AND type IN ('view', 'table'))",
        [name],
        |row| row.get(0),
    )
}

fn metadata(connection: &Connection, tag: &str) -> Option<String> {
    connection
        .query_row(
            "SELECT value FROM rocpd_metadata WHERE tag = ?1",
            [tag],
            |row| row.get(0),
        )
        .ok()
}

fn check_schema(connection: &Connection, path: &Path) -> Result<(), Damage> {
    let place = || Place {
        name: Some("rocpd_metadata".to_owned()),
        ..Place::file(path)
    };
    let Some(version) = metadata(connection, "schema_version") else {
        return Err(Damage::new(
            place(),
            "names no schema version: the file is no complete rocpd database",
        ));
    };
    if version.split('.').next() == Some(SCHEMA) {
        return Ok(());
    }
    Err(Damage::new(
        place(),
        format!(
            "has schema version {version}, and only {SCHEMA}.x is read. `rocpd convert --output-format csv` of the ROCm that wrote it makes files that are read"
        ),
    ))
}

pub fn explain(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => format!(
            "the database is damaged ({error}); it was probably cut off: profile again, and let the program end by itself"
        ),
        _ => format!("cannot be read: {error}"),
    }
}
