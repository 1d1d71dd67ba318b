//! Derives a document again from its records and its runs' files, and compares the two.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::difference::differences;
use super::history::EarlierRecords;
use super::session::{log_up_to, no_stream};
use super::{HandInDocument, records, unreadable};
use crate::collect::MOST_STREAM_BYTES;
use crate::collect::ceilings::STALE;
use crate::{CollectOptions, HandInError, HandInFindings, Report, collect, some_of};
use tinyllama_base::{plural, untrusted};
use tinyllama_lesson::Course;
use tinyllama_runs::{FinishedRuns, RunExit};
use tinyllama_session::earlier::{self, StoredLog};
use tinyllama_session::runs::events_file;
use tinyllama_session::{SessionError, SessionLocation, SessionState, check_name};

const ANONYMOUS: &str = "The report is anonymous and carries no records. Name the session it was made from with --against to check it.";

/// Fields that neither a record nor a sealed file contains.
const NEVER_TOLD: [&str; 6] = [
    "written",
    "program",
    "profiles",
    "runs/*/work/ceilings",
    // Compared with the seals one by one.
    "chain/streams",
    // Compared with the summary that the log begins with.
    "chain/earlier",
];

/// Fields that only the run's file contains.
const OF_A_RUN: [&str; 12] = [
    "device",
    "config",
    "dtype",
    "seed",
    "warmup",
    "synchronized",
    "step_time",
    "samples",
    "work",
    "kernels",
    "error",
    "warnings",
];

/// Fields that are computed from the files of all runs together.
const OF_ALL_RUNS: [&str; 11] = [
    "devices",
    "stages",
    "warnings",
    "predictions/*/measured",
    "predictions/*/measured_text",
    "predictions/*/recording",
    "predictions/*/ratio",
    "runs/*/ratio",
    "runs/*/device",
    "lessons/*/steps/*/checks/*/explanation",
    "lessons/*/steps/*/command/document",
];

/// Fields that only the course contains.
const OF_THE_COURSE: [&str; 19] = [
    "predictions",
    "lessons/order",
    "lessons/*/title",
    "lessons/*/session",
    "lessons/*/planned_minutes",
    "lessons/*/of",
    "lessons/*/steps/order",
    "lessons/*/steps/*/title",
    "lessons/*/steps/*/hints_of",
    "lessons/*/steps/*/answers/*/text",
    "lessons/*/steps/*/case",
    "lessons/*/steps/*/command",
    "lessons/*/steps/*/checks/order",
    "lessons/*/steps/*/checks/*/required",
    "lessons/*/steps/*/checks/*/explanation",
    "totals/steps",
    "totals/lessons",
    "totals/lessons_finished",
    "totals/planned_minutes",
];

/// A report after the comparison with its records.
#[derive(Debug)]
pub struct VerifiedHandIn {
    pub findings: HandInFindings,
    /// The report from records and files. Without records, the document itself.
    pub report: Report,
    /// The records in the document, or else the last ones of the session it was compared with. The newest log comes first.
    pub logs: Vec<StoredLog>,
}

