//! Makes the sections for the data that a profile has.

use std::sync::Arc;

use super::hotspots::HotspotTable;
use super::memory_chart::MemoryChartPanel;
use super::tables::TablesPanel;
use super::timeline::Timeline;
use crate::tui::panels::sections::PanelSection;
use crate::tui::{PageText, RooflinePanel, TextPage, Tone};
use tinyllama_base::TextTable;
use tinyllama_profile::NothingRecorded;
use tinyllama_profile::read::Import;
use tinyllama_profile::show::parts::KernelParts;
use tinyllama_profile::show::{
    copies, counters, idle, launches, memory_chart, occupancy, report, roofline, samples, timeline,
};

/// Rows of a table at most. A screen is for reading; exports contain everything.
const ROWS: usize = 500;

/// Kernels whose counters get a table.
const KERNELS_WITH_COUNTERS: usize = 20;

/// All sections that have data; empty for an empty import.
pub fn profile_sections(import: &Arc<Import>, parts: &KernelParts) -> Vec<PanelSection> {
    let profile = &import.profile;
    let mut sections: Vec<PanelSection> = Vec::new();
    if let Some(nothing) = NothingRecorded::explain(import) {
        let lines = nothing.lines().into_iter();
        let lines = lines.map(|line| (line, Tone::Plain)).collect();
        let page = TextPage::new("Nothing recorded", PageText::Paragraphs(lines));
        sections.push(("Nothing", Box::new(page)));
    }
    let timed = profile.is_timed();
    if timed || !profile.statistics.is_empty() {
        let hotspots = HotspotTable::new(Arc::clone(import), parts.clone());
        sections.push(("Hotspots", Box::new(hotspots)));
    }
    if timed {
        sections.push(("Timeline", Box::new(Timeline::new(Arc::clone(import)))));
    }
    add(&mut sections, "Idle", idle::tables(profile));
    let mut host = Vec::new();
    if launches::is_reported(profile) {
        host.push(launches::launch_overhead(profile).table());
    }
    host.push(timeline::table(profile));
    host.push(report::calls(profile, ROWS));
    host.push(copies::table(profile));
    add(&mut sections, "Launches", host);
    let tables = counters::tables(profile, KERNELS_WITH_COUNTERS);
    add(&mut sections, "Counters", tables);
    let charts = memory_chart::charts(profile, KERNELS_WITH_COUNTERS);
    if !charts.is_empty() {
        sections.push(("Memory", Box::new(MemoryChartPanel::new(charts))));
    }
    let occupancy = occupancy::table(profile, ROWS);
    add(&mut sections, "Occupancy", vec![occupancy]);
    let under_roof = roofline::roofline(profile);
    if under_roof.picture().is_some() {
        sections.push(("Roofline", Box::new(RooflinePanel::new(under_roof))));
    } else {
        // Kernels that only move bytes have no place in the roofline plot, but they have a bandwidth.
        add(&mut sections, "Roofline", vec![roofline::table(profile)]);
    }
    add(&mut sections, "Samples", samples::tables(profile, ROWS));
    let more = [report::metrics, report::regions];
    let more = more.map(|table| table(profile, ROWS));
    add(&mut sections, "More", more.into());
    let files = files(import);
    if !files.is_empty() {
        let page = TextPage::new("Files", PageText::Paragraphs(files));
        sections.push(("Files", Box::new(page)));
    }
    sections
}

fn add(sections: &mut Vec<PanelSection>, name: &'static str, mut tables: Vec<TextTable>) {
    tables.retain(|table| !table.rows.is_empty());
    if !tables.is_empty() {
        sections.push((name, Box::new(TablesPanel::new(tables))));
    }
}

/// The files that were read, the files left out with the reason, and the damage.
fn files(import: &Import) -> Vec<(String, Tone)> {
    let damaged = import.damage.iter().map(|damage| {
        let text = format!("damaged: {}: {}", damage.location, damage.problem);
        (text, Tone::Bad)
    });
    let taken = import.taken.iter();
    let taken = taken.map(|taken| (format!("read: {taken}"), Tone::Plain));
    let left_out = import.left_out().into_iter();
    let passed = left_out.map(|left| (format!("passed over: {left}"), Tone::Muted));
    let notes = import.profile.notes.iter();
    let notes = notes.map(|note| (format!("note: {note}"), Tone::Emphasis));
    let commands = import.profile.commands.iter();
    let commands = commands.map(|command| (format!("profiled: {command}"), Tone::Muted));
    let all = damaged.chain(taken).chain(passed);
    all.chain(notes).chain(commands).collect()
}
