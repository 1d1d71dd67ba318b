//! Reads a class's reports from a class folder, from hand-ins in a folder, or from files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::hand_in::{Judging, OpenHandIn, is_export, judge};
use crate::{CollectOptions, HandInError, HandInFindings, Report, collect};
use tinyllama_base::inside;
use tinyllama_lesson::Course;
use tinyllama_session::{RunEntry, Scan, SessionState, check_learner};

/// One learner's report, and whether the tutor writes such records.
#[derive(Clone, Debug)]
pub struct HandIn {
    /// Derived from its records and files. Without records, taken unchanged from the hand-in.
    pub report: Report,
    /// `None` if nothing contradicts it and a part was not checked.
    pub consistent: Option<bool>,
    pub problems: Vec<String>,
    /// Work that could not be checked, with reasons.
    pub unchecked: Vec<String>,
    /// Its folder in the class. The folder's name is the learner's name there, even if the records have another name.
    pub folder: Option<String>,
    pub chain: SessionIdentity,
}

/// Data that identify a session independently of the name in it.
#[derive(Clone, Debug, Default)]
pub struct SessionIdentity {
    /// Hash of every record, in order. Empty if it has no records.
    pub hashes: Vec<String>,
    /// Marks that no two sessions share: the session's unique name, its runs, and the checksums of their streams.
    pub marks: BTreeSet<IdentityMark>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdentityMark {
    Session(String),
    Run(String),
    Stream(String),
}

/// The marks of a session's records.
fn marks(state: &SessionState) -> impl Iterator<Item = IdentityMark> {
    let session = Some(state.session.clone()).filter(|name| !name.is_empty());
    // Documents of commands and recordings are equal on every machine.
    let is_training =
        |run: &&RunEntry| run.recording.is_none() && run.command.iter().any(|word| word == "run");
    let streams = state.runs.values().filter(is_training);
    let streams = streams.filter_map(|run| run.sha256.clone());
    let runs = state.runs.keys().cloned().map(IdentityMark::Run);
    let all = runs.chain(streams.map(IdentityMark::Stream));
    let all: Vec<IdentityMark> = all.chain(session.map(IdentityMark::Session)).collect();
    all.into_iter()
}

impl SessionIdentity {
    /// Collects the hashes of a session's log and the marks of its report.
    fn new(scan: Option<&Scan>, report: &Report) -> Self {
        let runs = report.runs.iter();
        let mut identity = Self {
            marks: runs.map(|run| IdentityMark::Run(run.id.clone())).collect(),
            ..Self::default()
        };
        if let Some(scan) = scan {
            identity.hashes.clone_from(&scan.hashes);
            let state = SessionState::from_records(&scan.records);
            identity.marks.extend(marks(&state));
        }
        identity
    }
}

/// The hand-ins, and messages about those that could not be read. One bad hand-in does not affect the others.
#[derive(Debug, Default)]
pub struct HandIns {
    pub hand_ins: Vec<HandIn>,
    pub unreadable: Vec<String>,
}

/// Reads every hand-in in `paths`, and every one in folders among them.
pub fn read(paths: &[PathBuf], course: &Course) -> HandIns {
    let mut found = HandIns::default();
    for path in paths {
        let candidates = match candidates(path) {
            Ok(candidates) => candidates,
            Err(error) => {
                found
                    .unreadable
                    .push(format!("{}: {error}", path.display()));
                continue;
            }
        };
        if candidates.is_empty() {
            found.unreadable.push(format!(
                "{} holds no session, no session.json and no exported session.",
                path.display()
            ));
        }
        let (exports, others): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .partition(|candidate| !candidate.is_dir() && is_export(candidate).unwrap_or(false));
        let is_class = path.is_dir() && !path.join("events.jsonl").exists();
        let one = |candidate: &PathBuf| read_one(candidate, is_class, course);
        // Large hand-ins are read one after the other, to limit memory.
        let (large, small): (Vec<_>, Vec<_>) = others.into_iter().partition(|path| is_large(path));
        let mut read: Vec<_> = small.par_iter().map(one).collect();
        read.extend(large.iter().map(one));
        // Archives are also read one after the other, because their unpacked size is not known before.
        read.extend(exports.iter().map(one));
        for read in read {
            match read {
                Ok(hand_in) => found.hand_ins.push(hand_in),
                Err(error) => found.unreadable.push(error.to_string()),
            }
        }
    }
    found
}

/// The hand-ins at a path: itself, or its entries, sorted by name.
fn candidates(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() || path.join("events.jsonl").exists() {
        fs::metadata(path)?;
        return Ok(vec![path.to_path_buf()]);
    }
    let mut inside = inside(path)?;
    inside.retain(|path| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => check_learner(name).is_ok() && holds_report(path),
            Ok(found) => found.is_file() && (is_report(name) || name.ends_with(".tar.gz")),
            Err(_) => false,
        }
    });
    // A learner's folder with both a session and reports counts once, as the session.
    let inside = inside
        .into_iter()
        .map(|path| match path.join("session.json") {
            report if path.is_dir() && !path.join("events.jsonl").exists() && report.exists() => {
                report
            }
            _ => path,
        });
    Ok(inside.collect())
}

fn holds_report(folder: &Path) -> bool {
    folder.join("events.jsonl").exists() || folder.join("session.json").exists()
}

fn is_report(name: &str) -> bool {
    // Names that begin with a dot belong to the tutor, such as the lesson a class is pinned to.
    name.ends_with(".json") && name != "class.json" && !name.starts_with('.')
}

/// Returns whether reading `path` takes so much memory that several at a time may not fit.
fn is_large(path: &Path) -> bool {
    const LARGE: u64 = 8 << 20;
    let file = match path.is_dir() {
        true => path.join("events.jsonl"),
        false => path.to_path_buf(),
    };
    fs::metadata(file).is_ok_and(|found| found.len() > LARGE)
}

fn read_one(path: &Path, is_class: bool, course: &Course) -> Result<HandIn, HandInError> {
    let hand_in = OpenHandIn::open(path)?;
    let name = path.file_name().and_then(|name| name.to_str());
    let findings = judge(&hand_in, Judging::default(), course)?;
    let (report, chain) = match &hand_in.anonymous {
        Some(report) => {
            let report = Report::clone(report);
            let chain = SessionIdentity::new(None, &report);
            (report, chain)
        }
        None => {
            let report = collect(&hand_in.location, course, CollectOptions::default())?;
            let chain = SessionIdentity::new(Some(&hand_in.scan()?), &report);
            (report, chain)
        }
    };
    Ok(HandIn {
        consistent: findings.consistent(),
        problems: remarks(&findings),
        unchecked: findings.unchecked,
        folder: name
            .filter(|_| is_class && path.is_dir())
            .map(str::to_string),
        chain,
        report,
    })
}

/// Findings of a check that an instructor should read.
fn remarks(findings: &HandInFindings) -> Vec<String> {
    let unusual = findings
        .unusual
        .iter()
        .map(|what| format!("unusual: {what}"));
    findings.problems.iter().cloned().chain(unusual).collect()
}
