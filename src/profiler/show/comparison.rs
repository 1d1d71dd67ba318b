//! Two profiles side by side: which kernels vanished, appeared, or take another time.

use std::collections::BTreeMap;

use super::hotspots::{GroupBy, Hotspot, Hotspots, hotspots};
use super::parts::Parts;
use crate::base::table::{Align, TextTable};
use crate::base::units::time;
use crate::profiler::model::Profile;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Vanished,
    Appeared,
    /// In both.
    Stayed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ComparedKernel {
    pub name: String,
    pub before: Option<Hotspot>,
    pub after: Option<Hotspot>,
}

impl ComparedKernel {
    pub fn change(&self) -> Change {
        match (&self.before, &self.after) {
            (Some(_), None) => Change::Vanished,
            (None, Some(_)) => Change::Appeared,
            _ => Change::Stayed,
        }
    }

    /// Time gained (negative) or lost, in nanoseconds.
    pub fn difference_ns(&self) -> f64 {
        let total =
            |kernel: &Option<Hotspot>| kernel.as_ref().map_or(0.0, |kernel| kernel.total_ns);
        total(&self.after) - total(&self.before)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Largest difference first.
    pub kernels: Vec<ComparedKernel>,
    pub calls: [u64; 2],
    pub total_ns: [f64; 2],
}

pub fn compare(before: &Profile, after: &Profile, group: GroupBy, parts: &Parts) -> Comparison {
    let sides = [before, after].map(|profile| hotspots(profile, group, parts));
    let mut kernels: BTreeMap<String, ComparedKernel> = BTreeMap::new();
    let sums = |side: &Hotspots| {
        (
            side.kernels.iter().map(|kernel| kernel.calls).sum(),
            side.total_ns,
        )
    };
    let [(calls_before, total_before), (calls_after, total_after)] =
        [sums(&sides[0]), sums(&sides[1])];
    for (at, side) in sides.into_iter().enumerate() {
        for kernel in side.kernels {
            let key = format!(
                "{}{:?}",
                kernel.name,
                kernel.variant.map(|v| (v.workgroup, v.grid))
            );
            let entry = kernels.entry(key).or_insert_with(|| ComparedKernel {
                name: kernel.name.clone(),
                before: None,
                after: None,
            });
            let place = if at == 0 {
                &mut entry.before
            } else {
                &mut entry.after
            };
            *place = Some(kernel);
        }
    }
    let mut kernels: Vec<ComparedKernel> = kernels.into_values().collect();
    kernels.sort_by(|a, b| b.difference_ns().abs().total_cmp(&a.difference_ns().abs()));
    Comparison {
        kernels,
        calls: [calls_before, calls_after],
        total_ns: [total_before, total_after],
    }
}

impl Comparison {
    pub fn table(&self, limit: usize) -> TextTable {
        let mut table = TextTable::new(
            format!(
                "Kernels before and after: {} in {} launches, {} in {}",
                time(self.total_ns[0]),
                self.calls[0],
                time(self.total_ns[1]),
                self.calls[1],
            ),
            &[
                ("kernel", Align::Left),
                ("", Align::Left),
                ("calls", Align::Right),
                ("calls", Align::Right),
                ("total", Align::Right),
                ("total", Align::Right),
                ("difference", Align::Right),
                ("mean ratio", Align::Right),
            ],
        );
        for kernel in self.kernels.iter().take(limit) {
            let cell = |side: &Option<Hotspot>, show: fn(&Hotspot) -> String| {
                side.as_ref().map_or("-".to_owned(), show)
            };
            let ratio = match (&kernel.before, &kernel.after) {
                (Some(before), Some(after)) if before.mean_ns() > 0.0 => {
                    format!("{:.2}", after.mean_ns() / before.mean_ns())
                }
                _ => "-".to_owned(),
            };
            table.rows.push(vec![
                kernel.name.clone(),
                match kernel.change() {
                    Change::Vanished => "vanished",
                    Change::Appeared => "appeared",
                    Change::Stayed => "",
                }
                .to_owned(),
                cell(&kernel.before, |side| side.calls.to_string()),
                cell(&kernel.after, |side| side.calls.to_string()),
                cell(&kernel.before, |side| time(side.total_ns)),
                cell(&kernel.after, |side| time(side.total_ns)),
                signed_time(kernel.difference_ns()),
                ratio,
            ]);
        }
        if self.kernels.len() > limit {
            table
                .notes
                .push(format!("{} more kernels", self.kernels.len() - limit));
        }
        table.notes.push(
            "two single profiles: whether a difference is more than chance, only repeated runs can tell".to_owned(),
        );
        table
    }
}

fn signed_time(ns: f64) -> String {
    if ns > 0.0 {
        format!("+{}", time(ns))
    } else {
        time(ns)
    }
}
