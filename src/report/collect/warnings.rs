//! Warnings that a reader should know before believing the figures.

use crate::{Report, RunReport, some_of};
use tinyllama_base::plural;
use tinyllama_session::Scan;

pub fn collect(report: &Report, scan: &Scan) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut about_runs = |wanted: &dyn Fn(&RunReport) -> bool, text: &str| {
        let found: Vec<&str> = report
            .runs
            .iter()
            .filter(|run| wanted(run))
            .map(|run| run.id.as_str())
            .collect();
        if !found.is_empty() {
            warnings.push(format!(
                "{} {text}: {}.",
                plural(found.len(), "run"),
                some_of(&found)
            ));
        }
    };
    let says = |run: &RunReport, word: &str| run.warnings.iter().any(|text| text.starts_with(word));
    about_runs(
        &|run| run.recording.is_some(),
        "played from a recording of another machine",
    );
    about_runs(
        &|run| says(run, "Noisy"),
        "with steps that spread over more than 10 % of their median",
    );
    about_runs(
        &|run| says(run, "Not synchronised"),
        "timed without waiting for the device",
    );
    about_runs(
        &|run| says(run, "Only"),
        "in which some parameters received no gradient",
    );
    about_runs(&|run| says(run, "Its files are gone"), "without files");
    let machines = report
        .devices
        .iter()
        .filter(|device| !device.recording)
        .count();
    if machines > 1 {
        warnings.push(format!(
            "The runs were made on {machines} devices; only runs of one device are compared."
        ));
    }
    if !scan.damage.is_empty() {
        warnings.push(format!(
            "{} of the session's log {} not what was written; everything else was kept.",
            plural(scan.damage.len(), "line"),
            if scan.damage.len() == 1 { "is" } else { "are" }
        ));
    }
    warnings
}
