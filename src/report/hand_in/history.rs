//! Checks that the summary at the beginning of a compacted log matches the records that it replaced.

use serde_json::Value;

use super::difference::differences;
use super::session::damage;
use crate::some_of;
use tinyllama_session::earlier::{Replaced, StoredLog};
use tinyllama_session::{Scan, SessionState};

/// Largest number of differences that are named per summary.
const MAX_SHOWN: usize = 3;

/// The history before a session's log.
#[derive(Debug, Default)]
pub(super) struct EarlierRecords {
    /// Number of given logs that follow each other.
    pub logs: usize,
    /// Number of missing records, at least one per missing log. Their summary cannot be checked.
    pub unseen: u64,
    pub problems: Vec<String>,
}

impl EarlierRecords {
    /// Examines the log of a session and the earlier logs, newest first.
    pub fn from_logs(logs: &[StoredLog]) -> Self {
        let mut history = Self::default();
        for (index, log) in logs.iter().enumerate() {
            history.logs += 1;
            history.problems.extend(damage(&log.scan));
            let (replaced, earlier) = (log.replaced_log(), logs.get(index + 1));
            match (replaced, earlier) {
                (None, None) => break,
                (None, Some(_)) => {
                    let what = "There are records before the first one of the session.";
                    history.problems.push(what.into());
                    break;
                }
                (Some(replaced), None) => {
                    history.unseen = replaced.records.max(1);
                    break;
                }
                (Some(replaced), Some(earlier)) if earlier.scan.last_hash != replaced.last_hash => {
                    history.problems.push(format!(
                        "The log up to record {} is not the one that was compacted.",
                        replaced.records
                    ));
                    history.unseen = replaced.records.max(1);
                    break;
                }
                (Some(replaced), Some(earlier)) => {
                    history.problems.extend(other_sum(&replaced, &earlier.scan));
                }
            }
        }
        history
    }

    /// Explains which part is unchecked because the session's beginning is missing.
    pub fn unchecked(&self) -> Option<String> {
        (self.unseen > 0).then(|| {
            format!(
                "Everything up to record {}: the log was compacted, and the records before that are not \
                 available, so their sum cannot be checked.",
                self.unseen
            )
        })
    }
}

/// Describes how a summary differs from the records that it sums up.
fn other_sum(said: &Replaced, earlier: &Scan) -> Option<String> {
    let location = format!("The sum of the records up to {}", said.records);
    let Ok(state) = serde_json::from_value::<SessionState>(said.state.clone()) else {
        return Some(format!("{location} cannot be understood."));
    };
    let value = |state: &SessionState| serde_json::to_value(state).unwrap_or(Value::Null);
    // Fields that an older program did not sum up yet.
    let is_unknown = |path: &[String]| {
        path.first()
            .is_some_and(|name| path.len() == 1 && said.state.get(name).is_none())
    };
    let derived = value(&SessionState::from_records(&earlier.records));
    let mut found = differences(&value(&state), &derived, &is_unknown);
    found.truncate(MAX_SHOWN);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    (!found.is_empty()).then(|| format!("{location} is not what they give: {}", some_of(&found)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::records::tests::{NOON, created, log};
    use super::*;

    fn note(text: &str) -> Value {
        json!({"note": {"text": text}})
    }

    /// A log of two records. `damaged` puts a line of another kind before them.
    fn earlier(damaged: bool) -> StoredLog {
        log(damaged, &[(1, NOON, created()), (2, NOON, note("a"))])
    }

    /// The log that replaced it. `change` gets the state, the number of records and the hash in its first record.
    fn compacted(change: impl FnOnce(&mut Value, &mut u64, &mut String)) -> StoredLog {
        let before = earlier(false).scan;
        let state = SessionState::from_records(&before.records);
        let mut state = serde_json::to_value(state).unwrap();
        let (mut records, mut hash) = (2, before.last_hash);
        change(&mut state, &mut records, &mut hash);
        let first = json!({"compacted": {"format": 1, "version": "0", "previous_hash": hash,
            "previous_records": records, "state": state}});
        log(false, &[(records + 1, NOON, first)])
    }

    #[test]
    fn a_summary_is_the_sum_of_the_log_that_it_replaced() {
        let of = |logs: &[StoredLog]| {
            let history = EarlierRecords::from_logs(logs);
            let mut lines = vec![format!("{} logs, {} unseen", history.logs, history.unseen)];
            lines.extend(history.unchecked());
            lines.extend(history.problems);
            lines.join("\n")
        };
        let cases = [
            of(&[compacted(|_, _, _| {}), earlier(false)]),
            // An older program did not sum up everything.
            of(&[
                compacted(|state, _, _| drop(state.as_object_mut().unwrap().remove("identity"))),
                earlier(false),
            ]),
            of(&[compacted(|_, _, _| {})]),
            of(&[compacted(|_, records, _| *records = 0)]),
            of(&[earlier(false), earlier(false)]),
            of(&[compacted(|_, _, hash| hash.push('0')), earlier(false)]),
            of(&[compacted(|state, _, _| *state = json!({})), earlier(false)]),
            of(&[
                compacted(|state, _, _| {
                    for (name, value) in [("notes", json!(["b"])), ("path", json!(null))] {
                        state[name] = value;
                    }
                    for name in ["learner", "session", "identity", "last_time"] {
                        state[name] = json!("another");
                    }
                }),
                earlier(false),
            ]),
            of(&[compacted(|_, _, _| {}), earlier(true)]),
        ];
        insta::assert_snapshot!(cases.join("\n\n"));
    }
}
