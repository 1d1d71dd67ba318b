//! What sets the pace of a profiled program: its idle time by cause, or the limits of its kernels.

use super::idle::{BY_COPY, BY_HOST, BY_LAUNCH, idle};
use super::roofline::roofline;
use crate::model::Profile;
use tinyllama_base::triage::{IDLE, Pace, Triage};
use tinyllama_base::units::{Share, percent};

/// Returns `None` if the profile has neither start times of kernels that ran as usual nor counters with ceilings.
pub fn triage(profile: &Profile) -> Option<Triage> {
    // A profiler that counts runs kernels one by one and waits between them, so that idle time is its own.
    let is_usual = profile.is_timed() && profile.counters.is_empty();
    let by_idle = is_usual.then(|| by_idle_time(profile)).flatten();
    match by_idle {
        Some(Triage {
            pace: Pace::Kernels,
            figures,
        }) => {
            let kernels = Triage::from_roofline(&roofline(profile));
            Some(kernels.unwrap_or(Triage {
                pace: Pace::Kernels,
                figures,
            }))
        }
        Some(triage) => Some(triage),
        None => Triage::from_roofline(&roofline(profile)),
    }
}

fn by_idle_time(profile: &Profile) -> Option<Triage> {
    let idle = idle(profile);
    let sums = idle.by_cause().map(|ns| ns as f64);
    let (whole, span) = (sums.iter().sum::<f64>(), idle.span_ns as f64);
    if span <= 0.0 {
        return None;
    }
    let share = |ns: f64, of: f64| percent(Share((ns / of).clamp(0.0, 1.0)));
    if whole / span < IDLE {
        return Some(Triage {
            pace: Pace::Kernels,
            figures: format!(
                "kernels take {} of the queues' time",
                share(span - whole, span)
            ),
        });
    }
    let (pace, part) = cause(sums);
    let of_it = part.map(|(ns, what)| format!(", {} of that for {what}", share(ns, whole)));
    Some(Triage {
        pace,
        figures: format!(
            "the queues are idle for {} of their time{}",
            share(whole, span),
            of_it.unwrap_or_default()
        ),
    })
}

/// What sets the pace of idle queues, from their idle time by cause. A cause of less than half of it does not, and the
/// largest may be unknown.
fn cause(sums: [f64; 5]) -> (Pace, Option<(f64, &'static str)>) {
    let half = IDLE * sums.iter().sum::<f64>();
    let host = sums[BY_HOST] + sums[BY_COPY];
    if host > half {
        (Pace::Host, Some((host, "the host and its copies")))
    } else if sums[BY_LAUNCH] > half {
        (Pace::Overhead, Some((sums[BY_LAUNCH], "launches")))
    } else {
        (Pace::Idle, None)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::read::import;

    fn of(fixture: &str) -> Option<Triage> {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
        triage(&import(&fixtures.join(fixture)).unwrap().profile)
    }

    #[test]
    fn the_cause_of_most_of_the_idle_time_sets_the_pace() {
        for (sums, pace) in [
            ([60.0, 30.0, 0.0, 0.0, 10.0], Pace::Host),
            ([20.0, 30.0, 40.0, 0.0, 10.0], Pace::Host),
            ([10.0, 80.0, 0.0, 0.0, 10.0], Pace::Overhead),
            ([5.0, 0.0, 0.0, 0.0, 95.0], Pace::Idle),
            ([0.0; 5], Pace::Idle),
            ([f64::NAN; 5], Pace::Idle),
        ] {
            assert_eq!(cause(sums).0, pace, "{sums:?}");
        }
    }

    #[test]
    fn idle_time_tells_nothing_where_counting_makes_it() {
        let paired = of("rocpd/stack_ids.db").unwrap();
        let figures = "kernels take 56.3 % of the queues' time";
        assert_eq!((paired.pace, &*paired.figures), (Pace::Kernels, figures));
        assert_eq!(of("rocprofv3/counter_collection.csv"), None);
    }
}
