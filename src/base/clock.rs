//! The time of day.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Since 1970; nothing on a machine whose clock stands before that.
pub fn since_1970() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}
