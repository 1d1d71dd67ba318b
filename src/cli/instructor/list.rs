//! Prints the class as lines, once or after every change.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::Instructor;
use crate::cli::Exit;
use tinyllama_base::units::number_or_not;
use tinyllama_base::untrusted::{PlainWriter, plain};
use tinyllama_course::instructor::class::PERMISSIONS;
use tinyllama_course::instructor::ladder::ladder;
use tinyllama_course::instructor::view::{LearnerView, views};
use tinyllama_course::session::class_file;

/// Interval between the checks of `--watch`.
const INTERVAL: Duration = Duration::from_secs(2);

impl Instructor<'_> {
    pub fn list(&mut self) -> Result<Exit> {
        let views = views(&mut self.class, &self.course)?;
        self.print_views(&views)
    }

    pub fn watch(&mut self) -> Result<Exit> {
        let mut shown = Vec::new();
        loop {
            let now = views(&mut self.class, &self.course)?;
            let figures = |views: &[LearnerView]| -> Vec<LearnerView> {
                // The idle minutes change all the time without any news, so they do not count as a change.
                let still = |view: &LearnerView| LearnerView {
                    idle_minutes: None,
                    ..view.clone()
                };
                views.iter().map(still).collect()
            };
            if figures(&now) != figures(&shown) {
                if self.args.json {
                    let mut out = io::stdout().lock();
                    writeln!(out, "{}", json!({ "learners": now }))?;
                } else {
                    self.print_views(&now)?;
                    writeln!(io::stdout())?;
                }
                shown = now;
            }
            sleep(INTERVAL);
        }
    }

    pub fn ladder(&mut self) -> Result<Exit> {
        let rungs = ladder(&mut self.class, &self.course)?;
        let mut text = String::new();
        for (place, rung) in (1..).zip(&rungs) {
            let ms = number_or_not(rung.step_ms, 2);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{place:>3}. {:<16} {:>9.1} samples/s  {ms:>9} ms  {}",
                rung.learner, rung.samples_per_s, rung.flags
            );
        }
        if rungs.is_empty() {
            text.push_str("The contest has no correct run yet.");
        }
        self.print(&json!({ "ladder": rungs }), text.trim_end())
    }

    fn print_views(&self, views: &[LearnerView]) -> Result<Exit> {
        let pin = class_file::read(&self.class.folder)?.and_then(|pin| pin.lesson);
        if self.args.json {
            return self.print(&json!({ "learners": views, "pinned": pin }), "");
        }
        let mut out = PlainWriter(io::stdout().lock());
        if let Some(lesson) = pin {
            writeln!(out, "The class is pinned to {}.", plain(&lesson))?;
        }
        if views.is_empty() {
            writeln!(out, "No learner has started yet.")?;
            return Ok(Exit::Ok);
        }
        let mut rows = vec![HEAD.map(str::to_owned)];
        rows.extend(views.iter().map(cells));
        for row in &rows {
            writeln!(out, "{}", line(row, &rows))?;
        }
        if views.iter().any(|view| view.problem.is_some()) {
            writeln!(out, "\n{PERMISSIONS}")?;
        }
        Ok(Exit::Ok)
    }
}

const HEAD: [&str; 9] = [
    "learner", "position", "done", "skipped", "tries", "hints", "min", "last", "remarks",
];

fn cells(view: &LearnerView) -> [String; 9] {
    let at = view.position.as_ref();
    [
        view.name.clone(),
        at.map_or("not begun".into(), ToString::to_string),
        view.done_of_steps(),
        view.steps_skipped.to_string(),
        view.attempts.to_string(),
        view.hints.to_string(),
        format!("{:.0}", view.minutes),
        view.last_seen(),
        view.remarks(true),
    ]
}

/// Formats a row. Each column is as wide as its widest cell in all rows; names and positions align left, numbers
/// right.
fn line(row: &[String; 9], rows: &[[String; 9]]) -> String {
    let mut line = String::new();
    for (at, cell) in row.iter().enumerate() {
        let wide = rows.iter().map(|row| row[at].chars().count()).max();
        let wide = wide.unwrap_or(0);
        // Writing to a string cannot fail.
        let _ = match at {
            0 | 1 | 8 => write!(line, "{cell:<wide$}  "),
            _ => write!(line, "{cell:>wide$}  "),
        };
    }
    line.trim_end().to_owned()
}
