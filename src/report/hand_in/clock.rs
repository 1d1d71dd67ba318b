//! Names times of records that only a wrong clock explains. Each is worth a question; none is a contradiction.

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use tinyllama_base::duration;
use tinyllama_session::{Record, SessionEvent};

/// A corrected clock may go back this far without a remark.
const CLOCK_SET: Duration = Duration::MINUTE;
/// No learner pauses a course for this long.
const LONG_BREAK: Duration = Duration::days(366);
/// No session is older than the program.
const FIRST_YEAR: i32 = 2025;
/// Largest number of remarks.
const MAX_SHOWN: usize = 10;

/// Remarks about the times of these records.
pub fn remarks(records: &[Record]) -> Vec<String> {
    let tomorrow = OffsetDateTime::now_utc() + Duration::DAY;
    let (mut remarks, mut clock_was_set) = (Vec::new(), false);
    let mut times: Vec<OffsetDateTime> = Vec::new();
    for record in records {
        let mut remark = |what: String| remarks.push(format!("Record {}: {what}.", record.n));
        let Some(now) = time(record) else { continue };
        let before = times.last().copied();
        let step = before.map_or(Duration::ZERO, |before| now - before);
        // Only the first record of a series is named.
        let begins = |is: &dyn Fn(OffsetDateTime) -> bool| is(now) && !before.is_some_and(is);
        if step < -CLOCK_SET {
            let by = duration(-step.as_seconds_f64());
            remark(format!("the clock went back by {by}"));
        }
        if step > LONG_BREAK {
            let after = duration(step.as_seconds_f64());
            remark(format!("{after} after the one before"));
        }
        if begins(&|time| time.year() < FIRST_YEAR) {
            let year = now.year();
            remark(format!("it dates from {year}, before this program existed"));
        }
        if begins(&|time| time > tomorrow) {
            remark(format!("its time, {}, is in the future", record.time));
        }
        clock_was_set |= step < Duration::ZERO;
        times.push(now);
    }
    let more = remarks.len().saturating_sub(MAX_SHOWN);
    remarks.truncate(MAX_SHOWN);
    remarks.extend((more > 0).then(|| format!("{more} more of the kind.")));
    let attention: f64 = records.iter().filter_map(seconds).sum();
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        let passed = (*last - *first + CLOCK_SET).as_seconds_f64();
        if !clock_was_set && attention > passed {
            let [attention, passed] = [attention, passed].map(duration);
            remarks.push(format!(
                "{attention} of attention are recorded within {passed}."
            ));
        }
    }
    remarks
}

/// The time of a record. `None` if it is none that a program writes.
pub fn time(record: &Record) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(&record.time, &Rfc3339).ok()
}

fn seconds(record: &Record) -> Option<f64> {
    match record.event {
        SessionEvent::TimeSpent { seconds, .. } => Some(seconds),
        _ => None,
    }
}
