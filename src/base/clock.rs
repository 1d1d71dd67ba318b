//! The time of day.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Since 1970; nothing on a machine whose clock stands before that.
pub fn since_1970() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}

/// In UTC, to the second, as RFC 3339 writes it.
pub fn now() -> String {
    let now = OffsetDateTime::now_utc();
    let whole = now.replace_nanosecond(0).unwrap_or(now);
    let written = whole.format(&Rfc3339);
    written.unwrap_or_else(|_| "1970-01-01T00:00:00Z".into())
}
