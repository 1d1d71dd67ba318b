//! Prints the class as lines.

use anyhow::Result;
use serde_json::json;

use super::Instructor;
use crate::cli::Exit;
use crate::cli::analysis::AnalysisPage;
use crate::cli::print_result::print_page;
use tinyllama_base::table::{TableColumns, TextTable, shortened, shortened_apart};
use tinyllama_base::units::number_or_not;
use tinyllama_base::untrusted::plain;
use tinyllama_session::class_file;
use tinyllama_tutor_core::instructor::class::PERMISSIONS;
use tinyllama_tutor_core::instructor::ladder::ladder;
use tinyllama_tutor_core::instructor::view::{LearnerView, views};

/// Columns of a name in a narrow terminal.
const LONGEST_NAME: usize = 20;

impl Instructor<'_> {
    pub fn ladder(&mut self) -> Result<Exit> {
        let rungs = ladder(&mut self.class, &self.course)?;
        let mut page = AnalysisPage::default();
        match &rungs[..] {
            [] => page.line("The contest has no correct run yet."),
            _ => page.line(
                TextTable::from(
                    TableColumns::titled("", &rungs)
                        .left("learner", |rung| rung.learner.clone())
                        .right("samples/s", |rung| format!("{:.1}", rung.samples_per_s))
                        .right("step ms", |rung| number_or_not(rung.step_ms, 2))
                        .left("flags", |rung| rung.flags.clone()),
                )
                .render(page.widest())
                .trim(),
            ),
        }
        print_page(self.args.json, &json!({ "ladder": rungs }), &page)
    }

    pub fn list(&mut self) -> Result<Exit> {
        let views = views(&mut self.class, &self.course)?;
        let pin = class_file::read(&self.class.folder)?.and_then(|pin| pin.lesson);
        let mut page = AnalysisPage::default();
        if let Some(lesson) = &pin {
            page.line(format_args!("The class is pinned to {}.", plain(lesson)));
        }
        match &views[..] {
            [] => page.line("No learner has started yet."),
            _ => page.line(tables(&views, page.widest()).trim()),
        }
        if views.iter().any(|view| view.problem.is_some()) {
            page.line(format_args!("\n{PERMISSIONS}"));
        }
        let document = json!({ "learners": views, "pinned": pin });
        print_page(self.args.json, &document, &page)
    }
}

/// A learner under the name that is shown.
type Listed<'a> = (String, &'a LearnerView);

/// One table, or two where one does not fit `width`. Long names are then shortened, but still differ.
fn tables(views: &[LearnerView], width: usize) -> String {
    let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
    let listed = |names: Vec<String>| -> Vec<Listed<'_>> { names.into_iter().zip(views).collect() };
    let all = listed(names.iter().map(ToString::to_string).collect());
    let one = TextTable::from(counts(places(&all))).render(usize::MAX);
    if one.lines().all(|line| line.chars().count() <= width) {
        return one;
    }
    let short = |name: &str| shortened(name, LONGEST_NAME);
    let short = listed(shortened_apart(&names, LONGEST_NAME, "...", short));
    let counts = counts(TableColumns::titled("", &short).left("learner", name));
    [TextTable::from(places(&short)), counts.into()]
        .map(|table| table.render(width))
        .concat()
}

fn name((name, _): &Listed<'_>) -> String {
    name.clone()
}

fn places<'a>(listed: &'a [Listed<'a>]) -> TableColumns<'a, Listed<'a>> {
    TableColumns::titled("", listed)
        .left("learner", name)
        .left("position", |(_, view)| {
            let at = view.position.as_ref();
            at.map_or("not begun".into(), ToString::to_string)
        })
        .right("done", |(_, view)| view.done_of_steps())
        .right("last", |(_, view)| view.last_seen())
        .left("remarks", |(_, view)| view.remarks(true))
}

fn counts<'a>(table: TableColumns<'a, Listed<'a>>) -> TableColumns<'a, Listed<'a>> {
    table
        .right("skipped", |(_, view)| view.steps_skipped.to_string())
        .right("tries", |(_, view)| view.attempts.to_string())
        .right("hints", |(_, view)| view.hints.to_string())
        .right("min", |(_, view)| format!("{:.0}", view.minutes))
}
