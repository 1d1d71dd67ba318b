//! A connection and its transactions. Calls are `async` like turso's, and finish at the first poll.

use crate::{Result, Row, Rows};
use rusqlite::Params;
use std::time::Duration;
use transaction::{Transaction, TransactionBehavior};

/// How long opening waits for another process that writes the same file for the first time.
const WAIT_FOR_LOCKS: Duration = Duration::from_secs(5);

pub struct Connection(rusqlite::Connection);

impl Connection {
    pub(crate) fn new(connection: rusqlite::Connection) -> Connection {
        Connection(connection)
    }

    pub(crate) fn wait_for_locks(&self) -> Result<()> {
        self.busy_timeout(WAIT_FOR_LOCKS)
    }

    /// Sets how long a statement waits for a lock that another process holds.
    ///
    /// # Errors
    /// Fails if SQLite refuses the setting.
    pub fn busy_timeout(&self, wait: Duration) -> Result<()> {
        Ok(self.0.busy_timeout(wait)?)
    }

    /// Runs `PRAGMA pragma` and calls `visit` for every row of the result.
    ///
    /// # Errors
    /// Fails if the pragma or `visit` fails.
    pub async fn pragma_query(
        &self,
        pragma: &str,
        mut visit: impl FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        self.rows(&format!("PRAGMA {pragma}"), ())?
            .iter()
            .try_for_each(&mut visit)
    }

    /// Executes a statement; returns the number of changed rows.
    ///
    /// # Errors
    /// Fails if the statement fails or a lock is not granted in time.
    pub async fn execute(&self, sql: impl AsRef<str>, params: impl Params) -> Result<u64> {
        Ok(self.0.prepare_cached(sql.as_ref())?.execute(params)? as u64)
    }

    /// Returns the rows of a statement's result.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub async fn query(&self, sql: impl AsRef<str>, params: impl Params) -> Result<Rows> {
        self.rows(sql.as_ref(), params).map(Rows::new)
    }

    fn rows(&self, sql: &str, params: impl Params) -> Result<Vec<Row>> {
        let mut statement = self.0.prepare_cached(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map(params, |row| Row::read(row, columns))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Begins a transaction, which is rolled back if it is dropped without [`Transaction::commit`].
    ///
    /// # Errors
    /// Fails if the lock is not granted in time.
    pub async fn transaction_with_behavior(
        &mut self,
        behavior: TransactionBehavior,
    ) -> Result<Transaction<'_>> {
        self.0.execute_batch(behavior.statement())?;
        Ok(Transaction::of(self))
    }
}

pub mod transaction {
    use super::Connection;
    use crate::Result;
    use std::ops::Deref;

    /// When a transaction takes the lock for writing.
    pub enum TransactionBehavior {
        /// With its first write.
        Deferred,
        /// At the beginning.
        Immediate,
    }

    impl TransactionBehavior {
        pub(super) fn statement(&self) -> &'static str {
            match self {
                TransactionBehavior::Deferred => "BEGIN DEFERRED",
                TransactionBehavior::Immediate => "BEGIN IMMEDIATE",
            }
        }
    }

    pub struct Transaction<'a> {
        connection: &'a Connection,
        open: bool,
    }

    impl<'a> Transaction<'a> {
        pub(super) fn of(connection: &'a Connection) -> Transaction<'a> {
            Transaction {
                connection,
                open: true,
            }
        }

        /// Commits the transaction.
        ///
        /// # Errors
        /// Fails if the file cannot be written; the changes are then lost.
        pub async fn commit(mut self) -> Result<()> {
            self.connection.0.execute_batch("COMMIT")?;
            self.open = false;
            Ok(())
        }
    }

    impl Deref for Transaction<'_> {
        type Target = Connection;

        fn deref(&self) -> &Connection {
            self.connection
        }
    }

    impl Drop for Transaction<'_> {
        fn drop(&mut self) {
            if self.open {
                // If the rollback fails, closing the connection rolls back.
                let _ = self.connection.0.execute_batch("ROLLBACK");
            }
        }
    }
}
