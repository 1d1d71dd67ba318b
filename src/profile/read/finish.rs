//! Final work after every file has been read.

use std::collections::{BTreeMap, HashSet};

use itertools::Itertools;

use super::runs;
use crate::model::{CounterSample, Dispatch, ProcessId, Profile};

pub fn finish(profile: &mut Profile) {
    keep_one_replay(profile);
    dispatches_from_counters(profile);
    runs::drop_repeated_summaries(profile);
    runs::separate(profile);
    explain_zero_counters(profile);
    profile.commands.dedup();
    profile.dispatches.shrink_to_fit();
}

/// For each program, the first replay by name among `candidates`. It stands for all.
fn first_replays(
    profile: &Profile,
    candidates: impl Iterator<Item = ProcessId>,
) -> BTreeMap<String, String> {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for pass in candidates.filter_map(|process| profile.process(process).pass.as_ref()) {
        let name = first.entry(pass.workload.clone());
        let name = name.or_insert_with(|| pass.name.clone());
        if pass.name < *name {
            pass.name.clone_into(name);
        }
    }
    first
}

/// Returns whether a process is not a replay, or is the replay that stands for all.
fn counts(profile: &Profile, first: &BTreeMap<String, String>, process: ProcessId) -> bool {
    let pass = profile.process(process).pass.as_ref();
    pass.is_none_or(|pass| first.get(&pass.workload) == Some(&pass.name))
}

/// Keeps one replay of each program, because every replay did everything. Keeps none if a run without counters was timed.
fn keep_one_replay(profile: &mut Profile) {
    let process = |lane| profile.lane(lane).process;
    let is_replay = |id| profile.process(id).pass.is_some();
    let launched = profile.dispatches.iter().map(|launch| process(launch.lane));
    let called = profile.calls.iter().map(|call| process(call.lane));
    let summed = profile.statistics.iter().map(|row| row.process);
    let candidates: HashSet<ProcessId> = launched.chain(called).chain(summed).collect();
    let mut first = first_replays(profile, candidates.iter().copied());
    if profile
        .timed()
        .any(|(launch, _)| !is_replay(process(launch.lane)))
    {
        first.clear();
    }
    let dropped: HashSet<ProcessId> = candidates
        .into_iter()
        .filter(|id| !counts(profile, &first, *id))
        .collect();
    if dropped.is_empty() {
        return;
    }
    let is_dropped = |lane| dropped.contains(&process(lane));
    let lanes = profile.lane_ids().filter(|lane| is_dropped(*lane));
    let lanes: HashSet<_> = lanes.collect();
    profile.dispatches.retain(|it| !lanes.contains(&it.lane));
    profile.calls.retain(|it| !lanes.contains(&it.lane));
    profile.copies.retain(|it| !lanes.contains(&it.lane));
    profile.allocations.retain(|it| !lanes.contains(&it.lane));
    let is_kept = |process| !dropped.contains(&process);
    profile.statistics.retain(|row| is_kept(row.process));
    profile.notes.push(
        "The program was replayed to collect all counters; calls and times are those of one run"
            .to_owned(),
    );
}

/// If only counters were collected, their rows still say which kernels ran, and when.
fn dispatches_from_counters(profile: &mut Profile) {
    let counters_are_timed = profile.counters.iter().any(|sample| sample.time.is_some());
    if profile.is_timed()
        || profile.counters.is_empty()
        || (!profile.dispatches.is_empty() && !counters_are_timed)
    {
        return;
    }
    let process = |sample: &CounterSample| profile.lane(sample.lane).process;
    let first = first_replays(profile, profile.counters.iter().map(process));
    let mut seen = HashSet::new();
    let mut dispatches = Vec::new();
    for sample in &profile.counters {
        let key = (profile.launch_of(sample), sample.variant);
        if counts(profile, &first, process(sample)) && seen.insert(key) {
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
    let zero = zero.filter(|name| waves.contains(name)).sorted();
    let zero = itertools::join(zero, ", ");
    if !zero.is_empty() {
        let note = format!(
            "{zero} is 0 for every kernel, which cannot be: the counters were not collected (rocprofv3-avail lists what this GPU offers; with HIP_VISIBLE_DEVICES set, versions before 7.13 collect nothing)"
        );
        profile.notes.push(note);
    }
}