/// Derives the document again and compares all of it.
///
/// # Errors
/// Fails if the session to compare with cannot be read, or there is no room for a copy.
pub fn of_report(
    document: &HandInDocument,
    session: Option<&Path>,
    course: &Course,
) -> Result<VerifiedHandIn, HandInError> {
    let said = &document.report;
    let mut findings = HandInFindings {
        kind: "report",
        learner: said.learner.clone(),
        records: said.chain.records,
        last_hash: said.chain.last_hash.clone(),
        ..HandInFindings::default()
    };
    let unchecked = |mut findings: HandInFindings, problem: Option<String>| {
        findings.problems.extend(problem);
        findings.not_compared.push("*".into());
        VerifiedHandIn {
            findings,
            report: said.clone(),
            logs: Vec::new(),
        }
    };
    let known = match session {
        Some(folder) => match log_up_to(folder, &said.chain.last_hash)? {
            Some(logs) => Some(logs),
            None => {
                let why = "Its last record is not one of the session's.".to_string();
                return Ok(unchecked(findings, Some(why)));
            }
        },
        None => None,
    };
    let logs = match carried_logs(said) {
        // A report of an older program contains no earlier logs.
        Ok(Some(logs)) if logs.len() == 1 => Some(known.unwrap_or(logs)),
        Ok(logs) => logs.or(known),
        Err(error) => return Ok(unchecked(findings, Some(error.to_string()))),
    };
    let Some(logs) = logs else {
        findings.unchecked.push(ANONYMOUS.into());
        return Ok(unchecked(findings, None));
    };
    let again = match RebuiltSession::new(logs, said, session, &mut findings) {
        Ok(again) => again,
        Err(CheckFailure::Records(problem)) => return Ok(unchecked(findings, Some(problem))),
        Err(CheckFailure::Copy(error)) => return Err(unreadable(Path::new("a copy of it"), error)),
    };
    let runs = FinishedRuns::new(again.location.runs());
    let records = records::check(&again.logs, course, &runs);
    findings.unchecked.extend(records.unchecked(course));
    findings.problems.extend(records.problems);
    findings.unusual.extend(records.unusual);
    let derived = again.compare(document, course, &mut findings)?;
    Ok(VerifiedHandIn {
        findings,
        report: derived,
        logs: again.logs,
    })
}

/// The log in a report and the earlier logs, newest first. `None` if it contains none.
fn carried_logs(said: &Report) -> Result<Option<Vec<StoredLog>>, SessionError> {
    let Some(lines) = &said.chain.lines else {
        return Ok(None);
    };
    let logs = [lines].into_iter().chain(said.chain.earlier.iter().rev());
    let read =
        |lines: &Vec<String>| StoredLog::parse(lines.join("\n").into(), Path::new("a record"));
    logs.map(read).collect::<Result<_, _>>().map(Some)
}

enum CheckFailure {
    Records(String),
    Copy(io::Error),
}

/// A session that is built again from records and runs' files.
struct RebuiltSession {
    location: SessionLocation,
    /// The newest log first, as far as the logs follow each other.
    logs: Vec<StoredLog>,
    /// True if the file of some run is missing that existed when the document was written.
    lacks_files: bool,
    _folder: TempDir,
}

impl RebuiltSession {
    fn new(
        mut logs: Vec<StoredLog>,
        said: &Report,
        session: Option<&Path>,
        findings: &mut HandInFindings,
    ) -> Result<Self, CheckFailure> {
        let folder = tempfile::tempdir().map_err(CheckFailure::Copy)?;
        let location = SessionLocation {
            folder: folder.path().to_path_buf(),
            learner: "derived".into(),
        };
        let history = EarlierRecords::from_logs(&logs);
        findings.unchecked.extend(history.unchecked());
        findings.unseen_records = history.unseen;
        findings.problems.extend(history.problems);
        logs.truncate(history.logs);
        if logs.first().is_none_or(|log| log.scan.records.is_empty()) {
            return Err(CheckFailure::Records("It carries no records.".into()));
        }
        let mut again = Self {
            location,
            logs,
            lacks_files: false,
            _folder: folder,
        };
        again.copy_logs().map_err(CheckFailure::Copy)?;
        again.copy_streams(said, session, findings)?;
        Ok(again)
    }

    /// Puts the log and the earlier logs into the session's folder.
    fn copy_logs(&self) -> io::Result<()> {
        let earlier = self.logs.iter().filter_map(StoredLog::replaced_log);
        let earlier =
            earlier.map(|replaced| earlier::file(&self.location.folder, replaced.records));
        fs::create_dir_all(self.location.backups())?;
        let mut files = [self.location.events()]
            .into_iter()
            .chain(earlier)
            .zip(&self.logs);
        files.try_for_each(|(path, log)| fs::write(path, &log.bytes))
    }

    fn state(&self) -> SessionState {
        let records = self.logs.first().map(|log| log.scan.records.as_slice());
        SessionState::from_records(records.unwrap_or_default())
    }

