//! Copies of rocpd databases to give away: without the program's environment, its command, and the names of the host and of
//! its files.
//!
//! rocprofv3 writes the whole environment of the profiled process into every database, with tokens and all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::budget::QueryBudget;
use super::database::{columns, strings};
use super::sample::{FileSample, SampleContent};
use tinyllama_base::{ScratchFolder, untrusted};

/// What to give away of a file.
#[derive(Debug)]
pub enum PrivateCopy {
    /// The file itself: it is no rocpd database.
    AsIs,
    /// A rewritten database. The folder is removed when this value is dropped.
    Rewritten {
        database: PathBuf,
        folder: ScratchFolder,
    },
    /// Nothing, with the reason.
    Withheld(String),
}

const SQLITE: &[u8] = b"SQLite format 3\0";
const GZIP: &[u8] = b"\x1f\x8b";

/// Endings of the files in which SQLite keeps what is not in the database yet.
const BESIDE_A_DATABASE: [&str; 3] = [LOG, "-shm", "-journal"];
const LOG: &str = "-wal";

impl PrivateCopy {
    /// Returns whether a file of this name that begins with these bytes has to be looked at.
    pub fn concerns(name: &OsStr, head: &[u8]) -> bool {
        head.starts_with(SQLITE) || head.starts_with(GZIP) || database_of(name).is_some()
    }

    /// The names of a file and of those beside it that decide with it what to give away.
    pub fn family(name: &OsStr) -> Vec<OsString> {
        let mut log = name.to_owned();
        log.push(LOG);
        let database = database_of(name).map(OsString::from);
        [name.to_owned(), log].into_iter().chain(database).collect()
    }

    /// Decides for any file.
    pub fn from_file(path: &Path) -> Self {
        if belongs_to_a_database(path) {
            return PrivateCopy::Withheld("its content is in the copy of its database".to_owned());
        }
        let Ok(sample) = FileSample::read(path) else {
            // A file that cannot be opened at all is the caller's trouble.
            return match has_head(path, SQLITE) || has_head(path, GZIP) {
                true => PrivateCopy::Withheld("it is damaged, and may be a database".to_owned()),
                false => PrivateCopy::AsIs,
            };
        };
        match &sample.content {
            SampleContent::Database(tables) if tables.iter().any(|name| is_described(name)) => {
                rewritten(path).unwrap_or_else(|error| PrivateCopy::Withheld(error.to_string()))
            }
            SampleContent::Binary if sample.starts_with(SQLITE) => PrivateCopy::Withheld(
                "the database is compressed; unpack it with gunzip".to_owned(),
            ),
            _ => PrivateCopy::AsIs,
        }
    }
}

fn has_head(path: &Path, wanted: &[u8]) -> bool {
    let mut head = Vec::new();
    let read = untrusted::open(path)
        .and_then(|file| file.take(wanted.len() as u64).read_to_end(&mut head));
    read.is_ok() && head == wanted
}

fn belongs_to_a_database(path: &Path) -> bool {
    let database = path.file_name().and_then(database_of);
    database.is_some_and(|database| has_head(&path.with_file_name(database), SQLITE))
}

/// The name of the database beside which SQLite keeps a file of this name.
fn database_of(name: &OsStr) -> Option<&str> {
    let name = name.to_str()?;
    let mut endings = BESIDE_A_DATABASE.iter();
    endings.find_map(|end| name.strip_suffix(end))
}

/// Tables, each with an ending of its own for each database that was merged, and what to write into their columns. An
/// expression with `id` keeps values apart that have to differ.
const DESCRIPTIONS: [(&str, &[(&str, &str)]); 4] = [
    (
        "rocpd_info_process",
        &[
            ("command", "''"),
            ("environment", "'{}'"),
            ("extdata", "'{}'"),
        ],
    ),
    (
        "rocpd_info_node",
        &[
            ("hostname", "''"),
            ("domain_name", "''"),
            ("machine_id", "id"),
            ("hash", "id"),
        ],
    ),
    (
        "rocpd_info_code_object",
        &[("uri", "NULL"), ("extdata", "'{}'")],
    ),
    // Among the names of kernels and calls stand the files of code objects.
    (
        "rocpd_string",
        &[(
            "string",
            "CASE WHEN string LIKE 'file://%' THEN 'file://' || id ELSE string END",
        )],
    ),
];

