//! What reading one database may cost. Its views come with it, and one of a hundred bytes can compute for ever.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::hash::{BuildHasher, RandomState};
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ffi};

/// Steps of SQLite's machine after which it calls [`is_spent`]. One step can take milliseconds: a function over a long text.
const STEPS: c_int = 200;

/// Calls for any file, and calls for each byte of it: ten steps a byte would do for the views of rocpd.
const CALLS: u64 = 1_000_000;
const CALLS_PER_BYTE: u64 = 2;

/// Time for any file, and bytes for which there is another millisecond.
const TIME: Duration = Duration::from_secs(5);
const BYTES_PER_MS: u64 = 1_000;

/// Longest text or blob.
const LONGEST: c_int = 1 << 20;

/// Longest pattern of LIKE and GLOB. Matching a long one against a long text takes hours within one step, and rocpd has none.
const LONGEST_PATTERN: c_int = 16;

/// Bytes that all of SQLite may hold in this process, sorted rows included, for these are kept in memory.
const MOST_HEAP: i64 = 512 << 20;

/// Rows for any file, and bytes of it for each further row: a record takes more in every table of rocpd.
const ROWS: u64 = 100_000;
const BYTES_PER_ROW: u64 = 8;

/// Bytes of different texts for any file; what is above this has to be in the file.
const TEXT: u64 = 64 << 20;

/// What is left for a database.
pub struct Budget {
    /// Made by [`Box::into_raw`], for SQLite keeps a pointer to it.
    work: NonNull<Work>,
    rows: Cell<u64>,
    text: Cell<u64>,
    seen: RefCell<HashSet<u64>>,
    hasher: RandomState,
}

/// What SQLite's callback counts.
struct Work {
    calls: Cell<u64>,
    deadline: Instant,
}

/// Said of a database that would need more than it gets.
pub const TOO_MUCH: &str =
    "its views compute more than any profile needs: this is no file of a profiler";

impl Budget {
    /// Bounds a connection to a file of this size. The budget has to be dropped after the connection.
    pub fn limit(connection: &Connection, bytes: u64) -> rusqlite::Result<Self> {
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "hard_heap_limit", MOST_HEAP)?;
        let work = Box::new(Work {
            calls: Cell::new(CALLS + bytes * CALLS_PER_BYTE),
            deadline: Instant::now() + TIME + Duration::from_millis(bytes / BYTES_PER_MS),
        });
        // SAFETY: a box is never null.
        let work = unsafe { NonNull::new_unchecked(Box::into_raw(work)) };
        // SAFETY: the handle is that of an open connection, which is closed before the budget is dropped. The callback
        // runs on the thread that uses the connection.
        unsafe {
            let handle = connection.handle();
            ffi::sqlite3_limit(handle, ffi::SQLITE_LIMIT_LENGTH, LONGEST);
            let pattern = ffi::SQLITE_LIMIT_LIKE_PATTERN_LENGTH;
            ffi::sqlite3_limit(handle, pattern, LONGEST_PATTERN);
            let counter = work.as_ptr().cast();
            ffi::sqlite3_progress_handler(handle, STEPS, Some(is_spent), counter);
        }
        Ok(Budget {
            work,
            rows: Cell::new(ROWS + bytes / BYTES_PER_ROW),
            text: Cell::new(TEXT + bytes),
            seen: RefCell::default(),
            hasher: RandomState::new(),
        })
    }

    /// Takes a row; whether there was one left.
    #[must_use]
    pub fn take_row(&self) -> bool {
        take(&self.rows, 1)
    }

    /// Takes the bytes of a text that was not seen before; whether they were left.
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

impl Drop for Budget {
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw`, and the connection that had it is closed.
        drop(unsafe { Box::from_raw(self.work.as_ptr()) });
    }
}

/// Counts work; other than 0 interrupts it.
unsafe extern "C" fn is_spent(work: *mut c_void) -> c_int {
    // SAFETY: the pointer that was registered with it, to work that outlives the connection.
    let work = unsafe { &*work.cast::<Work>() };
    let is_left = take(&work.calls, 1) && Instant::now() < work.deadline;
    c_int::from(!is_left)
}
