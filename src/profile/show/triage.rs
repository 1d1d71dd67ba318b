//! What sets the pace of a profiled program: its idle time by cause, or the limits of its kernels.

use super::idle::idle;
use super::roofline::roofline;
use crate::model::Profile;
use tinyllama_base::triage::{Pace, Triage};
use tinyllama_base::units::{Share, percent};

/// From this share of idle time on, kernels do not set the pace.
const IDLE: f64 = 0.5;

/// Indices of the causes of idle time ([`super::idle::CAUSES`]): the host and its copies, and launches.
const BY_HOST: [usize; 2] = [0, 2];
const BY_LAUNCH: usize = 1;

/// Returns `None` if the profile has neither start times of kernels nor counters with ceilings.
pub fn triage(profile: &Profile) -> Option<Triage> {
    let by_idle = profile.is_timed().then(|| by_idle_time(profile)).flatten();
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
    let sums = idle.sums().map(|ns| ns as f64);
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
    let host: f64 = BY_HOST.iter().map(|at| sums[*at]).sum();
    let (pace, part) = match (idle.knows_calls, host >= sums[BY_LAUNCH]) {
        (false, _) => (Pace::Idle, None),
        (true, true) => (Pace::Host, Some((host, "the host and its copies"))),
        (true, false) => (Pace::Overhead, Some((sums[BY_LAUNCH], "launches"))),
    };
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