fn is_described(table: &str) -> bool {
    DESCRIPTIONS
        .iter()
        .any(|(start, _)| table.starts_with(start))
}

fn rewritten(path: &Path) -> anyhow::Result<PrivateCopy> {
    let folder = ScratchFolder::new()?;
    let (original, database) = (
        folder.path().join("copy.db"),
        folder.path().join("clean.db"),
    );
    fs::copy(path, &original)?;
    let mut log = path.as_os_str().to_owned();
    log.push(LOG);
    if Path::new(&log).exists() {
        fs::copy(&log, folder.path().join("copy.db-wal"))?;
    }
    let bytes = fs::metadata(&original)?.len();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&original, flags)?;
    // The statements below are all that may run. What comes with the file may not.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    let budget = QueryBudget::limit(&connection, bytes)?;
    let result = clean(&connection, &database);
    drop(connection);
    drop(budget);
    result?;
    Ok(PrivateCopy::Rewritten { database, folder })
}

/// Finds the tables whose name begins with a text.
const TABLES: &str =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, length(?1)) = ?1";

fn clean(connection: &Connection, into: &Path) -> rusqlite::Result<()> {
    for (start, values) in DESCRIPTIONS {
        for table in strings(connection, TABLES, start)? {
            let columns = columns(connection, &table)?;
            let has = |column: &str| {
                columns
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(column))
            };
            let values = values.iter().filter(|(column, _)| has(column));
            let values = values.map(|(column, value)| format!("\"{column}\" = {value}"));
            let values = itertools::join(values, ", ");
            if !values.is_empty() {
                let table = table.replace('"', "\"\"");
                connection.execute(&format!("UPDATE \"{table}\" SET {values}"), [])?;
            }
        }
    }
    // Writes a new file, so that nothing stays in pages that are not used any more.
    let into = into.to_string_lossy();
    connection
        .execute("VACUUM INTO ?1", [into.as_ref()])
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::import;

    const TOKEN: &str = "hf_SecretTokenOfAda";

    /// A small database in the form of rocpd, with secrets in all places that are known to have some.
    fn database(path: &Path, journal: &str) -> Connection {
        let connection = Connection::open(path).unwrap();
        connection
            .pragma_update(None, "journal_mode", journal)
            .unwrap();
        let statements = format!(
            "CREATE TABLE rocpd_metadata_a (id INTEGER PRIMARY KEY, tag, value);
             INSERT INTO rocpd_metadata_a (tag, value) VALUES ('schema_version', '3'), ('guid', 'g');
             CREATE VIEW rocpd_metadata AS SELECT * FROM rocpd_metadata_a;
             CREATE TABLE rocpd_info_node_a (id INTEGER PRIMARY KEY, hash BIGINT NOT NULL UNIQUE,
                 machine_id TEXT NOT NULL UNIQUE, hostname TEXT, domain_name TEXT, release TEXT);
             INSERT INTO rocpd_info_node_a VALUES (7, 99, 'machine_of_ada', 'host_of_ada', 'domain_of_ada', '6.8');
             CREATE TABLE rocpd_info_process_a (id INTEGER PRIMARY KEY, pid, command TEXT,
                 environment JSONB DEFAULT '{{}}' NOT NULL, extdata JSONB DEFAULT '{{}}' NOT NULL);
             INSERT INTO rocpd_info_process_a VALUES (28, 28, '/home/ada/secret_program --key {TOKEN}',
                 '{{\"HF_TOKEN\": \"{TOKEN}\"}}', '{{\"output_file\": \"host_of_ada/28\"}}');
             CREATE VIEW processes AS SELECT * FROM rocpd_info_process_a;
             CREATE TABLE rocpd_info_code_object_a (id INTEGER PRIMARY KEY, uri TEXT, extdata TEXT NOT NULL);
             INSERT INTO rocpd_info_code_object_a VALUES (1, 'file:///home/ada/secret_program#offset=1', '{{\"uri\": \"/home/ada\"}}');
             CREATE TABLE rocpd_string_a (id INTEGER PRIMARY KEY, string TEXT NOT NULL UNIQUE);
             INSERT INTO rocpd_string_a VALUES (1, 'gemm'), (2, 'file:///home/ada/secret_program#offset=1');
             CREATE TABLE kernels (name, start, \"end\", dispatch_id);
             INSERT INTO kernels VALUES ('gemm', 100, 250, 1);
             CREATE TRIGGER spy AFTER UPDATE ON rocpd_info_process_a BEGIN
                 INSERT INTO rocpd_metadata_a (tag, value) VALUES ('spied', OLD.environment); END;"
        );
        connection.execute_batch(&statements).unwrap();
        connection
    }

    fn assert_clean(path: &Path) {
        let bytes = fs::read(path).unwrap();
        for secret in [TOKEN, "of_ada", "/home/ada", "secret_program"] {
            let found = memchr::memmem::find(&bytes, secret.as_bytes());
            assert_eq!(found, None, "{secret}");
        }
    }

    #[test]
    fn a_copy_has_the_kernels_and_none_of_the_secrets_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1_results.db");
        drop(database(&path, "delete"));
        let before = fs::read(&path).unwrap();
        assert!(
            memchr::memmem::find(&before, TOKEN.as_bytes()).is_some(),
            "the test looks for nothing"
        );
        let PrivateCopy::Rewritten {
            database,
            folder: _kept,
        } = PrivateCopy::from_file(&path)
        else {
            panic!("not rewritten")
        };
        assert_clean(&database);
        let [original, copy] = [&path, &database].map(|path| import(path).unwrap());
        assert_eq!(copy.damage, []);
        assert_eq!(original.profile.dispatches.len(), 1);
        assert_eq!(copy.profile.dispatches.len(), 1);
        assert_eq!(fs::read(&path).unwrap(), before, "the original stays");
    }

    #[test]
    fn what_is_still_in_the_log_beside_a_database_is_in_the_copy_and_clean() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1_results.db");
        let open = database(&path, "wal");
        let log = folder.path().join("1_results.db-wal");
        assert!(fs::metadata(&log).unwrap().len() > 0);
        let PrivateCopy::Rewritten {
            database,
            folder: _kept,
        } = PrivateCopy::from_file(&path)
        else {
            panic!("not rewritten")
        };
        assert_clean(&database);
        assert_eq!(import(&database).unwrap().profile.dispatches.len(), 1);
        assert!(matches!(
            PrivateCopy::from_file(&log),
            PrivateCopy::Withheld(_)
        ));
        drop(open);
    }

    #[test]
    fn databases_that_cannot_be_rewritten_are_withheld_and_other_files_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1_results.db");
        drop(database(&path, "delete"));
        let whole = fs::read(&path).unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            PrivateCopy::from_file(&path)
        };
        let cut = write("cut.db", &whole[..whole.len() / 2]);
        assert!(matches!(cut, PrivateCopy::Withheld(_)), "{cut:?}");
        use std::io::Write;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&whole).unwrap();
        let packed = packed.finish().unwrap();
        for bytes in [&packed[..], &packed[..packed.len() / 2]] {
            let copy = write("a.db.gz", bytes);
            assert!(matches!(copy, PrivateCopy::Withheld(_)), "{copy:?}");
        }
        for (name, bytes) in [
            ("events.jsonl", &b"{}\n"[..]),
            ("empty", b""),
            ("a.csv", b"a,b\n"),
        ] {
            let copy = write(name, bytes);
            assert!(matches!(copy, PrivateCopy::AsIs), "{name}: {copy:?}");
        }
    }
}
