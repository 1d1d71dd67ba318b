//! Reads `ncu --csv` of NVIDIA's Nsight Compute: one row a metric (`--page details`), or one row a launch below the names
//! and units of its metrics (`--page raw`).
//!
//! Launches have durations and no start. So they are records without times, and the durations are summed by kernel.

use super::ProfileFormat;
use crate::model::{Dispatch, LaneId, LaunchVariant, NameId, ProcessId, Profile, TraceLane};
use crate::name;
use crate::read::damage::Damage;
use crate::read::durations::KernelDurations;
use crate::read::table::{CsvRow, CsvTable, shown};
use crate::read::{FileImport, ReadRefusal, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "Nsight Compute (CSV)",
    recognises: |file| file.contains_all(&["==PROF=="]) || file.has_line(is_header),
    read,
};

const NO_TABLE: &str = "is output of Nsight Compute without a table of metrics by launch: run `ncu --csv --page raw \
     --log-file FILE.csv PROGRAM`, or write a report's table with `ncu --import FILE.ncu-rep --csv --page raw`";

const DECIMAL_COMMA: &str =
    "the numbers have a decimal comma: write the table again with LC_ALL=C in front of ncu";

const NOTE: &str = "Nsight Compute runs launches one at a time, by default at the base clock and with empty caches, which \
     makes them slower than in a run. Its table has no start times, so there is no timeline";

/// Groups of metrics about the machine, the profiler and the launch. They are the same in every launch of a kernel.
const CONSTANT: &str = "c2clink device launch numa nvlink profiler";

/// Output of the program and the profiler's progress stand above the header.
fn is_header(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').replace('"', "");
    line.starts_with("ID,Process ID,") && line.contains(",Kernel Name,")
}

struct MeasuredLaunch {
    /// Process, number and kernel.
    key: [String; 3],
    launch: Dispatch,
    duration_ns: Option<f64>,
    counters: Vec<(NameId, f64)>,
}

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let no_table = || ReadRefusal::PassedOver(NO_TABLE.to_owned());
    let mut table = CsvTable::open_below(reading.path, is_header)?.ok_or_else(no_table)?;
    let headers = table.headers.clone();
    let metric = ["metric_name", "metric_unit", "metric_value"].map(|name| table.find(name));
    let by_column = (0..headers.len()).filter(|at| is_counted(&headers[*at]));
    let by_column: Vec<usize> = by_column.collect();
    match metric[2] {
        // Only the comments of a rule are longer than that.
        Some(value) => table.least_width = value + 1,
        None if by_column.is_empty() => return Err(no_table()),
        None => {}
    }
    let process = reading.process();
    let profile = &mut *reading.profile;
    let lane = profile.lane_id(TraceLane {
        process,
        ..TraceLane::default()
    });
    let mut units = vec![String::new(); headers.len()];
    let mut launches: Vec<MeasuredLaunch> = Vec::new();
    let rows = table.for_each_row(reading.log, |row| {
        let key = ["process_id", "id", "kernel_name"].map(|name| row.text_of(name));
        let [process, id, kernel] = key;
        let key = [process?, id?, kernel?];
        // A file with several outputs repeats the header. The row below it has the units.
        match key[1] {
            "ID" => return Ok(()),
            "" if metric[2].is_none() => {
                let texts = (0..headers.len()).map(|at| Ok(row.text_at(at)?.to_owned()));
                units = texts.collect::<Result<_, Damage>>()?;
                return Ok(());
            }
            _ => {}
        }
        if launches.last().is_none_or(|launch| launch.key != key) {
            launches.push(MeasuredLaunch::new(key, lane, profile));
        }
        let Some(launch) = launches.last_mut() else {
            return Ok(());
        };
        if let [Some(name), Some(unit), Some(value)] = metric {
            let [name, unit] = [row.text_at(name)?, row.text_at(unit)?];
            let is_counted = row.text_of("section_name")? != "Launch Statistics"
                && !name.starts_with("Block Limit");
            return match is_counted || name == "Registers Per Thread" {
                true => launch.add(profile, row, value, [name, unit]),
                false => Ok(()),
            };
        }
        // The metrics next to a damaged one are kept.
        let added = by_column.iter().map(|&at| {
            let metric = [headers[at].as_str(), units[at].as_str()];
            launch.add(profile, row, at, metric)
        });
        added.fold(Ok(()), Result::and)
    });
    let found = &mut reading.log.found;
    let is_comma = |damage: &Damage| damage.problem == DECIMAL_COMMA;
    if let Some(at) = found.iter().position(is_comma) {
        // Every number of the file may be a thousand times too small.
        let damage = found.swap_remove(at);
        found.clear();
        return Err(damage.into());
    }
    if !launches.is_empty() {
        profile.notes.push(NOTE.to_owned());
    }
    keep(launches, process, profile);
    Ok(rows?)
}

