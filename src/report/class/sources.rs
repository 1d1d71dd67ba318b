//! Where a class's reports come from: a class folder, hand-ins in a folder, or files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::base::inside;
use crate::lesson::Course;
use crate::report::hand_in::{is_export, read_report, with_unpacked};
use crate::report::{Findings, HandInError, Options, Report, collect, hand_in};
use crate::session::{Event, Place, Scan, check_name, scan};

/// One learner's report and whether its records hold.
#[derive(Clone, Debug)]
pub struct HandIn {
    /// As its records and files give it; as it was handed in where it carries none.
    pub report: Report,
    /// None where it carries no records.
    pub intact: Option<bool>,
    pub problems: Vec<String>,
    /// Its folder in the class: there a learner goes by that name, whatever the records say.
    pub folder: Option<String>,
    pub chain: Chain,
}

/// What tells one session from another, whatever name stands in it.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    /// Of every record, in order; empty where it carries none.
    pub hashes: Vec<String>,
    /// The last record of the log that this one took the place of.
    pub continues: Option<String>,
}

impl Chain {
    fn of(scan: &Scan) -> Self {
        let first = scan.records.first().map(|record| &record.event);
        Self {
            hashes: scan.hashes.clone(),
            continues: match first {
                Some(Event::Compacted { previous_hash, .. }) => Some(previous_hash.clone()),
                _ => None,
            },
        }
    }
}

/// What was found, and in words what could not be read. One bad hand-in spoils no other.
#[derive(Debug, Default)]
pub struct Found {
    pub hand_ins: Vec<HandIn>,
    pub unreadable: Vec<String>,
}

/// Reads every hand-in named, and every one in the folders named.
pub fn read(paths: &[PathBuf], course: &Course) -> Found {
    let mut found = Found::default();
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
            .partition(|candidate| !candidate.is_dir() && is_export(candidate));
        let is_class = path.is_dir() && !path.join("events.jsonl").exists();
        let mut read: Vec<_> = others
            .par_iter()
            .map(|candidate| read_one(candidate, is_class, course))
            .collect();
        // One after the other: what an archive unpacks to is not known before.
        read.extend(
            exports
                .iter()
                .map(|export| with_unpacked(export, |folder| from_session(folder, None, course))),
        );
        for read in read {
            match read {
                Ok(hand_in) => found.hand_ins.push(hand_in),
                Err(error) => found.unreadable.push(error.to_string()),
            }
        }
    }
    found
}

/// The hand-ins below a path: itself, or what lies in it, sorted by name.
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
            Ok(found) if found.is_dir() => check_name(name).is_ok() && holds_report(path),
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
    // What begins with a dot is the tutor's own, such as the lesson a class is pinned to.
    name.ends_with(".json") && name != "class.json" && !name.starts_with('.')
}

fn read_one(path: &Path, is_class: bool, course: &Course) -> Result<HandIn, HandInError> {
    if path.is_dir() {
        let name = path.file_name().and_then(|name| name.to_str());
        return from_session(path, name.filter(|_| is_class), course);
    }
    let checked = hand_in::of_report(&read_report(path)?, None, course)?;
    let findings = checked.findings;
    Ok(HandIn {
        intact: (!findings.is_unchecked()).then(|| findings.is_intact()),
        problems: remarks(&findings),
        report: checked.report,
        folder: None,
        chain: Chain::of(&checked.scan),
    })
}

fn from_session(folder: &Path, name: Option<&str>, course: &Course) -> Result<HandIn, HandInError> {
    let place = Place {
        folder: folder.to_path_buf(),
        learner: name.unwrap_or_default().into(),
    };
    let report = collect(&place, course, Options::default())?;
    let findings = hand_in::of_session(folder, "session", None, course)?;
    Ok(HandIn {
        report,
        intact: Some(findings.is_intact()),
        problems: remarks(&findings),
        folder: name.map(str::to_string),
        chain: Chain::of(&scan(&place.events())?),
    })
}

/// What an instructor should read of a check.
fn remarks(findings: &Findings) -> Vec<String> {
    let unusual = findings
        .unusual
        .iter()
        .map(|what| format!("unusual: {what}"));
    findings.problems.iter().cloned().chain(unusual).collect()
}
