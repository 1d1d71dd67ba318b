//! Prints the class as lines, once or after every change.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::Instructor;
use crate::cli::Exit;
use crate::cli::analysis::AnalysisPage;
use crate::cli::print_result::print_page;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::number_or_not;
use tinyllama_base::untrusted::plain;
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
        let mut page = AnalysisPage::default();
        if let Some(lesson) = &pin {
            page.line(format_args!("The class is pinned to {}.", plain(lesson)));
        }
        match views {
            [] => page.line("No learner has started yet."),
            _ => page.line(table(views).render(usize::MAX).trim()),
        }
        if views.iter().any(|view| view.problem.is_some()) {
            page.line(format_args!("\n{PERMISSIONS}"));
        }
        let document = json!({ "learners": views, "pinned": pin });
        print_page(self.args.json, &document, &page)
    }
}

/// As wide as its cells, so that no name is shortened.
fn table(views: &[LearnerView]) -> TextTable {
    let columns = TableColumns::titled("", views)
        .left("learner", |view| view.name.clone())
        .left("position", |view| {
            let at = view.position.as_ref();
            at.map_or("not begun".into(), ToString::to_string)
        })
        .right("done", LearnerView::done_of_steps)
        .right("skipped", |view| view.steps_skipped.to_string())
        .right("tries", |view| view.attempts.to_string())
        .right("hints", |view| view.hints.to_string())
        .right("min", |view| format!("{:.0}", view.minutes))
        .right("last", LearnerView::last_seen)
        .left("remarks", |view| view.remarks(true));
    columns.into()
}