fn is_counted(header: &str) -> bool {
    let group = header.split_once("__").map(|(group, _)| group);
    let is_constant = |group: &str| CONSTANT.split(' ').any(|constant| constant == group);
    header == "launch__registers_per_thread" || group.is_some_and(|group| !is_constant(group))
}

impl MeasuredLaunch {
    fn new(key: [&str; 3], lane: LaneId, profile: &mut Profile) -> Self {
        let kernel = profile.name_id(name::strip_suffix(key[2]));
        MeasuredLaunch {
            launch: Dispatch {
                variant: profile.variant_id(LaunchVariant::unknown(kernel)),
                lane,
                id: key[1].parse().ok(),
                correlation: None,
                time: None,
            },
            key: key.map(str::to_owned),
            duration_ns: None,
            counters: Vec::new(),
        }
    }

    /// Adds the metric in a column. Adds none if the row has a rule or a text, or if there is no figure.
    fn add(
        &mut self,
        profile: &mut Profile,
        row: &CsvRow<'_>,
        column: usize,
        [name, unit]: [&str; 2],
    ) -> Result<(), Damage> {
        let text = row.text_at(column)?;
        let damage = |problem: String| row.damage(column, problem);
        let Some(value) = number(text, unit).map_err(damage)? else {
            return Ok(());
        };
        let (factor, base) = base_unit(unit);
        let is_duration = ["gpu__time_duration.sum", "Duration"].contains(&name) && base == "s";
        if !is_duration {
            let name = match base.as_str() {
                "" => name.to_owned(),
                unit => format!("{name} ({unit})"),
            };
            self.counters.push((profile.name_id(&name), value * factor));
        } else if value < 0.0 {
            return Err(damage(format!("`{}` is not a duration", shown(text))));
        } else if unit.starts_with('n') && value.fract() != 0.0 {
            // ncu reports whole nanoseconds.
            return Err(damage(DECIMAL_COMMA.to_owned()));
        } else {
            self.duration_ns = Some((value * factor * 1e9).round());
        }
        Ok(())
    }
}

/// Parses a number like `1,234.50`. `None` for the text of a metric without unit, and for `n/a`, `nan` and no text.
fn number(text: &str, unit: &str) -> Result<Option<f64>, String> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_grouped = whole.split(',').skip(1).all(|group| group.len() == 3);
    let is_number = is_grouped && !fraction.contains([',', '.']);
    let number = is_number.then(|| text.replace(',', "").parse::<f64>());
    match number {
        Some(Ok(number)) if number.is_finite() => Ok(Some(number)),
        _ if unit.is_empty() || text.is_empty() || text.starts_with(['n', 'N']) => Ok(None),
        Some(_) => Err(format!("`{}` is not a finite number", shown(text))),
        None => Err(DECIMAL_COMMA.to_owned()),
    }
}

/// Returns how many of the base unit a unit has, and the base unit: `Kbyte` has 1000 `byte`. ncu chooses the prefix for
/// each value.
fn base_unit(unit: &str) -> (f64, String) {
    let base = |part| {
        let bases = [("byte", "byte"), ("second", "s"), ("hz", "hz"), ("s", "s")];
        let scaled = bases.iter().find_map(|(name, base)| {
            let power = match str::strip_suffix(part, name)? {
                "" => 0,
                "n" => -9,
                "u" => -6,
                "m" => -3,
                "K" => 3,
                "M" => 6,
                "G" => 9,
                "T" => 12,
                _ => return None,
            };
            Some((10f64.powi(power), *base))
        });
        scaled.unwrap_or((1.0, part))
    };
    let parts = unit.split_once('/').map(|(a, b)| (base(a), base(b)));
    match parts {
        Some(((a, above), (b, below))) => (a / b, format!("{above}/{below}")),
        None => (base(unit).0, base(unit).1.to_owned()),
    }
}

/// Adds launches and their counters, and a sum of the durations of each kernel.
fn keep(launches: Vec<MeasuredLaunch>, process: ProcessId, profile: &mut Profile) {
    let mut durations = KernelDurations::new(process);
    for it in launches {
        let name = profile.variant(it.launch.variant).kernel;
        if let Some(duration) = it.duration_ns {
            durations.add(name, duration);
        }
        let samples = it.counters.iter();
        let samples = samples.map(|&(counter, value)| it.launch.sample(counter, value));
        profile.counters.extend(samples);
        profile.dispatches.push(it.launch);
    }
    durations.keep(profile);
}
