//! Sums memory copies by direction.

use std::collections::BTreeMap;

use crate::model::{Profile, StatisticKind};
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{bytes_or_not, or_not_reported, time};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Copies {
    pub direction: String,
    pub count: u64,
    pub total_ns: u64,
    /// `None` if a copy has no size, as in CSV.
    pub bytes: Option<u64>,
}

impl Copies {
    /// Bytes a second while copying. `None` if sizes are not reported or the time is 0.
    pub fn bandwidth(&self) -> Option<f64> {
        let bytes = self.bytes? as f64;
        (self.total_ns > 0).then(|| bytes / (self.total_ns as f64 * 1e-9))
    }
}

/// Returns the copies by direction, the longest total first.
pub fn copies(profile: &Profile) -> Vec<Copies> {
    let mut by_direction: BTreeMap<String, Copies> = BTreeMap::new();
    for copy in &profile.copies {
        let sums = by_direction.entry(direction(profile.name(copy.direction)));
        let sums = sums.or_insert_with(|| Copies {
            bytes: Some(0),
            ..Copies::default()
        });
        sums.count += 1;
        sums.total_ns = sums.total_ns.saturating_add(copy.time.duration());
        let both = sums.bytes.zip(copy.bytes);
        sums.bytes = both.map(|(sum, bytes)| sum.saturating_add(bytes));
    }
    let lanes = profile.copies.iter().map(|copy| copy.lane);
    for row in profile.summarised_besides(StatisticKind::MemoryCopy, lanes) {
        let sums = by_direction.entry(direction(profile.name(row.name)));
        let sums = sums.or_default();
        sums.count = sums.count.saturating_add(row.calls);
        sums.total_ns = sums.total_ns.saturating_add(row.total_ns as u64);
        sums.bytes = None;
    }
    let named = by_direction.into_iter();
    let named = named.map(|(direction, copies)| Copies {
        direction,
        ..copies
    });
    let mut copies: Vec<Copies> = named.collect();
    copies.sort_by_key(|copies| std::cmp::Reverse(copies.total_ns));
    copies
}

/// Formats `host to device` from `MEMORY_COPY_HOST_TO_DEVICE` or the first rocprof's `CopyHostToDevice`. Other names, such as
/// `Memcpy HtoD (Host -> Device)`, are words already.
fn direction(name: &str) -> String {
    let constant = name.strip_prefix("MEMORY_COPY_").unwrap_or(name);
    if constant.contains('_') && !constant.contains(|c: char| c.is_ascii_lowercase()) {
        return constant.to_lowercase().replace('_', " ");
    }
    let Some(words) = name.strip_prefix("Copy").filter(|name| !name.contains(' ')) else {
        return name.to_owned();
    };
    let mut direction = String::new();
    for letter in words.chars() {
        if letter.is_ascii_uppercase() && !direction.is_empty() {
            direction.push(' ');
        }
        direction.push(letter.to_ascii_lowercase());
    }
    direction
}

pub fn table(profile: &Profile) -> TextTable {
    let gigabytes = |rate: f64| format!("{:.1} GB/s", rate * 1e-9);
    let copies = copies(profile);
    let columns = TableColumns::titled("Memory copies", &copies)
        .left("direction", |copies| copies.direction.clone())
        .right("count", |copies| copies.count.to_string())
        .right("total", |copies| time(copies.total_ns as f64))
        .right("bytes", |copies| bytes_or_not(copies.bytes))
        .right("rate", |copies| {
            or_not_reported(copies.bandwidth().map(gigabytes))
        });
    let mut table = TextTable::from(columns);
    if profile.copies.iter().any(|copy| copy.bytes.is_none()) {
        table.note("rocprofv3 writes sizes of copies only to rocpd and JSON, not to CSV");
    }
    if !copies.is_empty() && profile.copies.is_empty() {
        table.note("from the profiler's own summary; the file has no single copies");
    }
    table
}
