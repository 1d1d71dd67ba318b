//! What a step computes and where its time goes: counted work on the roofline, profiles.

use crate::analysis::Metric;
use crate::base::roofline::svg;
use crate::report::document::{Report, RunReport, Work};
use crate::report::html::charts::figure;
use crate::report::html::markup::{Cell, Text, section, table};
use crate::report::words::{self, NOT_REPORTED};

pub(super) fn work(report: &Report) -> String {
    let counted = report
        .runs
        .iter()
        .rev()
        .filter_map(|run| Some((run, run.work.as_ref()?)));
    let parts = counted
        .take(words::MOST_ROOFLINES)
        .enumerate()
        .map(|(place, (run, work))| one_work(place, run, work));
    section("work", "Work and roofline", &parts.collect::<String>())
}

fn one_work(place: usize, run: &RunReport, work: &Work) -> String {
    let chart = work.roofline().picture().map_or(String::new(), |picture| {
        let (height, drawing) = svg::drawing(&picture);
        figure(
            &format!("chart-roofline-{place}"),
            &format!("Parts of {} under their roofline", run.target),
            "FLOP per byte counted from shapes, FLOP/s over the measured device time; both logarithmic. Full lines were measured, \
             broken ones are from the data sheet",
            height,
            &drawing,
        )
    });
    let columns = words::WORK_HEAD.map(|name| {
        (
            name,
            if name == "Part" {
                Cell::Text
            } else {
                Cell::Number
            },
        )
    });
    let sum = format!(
        "<p>A step needs {} and moves at least {}; over its median that is {}. Work: {}.</p>\n",
        Text(&Metric::FlopsPerStep.unit().show(work.flops_per_step)),
        Text(&Metric::BytesPerStep.unit().show(work.bytes_per_step)),
        Text(&work.achieved_flops_per_s.map_or_else(
            || NOT_REPORTED.into(),
            |rate| Metric::AchievedFlopsPerS.unit().show(rate)
        )),
        Text(&work.source),
    );
    let ceilings = format!("<p class=\"soft\">{}</p>\n", Text(&words::ceilings(work)));
    let rows = words::work_rows(work);
    let title = format!("<h3>{} ({})</h3>\n", Text(&run.target), Text(&run.id));
    [
        title,
        sum,
        chart,
        ceilings,
        table(
            "Work per step by part of the model, its layers together",
            &columns,
            rows,
        ),
    ]
    .concat()
}

pub(super) fn profiles(report: &Report) -> String {
    let columns = words::HOTSPOT_HEAD.map(|name| match name {
        "Kernel" => (name, Cell::Code),
        "Part of the model" => (name, Cell::Text),
        _ => (name, Cell::Number),
    });
    let mut out = String::new();
    for profile in &report.profiles {
        let caption = format!("Kernels by time, run {} ({})", profile.run, profile.folder);
        out.push_str(&table(
            &caption,
            &columns,
            profile.hotspots.iter().map(words::hotspot_row),
        ));
        for note in &profile.notes {
            out.push_str(&format!("<p class=\"soft\">{}</p>", Text(note)));
        }
    }
    section("profiles", "Profiles", &out)
}
