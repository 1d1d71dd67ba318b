//! The time of one program over that of another, with its uncertainty.

use serde::Serialize;

use tinyllama_base::statistics::{
    CompareError, Finding, Interval, Series, ratio_in_rounds, ratio_of_medians,
};
use tinyllama_base::{factor, times};

/// Confidence of comparisons that do not name one.
pub const USUAL_CONFIDENCE: f64 = 0.95;

/// Differences smaller than this share of the time do not matter.
pub const USUAL_MARGIN: f64 = 0.02;

/// A ratio of times. Below 1 the first program is faster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RelativeTime {
    /// Ratio of medians.
    pub ratio: f64,
    /// Null if too little was measured to know the spread.
    pub interval: Option<Interval>,
    pub finding: Option<Finding>,
    /// Why there is no interval.
    pub unknown: Option<String>,
}

impl RelativeTime {
    /// Compares runs that took turns, one of each side a round.
    pub fn from_rounds(a: &[Series], b: &[Series], confidence: f64, margin: f64) -> Option<Self> {
        Self::new(
            a,
            b,
            margin,
            ratio_in_rounds(a, b, Series::median, confidence),
        )
    }

    /// Compares runs that were made at different times.
    pub fn from_runs(a: &[Series], b: &[Series], confidence: f64, margin: f64) -> Option<Self> {
        Self::new(a, b, margin, ratio_of_medians(a, b, confidence))
    }

    fn new(
        a: &[Series],
        b: &[Series],
        margin: f64,
        interval: Result<Interval, CompareError>,
    ) -> Option<Self> {
        let plain = middle(a)? / middle(b)?;
        Some(match interval {
            Ok(interval) => RelativeTime {
                ratio: interval.value,
                interval: Some(interval),
                finding: Some(interval.finding(margin)),
                unknown: None,
            },
            Err(error) => RelativeTime {
                ratio: plain,
                interval: None,
                finding: None,
                unknown: Some(error.to_string()),
            },
        })
    }

    /// Formats how many times faster the first program is: `1.62x (1.58 to 1.67)`.
    pub fn speedup_text(&self) -> String {
        let interval = self.interval.map(|time| (1.0 / time.high, 1.0 / time.low));
        with_interval(1.0 / self.ratio, interval)
    }

    /// Formats how many times longer the first program takes.
    pub fn ratio_text(&self) -> String {
        with_interval(self.ratio, self.interval.map(|time| (time.low, time.high)))
    }

    /// The finding. If it is open, also what would settle it.
    pub fn finding_text(&self) -> String {
        match (self.finding, &self.unknown) {
            (Some(finding @ Finding::TooNoisy { further }), _) => match further {
                Some(further) => format!("{finding}: {further} should settle it"),
                None => format!("{finding}: no reasonable number of rounds would settle it"),
            },
            (Some(finding), _) => finding.to_string(),
            (None, Some(why)) => format!("unknown: {why}"),
            (None, None) => "unknown".into(),
        }
    }
}

fn with_interval(value: f64, interval: Option<(f64, f64)>) -> String {
    let ends = interval.map_or(String::new(), |(low, high)| {
        format!(" ({} to {})", factor(low), factor(high))
    });
    format!("{}{ends}", times(value))
}

/// Median of the runs' medians. `None` without a run.
pub fn middle(runs: &[Series]) -> Option<f64> {
    let medians = runs.iter().map(Series::median).collect();
    Series::new(medians).ok().map(|medians| medians.median())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(medians: &[f64]) -> Vec<Series> {
        medians
            .iter()
            .map(|median| Series::new(vec![*median; 12]).unwrap())
            .collect()
    }

    #[test]
    fn a_speedup_is_the_inverse_of_the_time_and_keeps_its_interval_in_order() {
        let time = RelativeTime::from_rounds(
            &runs(&[5.0, 5.1, 4.9]),
            &runs(&[10.0, 10.0, 10.1]),
            0.95,
            0.02,
        )
        .unwrap();
        assert_eq!(time.finding, Some(Finding::Faster));
        let text = time.speedup_text();
        let numbers: Vec<f64> = text
            .split(['x', '(', ')', ' '])
            .filter_map(|word| word.parse().ok())
            .collect();
        assert!(numbers[1] < numbers[0] && numbers[0] < numbers[2], "{text}");
        assert!((1.9..2.1).contains(&numbers[0]), "{text}");
    }

    #[test]
    fn too_little_is_said_to_be_too_little() {
        let one = |value| vec![Series::new(vec![value; 2]).unwrap()];
        let time = RelativeTime::from_runs(&one(5.0), &one(10.0), 0.95, 0.02).unwrap();
        assert_eq!((time.ratio, time.interval), (0.5, None));
        assert!(
            time.finding_text().contains("independent"),
            "{}",
            time.finding_text()
        );
        assert!(RelativeTime::from_runs(&[], &one(1.0), 0.95, 0.02).is_none());
    }
}
