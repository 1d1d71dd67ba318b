//! A finished run becomes part of the session.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;

use crate::analysis::metric::Statistic;
use crate::analysis::{Measurements, Metric};
use crate::session::event::RunExit;
use crate::session::runs::events_file;
use crate::session::{Session, SessionError};

/// Notes how `run` ended, with the figures its event stream reports.
pub fn finish_run(session: &mut Session, run: &str, exit: RunExit) -> Result<(), SessionError> {
    let path = events_file(&session.place.runs(), run);
    let measurements = File::open(path)
        .and_then(|file| Measurements::read(BufReader::new(file)))
        .unwrap_or_default();
    session.finish_run(run, exit, values(&measurements))
}

/// Every figure that was reported, by metric name.
fn values(measurements: &Measurements) -> BTreeMap<String, f64> {
    Metric::ALL
        .into_iter()
        .filter_map(|metric| {
            let value = measurements.value(metric, Statistic::Median)?;
            Some((metric.name().to_string(), value))
        })
        .collect()
}
