//! Memory copies by direction.

use std::collections::BTreeMap;

use crate::base::table::{Columns, TextTable};
use crate::base::units::{bytes, or_not_reported, time};
use crate::profiler::model::Profile;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Copies {
    pub direction: String,
    pub count: u64,
    pub total_ns: u64,
    /// `None` when a copy has no size, as in CSV.
    pub bytes: Option<u64>,
}

impl Copies {
    /// Bytes a second while copying; `None` where sizes are not reported or nothing took time.
    pub fn bandwidth(&self) -> Option<f64> {
        let bytes = self.bytes? as f64;
        (self.total_ns > 0).then(|| bytes / (self.total_ns as f64 * 1e-9))
    }
}

/// Longest total first.
pub fn copies(profile: &Profile) -> Vec<Copies> {
    let mut by_direction: BTreeMap<&str, Copies> = BTreeMap::new();
    for copy in &profile.copies {
        let name = profile.name(copy.direction);
        let direction = name.strip_prefix("MEMORY_COPY_").unwrap_or(name);
        let sums = by_direction.entry(direction).or_insert_with(|| Copies {
            direction: direction.to_lowercase().replace('_', " "),
            bytes: Some(0),
            ..Copies::default()
        });
        sums.count += 1;
        sums.total_ns += copy.time.duration();
        let both = sums.bytes.zip(copy.bytes);
        sums.bytes = both.map(|(sum, bytes)| sum.saturating_add(bytes));
    }
    let mut copies: Vec<Copies> = by_direction.into_values().collect();
    copies.sort_by_key(|copies| std::cmp::Reverse(copies.total_ns));
    copies
}

pub fn table(profile: &Profile) -> TextTable {
    let gigabytes = |rate: f64| format!("{:.1} GB/s", rate * 1e-9);
    let copies = copies(profile);
    let columns = Columns::of("Memory copies", &copies)
        .left("direction", |copies| copies.direction.clone())
        .right("count", |copies| copies.count.to_string())
        .right("total", |copies| time(copies.total_ns as f64))
        .right("bytes", |copies| {
            or_not_reported(copies.bytes.map(|sum| bytes(sum as f64)))
        })
        .right("rate", |copies| {
            or_not_reported(copies.bandwidth().map(gigabytes))
        });
    let mut table = TextTable::from(columns);
    if profile.copies.iter().any(|copy| copy.bytes.is_none()) {
        table.note("rocprofv3 writes sizes of copies only to rocpd and JSON, not to CSV");
    }
    table
}
