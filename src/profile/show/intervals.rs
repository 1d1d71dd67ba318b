//! Times in which something ran, and the gaps between them.

use crate::model::TimeSpan;

/// Times that do not overlap, in order.
#[derive(Clone, Default)]
pub(super) struct Intervals(Vec<TimeSpan>);

impl Intervals {
    pub(super) fn new(mut times: Vec<TimeSpan>) -> Self {
        times.sort_by_key(|time| (time.start, time.end));
        let mut merged: Vec<TimeSpan> = Vec::new();
        for time in times {
            match merged.last_mut() {
                Some(last) if time.start <= last.end => last.end = last.end.max(time.end),
                _ => merged.push(time),
            }
        }
        Self(merged)
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        Self::new([self.0.as_slice(), &other.0].concat())
    }

    /// From the first start to the last end. `None` if nothing ran.
    pub(super) fn span(&self) -> Option<TimeSpan> {
        let (start, end) = (self.0.first()?.start, self.0.last()?.end);
        Some(TimeSpan { start, end })
    }

    /// Nanoseconds in which something ran.
    pub(super) fn length(&self) -> u64 {
        self.0.iter().map(TimeSpan::duration).sum()
    }

    pub(super) fn gaps(&self) -> Vec<TimeSpan> {
        let pairs = self.0.windows(2);
        let gaps = pairs.map(|pair| TimeSpan {
            start: pair[0].end,
            end: pair[1].start,
        });
        gaps.collect()
    }

    /// Nanoseconds of `start` to `end` that lie within.
    pub(super) fn overlap(&self, start: i64, end: i64) -> i64 {
        let first = self.0.partition_point(|time| time.end <= start);
        let inside = self.0[first..].iter().take_while(|time| time.start < end);
        inside
            .map(|time| time.end.min(end) - time.start.max(start))
            .sum()
    }
}
