//! Reads the output of `rocprof-compute analyze`: numbered tables drawn with boxes.

use super::ProfileFormat;
use crate::model::{
    Dispatch, LaunchVariant, ProcessId, Profile, ProfilerMetric, ProfilerStatistic, StatisticKind,
    TraceLane,
};
use crate::name;
use crate::read::table::shown;
use crate::read::text_table::cells;
use crate::read::{FileImport, RowCount};
use tinyllama_base::units::Percentage;

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprof-compute analysis (text)",
    recognises: |file| {
        let is_drawn = ["│", "┃", "| "].iter().any(|bar| file.contains_all(&[bar]));
        let titles = [
            "Metric_ID",
            "0.1 Top Kernels",
            "Detected Kernels",
            "Dispatch list",
        ];
        is_drawn && titles.iter().any(|title| file.contains_all(&[title]))
    },
    read,
};

/// Reads the top kernels and every table of metrics. With `--list-stats` it reads the launches.
fn read(reading: &mut FileImport<'_>) -> RowCount {
    let mut tables = AnalysisTables::default();
    for line in reading.lines()? {
        let (number, line) = line?;
        match cells(&line) {
            Some(cells) => tables.row(number, &cells),
            None => tables.other_line(&line),
        }
    }
    // If kernels have times, a list of launches adds nothing.
    let has_times = tables.rows.iter().any(TableRow::has_times);
    let of_file = reading.process();
    let runs = tables.rows.iter().map(TableRow::runs).max().unwrap_or(1);
    let file = reading.path.to_string_lossy();
    let mut rows = 0;
    for row in tables.rows {
        for run in 0..row.runs() {
            let name = (runs > 1).then(|| format!("path {}", run + 1));
            let process = match &name {
                Some(name) => reading.profile.process_id(name, &file, None),
                None => of_file,
            };
            let run = TableRun {
                row: &row,
                run,
                name,
            };
            match run.add(reading.profile, process, has_times) {
                Ok(added) => rows += u64::from(added),
                Err(problem) => reading.damaged_line(row.line, None, problem)?,
            }
        }
    }
    Ok(rows)
}

/// The tables of a report that were read so far, line by line.
#[derive(Default)]
struct AnalysisTables {
    title: String,
    header: Vec<String>,
    rows: Vec<TableRow>,
}

struct TableRow {
    line: u64,
    title: String,
    header: Vec<String>,
    cells: Vec<String>,
}

impl AnalysisTables {
    fn other_line(&mut self, line: &str) {
        let line = line.trim();
        let number = line.split(' ').next().unwrap_or_default();
        let is_number = number.contains('.')
            && number.starts_with(|c: char| c.is_ascii_digit())
            && number.chars().all(|c| c.is_ascii_digit() || c == '.');
        if is_number {
            self.title = line[number.len()..].trim().to_owned();
            self.header.clear();
        }
    }

    fn row(&mut self, line: u64, cells: &[&str]) {
        let cells: Vec<String> = cells.iter().map(|&cell| cell.to_owned()).collect();
        let names = ["Metric_ID", "Metric", "Kernel_Name"];
        let is_header = cells.iter().any(|cell| names.contains(&cell.as_str()));
        if is_header {
            self.header = cells;
        } else if !self.header.is_empty() {
            self.add_row(line, cells);
        }
    }

    /// Long names are wrapped. A line with an empty first cell continues the row above.
    fn add_row(&mut self, line: u64, cells: Vec<String>) {
        let goes_on = cells.first().is_some_and(String::is_empty);
        match self.rows.last_mut() {
            Some(above) if goes_on && above.cells.len() == cells.len() => {
                for (cell, rest) in above.cells.iter_mut().zip(cells) {
                    cell.push_str(&rest);
                }
            }
            _ => self.rows.push(TableRow {
                line,
                title: self.title.clone(),
                header: self.header.clone(),
                cells,
            }),
        }
    }
}

/// Columns with figures of a run. A report of several paths (`-p A -p B`) has each of them once a path.
const FIGURES: [&str; 5] = ["Sum(ns)", "Count", "Avg", "Value", "Mean"];

/// The figures of one path in a row.
struct TableRun<'a> {
    row: &'a TableRow,
    run: usize,
    /// The name of the run. `None` in a report of one path.
    name: Option<String>,
}

