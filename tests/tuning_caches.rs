//! Tests the shim (`kernels/turso-on-sqlite`) with which CubeCL stores compiled kernels and tuning decisions.

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use turso::transaction::TransactionBehavior;
use turso::{Builder, Connection, Database, Result};

fn drive<T>(future: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut context) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a call did not finish at its first poll"),
    }
}

/// A separate file for each test. Dropping the value removes it.
struct TestFile(PathBuf);

impl TestFile {
    fn new(test: &str) -> TestFile {
        let folder =
            std::env::temp_dir().join(format!("turso-on-sqlite-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        TestFile(folder)
    }

    fn open(&self, read_only: bool) -> Result<Database> {
        let path = self.0.join("cache.db");
        drive(
            Builder::new_local(path.to_str().unwrap())
                .experimental_multiprocess_wal(true)
                .read_only(read_only)
                .build(),
        )
    }

    fn with_table(&self) -> Connection {
        let connection = self.open(false).unwrap().connect().unwrap();
        drive(connection.execute(
            "CREATE TABLE entries (name TEXT PRIMARY KEY, value BLOB)",
            (),
        ))
        .unwrap();
        connection
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const INSERT: &str = "INSERT INTO entries VALUES (?1, ?2) ON CONFLICT DO NOTHING";

fn names(connection: &Connection) -> Vec<String> {
    let mut rows = drive(connection.query("SELECT name FROM entries ORDER BY name", ())).unwrap();
    std::iter::from_fn(|| drive(rows.next()).unwrap())
        .map(|row| row.get(0).unwrap())
        .collect()
}

#[test]
fn one_connection_reads_what_another_wrote() {
    let place = TestFile::new("reads");
    let connection = place.with_table();
    assert_eq!(
        drive(connection.execute(INSERT, ("a", vec![1_u8, 2]))).unwrap(),
        1
    );
    assert_eq!(
        drive(connection.execute(INSERT, ("a", vec![3_u8]))).unwrap(),
        0,
        "a second write does not replace the first"
    );
    let reader = place.open(true).unwrap().connect().unwrap();
    let mut rows = drive(reader.query(
        "SELECT value, length(value) FROM entries WHERE name = ?1",
        ("a",),
    ))
    .unwrap();
    let row = drive(rows.next()).unwrap().unwrap();
    assert_eq!(row.get::<Vec<u8>>(0).unwrap(), [1, 2]);
    assert_eq!(row.get::<i64>(1).unwrap(), 2);
    assert!(row.get::<String>(1).is_err());
    assert!(row.get::<i64>(2).is_err());
    assert!(drive(rows.next()).unwrap().is_none());
}

#[test]
fn a_transaction_that_is_dropped_leaves_nothing() {
    let place = TestFile::new("dropped");
    let mut connection = place.with_table();
    let transaction =
        drive(connection.transaction_with_behavior(TransactionBehavior::Immediate)).unwrap();
    drive(transaction.execute(INSERT, ("a", vec![1_u8]))).unwrap();
    drop(transaction);
    assert!(names(&connection).is_empty());
    let transaction =
        drive(connection.transaction_with_behavior(TransactionBehavior::Deferred)).unwrap();
    drive(transaction.execute(INSERT, ("b", vec![1_u8]))).unwrap();
    drive(transaction.commit()).unwrap();
    assert_eq!(names(&connection), ["b"]);
}

#[test]
fn a_lock_that_another_holds_is_told_from_other_failures() {
    let place = TestFile::new("busy");
    let mut first = place.with_table();
    let mut second = place.open(false).unwrap().connect().unwrap();
    second
        .busy_timeout(std::time::Duration::from_millis(1))
        .unwrap();
    let held = drive(first.transaction_with_behavior(TransactionBehavior::Immediate)).unwrap();
    let refused = drive(second.transaction_with_behavior(TransactionBehavior::Immediate));
    assert!(matches!(refused, Err(turso::Error::Busy(_))));
    drop(refused);
    drop(held);
    let missing = drive(second.execute("INSERT INTO nowhere VALUES (1)", ())).unwrap_err();
    assert!(
        matches!(&missing, turso::Error::Error(said) if said.contains("no such table")),
        "{missing:?}"
    );
}

#[test]
fn the_log_folds_into_the_file() {
    let place = TestFile::new("checkpoint");
    let connection = place.with_table();
    drive(connection.execute(INSERT, ("a", vec![1_u8]))).unwrap();
    let mut complete = false;
    drive(connection.pragma_query("wal_checkpoint(TRUNCATE)", |row| {
        complete = row.get::<i64>(0)? == 0;
        Ok(())
    }))
    .unwrap();
    assert!(complete);
    drop(connection);
    std::fs::copy(place.0.join("cache.db"), place.0.join("copy.db")).unwrap();
    let copy =
        drive(Builder::new_local(place.0.join("copy.db").to_str().unwrap()).build()).unwrap();
    assert_eq!(names(&copy.connect().unwrap()), ["a"]);
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let place = TestFile::new("writers");
    drop(place.with_table());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let place = &place;
            scope.spawn(move || {
                let connection = place.open(false).unwrap().connect().unwrap();
                connection
                    .busy_timeout(std::time::Duration::from_secs(30))
                    .unwrap();
                for entry in 0..25 {
                    drive(connection.execute(INSERT, (format!("{writer}/{entry}"), vec![0_u8])))
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(
        names(&place.open(false).unwrap().connect().unwrap()).len(),
        100
    );
}
