//! The figures of a run that a lesson, a table or a report may name: one list with units and origins.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use tinyllama_base::{human_bytes, milliseconds, named, rounded};
use tinyllama_contract::{Parts, Step, Summary};

/// Where the value of a figure is found.
enum FigureSource {
    Step(fn(&Step) -> Option<f64>),
    Summary(fn(&Summary) -> Option<f64>),
    Parts(fn(&Parts) -> Option<f64>),
}

/// Defines the figures. A row has the name, the words for people, the unit, where the value is found, and what measured or counted it.
macro_rules! metrics {
    ($($metric:ident = $name:literal, $words:literal, $unit:expr, $of:ident($value:expr), $origin:literal;)+) => {
        named! {
            /// A figure of a run.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
            #[serde(rename_all = "snake_case")]
            pub enum Metric { $($metric = $name,)+ }
        }

        impl Metric {
            pub fn unit(self) -> MetricUnit {
                use MetricUnit::*;
                match self { $(Metric::$metric => $unit,)+ }
            }

            /// Names the figure for people.
            pub fn in_words(self) -> &'static str {
                match self { $(Metric::$metric => $words,)+ }
            }

            /// Describes the source of the figure.
            pub fn origin(self) -> &'static str {
                match self { $(Metric::$metric => $origin,)+ }
            }

            fn source(self) -> FigureSource {
                match self { $(Metric::$metric => FigureSource::$of($value),)+ }
            }
        }
    };
}

