//! The database `rocprof-compute analyze --output-format db` writes.

use super::Reading;
use crate::profiler::model::{Metric, Statistic, StatisticKind};
use crate::profiler::name;
use crate::profiler::read::damage::Damage;

impl Reading<'_> {
    /// Reads kernels and metrics; the number of rows read.
    pub fn analysis(&mut self) -> Result<u64, Damage> {
        Ok(self.kernel_summary()? + self.metrics()?)
    }

    fn kernel_summary(&mut self) -> Result<u64, Damage> {
        let columns = [
            "kernel_name",
            "dispatch_count",
            "duration_ns_sum",
            "duration_ns_min",
            "duration_ns_max",
        ];
        self.each("compute_kernel_view", &columns, |_, profile, row| {
            let statistic = Statistic {
                kind: StatisticKind::Kernel,
                name: profile.name_id(name::strip_suffix(&row.needed_text(0)?)),
                calls: row.whole(1)?.ok_or("dispatch_count is empty")?,
                total_ns: row.number(2)?.ok_or("duration_ns_sum is empty")?,
                min_ns: row.number(3)?,
                max_ns: row.number(4)?,
                standard_deviation_ns: None,
            };
            profile.statistics.push(statistic);
            Ok(())
        })
    }

    /// The view and its column of names were renamed between schema versions.
    fn metrics(&mut self) -> Result<u64, Damage> {
        let columns = [
            "metric_name",
            "name",
            "table_name",
            "sub_table_name",
            "value_name",
            "value",
            "unit",
            "kernel_name",
        ];
        let mut rows = 0;
        for view in ["compute_kernel_metric_view", "compute_metric_view"] {
            rows += self.each(view, &columns, |_, profile, row| {
                let name = match row.text(0)? {
                    Some(name) => name,
                    None => row.needed_text(1)?,
                };
                // A metric has a row for each of its figures: average, minimum, peak, ….
                let name = match row.text(4)?.as_deref() {
                    None | Some("Value" | "Avg" | "") => name,
                    Some(figure) => format!("{name} ({figure})"),
                };
                let metric = Metric {
                    table: match row.text(3)? {
                        Some(table) => table,
                        None => row.text(2)?.unwrap_or_default(),
                    },
                    name,
                    value: row.number(5)?,
                    unit: row.text(6)?.unwrap_or_default(),
                    peak: None,
                    percent_of_peak: None,
                    kernel: row.text(7)?,
                };
                profile.metrics.push(metric);
                Ok(())
            })?;
        }
        Ok(rows)
    }
}
