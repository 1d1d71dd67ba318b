//! What is left to do when every file has been read.

use std::collections::HashSet;

use crate::profiler::model::{Dispatch, Profile};

pub fn finish(profile: &mut Profile) {
    dispatches_from_counters(profile);
    explain_zero_counters(profile);
    profile.commands.dedup();
    profile.dispatches.shrink_to_fit();
}

/// Where only counters were collected, their rows still say which kernels ran and when.
fn dispatches_from_counters(profile: &mut Profile) {
    let counters_are_timed = profile.counters.iter().any(|sample| sample.time.is_some());
    if profile.is_timed()
        || profile.counters.is_empty()
        || (!profile.dispatches.is_empty() && !counters_are_timed)
    {
        return;
    }
    // A program that was replayed runs every kernel once a pass; the first pass stands for all.
    let first_pass = profile
        .counters
        .iter()
        .filter_map(|sample| profile.process(profile.lane(sample.lane).process).pass)
        .min();
    let mut seen = HashSet::new();
    let mut dispatches = Vec::new();
    for sample in &profile.counters {
        let process = profile.lane(sample.lane).process;
        let is_first_pass = profile.process(process).pass == first_pass;
        let start = sample.time.map(|time| time.start);
        if is_first_pass && seen.insert((process, sample.dispatch, sample.variant, start)) {
            dispatches.push(Dispatch {
                variant: sample.variant,
                lane: sample.lane,
                id: sample.dispatch,
                correlation: None,
                time: sample.time,
            });
        }
    }
    profile.dispatches = dispatches;
    if counters_are_timed {
        profile.notes.push(
            "Kernel times were taken while counters were collected, which slows kernels down and runs them one at a time; take times from a kernel trace".to_owned(),
        );
    }
}

/// A counter that is 0 for every kernel was probably not collected at all.
fn explain_zero_counters(profile: &mut Profile) {
    let samples = || profile.counters.iter();
    let any_value = |counter| samples().any(|it| it.counter == counter && it.value != 0.0);
    let waves = ["SQ_WAVES", "GRBM_COUNT", "GRBM_GUI_ACTIVE"];
    let seen: HashSet<_> = samples().map(|sample| sample.counter).collect();
    let zero = seen.into_iter().filter(|counter| !any_value(*counter));
    let zero = zero.map(|counter| profile.name(counter));
    let zero = itertools::join(zero.filter(|name| waves.contains(name)), ", ");
    if !zero.is_empty() {
        let note = format!(
            "{zero} is 0 for every kernel, which cannot be: the counters were not collected (rocprofv3-avail lists what this GPU offers; with HIP_VISIBLE_DEVICES set, versions before 7.13 collect nothing)"
        );
        profile.notes.push(note);
    }
}
