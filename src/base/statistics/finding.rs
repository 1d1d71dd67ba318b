//! Conclusions from a ratio of times.

use std::fmt;

use serde::Serialize;

use crate::{Basis, Interval};

/// The conclusion about one side's time divided by the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// The whole interval lies below 1.
    Faster,
    /// The whole interval lies above 1.
    Slower,
    /// The interval contains 1 and is too narrow for a difference that matters.
    NoDifference,
    /// The interval contains both 1 and differences that matter.
    TooNoisy {
        /// Measurements that should settle it; `None` if no reasonable amount would.
        further: Option<Further>,
    },
}

/// How much longer to measure each side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Further {
    Steps(usize),
    Rounds(usize),
}

impl Interval {
    /// Reads the interval as a ratio of times. Differences below `margin` (0.02 for 2 %) do not matter.
    pub fn finding(&self, margin: f64) -> Finding {
        let bound = (1.0 + margin).ln();
        if self.high < 1.0 {
            return Finding::Faster;
        }
        if self.low > 1.0 {
            return Finding::Slower;
        }
        if self.low.ln() >= -bound && self.high.ln() <= bound {
            return Finding::NoDifference;
        }
        // Two widths settle it: the interval excludes 1, or it fits between the margins.
        let distance = self.value.ln().abs();
        let wanted = distance.max(bound - distance);
        Finding::TooNoisy {
            further: match self.basis {
                Basis::Steps => self.steps_until(wanted).map(Further::Steps),
                Basis::Runs | Basis::Rounds | Basis::Combinations => {
                    self.runs_until(wanted).map(Further::Rounds)
                }
            },
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Finding::Faster => "faster",
            Finding::Slower => "slower",
            Finding::NoDifference => "no difference seen",
            Finding::TooNoisy { .. } => "too noisy",
        })
    }
}

impl fmt::Display for Further {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Further::Steps(1) => f.write_str("1 further step"),
            Further::Steps(steps) => write!(f, "{steps} further steps"),
            Further::Rounds(1) => f.write_str("1 further round"),
            Further::Rounds(rounds) => write!(f, "{rounds} further rounds"),
        }
    }
}