impl TableRow {
    fn has_times(&self) -> bool {
        self.header.iter().any(|header| header == "Sum(ns)")
    }

    /// Number of paths with figures in the row.
    fn runs(&self) -> usize {
        let count = |name: &&str| {
            let same = self.header.iter().filter(|header| header == name);
            same.count()
        };
        FIGURES.iter().map(count).max().unwrap_or(1).max(1)
    }
}

impl TableRun<'_> {
    /// The cell under one of the names. Of columns that stand once a path, it is this path's.
    fn cell(&self, names: &[&str]) -> Option<&str> {
        let is = |header: &String| names.iter().any(|name| header.eq_ignore_ascii_case(name));
        let columns = self.row.header.iter().enumerate();
        let columns: Vec<usize> = columns.filter(|(_, it)| is(it)).map(|(at, _)| at).collect();
        let column = match columns.as_slice() {
            [only] => only,
            columns => columns.get(self.run)?,
        };
        self.row.cells.get(*column).map(String::as_str)
    }

    /// Returns a figure. `None` for `N/A` and for an empty cell.
    fn number(&self, names: &[&str]) -> Result<Option<f64>, String> {
        let text = self.cell(names).unwrap_or_default();
        // Behind a figure of a later path stands its difference from the first.
        let text = text.split_once(" (").map_or(text, |(figure, _)| figure);
        let text = text.trim_end_matches('%').trim();
        if text.is_empty() || text.eq_ignore_ascii_case("n/a") {
            return Ok(None);
        }
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            Ok(_) => Ok(None),
            Err(_) => Err(format!("`{}` is not a figure", shown(text))),
        }
    }

    /// Adds the row. Returns false if its kind is not kept.
    fn add(
        &self,
        profile: &mut Profile,
        process: ProcessId,
        has_times: bool,
    ) -> Result<bool, String> {
        if self.row.cells.len() != self.row.header.len() {
            let (cells, columns) = (self.row.cells.len(), self.row.header.len());
            return Err(format!(
                "the row has {cells} cells where the table has {columns} columns; the output was probably cut off"
            ));
        }
        if let Some(kernel) = self.cell(&["Kernel_Name"]) {
            let Some(total_ns) = self.number(&["Sum(ns)"])? else {
                return match has_times {
                    true => Ok(false),
                    false => self.add_launch(kernel, profile, process),
                };
            };
            let statistic = ProfilerStatistic {
                kind: StatisticKind::Kernel,
                process,
                name: profile.name_id(name::strip_suffix(kernel)),
                calls: self.number(&["Count"])?.unwrap_or(0.0) as u64,
                total_ns,
                min_ns: None,
                max_ns: None,
            };
            profile.statistics.push(statistic);
            return Ok(true);
        }
        let Some(name) = self.cell(&["Metric"]) else {
            return Ok(false);
        };
        let shares = ["Pct of Peak", "Percent of Peak", "PoP"];
        let metric = ProfilerMetric {
            run: self.name.clone(),
            table: self.row.title.clone(),
            name: name.to_owned(),
            // A table that describes the GPU has text in its column of values.
            value: self.number(&["Avg", "Value", "Mean"]).unwrap_or(None),
            unit: self.cell(&["Unit"]).unwrap_or_default().to_owned(),
            peak: self.number(&["Peak"]).unwrap_or(None),
            percent_of_peak: self.number(&shares).unwrap_or(None).map(Percentage),
            kernel: None,
        };
        profile.metrics.push(metric);
        Ok(true)
    }

    /// Adds a line of the list of launches, which has no times.
    fn add_launch(
        &self,
        kernel: &str,
        profile: &mut Profile,
        process: ProcessId,
    ) -> Result<bool, String> {
        let Some(id) = self.number(&["Dispatch_ID"])? else {
            return Ok(false);
        };
        let kernel = profile.name_id(name::strip_suffix(kernel));
        let lane = TraceLane {
            process,
            agent: self.number(&["GPU_ID"])?.map(|agent| agent as u64),
            ..TraceLane::default()
        };
        let launch = Dispatch {
            variant: profile.variant_id(LaunchVariant::unknown(kernel)),
            lane: profile.lane_id(lane),
            id: Some(id as u64),
            correlation: None,
            time: None,
        };
        profile.dispatches.push(launch);
        Ok(true)
    }
}