    /// Puts the runs' event streams into the session's folder. A sealed stream comes from any source in which it still
    /// matches its seal.
    fn copy_streams(
        &mut self,
        said: &Report,
        session: Option<&Path>,
        findings: &mut HandInFindings,
    ) -> Result<(), CheckFailure> {
        let state = self.state();
        let nothing = BTreeMap::new();
        let carried = said.chain.streams.as_ref().unwrap_or(&nothing);
        let (mut unsealed, mut missing) = (Vec::new(), Vec::new());
        for (id, run) in &state.runs {
            if check_name(id).is_err() {
                findings
                    .problems
                    .push(format!("`{id}` cannot be the name of a run."));
                continue;
            }
            let of_document = carried.get(id).cloned().flatten().map(String::into_bytes);
            // The document cannot contain what an unfinished run wrote later.
            let of_session = session
                .filter(|_| run.exit.is_some())
                .map(|folder| events_file(&folder.join("runs"), id))
                .and_then(|path| untrusted::read(&path, MOST_STREAM_BYTES).ok());
            let found = [of_document, of_session].into_iter().flatten();
            let stream = match &run.sha256 {
                None => found.reduce(|first, _| first),
                Some(sealed) => {
                    let (whole, changed): (Vec<_>, Vec<_>) =
                        found.partition(|bytes| sha256(bytes) == *sealed);
                    if !changed.is_empty() {
                        findings.problems.push(changed_stream(id));
                    }
                    whole.into_iter().next()
                }
            };
            let Some(stream) = stream else {
                // A stream that is too large is named without its text.
                if run.exit == Some(RunExit::SUCCESS) && !carried.contains_key(id) {
                    findings.problems.push(no_stream(id));
                }
                // If the document has streams but none of this run, there was none.
                if said.chain.streams.is_none() || carried.contains_key(id) {
                    missing.push(id.as_str());
                }
                continue;
            };
            if run.sha256.is_none() {
                unsealed.push(id.as_str());
            }
            let path = events_file(&self.location.runs(), id);
            let write = || {
                fs::create_dir_all(path.with_file_name(""))?;
                fs::write(&path, stream)
            };
            write().map_err(CheckFailure::Copy)?;
        }
        for id in carried.keys().filter(|id| !state.runs.contains_key(*id)) {
            findings.problems.push(format!(
                "The event stream of run {id} is not among its records."
            ));
        }
        if !unsealed.is_empty() {
            findings.unchecked.push(format!(
                "{} ended without a checksum, so the event stream is accepted unchecked: {}.",
                plural(unsealed.len(), "run"),
                some_of(&unsealed)
            ));
        }
        self.lacks_files = !missing.is_empty();
        if self.lacks_files {
            findings.unchecked.push(format!(
                "The files of {} are not available, so devices, samples and everything computed from them are not compared: {}.",
                plural(missing.len(), "run"),
                some_of(&missing)
            ));
            for field in OF_A_RUN {
                let of_runs = missing.iter().map(|id| format!("runs/{id}/{field}"));
                findings.not_compared.extend(of_runs);
            }
        }
        Ok(())
    }

