//! Limits the cost of reading a database. Its views are part of the file, and a view of a hundred bytes can compute for
//! ever.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::hash::{BuildHasher, RandomState};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ffi};

/// Number of steps of SQLite's virtual machine between calls of [`is_spent`]. One step can take milliseconds, for example
/// a function over a long text.
const STEPS: c_int = 200;

/// Calls allowed for any file, and further calls for each of its bytes. Ten steps a byte would suffice for the views of
/// rocpd.
const CALLS: u64 = 1_000_000;
const CALLS_PER_BYTE: u64 = 2;

/// Time allowed for any file, and the bytes that allow another millisecond.
const TIME: Duration = Duration::from_secs(5);
const BYTES_PER_MS: u64 = 1_000;

/// Limit of a text or blob.
const LONGEST: c_int = 1 << 20;

/// Limit of a pattern of LIKE and GLOB. A long pattern against a long text takes hours within one step, and rocpd uses
/// none.
const LONGEST_PATTERN: c_int = 16;

/// Bytes that all of SQLite may allocate in this process. They include sorted rows, which are kept in memory.
const MOST_HEAP: i64 = 512 << 20;

/// Rows allowed for any file, and the bytes that allow a further row. Records are larger than that in every table of
/// rocpd.
const ROWS: u64 = 100_000;
const BYTES_PER_ROW: u64 = 8;

/// Bytes of different texts allowed for any file. Further texts have to be in the file itself.
const TEXT: u64 = 64 << 20;

/// The remaining budget of a database.
pub struct QueryBudget {
    /// Made by [`Box::into_raw`], because SQLite keeps a pointer to it.
    work: NonNull<QueryProgress>,
    rows: Cell<u64>,
    text: Cell<u64>,
    seen: RefCell<HashSet<u64>>,
    hasher: RandomState,
}

/// Counters of SQLite's callback.
struct QueryProgress {
    calls: Cell<u64>,
    deadline: Instant,
}

/// Message for a database that needs more than its budget.
pub const TOO_MUCH: &str =
    "its views compute more than any profile needs: this is not a profiler's file";

impl QueryBudget {
    /// Limits a connection to a file of this size. Drop the budget after the connection.
    pub fn limit(connection: &Connection, bytes: u64) -> rusqlite::Result<Self> {
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "hard_heap_limit", MOST_HEAP)?;
        let work = Box::new(QueryProgress {
            calls: Cell::new(CALLS + bytes * CALLS_PER_BYTE),
            deadline: Instant::now() + TIME + Duration::from_millis(bytes / BYTES_PER_MS),
        });
        // SAFETY: a box is never null.
        let work = unsafe { NonNull::new_unchecked(Box::into_raw(work)) };
        // SAFETY: the handle belongs to an open connection, which is closed before the budget is dropped. The callback
        // runs on the thread that uses the connection.
        unsafe {
            let handle = connection.handle();
            ffi::sqlite3_limit(handle, ffi::SQLITE_LIMIT_LENGTH, LONGEST);
            let pattern = ffi::SQLITE_LIMIT_LIKE_PATTERN_LENGTH;
            ffi::sqlite3_limit(handle, pattern, LONGEST_PATTERN);
            let counter = work.as_ptr().cast();
            ffi::sqlite3_progress_handler(handle, STEPS, Some(is_spent), counter);
        }
        Ok(QueryBudget {
            work,
            rows: Cell::new(ROWS + bytes / BYTES_PER_ROW),
            text: Cell::new(TEXT + bytes),
            seen: RefCell::default(),
            hasher: RandomState::new(),
        })
    }

    /// Takes a row. Returns false if none was left.
    #[must_use]
    pub fn take_row(&self) -> bool {
        take(&self.rows, 1)
    }

    /// Takes the bytes of a text that was not seen before. Returns false if they were not left.
    #[must_use]
    pub fn take_text(&self, text: &str) -> bool {
        let is_new = self.seen.borrow_mut().insert(self.hasher.hash_one(text));
        !is_new || take(&self.text, text.len() as u64)
    }
}

fn take(left: &Cell<u64>, amount: u64) -> bool {
    let rest = left.get().checked_sub(amount);
    left.set(rest.unwrap_or(0));
    rest.is_some()
}

impl Drop for QueryBudget {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and the connection that had the pointer is closed.
        drop(unsafe { Box::from_raw(self.work.as_ptr()) });
    }
}

/// Counts work. A result other than 0 interrupts SQLite.
unsafe extern "C" fn is_spent(work: *mut c_void) -> c_int {
    // SAFETY: this pointer was registered together with the callback. The work outlives the connection.
    let work = unsafe { &*work.cast::<QueryProgress>() };
    let is_left = take(&work.calls, 1) && Instant::now() < work.deadline;
    c_int::from(!is_left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_grows_with_its_file_and_ends() {
        let connection = Connection::open_in_memory().unwrap();
        let limit = |bytes| QueryBudget::limit(&connection, bytes).unwrap();
        let (small, large) = (limit(0), limit(8_000_000));
        // SAFETY: both budgets are alive.
        let [first, second] = [&small, &large].map(|budget| unsafe { budget.work.as_ref() });
        let of = |budget: &QueryBudget, work: &QueryProgress| {
            (budget.rows.get(), budget.text.get(), work.calls.get())
        };
        assert_eq!(of(&small, first), (ROWS, TEXT, CALLS));
        let grown = (ROWS + 1_000_000, TEXT + 8_000_000, CALLS + 16_000_000);
        assert_eq!(of(&large, second), grown);
        assert!(second.deadline - first.deadline >= Duration::from_secs(8));
        small.rows.set(1);
        assert!(small.take_row() && !small.take_row());
        // A text is taken once, and what does not fit leaves nothing.
        small.text.set(3);
        assert!(small.take_text("ab") && small.take_text("ab"));
        assert!(!small.take_text("cd") && !small.take_text("e"));
        let asked = |what: &str| connection.query_row(what, [], |row| row.get::<_, i64>(0));
        assert_eq!(asked("PRAGMA temp_store"), Ok(2));
        assert_eq!(asked("SELECT 'aa' GLOB '*a'"), Ok(1));
        assert!(asked("SELECT 'aa' GLOB '*a*a*a*a*a*a*a*a*a'").is_err());
        assert!(asked("SELECT length(zeroblob(2000000))").is_err());
        let long = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 9999) SELECT max(n) FROM c";
        assert_eq!(asked(long), Ok(9999));
        second.calls.set(0);
        assert!(asked(long).is_err());
        drop(connection);
    }
}