metrics! {
    TotalMs = "total_ms", "step time", Milliseconds, Step(|it| Some(it.total_ms)), "host clock around each measured step";
    ForwardMs = "forward_ms", "forward time", Milliseconds, Step(|it| it.forward_ms), "host clock around this phase of each measured step";
    BackwardMs = "backward_ms", "backward time", Milliseconds, Step(|it| it.backward_ms), "host clock around this phase of each measured step";
    OptimizerMs = "optimizer_ms", "optimizer time", Milliseconds, Step(|it| it.optimizer_ms), "host clock around this phase of each measured step";
    // `Measurements` takes it from the times of events.
    WallMs = "wall_ms", "report to report", Milliseconds, Step(|_| None), "host clock from the report of one step to that of the next";
    FirstStepMs = "first_step_ms", "first step", Milliseconds, Summary(|it| it.first_step_ms), "host clock around the first step, compiling and tuning included";
    SamplesPerS = "samples_per_s", "samples a second", PerSecond("samples"), Summary(|it| it.samples_per_s), "counted over the measured steps and their total time";
    TokensPerS = "tokens_per_s", "tokens a second", PerSecond("tokens"), Summary(|it| it.tokens_per_s), "counted over the measured steps and their total time";
    LaunchesPerStep = "launches_per_step", "launches a step", Count("launches"), Summary(|it| it.launches_per_step), "kernels the host issued, counted at each launch; on a CPU this project's";
    PeakBytesInUse = "peak_bytes_in_use", "peak memory", Bytes, Summary(|it| Some(it.peak_bytes_in_use? as f64)), "the backend's memory pool";
    PeakBytesReserved = "peak_bytes_reserved", "reserved memory", Bytes, Summary(|it| Some(it.peak_bytes_reserved? as f64)), "the backend's memory pool";
    ProcessPeakBytes = "process_peak_bytes", "process memory", Bytes, Summary(|it| Some(it.process_peak_bytes? as f64)), "the system, for the whole process";
    FirstLoss = "first_loss", "first loss", Nats, Summary(|it| it.first_loss), "computed by the model in that step";
    FinalLoss = "final_loss", "final loss", Nats, Summary(|it| it.final_loss), "computed by the model in that step";
    Parameters = "parameters", "parameters", Count("parameters"), Summary(|it| Some(it.parameters as f64)), "counted in the model";
    ParameterTensors = "parameter_tensors", "parameter tensors", Count("tensors"), Summary(|it| Some(it.parameter_tensors as f64)), "counted in the model";
    ParametersWithGradient = "parameters_with_gradient", "gradients", Count("tensors"), Summary(|it| Some(it.parameters_with_gradient? as f64)), "tensors whose gradient the last step computed";
    LossDifference = "loss_difference", "loss difference", One, Summary(|it| Some(it.repeatability.as_ref()?.loss_difference)), "largest relative difference between two repeats of a step";
    GradientDifference = "gradient_difference", "gradient difference", One, Summary(|it| Some(it.repeatability.as_ref()?.gradient_difference)), "largest relative difference between two repeats of a step";
    FlopsPerStep = "flops_per_step", "work a step", Count("FLOP"), Parts(|it| Some(it.flops_per_step)), "counted from shapes, not measured";
    BytesPerStep = "bytes_per_step", "bytes a step", Bytes, Parts(|it| Some(it.bytes_per_step)), "counted from shapes, not measured";
    AchievedFlopsPerS = "achieved_flops_per_s", "achieved rate", PerSecond("FLOP"), Parts(|it| it.achieved_flops_per_s), "FLOP counted from shapes over the median measured step";
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    Milliseconds,
    Bytes,
    /// Rate of the named things.
    PerSecond(&'static str),
    Count(&'static str),
    /// Natural units of information.
    Nats,
    /// A pure number.
    One,
}

impl Metric {
    /// Returns whether every measured step has its own value, so that a spread exists.
    pub fn is_per_step(self) -> bool {
        matches!(self.source(), FigureSource::Step(_))
    }

    /// Returns whether the figure may be zero in a healthy run. Such a figure cannot be a divisor.
    pub fn may_be_zero(self) -> bool {
        matches!(
            self,
            Metric::LossDifference | Metric::GradientDifference | Metric::ParametersWithGradient
        )
    }

    /// Returns whether every machine reports the figure in a run that ends well.
    pub fn is_always_reported(self) -> bool {
        !matches!(
            self,
            Metric::LaunchesPerStep
                | Metric::PeakBytesInUse
                | Metric::PeakBytesReserved
                | Metric::AchievedFlopsPerS
        )
    }

    /// Returns this figure of one step, if steps have it.
    pub fn of_step(self, step: &Step) -> Option<f64> {
        match self.source() {
            FigureSource::Step(figure) => figure(step),
            _ => None,
        }
    }

    /// Returns this figure of a summary, if the summary has it as one number.
    pub fn of_summary(self, summary: &Summary) -> Option<f64> {
        match self.source() {
            FigureSource::Summary(figure) => figure(summary),
            _ => None,
        }
    }

    /// Returns this figure of the counted work, if it is one of its sums.
    pub fn of_parts(self, parts: &Parts) -> Option<f64> {
        match self.source() {
            FigureSource::Parts(figure) => figure(parts),
            _ => None,
        }
    }
}

/// A name that is not a metric.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no metric `{0}`; there are: {list}", list = list())]
pub struct UnknownMetric(pub String);

fn list() -> String {
    Metric::ALL.map(Metric::name).join(", ")
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(text: &str) -> Result<Self, UnknownMetric> {
        Metric::of_name(text).ok_or_else(|| UnknownMetric(text.to_string()))
    }
}

named! {
    /// Which number of a per-step metric is meant.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Statistic {
        #[default]
        Median = "median",
        P10 = "p10",
        P90 = "p90",
        /// (p90 - p10) / median.
        Spread = "spread",
    }
}

impl MetricUnit {
    /// Formats `value` with its unit, rounded for reading.
    pub fn show(self, value: f64) -> String {
        match self {
            MetricUnit::Milliseconds => milliseconds(value),
            MetricUnit::Bytes => human_bytes(value.max(0.0).round() as u64),
            MetricUnit::PerSecond(things) => format!("{} {things}/s", scaled(value)),
            MetricUnit::Count(things) => format!("{} {things}", scaled(value)),
            MetricUnit::Nats | MetricUnit::One => rounded(value),
        }
    }
}

fn scaled(value: f64) -> String {
    match value.abs() {
        size if size >= 1e12 => format!("{:.2} T", value / 1e12),
        size if size >= 1e9 => format!("{:.2} G", value / 1e9),
        size if size >= 1e6 => format!("{:.2} M", value / 1e6),
        size if size >= 1e4 => format!("{:.1} k", value / 1e3),
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_name_of_its_own_that_reads_back() {
        for metric in Metric::ALL {
            assert_eq!(metric.name().parse(), Ok(metric));
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
            assert!(!metric.origin().is_empty());
        }
    }

    #[test]
    fn an_unknown_metric_is_answered_with_the_list() {
        let error = "speed".parse::<Metric>().unwrap_err().to_string();
        assert!(
            error.contains("`speed`") && error.contains("samples_per_s"),
            "{error}"
        );
    }

    #[test]
    fn values_carry_their_unit() {
        assert_eq!(Metric::TotalMs.unit().show(21.456), "21.46 ms");
        assert_eq!(
            Metric::PeakBytesInUse.unit().show(547_608_330.0),
            "522.2 MiB"
        );
        assert_eq!(Metric::SamplesPerS.unit().show(372.9), "372.9 samples/s");
        assert_eq!(
            Metric::Parameters.unit().show(31_990_272.0),
            "31.99 M parameters"
        );
        assert_eq!(Metric::FinalLoss.unit().show(6.9078), "6.908");
        assert_eq!(Metric::GradientDifference.unit().show(0.0), "0");
    }
}