    /// Compares the document with the derived one and returns the latter.
    fn compare(
        &self,
        document: &HandInDocument,
        course: &Course,
        findings: &mut HandInFindings,
    ) -> Result<Report, HandInError> {
        let said = &document.report;
        let mut left_out: Vec<&str> = NEVER_TOLD.to_vec();
        if self.lacks_files {
            left_out.extend(OF_ALL_RUNS);
        }
        let of_course = self.state().course;
        let same_course = of_course
            .as_ref()
            .is_none_or(|(title, version)| *title == course.title && *version == course.version);
        let nothing = Course::default();
        if !same_course {
            left_out.extend(OF_THE_COURSE);
            let (title, version) = of_course.clone().unwrap_or_default();
            findings.unchecked.push(format!(
                "Titles, answers and other texts of the course: it was done with {title} ({version}), and \
                 this is {} ({}). Name the other one with --lessons.",
                course.title, course.version
            ));
        }
        findings
            .not_compared
            .extend(left_out.iter().map(|path| (*path).to_string()));
        findings.never_checked.extend(never_told(said));
        let anonymous = said.anonymous;
        let known = if same_course { course } else { &nothing };
        let derived = collect(&self.location, known, CollectOptions { anonymous })?;
        let mut value = serde_json::to_value(&derived)
            .map_err(|error| unreadable(Path::new("the derived report"), error))?;
        let mut said_value = document.value.clone();
        for value in [&mut value, &mut said_value] {
            leave_out(value, same_course);
        }
        let leave = |path: &[String]| findings.leaves(path);
        let found = differences(&said_value, &value, &leave);
        findings.problems.extend(found);
        if said.written < said.session.last {
            findings.unusual.push(format!(
                "It claims to be written {}, before its last record of {}.",
                said.written, said.session.last
            ));
        }
        match same_course {
            true => Ok(derived),
            // Uses the texts of this program's course, as all reports of a class do.
            false => Ok(collect(
                &self.location,
                course,
                CollectOptions { anonymous },
            )?),
        }
    }
}

impl HandInFindings {
    /// Returns whether this path of the document was not compared.
    pub fn leaves(&self, path: &[String]) -> bool {
        self.not_compared.iter().any(|pattern| {
            let parts: Vec<&str> = pattern.split('/').collect();
            parts.len() <= path.len()
                && parts
                    .iter()
                    .zip(path)
                    .all(|(part, name)| *part == "*" || part == name)
        })
    }
}

/// Names the parts of the document that have no other source.
fn never_told(said: &Report) -> Vec<String> {
    let mut unchecked = vec![format!(
        "When it was written, and by which version: it says {}, {}.",
        said.written, said.program
    )];
    if !said.profiles.is_empty() {
        unchecked.push(format!(
            "{} of a vendor's tools: their files carry no seal.",
            plural(said.profiles.len(), "profile")
        ));
    }
    let has_ceilings = |run: &crate::document::RunReport| {
        run.work
            .as_ref()
            .is_some_and(|work| !work.ceilings.is_empty())
    };
    if said.runs.iter().any(has_ceilings) {
        unchecked.push("The ceilings of rooflines: they belong to the learner's machine.".into());
    }
    unchecked
}

/// Removes parts that depend on the deriving machine, and verdicts of checks that only the course knows.
fn leave_out(document: &mut Value, same_course: bool) {
    let of_machine = |warning: &Value| warning.as_str().is_some_and(|text| text.starts_with(STALE));
    for run in entries(document, "runs") {
        if let Some(Value::Array(warnings)) = run.get_mut("warnings") {
            warnings.retain(|warning| !of_machine(warning));
        }
    }
    if same_course {
        return;
    }
    let steps = entries(document, "lessons").flat_map(|lesson| entries(lesson, "steps"));
    for step in steps {
        if let Some(Value::Array(checks)) = step.get_mut("checks") {
            checks.retain(|check| check.get("verdict") != Some(&"not evaluated".into()));
        }
    }
}

fn entries<'a>(value: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = value.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

pub(super) fn changed_stream(id: &str) -> String {
    format!("The event stream of run {id} is not what it was when the run ended.")
}

/// In lower-case hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_a_machine_or_the_course_knows_is_not_compared() {
        let document = json!({
            "runs": [{"warnings": [format!("{STALE}."), "another"]}],
            "lessons": [{"steps": [{"checks": [{"verdict": "not evaluated"}, {"verdict": "passed"}]}]}],
        });
        let left = |same_course| {
            let mut left = document.clone();
            leave_out(&mut left, same_course);
            left
        };
        assert_eq!(left(true)["runs"], json!([{"warnings": ["another"]}]));
        assert_eq!(left(true)["lessons"], document["lessons"]);
        let judged = json!([{"steps": [{"checks": [{"verdict": "passed"}]}]}]);
        assert_eq!(left(false)["lessons"], judged);
    }
}
