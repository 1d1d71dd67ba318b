//! Finds the host's call that made a launch, by the number that both share.

use std::collections::HashMap;

use super::launches::{is_marker, launches_a_kernel};
use crate::model::{ApiCall, Dispatch, ProcessId, Profile, TimeSpan};

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
        let launching = |call: &ApiCall| {
            !is_marker(self.profile, call) && launches_a_kernel(self.profile.name(call.function))
        };
        self.profile.is_timed()
            && self.profile.calls.iter().any(launching)
            && !self
                .profile
                .dispatches
                .iter()
                .any(|launch| self.call_of(launch).is_some())
    }
}

/// Why calls are not paired with kernels.
pub const NOT_PAIRED: &str = "the file has the host's launch calls, but no number that pairs a call with its kernel, so what \
     kernels waited for on the host is not known";
