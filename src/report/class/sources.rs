//! Where a class's reports come from: a class folder, hand-ins in a folder, or files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::lesson::Course;
use crate::report::collect::{Options, collect};
use crate::report::document::Report;
use crate::report::hand_in::{self, HandInError, is_export, read_report, with_unpacked};
use crate::session::Place;
use crate::session::place::check_name;

/// One learner's report and whether its records hold.
#[derive(Clone, Debug)]
pub struct HandIn {
    pub report: Report,
    /// None where it carries no records.
    pub intact: Option<bool>,
    pub problems: Vec<String>,
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
        let read: Vec<_> = candidates
            .par_iter()
            .map(|candidate| read_one(candidate, course))
            .collect();
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
    let mut inside: Vec<PathBuf> = fs::read_dir(path)?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    inside.sort();
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
    name.ends_with(".json") && name != "class.json"
}

fn read_one(path: &Path, course: &Course) -> Result<HandIn, HandInError> {
    if path.is_dir() {
        return from_session(path, course);
    }
    if is_export(path) {
        return with_unpacked(path, |folder| from_session(folder, course));
    }
    let report = read_report(path)?;
    let findings = hand_in::of_report(&report, course);
    Ok(HandIn {
        intact: report.chain.lines.is_some().then(|| findings.is_intact()),
        problems: findings.problems,
        report,
    })
}

fn from_session(folder: &Path, course: &Course) -> Result<HandIn, HandInError> {
    let learner = folder
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let place = Place {
        folder: folder.to_path_buf(),
        learner: learner.into(),
    };
    let report = collect(&place, course, Options::default())?;
    let findings = hand_in::of_session(folder, "session")?;
    Ok(HandIn {
        report,
        intact: Some(findings.is_intact()),
        problems: findings.problems,
    })
}
