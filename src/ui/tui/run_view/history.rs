//! The history of a figure over a run of any length, in bounded memory: the latest steps one by one, the whole run in
//! buckets.

use std::collections::VecDeque;

use tinyllama_base::{median, quantile};

/// Latest values kept one by one.
pub const RECENT: usize = 512;

/// Buckets of the whole run. When they are full, neighbours merge, so each covers twice the steps.
const BUCKETS: usize = 256;

/// Up to this many values, the median is exact.
const EXACT: usize = 16;

/// The merged values of neighbouring steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Number of reported values in it.
    pub count: u64,
    pub min: f64,
    pub max: f64,
    /// The median of up to sixteen values. For more values: the mean of such medians, weighted by their counts.
    pub middle: f64,
}

impl Bucket {
    pub fn from_values(values: &[f64]) -> Option<Self> {
        Some(Bucket {
            count: values.len() as u64,
            min: values.iter().copied().reduce(f64::min)?,
            max: values.iter().copied().reduce(f64::max)?,
            middle: median(values)?,
        })
    }

    fn merged(self, other: Self) -> Self {
        let count = self.count + other.count;
        let share = other.count as f64 / count as f64;
        Bucket {
            count,
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            middle: self.middle + (other.middle - self.middle) * share,
        }
    }
}

fn merge(a: Option<Bucket>, b: Option<Bucket>) -> Option<Bucket> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.merged(b)),
        (a, b) => a.or(b),
    }
}

/// One figure of every step. A step that did not report it leaves a gap.
#[derive(Clone, Debug, Default)]
pub struct FigureHistory {
    recent: VecDeque<Option<f64>>,
    buckets: Vec<Option<Bucket>>,
    /// Number of times that neighbouring buckets were merged.
    doublings: u32,
    /// The bucket that is being filled. Its steps are in `filled`, `filled_steps` of them, and in `pending`.
    filled: Option<Bucket>,
    filled_steps: u64,
    pending: Vec<Option<f64>>,
    pub steps: u64,
    pub reported: u64,
    pub latest: Option<f64>,
}

impl FigureHistory {
    /// Steps in each of the buckets.
    fn width(&self) -> u64 {
        1 << self.doublings
    }

    /// Adds the value of the next step. A value that is not finite counts as not reported.
    pub fn push(&mut self, value: Option<f64>) {
        let value = value.filter(|value| value.is_finite());
        self.steps += 1;
        self.reported += u64::from(value.is_some());
        self.latest = value.or(self.latest);
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(value);
        self.pending.push(value);
        let complete = self.filled_steps + self.pending.len() as u64 >= self.width();
        if complete || self.pending.len() >= EXACT {
            self.settle();
        }
        if complete {
            self.close();
        }
    }

    /// Merges the pending values into the bucket that is being filled.
    fn settle(&mut self) {
        self.filled_steps += self.pending.len() as u64;
        let values: Vec<f64> = self.pending.drain(..).flatten().collect();
        self.filled = merge(self.filled, Bucket::from_values(&values));
    }

    fn close(&mut self) {
        if self.buckets.len() == BUCKETS {
            let pairs = self.buckets.chunks(2);
            self.buckets = pairs
                .map(|pair| merge(pair[0], pair.get(1).copied().flatten()))
                .collect();
            self.doublings += 1;
            // The full bucket becomes the first half of a wider one.
            return;
        }
        self.buckets.push(self.filled.take());
        self.filled_steps = 0;
    }

    /// The last `count` steps, at most [`RECENT`], each with its number counted from 1.
    pub fn recent(&self, count: usize) -> impl Iterator<Item = (f64, Option<f64>)> {
        let skipped = self.recent.len().saturating_sub(count);
        let first = self.steps - (self.recent.len() - skipped) as u64 + 1;
        let values = self.recent.iter().skip(skipped);
        values
            .enumerate()
            .map(move |(at, value)| ((first + at as u64) as f64, *value))
    }

