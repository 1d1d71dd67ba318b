//! Measures the time that a learner spends at a step from the times between keys.

use std::time::Duration;

use tinyllama_session::LONGEST_LOOK;

/// Time is recorded in portions of this size, so that a crash loses little.
const NOTE_AFTER: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttentionTimer {
    last: Duration,
    spent: Duration,
}

impl AttentionTimer {
    /// Counts the time since the last key. Returns the seconds to record once enough have come together.
    pub fn key(&mut self, now: Duration) -> Option<f64> {
        self.spent += now.saturating_sub(self.last).min(LONGEST_LOOK);
        self.last = now;
        (self.spent >= NOTE_AFTER).then(|| self.take())
    }

    /// Ends the time of this step when the learner turns to another. Returns the seconds to record.
    pub fn turn(&mut self, now: Duration) -> Option<f64> {
        self.spent += now.saturating_sub(self.last).min(LONGEST_LOOK);
        self.last = now;
        (self.spent > Duration::from_secs(1)).then(|| self.take())
    }

    fn take(&mut self) -> f64 {
        std::mem::take(&mut self.spent).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_counts_two_minutes_and_work_counts_in_full() {
        let mut attention = AttentionTimer::default();
        assert_eq!(attention.key(Duration::from_secs(30)), None);
        assert_eq!(attention.key(Duration::from_secs(70)), Some(70.0));
        assert_eq!(attention.turn(Duration::from_secs(4000)), Some(120.0));
        assert_eq!(attention.turn(Duration::from_secs(4000)), None);
    }
}
