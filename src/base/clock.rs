//! The time of day.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Time since 1970; zero if the machine's clock stands before that.
pub fn unix_time() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default()
}

/// The current time in UTC to the second, in the format of RFC 3339.
pub fn now() -> String {
    let now = OffsetDateTime::now_utc();
    let whole = now.replace_nanosecond(0).unwrap_or(now);
    let written = whole.format(&Rfc3339);
    written.unwrap_or_else(|_| "1970-01-01T00:00:00Z".into())
}
