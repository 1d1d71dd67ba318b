//! Says which of four things sets the pace of a GPU program: arithmetic, memory, launch overhead, or waiting for the host.
//!
//! First the share of time in kernels decides. If the device is idle more than half of the time, faster kernels help little.
//! Otherwise the limits of its kernels decide, weighted by their times.

use std::fmt;

use crate::roofline::{CeilingSource, Grain, Roofline, RooflineLimit};
use crate::units::{Share, milliseconds, percent};

/// From this share of idle time on, kernels do not set the pace.
pub const IDLE: f64 = 0.5;

/// Idle milliseconds for each launch up to which launching explains the idle time: twice what the dearest launch that was
/// measured takes, one through burn.
const LAUNCH_MS: f64 = 0.1;

named! {
    /// What sets the pace.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Pace {
        Compute = "compute",
        Memory = "memory",
        Overhead = "overhead",
        Host = "waiting for the host",
        /// Kernels fill the time, and their limits are not known.
        Kernels = "compute or memory",
        /// The device is idle, and the causes are not known.
        Idle = "overhead or waiting for the host",
    }
}

/// What sets the pace, with the measured figures that say so.
#[derive(Clone, Debug, PartialEq)]
pub struct Triage {
    pub pace: Pace,
    pub figures: String,
}

impl fmt::Display for Triage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pace, self.figures)
    }
}

impl Triage {
    /// The triage of a step of `step_ms`, whose kernels took `kernels_ms` when they were timed one by one. In the step they
    /// take that at most, because a short kernel looks longer when it is timed alone. Returns `None` if one of them
    /// is no time.
    pub fn from_step(step_ms: f64, kernels_ms: f64, launches: Option<f64>) -> Option<Self> {
        let is_time = |ms: f64| ms.is_finite() && ms > 0.0;
        if !is_time(step_ms) || !is_time(kernels_ms) {
            return None;
        }
        let busy = (kernels_ms / step_ms).min(1.0);
        let share = format!("kernels up to {} of a step", percent(Share(busy)));
        if busy > 1.0 - IDLE {
            return Some(Self {
                pace: Pace::Kernels,
                figures: share,
            });
        }
        let launches = launches.filter(|launches| launches.is_finite() && *launches > 0.0);
        let idle = launches.map(|launches| ((step_ms - kernels_ms) / launches, launches));
        Some(match idle {
            None => Self {
                pace: Pace::Idle,
                figures: share,
            },
            Some((idle_ms, launches)) => Self {
                pace: match idle_ms <= LAUNCH_MS {
                    true => Pace::Overhead,
                    false => Pace::Host,
                },
                figures: format!(
                    "{share}, at least {} idle for each of {launches:.0} launches",
                    milliseconds(idle_ms)
                ),
            },
        })
    }

    /// The triage of kernels under their ceilings, weighted by time. `None` without a judged kernel, or if the ceiling of
    /// memory was not measured.
    pub fn from_roofline(roofline: &Roofline) -> Option<Self> {
        let memory = roofline.ceilings.memory()?;
        if memory.source != CeilingSource::Measured {
            return None;
        }
        let [mut memory, mut compute, mut all] = [0.0; 3];
        let points = roofline.points.iter();
        for point in points.filter(|point| point.grain == Grain::Kernel) {
            let Some(bound) = point.bound else {
                continue;
            };
            all += point.ms;
            match bound {
                RooflineLimit::Memory => memory += point.ms,
                RooflineLimit::Arithmetic => compute += point.ms,
                RooflineLimit::Overhead => {}
            }
        }
        let neither = all - memory - compute;
        let (pace, part, what) = [
            (Pace::Memory, memory, "nearest to the limit of memory"),
            (Pace::Compute, compute, "nearest to the limit of arithmetic"),
            (Pace::Overhead, neither, "far from both limits"),
        ]
        .into_iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
        (all > 0.0).then(|| Self {
            pace,
            figures: format!(
                "{} of the kernels' time is {what}",
                percent(Share(part / all))
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roofline::{Ceilings, Point, Roof};

    #[test]
    fn an_idle_device_waits_for_launches_or_for_the_host_and_a_busy_one_for_neither() {
        for (step, kernels, launches, pace) in [
            (100.0, 90.0, Some(1000.0), Some(Pace::Kernels)),
            (100.0, 120.0, None, Some(Pace::Kernels)),
            (100.0, 30.0, Some(1000.0), Some(Pace::Overhead)),
            (100.0, 30.0, Some(10.0), Some(Pace::Host)),
            (100.0, 30.0, None, Some(Pace::Idle)),
            (100.0, 0.0, None, None),
            (f64::NAN, 30.0, None, None),
        ] {
            let triage = Triage::from_step(step, kernels, launches);
            assert_eq!(
                triage.map(|it| it.pace),
                pace,
                "{step} {kernels} {launches:?}"
            );
        }
        let text = Triage::from_step(100.0, 30.0, Some(1000.0)).unwrap();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_limit_of_most_of_the_kernels_time_decides_under_measured_ceilings() {
        // Of 10 ms at 100 GB/s and 1 TFLOP/s, 8 are nearest to memory and 2 to arithmetic.
        let points = || {
            let kernel = |work, ms| Point::new("k", Grain::Kernel, false, work, ms);
            [kernel((1e6, 7e8), 8.0), kernel((1.8e9, 1e6), 2.0)]
        };
        let roofline = |source| {
            let mut ceilings = Ceilings::default();
            ceilings.add(Roof::Memory, "memory", Some(1e11), source);
            ceilings.add(Roof::Vector, "vector", Some(1e12), source);
            Roofline::new("t", "w", ceilings, points().into_iter().flatten().collect())
        };
        let triage = Triage::from_roofline(&roofline(CeilingSource::Measured)).unwrap();
        assert_eq!(triage.pace, Pace::Memory);
        assert!(triage.figures.starts_with("80"), "{triage}");
        assert_eq!(
            Triage::from_roofline(&roofline(CeilingSource::DataSheet)),
            None
        );
    }
}
