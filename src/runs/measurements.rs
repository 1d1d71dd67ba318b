//! Collects the figures of one run from its event stream.

use std::collections::BTreeMap;

use crate::{Metric, Statistic};
use tinyllama_base::Series;
use tinyllama_contract::{Body, Event};

/// Figures that a run reported. An absent metric was not reported; it is not zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    scalars: BTreeMap<Metric, f64>,
    steps: BTreeMap<Metric, Vec<f64>>,
    losses: Vec<f64>,
    /// Time of the last step's event, in seconds.
    last_step: Option<f64>,
    device: Option<String>,
    backend: Option<String>,
}

impl Measurements {
    pub fn collect<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut measurements = Self::default();
        for event in events {
            measurements.add(event);
        }
        measurements
    }

    /// Takes an event.
    pub fn add(&mut self, event: &Event) {
        let before = match event.body {
            Body::Step(_) => self.last_step.replace(event.t),
            _ => None,
        };
        match &event.body {
            Body::Hello(hello) => {
                self.device = Some(hello.device.clone());
                self.backend = Some(hello.backend.clone());
            }
            Body::Step(step) if step.measured => {
                self.losses.push(step.loss);
                for metric in Metric::ALL {
                    let value = match metric {
                        Metric::WallMs => before.map(|before| (event.t - before) * 1e3),
                        metric => metric.of_step(step),
                    };
                    if let Some(value) = value {
                        self.steps.entry(metric).or_default().push(value);
                    }
                }
            }
            Body::Summary(summary) => self.add_scalars(|metric| metric.of_summary(summary)),
            Body::Parts(parts) => self.add_scalars(|metric| metric.of_parts(parts)),
            // Other events have no figures of steps; `FinalDocument::add` names every event.
            _ => {}
        }
    }

    fn add_scalars(&mut self, value: impl Fn(Metric) -> Option<f64>) {
        let found = Metric::ALL
            .into_iter()
            .filter_map(|metric| Some((metric, value(metric)?)));
        self.scalars.extend(found);
    }

    /// The name of the device. `None` if the stream does not begin with it.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// Returns whether a CPU computed the run. There is no device to wait for then.
    pub fn is_of_cpu(&self) -> bool {
        self.backend.as_deref() == Some("cpu")
    }

    /// Returns whether a GPU computed the run. Others may use a GPU at the same time.
    pub fn is_of_gpu(&self) -> bool {
        self.backend.is_some() && !self.is_of_cpu()
    }

    /// Losses of every counted step.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// The measured steps of a per-step metric. `None` if it was not reported, or if a value is not a time.
    pub fn series(&self, metric: Metric) -> Option<Series> {
        Series::new(self.steps.get(&metric)?.clone()).ok()
    }

    /// Returns one number, or `None` if it was not reported. A number that is not finite is returned unchanged.
    pub fn value(&self, metric: Metric, statistic: Statistic) -> Option<f64> {
        if !metric.is_per_step() {
            return self.scalars.get(&metric).copied();
        }
        let series = self.series(metric)?;
        Some(match statistic {
            Statistic::Median => series.median(),
            Statistic::P10 => series.quantile(0.1),
            Statistic::P90 => series.quantile(0.9),
            Statistic::Spread => series.relative_spread(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Line, read_line};

    const STREAM: &str = r#"{"t":0.1,"event":"step","n":1,"of":3,"measured":false,"loss":7.0,"total_ms":900.0,"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"launches":null,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":1.0}
a line some library printed
{"t":0.2,"event":"step","n":2,"of":3,"measured":true,"loss":6.9,"total_ms":20.0,"forward_ms":6.0,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"launches":null,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":1.0}
{"t":0.3,"event":"step","n":3,"of":3,"measured":true,"loss":6.8,"total_ms":30.0,"forward_ms":7.0,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"launches":null,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":1.0}
{"t":0.35,"event":"something_new"}
{"t":0.4,"event":"summary","complete":true,"steps":3,"measured_steps":2,"samples":16,"samples_per_s":320.0,"tokens_per_s":null,"total_ms":null,"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"first_step_ms":900.0,"launches_per_step":null,"peak_bytes_in_use":1048576,"peak_bytes_reserved":null,"first_loss":7.0,"final_loss":6.8,"parameters":100,"parameter_tensors":10,"parameters_with_gradient":10,"repeatability":null}
"#;

    fn measured() -> Measurements {
        let mut measured = Measurements::default();
        for line in STREAM.lines() {
            if let Line::Event(event) = read_line(line) {
                measured.add(&event);
            }
        }
        measured
    }

    #[test]
    fn a_stream_gives_measured_steps_and_what_the_summary_reports() {
        let run = measured();
        assert_eq!(run.series(Metric::TotalMs).unwrap().values(), [20.0, 30.0]);
        assert_eq!(run.value(Metric::TotalMs, Statistic::Median), Some(25.0));
        assert_eq!(run.value(Metric::ForwardMs, Statistic::P10), Some(6.1));
        let walls = run.series(Metric::WallMs).unwrap();
        assert!(walls.values().iter().all(|it| (it - 100.0).abs() < 1e-6));
        assert_eq!(walls.values().len(), 2, "also after a step of the warm-up");
        assert_eq!(
            run.value(Metric::PeakBytesInUse, Statistic::Median),
            Some(1_048_576.0)
        );
        assert_eq!(
            run.value(Metric::ParametersWithGradient, Statistic::Median),
            Some(10.0)
        );
    }

    #[test]
    fn figures_that_were_not_reported_are_absent_and_never_zero() {
        let run = measured();
        for metric in [
            Metric::BackwardMs,
            Metric::LaunchesPerStep,
            Metric::TokensPerS,
            Metric::LossDifference,
        ] {
            assert_eq!(run.value(metric, Statistic::Median), None, "{metric}");
        }
    }
}
