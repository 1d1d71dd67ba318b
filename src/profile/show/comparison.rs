//! Compares two profiles: kernels that vanished, appeared, or changed their time.

use std::collections::BTreeMap;

use super::hotspots::{GroupBy, Hotspot, hotspots};
use super::parts::KernelParts;
use crate::model::Profile;
use tinyllama_base::named;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::time;

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum KernelChange {
        Vanished = "vanished",
        Appeared = "appeared",
        /// In both profiles.
        Stayed = "stayed",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ComparedKernel {
    pub name: String,
    pub before: Option<Hotspot>,
    pub after: Option<Hotspot>,
}

impl ComparedKernel {
    pub fn change(&self) -> KernelChange {
        match (&self.before, &self.after) {
            (Some(_), None) => KernelChange::Vanished,
            (None, Some(_)) => KernelChange::Appeared,
            _ => KernelChange::Stayed,
        }
    }

    /// Mean time of a launch after the change over that before.
    pub fn mean_ratio(&self) -> Option<f64> {
        let before = self.before.as_ref()?.mean_ns();
        let after = self.after.as_ref()?.mean_ns();
        (before > 0.0).then(|| after / before)
    }

    /// Time gained (negative) or lost, in nanoseconds.
    pub fn difference_ns(&self) -> f64 {
        let total =
            |kernel: &Option<Hotspot>| kernel.as_ref().map_or(0.0, |kernel| kernel.total_ns);
        total(&self.after) - total(&self.before)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProfileComparison {
    /// Largest difference first.
    pub kernels: Vec<ComparedKernel>,
    pub calls: [u64; 2],
    pub total_ns: [f64; 2],
}

pub fn compare(
    before: &Profile,
    after: &Profile,
    group: GroupBy,
    parts: &KernelParts,
) -> ProfileComparison {
    let mut kernels: BTreeMap<String, ComparedKernel> = BTreeMap::new();
    let (mut calls, mut total_ns) = ([0; 2], [0.0; 2]);
    for (at, profile) in [before, after].into_iter().enumerate() {
        let side = hotspots(profile, group, parts);
        total_ns[at] = side.total_ns;
        for kernel in side.kernels {
            calls[at] = u64::saturating_add(calls[at], kernel.calls);
            let shape = kernel.variant.map(|v| (v.workgroup, v.grid));
            let name = match &kernel.run {
                Some(run) => format!("{} ({run})", kernel.name),
                None => kernel.name.clone(),
            };
            let key = format!("{name}{shape:?}");
            let entry = kernels.entry(key).or_insert_with(|| ComparedKernel {
                name,
                before: None,
                after: None,
            });
            let place = [&mut entry.before, &mut entry.after];
            *place[at] = Some(kernel);
        }
    }
    let mut kernels: Vec<ComparedKernel> = kernels.into_values().collect();
    kernels.sort_by(|a, b| b.difference_ns().abs().total_cmp(&a.difference_ns().abs()));
    ProfileComparison {
        kernels,
        calls,
        total_ns,
    }
}

impl ProfileComparison {
    pub fn table(&self, limit: usize) -> TextTable {
        let cell = |side: &Option<Hotspot>, show: fn(&Hotspot) -> String| {
            side.as_ref().map_or("-".to_owned(), show)
        };
        let calls: fn(&Hotspot) -> String = |side| side.calls.to_string();
        let total: fn(&Hotspot) -> String = |side| time(side.total_ns);
        let ([before, after], [launches, others]) = (self.total_ns.map(time), self.calls);
        let title = format!(
            "Kernels before and after: {before} in {launches} launches, {after} in {others}"
        );
        let columns = TableColumns::titled(title, &self.kernels)
            .first(limit)
            .left("kernel", |kernel| kernel.name.clone())
            .left("", |kernel| match kernel.change() {
                KernelChange::Stayed => String::new(),
                change => change.name().to_owned(),
            })
            .right("calls", |kernel| cell(&kernel.before, calls))
            .right("calls", |kernel| cell(&kernel.after, calls))
            .right("total", |kernel| cell(&kernel.before, total))
            .right("total", |kernel| cell(&kernel.after, total))
            .right("difference", |kernel| signed_time(kernel.difference_ns()))
            .right("mean ratio", |kernel| {
                let ratio = kernel.mean_ratio();
                ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))
            });
        let mut table = TextTable::from(columns);
        if self.kernels.len() > limit {
            table.note(format!("{} more kernels", self.kernels.len() - limit));
        }
        table.note("two single profiles: only repeated runs can show whether a difference is more than chance");
        table
    }
}

fn signed_time(ns: f64) -> String {
    let sign = if ns > 0.0 { "+" } else { "" };
    format!("{sign}{}", time(ns))
}
