//! Sums durations of launches that have no start. Such launches are in no timeline.

use std::collections::BTreeMap;

use crate::model::{NameId, ProcessId, Profile, ProfilerStatistic, StatisticKind};

/// Durations of one process by kernel.
pub struct KernelDurations {
    process: ProcessId,
    sums: BTreeMap<NameId, ProfilerStatistic>,
}

impl KernelDurations {
    pub fn new(process: ProcessId) -> Self {
        KernelDurations {
            process,
            sums: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, name: NameId, ns: f64) {
        let sum = self.sums.entry(name).or_insert(ProfilerStatistic {
            kind: StatisticKind::Kernel,
            process: self.process,
            name,
            calls: 0,
            total_ns: 0.0,
            min_ns: None,
            max_ns: None,
        });
        sum.calls += 1;
        sum.total_ns += ns;
        sum.min_ns = Some(sum.min_ns.map_or(ns, |least| least.min(ns)));
        sum.max_ns = Some(sum.max_ns.map_or(ns, |most| most.max(ns)));
    }

    pub fn keep(self, profile: &mut Profile) {
        profile.statistics.extend(self.sums.into_values());
    }
}
