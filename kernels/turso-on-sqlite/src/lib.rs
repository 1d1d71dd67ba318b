//! The part of the `turso` crate's interface that CubeCL uses to keep compiled kernels and tuning decisions, carried out by the
//! SQLite that this program links anyway. turso itself is a database engine of about 30 crates and a tenth of the first build; both
//! read and write the same file format, so caches made with either are good for the other.
//!
//! `[patch.crates-io]` in the workspace's `Cargo.toml` puts it in turso's place.

mod connection;
mod rows;

pub use connection::{Connection, transaction};
pub use rows::{Row, Rows};

use rusqlite::{ErrorCode, OpenFlags};

pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, as far as CubeCL tells causes apart.
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

/// How a database file is opened.
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

    /// SQLite's log serves several processes as it is.
    pub fn experimental_multiprocess_wal(self, _on: bool) -> Builder {
        self
    }

    /// SQLite compacts a file as it is.
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
    /// When it cannot be opened, is locked, or is no database.
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

/// A database file; every connection to it is one of SQLite's own.
#[derive(Debug)]
pub struct Database {
    path: String,
    read_only: bool,
}

impl Database {
    /// A new connection.
    ///
    /// # Errors
    /// When the file cannot be opened.
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

