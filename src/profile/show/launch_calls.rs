//! Finds the host's call that made a launch, by the number that both share.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::launches::{GRAPH_LAUNCH, is_marker, launches_a_kernel, launching_calls};
use super::report::api_calls;
use crate::model::{ApiCall, Dispatch, ProcessId, Profile, StatisticKind, TimeSpan};
use tinyllama_base::units::plural;

/// Calls by process and number.
///
/// A number that several calls share identifies none of them. Some tools write a constant where a number is not known, and
/// 0 always means that.
pub struct LaunchCalls<'a> {
    profile: &'a Profile,
    calls: HashMap<(ProcessId, u64), NumberedCall>,
}

struct NumberedCall {
    time: TimeSpan,
    launches: bool,
    /// False if the number belongs to several calls.
    is_alone: bool,
}

impl<'a> LaunchCalls<'a> {
    pub fn new(profile: &'a Profile) -> Self {
        let mut calls: HashMap<(ProcessId, u64), NumberedCall> = HashMap::new();
        let called = profile.calls.iter();
        for call in called.filter(|call| !is_marker(profile, call)) {
            let Some(number) = call.correlation.filter(|number| *number != 0) else {
                continue;
            };
            let launches = launches_a_kernel(profile.name(call.function));
            let key = (profile.lane(call.lane).process, number);
            let new = NumberedCall {
                time: call.time,
                launches,
                is_alone: true,
            };
            match calls.get_mut(&key) {
                None => drop(calls.insert(key, new)),
                // A call within the launching one may have its number.
                Some(known) if known.launches != launches => {
                    if launches {
                        *known = new;
                    }
                }
                Some(known) => known.is_alone = false,
            }
        }
        LaunchCalls { profile, calls }
    }

    /// Returns the time of the call that made a launch.
    pub fn call_of(&self, launch: &Dispatch) -> Option<TimeSpan> {
        let process = self.profile.lane(launch.lane).process;
        let call = self.calls.get(&(process, launch.correlation?))?;
        call.is_alone.then_some(call.time)
    }

    /// Returns whether no launch can be paired, though calls that launch kernels are in the profile.
    pub fn pairs_nothing(&self) -> bool {
        let mut launches = self.profile.dispatches.iter();
        self.profile.is_timed()
            && launching_calls(self.profile).next().is_some()
            && !launches.any(|launch| self.call_of(launch).is_some())
    }
}

/// Launch calls of the host against the kernels that were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LaunchCounts {
    /// Calls that launch one kernel each.
    pub called: u64,
    /// Calls that launch a graph, with any number of kernels.
    pub graphs: u64,
    /// Kernels that were recorded.
    pub recorded: u64,
    /// Calls of both kinds whose kernel is not recorded. `None` if that is not known, because no number pairs calls with
    /// kernels.
    pub without_kernel: Option<u64>,
}

impl LaunchCounts {
    /// `None` unless the profile has launch calls.
    pub fn new(profile: &Profile) -> Option<Self> {
        let (mut called, mut graphs) = (0u64, 0u64);
        for (function, (count, _)) in api_calls(profile) {
            let sum = match function.contains(GRAPH_LAUNCH) {
                true => &mut graphs,
                false if launches_a_kernel(function) => &mut called,
                false => continue,
            };
            *sum = sum.saturating_add(count);
        }
        let lanes = profile.dispatches.iter().map(|launch| launch.lane);
        let summarised = profile.only_summarised(StatisticKind::Kernel, lanes);
        let summarised = summarised.fold(0u64, |sum, row| sum.saturating_add(row.calls));
        let counts = LaunchCounts {
            called,
            graphs,
            recorded: summarised.saturating_add(profile.dispatches.len() as u64),
            without_kernel: without_kernel(profile),
        };
        (called > 0 || graphs > 0).then_some(counts)
    }

    /// How many kernels are missing at least.
    pub fn missing(&self) -> u64 {
        let fewer = self.called.saturating_sub(self.recorded);
        fewer.max(self.without_kernel.unwrap_or(0))
    }

    /// The counts as a sentence.
    pub fn line(&self) -> String {
        let graphs = match self.graphs {
            0 => String::new(),
            graphs => format!(" and {}", plural(graphs as usize, "graph")),
        };
        let recorded = match self.recorded {
            1 => "1 kernel is".to_owned(),
            recorded => format!("{recorded} kernels are"),
        };
        let called = plural(self.called as usize, "kernel");
        let line = format!("the host launched {called}{graphs}, and {recorded} recorded");
        let missing = match self.missing() {
            0 => return line,
            1 => "1 launch has".to_owned(),
            missing => format!("{missing} launches have"),
        };
        format!(
            "{line}: {missing} no kernel here, because of a filter, because recording ended before, or because the profiler \
             lost them"
        )
    }
}

/// Number of launch calls whose kernel is not recorded. A kernel without a call may be of any of them.
fn without_kernel(profile: &Profile) -> Option<u64> {
    let calls = LaunchCalls::new(profile);
    let launches = profile.dispatches.iter();
    let (paired, alone): (Vec<&Dispatch>, Vec<&Dispatch>) =
        launches.partition(|launch| calls.call_of(launch).is_some());
    let number = |launch: &Dispatch| (profile.lane(launch.lane).process, launch.correlation);
    let paired: HashSet<(ProcessId, Option<u64>)> = paired.into_iter().map(number).collect();
    let number = |call: &ApiCall| (profile.lane(call.lane).process, call.correlation);
    let without = launching_calls(profile).filter(|call| !paired.contains(&number(call)));
    let without = without.count().saturating_sub(alone.len());
    (!paired.is_empty()).then_some(without as u64)
}

/// Why calls are not paired with kernels.
pub const NOT_PAIRED: &str = "the file has the host's launch calls, but no number that pairs a call with its kernel, so what \
     kernels waited for on the host is not known";
