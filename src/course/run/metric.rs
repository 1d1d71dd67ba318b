//! The figures of a run that a lesson, a table or a report may name: one list with units and origins.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use tinyllama_base::{human_bytes, named};
use tinyllama_contract::{Parts, Step, Summary};

named! {
    /// A figure of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Metric {
        TotalMs = "total_ms",
        ForwardMs = "forward_ms",
        BackwardMs = "backward_ms",
        OptimizerMs = "optimizer_ms",
        FirstStepMs = "first_step_ms",
        SamplesPerS = "samples_per_s",
        TokensPerS = "tokens_per_s",
        LaunchesPerStep = "launches_per_step",
        PeakBytesInUse = "peak_bytes_in_use",
        PeakBytesReserved = "peak_bytes_reserved",
        FirstLoss = "first_loss",
        FinalLoss = "final_loss",
        Parameters = "parameters",
        ParameterTensors = "parameter_tensors",
        ParametersWithGradient = "parameters_with_gradient",
        LossDifference = "loss_difference",
        GradientDifference = "gradient_difference",
        FlopsPerStep = "flops_per_step",
        BytesPerStep = "bytes_per_step",
        AchievedFlopsPerS = "achieved_flops_per_s",
    }
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
    pub fn unit(self) -> MetricUnit {
        match self {
            Metric::TotalMs
            | Metric::ForwardMs
            | Metric::BackwardMs
            | Metric::OptimizerMs
            | Metric::FirstStepMs => MetricUnit::Milliseconds,
            Metric::SamplesPerS => MetricUnit::PerSecond("samples"),
            Metric::TokensPerS => MetricUnit::PerSecond("tokens"),
            Metric::LaunchesPerStep => MetricUnit::Count("launches"),
            Metric::PeakBytesInUse | Metric::PeakBytesReserved | Metric::BytesPerStep => {
                MetricUnit::Bytes
            }
            Metric::FirstLoss | Metric::FinalLoss => MetricUnit::Nats,
            Metric::Parameters => MetricUnit::Count("parameters"),
            Metric::ParameterTensors | Metric::ParametersWithGradient => {
                MetricUnit::Count("tensors")
            }
            Metric::LossDifference | Metric::GradientDifference => MetricUnit::One,
            Metric::FlopsPerStep => MetricUnit::Count("FLOP"),
            Metric::AchievedFlopsPerS => MetricUnit::PerSecond("FLOP"),
        }
    }

    /// Describes the source of the figure.
    pub fn origin(self) -> &'static str {
        match self {
            Metric::TotalMs => "host clock around each measured step",
            Metric::ForwardMs | Metric::BackwardMs | Metric::OptimizerMs => {
                "host clock around this phase of each measured step"
            }
            Metric::FirstStepMs => {
                "host clock around the first step, compiling and tuning included"
            }
            Metric::SamplesPerS | Metric::TokensPerS => {
                "counted over the measured steps and their total time"
            }
            Metric::LaunchesPerStep => "kernels the host issued, counted at each launch",
            Metric::PeakBytesInUse | Metric::PeakBytesReserved => "the backend's memory pool",
            Metric::FirstLoss | Metric::FinalLoss => "computed by the model in that step",
            Metric::Parameters | Metric::ParameterTensors => "counted in the model",
            Metric::ParametersWithGradient => "tensors whose gradient the last step computed",
            Metric::LossDifference | Metric::GradientDifference => {
                "largest relative difference between two repeats of a step"
            }
            Metric::FlopsPerStep | Metric::BytesPerStep => "counted from shapes, not measured",
            Metric::AchievedFlopsPerS => "FLOP counted from shapes over the median measured step",
        }
    }

    /// Returns whether every measured step has its own value, so that a spread exists.
    pub fn is_per_step(self) -> bool {
        matches!(
            self,
            Metric::TotalMs | Metric::ForwardMs | Metric::BackwardMs | Metric::OptimizerMs
        )
    }

    /// Returns whether the figure may be zero in a healthy run. Such a figure cannot be a divisor.
    pub fn may_be_zero(self) -> bool {
        matches!(
            self,
            Metric::LossDifference | Metric::GradientDifference | Metric::ParametersWithGradient
        )
    }

    /// Returns this figure of one step, if steps have it.
    pub fn of_step(self, step: &Step) -> Option<f64> {
        match self {
            Metric::TotalMs => Some(step.total_ms),
            Metric::ForwardMs => step.forward_ms,
            Metric::BackwardMs => step.backward_ms,
            Metric::OptimizerMs => step.optimizer_ms,
            _ => None,
        }
    }

    /// Returns this figure of a summary, if the summary has it as one number.
    pub fn of_summary(self, summary: &Summary) -> Option<f64> {
        let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
        let repeat = summary.repeatability.as_ref();
        match self {
            Metric::FirstStepMs => summary.first_step_ms,
            Metric::SamplesPerS => summary.samples_per_s,
            Metric::TokensPerS => summary.tokens_per_s,
            Metric::LaunchesPerStep => summary.launches_per_step,
            Metric::PeakBytesInUse => bytes(summary.peak_bytes_in_use),
            Metric::PeakBytesReserved => bytes(summary.peak_bytes_reserved),
            Metric::FirstLoss => summary.first_loss,
            Metric::FinalLoss => summary.final_loss,
            Metric::Parameters => Some(summary.parameters as f64),
            Metric::ParameterTensors => Some(summary.parameter_tensors as f64),
            Metric::ParametersWithGradient => Some(summary.parameters_with_gradient? as f64),
            Metric::LossDifference => Some(repeat?.loss_difference),
            Metric::GradientDifference => Some(repeat?.gradient_difference),
            _ => None,
        }
    }

    /// Returns this figure of the counted work, if it is one of its sums.
    pub fn of_parts(self, parts: &Parts) -> Option<f64> {
        match self {
            Metric::FlopsPerStep => Some(parts.flops_per_step),
            Metric::BytesPerStep => Some(parts.bytes_per_step),
            Metric::AchievedFlopsPerS => parts.achieved_flops_per_s,
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
            MetricUnit::Milliseconds => format!("{} ms", rounded(value)),
            MetricUnit::Bytes => human_bytes(value.max(0.0).round() as u64),
            MetricUnit::PerSecond(things) => format!("{} {things}/s", scaled(value)),
            MetricUnit::Count(things) => format!("{} {things}", scaled(value)),
            MetricUnit::Nats | MetricUnit::One => rounded(value),
        }
    }
}

/// Rounds to three or four significant digits, without an exponent while that stays readable.
fn rounded(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size == 0.0 => "0".into(),
        _ if size < 1e-3 => format!("{value:.1e}"),
        _ if size < 10.0 => format!("{value:.3}"),
        _ if size < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
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
