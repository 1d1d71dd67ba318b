//! The part of the `turso` crate's interface with which CubeCL stores compiled kernels and tuning decisions. It uses
//! SQLite, which this program links anyway. turso itself is a database engine of about 30 crates and a tenth of the
//! first build. Both read and write the same file format, so each can use the other's caches.
//!
//! `[patch.crates-io]` in the workspace's `Cargo.toml` replaces turso by it.

mod connection;
mod rows;

pub use connection::{Connection, transaction};
pub use rows::{Row, Rows};

use rusqlite::{ErrorCode, OpenFlags};

pub type Result<T> = std::result::Result<T, Error>;

/// An error, with the causes that CubeCL distinguishes.
#[derive(Debug)]
pub enum Error {
    /// Another process holds the lock.
    Busy(String),
    /// Another process wrote after this one's snapshot was taken.
    BusySnapshot(String),
    IoError(std::io::ErrorKind, &'static str),
    Error(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Busy(message) | Error::BusySnapshot(message) | Error::Error(message) => {
                f.write_str(message)
            }
            Error::IoError(kind, doing) => write!(f, "{doing}: {kind}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Error::Busy(error.to_string())
            }
            _ => Error::Error(error.to_string()),
        }
    }
}

/// Options for opening a database file.
pub struct Builder {
    path: String,
    read_only: bool,
}

impl Builder {
    pub fn new_local(path: &str) -> Builder {
        Builder {
            path: path.to_owned(),
            read_only: false,
        }
    }

    /// Does nothing, because SQLite's log already serves several processes.
    pub fn experimental_multiprocess_wal(self, _on: bool) -> Builder {
        self
    }

    /// Does nothing, because SQLite can already compact a file.
    pub fn experimental_vacuum(self, _on: bool) -> Builder {
        self
    }

    pub fn read_only(mut self, read_only: bool) -> Builder {
        self.read_only = read_only;
        self
    }

    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// Fails if it cannot be opened, is locked, or is no database.
    pub async fn build(self) -> Result<Database> {
        let database = Database {
            path: self.path,
            read_only: self.read_only,
        };
        let connection = database.connect()?;
        if !database.read_only {
            connection.wait_for_locks()?;
            connection
                .pragma_query("journal_mode = WAL", |_| Ok(()))
                .await?;
        }
        Ok(database)
    }
}

/// A database file; every connection to it is a separate SQLite connection.
#[derive(Debug)]
pub struct Database {
    path: String,
    read_only: bool,
}

impl Database {
    /// Opens a new connection.
    ///
    /// # Errors
    /// Fails if the file cannot be opened.
    pub fn connect(&self) -> Result<Connection> {
        let access = if self.read_only {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        } else {
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
        };
        let connection = rusqlite::Connection::open_with_flags(
            &self.path,
            access | OpenFlags::SQLITE_OPEN_NO_MUTEX,
        )?;
        Ok(Connection::new(connection))
    }
}
