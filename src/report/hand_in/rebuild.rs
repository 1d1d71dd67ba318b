//! Does again what the records say that was done, with the tutor's own code, and names every record that comes out otherwise.
//!
//! A record is either what the tutor still had to write after the one before it, or the beginning of something that the
//! learner, a run or an instructor did. [`redo`](super::redo) does that once more in a session in memory. The record has to
//! be the first one that this session writes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::difference::{difference, name};
use super::{HandInFindings, Judging, OpenHandIn, clock};
use crate::some_of;
use tinyllama_base::plural;
use tinyllama_lesson::Course;
use tinyllama_runs::ENERGY;
use tinyllama_session::{Record, Session, SessionEvent, StepRef};

/// After so many records that the tutor does not write, the rest is not looked at.
const MAX_PROBLEMS: usize = 50;
/// No honest log was cut off more often.
const MAX_CUTS: usize = 1000;

/// Rebuilds a session from its records and adds what it finds.
pub fn rebuild(
    records: &[Record],
    hand_in: &OpenHandIn,
    judging: Judging,
    course: &Course,
    found: &mut HandInFindings,
) {
    let mut rebuilt = Rebuilt {
        course,
        hand_in,
        judging,
        records,
        index: 0,
        session: Session::in_memory(hand_in.location.clone()),
        is_judged: false,
        expected: VecDeque::new(),
        entered: BTreeSet::new(),
        lacks_stream: false,
        passed: BTreeSet::new(),
        cuts: 0,
        unchecked: BTreeMap::new(),
        remarks: BTreeSet::new(),
        problems: Vec::new(),
        unusual: Vec::new(),
    };
    for (index, record) in records.iter().enumerate() {
        if rebuilt.problems.len() >= MAX_PROBLEMS || rebuilt.cuts >= MAX_CUTS {
            let n = record.n;
            let what = format!("Nothing from record {n} on was looked at: too much is wrong.");
            rebuilt.problems.push(what);
            break;
        }
        rebuilt.index = index;
        rebuilt.record(record);
    }
    rebuilt.unsealed();
    found.problems.extend(rebuilt.problems);
    found.unusual.extend(rebuilt.unusual);
    found.remarks.extend(rebuilt.remarks);
    let reasons = rebuilt.unchecked.into_iter();
    let counted = reasons.map(|(what, count)| format!("{}: {what}.", plural(count, "record")));
    found.unchecked.extend(counted);
}

/// Why a record is not what the tutor writes.
pub(super) type Wrong = String;

/// A session that is built again, record by record.
pub(super) struct Rebuilt<'a> {
    pub course: &'a Course,
    pub hand_in: &'a OpenHandIn,
    pub judging: Judging<'a>,
    records: &'a [Record],
    /// Index of the record that is looked at.
    index: usize,
    pub session: Session,
    /// True if this program opened the session with this course last.
    pub is_judged: bool,
    /// What the tutor writes next.
    expected: VecDeque<SessionEvent>,
    /// Steps that the learner was at.
    pub entered: BTreeSet<StepRef>,
    /// True if the stream of a run that ended well did not travel with a report.
    pub lacks_stream: bool,
    /// Exercises and checksums of kernels that passed once more.
    pub passed: BTreeSet<(String, String)>,
    /// How often the tutor did not write what it had to.
    cuts: usize,
    /// Number of records that cannot be checked here, by the reason.
    unchecked: BTreeMap<String, usize>,
    pub remarks: BTreeSet<String>,
    problems: Vec<String>,
    unusual: Vec<String>,
}

impl Rebuilt<'_> {
    fn record(&mut self, record: &Record) {
        let event = &record.event;
        if let Some(before) = self.index.checked_sub(1).map(|index| self.records[index].n)
            && before.checked_add(1) != Some(record.n)
        {
            self.problem(record, &format!("it follows record {before}"));
        }
        if clock::time(record).is_none() {
            self.problem(record, &format!("`{}` is not a time", record.time));
        }
        if self.is_expected(event) {
            return;
        }
        if let Some(next) = self.expected.front().map(name) {
            // The tutor was killed, or its disk was full. The session goes on from what is in the log.
            self.cuts += 1;
            let what = format!("the tutor writes a record `{next}` before it");
            self.unusual.push(sentence(record, &what));
            self.undo();
        }
        if *event == SessionEvent::Unknown {
            self.cannot_check("a newer program wrote it".into());
            return self.session.apply(record);
        }
        let wrong = match self.redo(event) {
            Err(wrong) => Some(wrong),
            Ok(()) => self.compare(event),
        };
        if let Some(wrong) = wrong {
            self.problem(record, &wrong);
            self.undo();
            self.session.replay(&self.records[..=self.index]);
        }
    }

    /// Returns whether the tutor writes this event next.
    pub(super) fn is_expected(&mut self, event: &SessionEvent) -> bool {
        let next = self.expected.front();
        let is_next = next.is_some_and(|next| difference(event, next).is_none());
        if is_next {
            self.expected.pop_front();
        }
        is_next
    }

    /// Compares an event with the first one that the session has just written, and keeps the others as what comes next.
    pub(super) fn compare(&mut self, event: &SessionEvent) -> Option<Wrong> {
        let made = self.session.news().into_iter().map(|record| record.event);
        self.expected = made.collect();
        let Some(mut first) = self.expected.pop_front() else {
            return Some("the tutor writes nothing here".into());
        };
        if let (
            SessionEvent::RunFinished {
                values: recorded, ..
            },
            SessionEvent::RunFinished { values: made, .. },
        ) = (event, &mut first)
        {
            // The tutor measures energy next to the stream.
            for name in ENERGY {
                made.remove(name);
                if let Some(value) = recorded.get(name) {
                    made.insert(name.into(), *value);
                    let what = "Energy: the tutor measures it, and no stream has it.";
                    self.remarks.insert(what.into());
                }
            }
        }
        difference(event, &first)
    }

    /// Takes back everything since the record before.
    pub(super) fn undo(&mut self) {
        self.expected.clear();
        self.session.news();
        self.session.replay(&self.records[..self.index]);
    }

    /// Notes that the record cannot be checked here.
    pub(super) fn cannot_check(&mut self, why: String) {
        *self.unchecked.entry(why).or_default() += 1;
    }

    pub(super) fn note_unusual(&mut self, what: &str) {
        let text = sentence(&self.records[self.index], what);
        self.unusual.push(text);
    }

    fn problem(&mut self, record: &Record, what: &str) {
        self.problems.push(sentence(record, what));
    }

    /// Names runs that ended well without a seal. The tutor makes good for a missing one when it opens the session.
    fn unsealed(&mut self) {
        let runs = self.session.state().runs.iter();
        let unsealed = runs.filter(|(_, run)| run.is_unsealed());
        let unsealed: Vec<&str> = unsealed.map(|(id, _)| id.as_str()).collect();
        if !unsealed.is_empty() {
            self.problems.push(format!(
                "{} ended well without the checksum of what was reported, which the tutor always records: {}.",
                plural(unsealed.len(), "run"),
                some_of(&unsealed)
            ));
        }
    }
}

fn sentence(record: &Record, what: &str) -> String {
    let at = record.event.step().map(|at| format!(" at {at}"));
    format!(
        "Record {}, {}{}: {what}.",
        record.n,
        name(&record.event),
        at.unwrap_or_default()
    )
}