    /// The whole run in at most `most` buckets, each with the number of its middle step.
    pub fn all_buckets(&self, most: usize) -> Vec<(f64, Bucket)> {
        let values: Vec<f64> = self.pending.iter().copied().flatten().collect();
        let open = merge(self.filled, Bucket::from_values(&values));
        let mut buckets = self.buckets.clone();
        if self.filled_steps + self.pending.len() as u64 > 0 {
            buckets.push(open);
        }
        let together = buckets.len().div_ceil(most.max(1)).max(1);
        let width = (self.width() * together as u64) as f64;
        buckets
            .chunks(together)
            .enumerate()
            .filter_map(|(at, chunk)| {
                let bucket = chunk.iter().copied().fold(None, merge)?;
                let last = (width * (at + 1) as f64).min(self.steps as f64);
                Some(((width * at as f64 + 1.0 + last) / 2.0, bucket))
            })
            .collect()
    }

    /// Quantile of the recent reported values: the share `p` of them lies below it. Interpolated linearly.
    pub fn recent_quantile(&self, p: f64) -> Option<f64> {
        let values: Vec<f64> = self.recent.iter().copied().flatten().collect();
        quantile(&values, p)
    }

    /// Minimum and maximum of the whole run.
    pub fn range(&self) -> Option<(f64, f64)> {
        let whole = self.all_buckets(1);
        let (_, bucket) = whole.first()?;
        Some((bucket.min, bucket.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(values: impl IntoIterator<Item = f64>) -> FigureHistory {
        let mut history = FigureHistory::default();
        for value in values {
            history.push(Some(value));
        }
        history
    }

    #[test]
    fn a_hundred_thousand_steps_stay_small_and_lose_no_extreme() {
        let spike = 54_321;
        let run = (0..100_000).map(|n| {
            if n == spike {
                900.0
            } else {
                20.0 + f64::from(n % 7)
            }
        });
        let history = history(run);
        assert_eq!((history.steps, history.reported), (100_000, 100_000));
        assert!(history.buckets.len() <= BUCKETS && history.recent.len() == RECENT);
        assert!(history.pending.len() <= EXACT);
        let whole = history.all_buckets(60);
        assert!((40..=60).contains(&whole.len()), "{}", whole.len());
        let total: u64 = whole.iter().map(|(_, bucket)| bucket.count).sum();
        assert_eq!(total, 100_000);
        let (place, _) = whole
            .iter()
            .find(|(_, bucket)| bucket.max == 900.0)
            .unwrap();
        assert!((place - f64::from(spike)).abs() < 2500.0, "{place}");
        assert!(
            whole
                .iter()
                .all(|(_, bucket)| (bucket.middle - 23.0).abs() < 0.5),
            "{whole:?}"
        );
        assert_eq!(history.range(), Some((20.0, 900.0)));
    }

    #[test]
    fn every_step_is_in_exactly_one_bucket_at_every_length() {
        let mut history = FigureHistory::default();
        for n in 1..=5000_u64 {
            history.push(Some(n as f64));
            let whole = history.all_buckets(usize::MAX);
            let total: u64 = whole.iter().map(|(_, bucket)| bucket.count).sum();
            assert_eq!(total, n);
            // The values are step numbers, so a bucket's place is the middle of its values.
            for (place, bucket) in whole {
                assert_eq!(place, (bucket.min + bucket.max) / 2.0, "after {n}");
            }
        }
    }

    #[test]
    fn a_figure_that_was_not_reported_is_a_gap_and_not_a_number() {
        let mut history = history([5.0]);
        history.push(None);
        history.push(Some(f64::NAN));
        history.push(Some(7.0));
        assert_eq!((history.steps, history.reported), (4, 2));
        assert_eq!(history.latest, Some(7.0));
        let recent: Vec<_> = history.recent(3).collect();
        assert_eq!(recent, [(2.0, None), (3.0, None), (4.0, Some(7.0))]);
        assert_eq!(history.recent_quantile(0.5), Some(6.0));
        assert_eq!(history.all_buckets(10).len(), 2);
        assert_eq!(FigureHistory::default().recent_quantile(0.5), None);
        assert_eq!(FigureHistory::default().range(), None);
        assert!(FigureHistory::default().recent(5).next().is_none());
    }
}
