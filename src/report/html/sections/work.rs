//! What a step computes and where its time goes: counted work on the roofline, profiles.

use crate::analysis::Metric;
use crate::base::roofline::svg;
use crate::base::units::or_not_reported;
use crate::report::document::{Report, RunReport, Work};
use crate::report::html::charts::figure;
use crate::report::html::markup::{Text, section, table};
use crate::report::words;

pub(super) fn work(report: &Report) -> String {
    let parts = words::counted(report).enumerate();
    let parts = parts.map(|(place, (run, work))| one_work(place, run, work));
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
    let rate = |rate| Metric::AchievedFlopsPerS.unit().show(rate);
    let achieved = or_not_reported(work.achieved_flops_per_s.map(rate));
    let sum = format!(
        "<p>A step needs {} and moves at least {}; over its median that is {}. Work: {}.</p>\n",
        Text(&Metric::FlopsPerStep.unit().show(work.flops_per_step)),
        Text(&Metric::BytesPerStep.unit().show(work.bytes_per_step)),
        Text(&achieved),
        Text(&work.source),
    );
    let ceilings = format!("<p class=\"soft\">{}</p>\n", Text(&words::ceilings(work)));
    let title = format!("<h3>{} ({})</h3>\n", Text(&run.target), Text(&run.id));
    let caption = "Work per step by part of the model, its layers together";
    [
        title,
        sum,
        chart,
        ceilings,
        table(caption, &words::work(work)),
    ]
    .concat()
}

pub(super) fn profiles(report: &Report) -> String {
    let mut out = String::new();
    for profile in &report.profiles {
        let caption = format!("Kernels by time, run {} ({})", profile.run, profile.folder);
        out.push_str(&table(&caption, &words::hotspots(profile)));
        for note in &profile.notes {
            out.push_str(&format!("<p class=\"soft\">{}</p>", Text(note)));
        }
    }
    section("profiles", "Profiles", &out)
}
