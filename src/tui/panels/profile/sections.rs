//! What a profile has something to say about.

use crate::base::table::TextTable;
use crate::profiler::read::Import;
use crate::profiler::show::hotspots::GroupBy;
use crate::profiler::show::parts::Parts;
use crate::profiler::show::{
    comparison, copies, counters, launches, occupancy, report, roofline, timeline,
};
use crate::tui::panels::roofline::{RooflineInput, RooflinePanel};
use crate::tui::panels::table::Tone;

/// Rows of a table at most; a screen is for reading, exports are for everything.
const ROWS: usize = 500;

/// Kernels whose counters get a table.
const KERNELS_WITH_COUNTERS: usize = 20;

#[derive(Debug)]
pub struct Section {
    pub name: &'static str,
    pub content: Content,
}

#[derive(Debug)]
pub enum Content {
    Hotspots,
    Timeline,
    Tables(Vec<TextTable>),
    Lines(Vec<SourceLine>),
    Roofline(Box<RooflinePanel>),
}

/// A line about the files.
#[derive(Debug)]
pub struct SourceLine {
    pub text: String,
    pub tone: Tone,
}

/// Sections with something in them; none for an empty import.
pub fn of(import: &Import, parts: &Parts, beside: Option<(&str, &Import)>) -> Vec<Section> {
    let profile = &import.profile;
    let mut sections = Vec::new();
    let timed = profile
        .dispatches
        .iter()
        .any(|dispatch| dispatch.time.is_some());
    let kernels = timed || !profile.statistics.is_empty();
    if kernels {
        sections.push(Section {
            name: "Hotspots",
            content: Content::Hotspots,
        });
    }
    if let Some((label, later)) = beside {
        let compared = comparison::compare(profile, &later.profile, GroupBy::ShortName, parts);
        let mut table = compared.table(ROWS);
        table.title = format!("{}; after: {label}", table.title);
        let titles = ["calls before", "calls after", "time before", "time after"];
        let pairs = table.columns.iter_mut().skip(2);
        for ((column, _), title) in pairs.zip(titles) {
            *column = title;
        }
        add(&mut sections, "Beside", vec![table]);
    }
    if timed {
        sections.push(Section {
            name: "Timeline",
            content: Content::Timeline,
        });
    }
    let mut host = Vec::new();
    if timed || !profile.calls.is_empty() {
        host.push(launches::launch_overhead(profile).table());
    }
    host.push(timeline::table(profile, 5));
    host.push(report::calls(profile, ROWS));
    host.push(copies::table(profile));
    add(&mut sections, "Launches", host);
    let tables = counters::tables(profile, KERNELS_WITH_COUNTERS);
    add(&mut sections, "Counters", tables);
    let occupancy = occupancy::table(profile, ROWS);
    add(&mut sections, "Occupancy", vec![occupancy]);
    let points = RooflineInput::of_profile(profile);
    if points
        .points
        .iter()
        .any(|point| point.intensity().is_some())
    {
        sections.push(Section {
            name: "Roofline",
            content: Content::Roofline(Box::new(RooflinePanel::new(points))),
        });
    } else {
        // Kernels that only move bytes have no place in the picture, but they have a bandwidth.
        add(&mut sections, "Roofline", vec![roofline::table(profile)]);
    }
    let more = [
        report::metrics(profile, ROWS),
        report::regions(profile, ROWS),
        report::instructions(profile, ROWS),
    ];
    add(&mut sections, "More", more.into());
    let lines = files(import);
    if !lines.is_empty() {
        sections.push(Section {
            name: "Files",
            content: Content::Lines(lines),
        });
    }
    sections
}

fn add(sections: &mut Vec<Section>, name: &'static str, mut tables: Vec<TextTable>) {
    tables.retain(|table| !table.rows.is_empty());
    if !tables.is_empty() {
        let content = Content::Tables(tables);
        sections.push(Section { name, content });
    }
}

/// What was read, what was not and why, what is damaged.
fn files(import: &Import) -> Vec<SourceLine> {
    let line = |text: String, tone| SourceLine { text, tone };
    let mut lines = Vec::new();
    for damage in &import.damage {
        let text = format!("damaged: {}: {}", damage.place, damage.problem);
        lines.push(line(text, Tone::Bad));
    }
    for taken in &import.taken {
        let text = format!(
            "read: {}: {}, {} rows",
            taken.path.display(),
            taken.format,
            taken.rows
        );
        lines.push(line(text, Tone::Plain));
    }
    for passed in &import.passed_over {
        let text = format!("passed over: {}: {}", passed.path.display(), passed.reason);
        lines.push(line(text, Tone::Muted));
    }
    for note in &import.profile.notes {
        lines.push(line(format!("note: {note}"), Tone::Emphasis));
    }
    for command in &import.profile.commands {
        lines.push(line(format!("profiled: {command}"), Tone::Muted));
    }
    lines
}
