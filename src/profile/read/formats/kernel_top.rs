//! Reads `pmc_kernel_top.csv`, the sums over a workload's kernels that `rocprof-compute analyze` writes next to the counters.
//!
//! The counters of the same workload have every launch. The sums only count where these are missing.

use super::ProfileFormat;
use crate::model::{ProfilerStatistic, StatisticKind};
use crate::name;
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprof-compute top kernels (CSV)",
    recognises: |file| {
        file.names_kernels()
            && file.has(&["count"])
            && file.columns().iter().any(|name| sum_unit(name).is_some())
    },
    read,
};

/// Nanoseconds in the unit of a column such as `sum(us)`, which `--time-unit` chooses.
fn sum_unit(column: &str) -> Option<f64> {
    match column.strip_prefix("sum(")?.strip_suffix(')')? {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    }
}

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let table = reading.table()?;
    let sum = table.columns.iter().enumerate();
    let sum = sum
        .filter_map(|(at, name)| Some((at, sum_unit(name)?)))
        .next();
    let ((sum, unit), kernel, count) = (
        sum.unwrap_or_default(),
        table.find("kernel_name").unwrap_or_default(),
        table.find("count").unwrap_or_default(),
    );
    drop(table);
    let process = reading.process();
    reading.rows(|records, row| {
        let figure = |column| {
            let figure = row.number_at(column)?.filter(|figure| *figure >= 0.0);
            figure.ok_or_else(|| row.damage(column, "is empty or negative".to_owned()))
        };
        let statistic = ProfilerStatistic {
            kind: StatisticKind::Kernel,
            process,
            calls: figure(count)? as u64,
            total_ns: figure(sum)? * unit,
            min_ns: None,
            max_ns: None,
            name: records
                .profile
                .name_id(name::strip_suffix(row.text_at(kernel)?)),
        };
        records.profile.statistics.push(statistic);
        Ok(())
    })
}
