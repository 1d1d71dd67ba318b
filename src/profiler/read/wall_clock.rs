//! rocprof-sys's call tree, `wall_clock-<pid>.txt` and `.json`.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use super::bounded::{LongestRun, lines};
use super::damage::{Damage, DamageLog, Place};
use super::json::json_damage;
use super::table::shown;
use crate::profiler::model::{Profile, Region};

/// Columns right of the label: COUNT DEPTH METRIC UNITS SUM MEAN MIN MAX VAR STDDEV % SELF.
const COLUMNS: usize = 11;

/// Reads the text form into `profile`; the number of nodes read.
pub fn read_text(
    path: &Path,
    input: impl Read,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let mut nodes = 0;
    let mut header_seen = false;
    for line in lines(path, input) {
        let (number, line) = line?;
        if !header_seen {
            header_seen =
                line.contains("LABEL") && line.contains("COUNT") && line.contains("DEPTH");
            continue;
        }
        if !line.contains(">>>") {
            continue;
        }
        match node(&line) {
            Ok(region) => {
                nodes += 1;
                profile.regions.push(region);
            }
            Err((column, problem)) => {
                let place = Place {
                    column: Some(column),
                    ..Place::line(path, number)
                };
                log.add(Damage::new(place, problem))?;
            }
        }
    }
    Ok(nodes)
}

/// A line of the table. Labels contain `|`, so the figures are taken from the right. The error carries its column.
fn node(line: &str) -> Result<Region, (u64, String)> {
    let inner = line.trim().trim_end_matches('|');
    let mut fields: Vec<&str> = inner.rsplitn(COLUMNS + 1, '|').collect();
    fields.reverse();
    let [label, count, depth, _, unit, sum, mean, min, max, _, _, own] = fields[..] else {
        return Err((
            line.len() as u64,
            format!(
                "the line has {} columns, not {}; the file was probably cut off",
                fields.len(),
                COLUMNS + 1
            ),
        ));
    };
    let column_of = |field: &str| (field.as_ptr() as usize - line.as_ptr() as usize) as u64 + 1;
    let number = |field: &str| {
        let text = field.trim();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => Err((
                column_of(field),
                format!("`{}` is no figure from 0 upwards", shown(text)),
            )),
        }
    };
    let whole = |field: &str| {
        let text = field.trim();
        text.parse::<u64>().map_err(|_| {
            (
                column_of(field),
                format!("`{}` is no whole number", shown(text)),
            )
        })
    };
    let scale = seconds_in(unit.trim()).ok_or_else(|| {
        (
            column_of(unit),
            format!("`{}` is no unit of time", shown(unit.trim())),
        )
    })?;
    let (thread, name) = split_label(label.trim().trim_start_matches('|'));
    Ok(Region {
        label: name,
        thread,
        depth: u32::try_from(whole(depth)?)
            .map_err(|_| (column_of(depth), "is too large".to_owned()))?,
        calls: whole(count)?,
        total_s: number(sum)? * scale,
        mean_s: number(mean)? * scale,
        min_s: Some(number(min)? * scale),
        max_s: Some(number(max)? * scale),
        self_percent: Some(number(own)?),
    })
}

fn seconds_in(unit: &str) -> Option<f64> {
    match unit {
        "sec" | "s" => Some(1.0),
        "msec" | "ms" => Some(1e-3),
        "usec" | "us" => Some(1e-6),
        "nsec" | "ns" => Some(1e-9),
        _ => None,
    }
}

/// `|00>>>   |_conj_grad` is `conj_grad` on thread 0.
fn split_label(label: &str) -> (Option<u64>, String) {
    let Some((thread, name)) = label.split_once(">>>") else {
        return (None, label.trim().to_owned());
    };
    let thread = thread.trim().trim_start_matches('|').trim();
    let name = name.trim();
    let name = name.strip_prefix("|_").unwrap_or(name);
    (thread.parse().ok(), name.trim().to_owned())
}

#[derive(Deserialize)]
struct Document {
    timemory: Timemory,
}

#[derive(Deserialize)]
struct Timemory {
    wall_clock: WallClock,
}

#[derive(Deserialize)]
struct WallClock {
    #[serde(default = "seconds")]
    unit_repr: String,
    #[serde(default)]
    ranks: Vec<Rank>,
}

#[derive(Deserialize)]
struct Rank {
    #[serde(default)]
    graph: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    prefix: Option<String>,
    #[serde(default)]
    depth: u32,
    entry: Option<Entry>,
    #[serde(default)]
    stats: Option<Stats>,
}

#[derive(Deserialize)]
struct Entry {
    laps: u64,
    repr_data: f64,
}

#[derive(Deserialize)]
struct Stats {
    #[serde(default)]
    min: Option<f64>,
    #[serde(default)]
    max: Option<f64>,
}

fn seconds() -> String {
    "sec".to_owned()
}

/// Reads the JSON form into `profile`; the number of nodes read.
pub fn read_json(
    path: &Path,
    input: impl Read,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let document: Document = serde_json::from_reader(LongestRun::new(input, b'"'))
        .map_err(|error| json_damage(path, &error))?;
    let clock = document.timemory.wall_clock;
    let scale = seconds_in(&clock.unit_repr).ok_or_else(|| {
        Damage::new(
            Place::file(path),
            format!("`{}` is no unit of time", shown(&clock.unit_repr)),
        )
    })?;
    let mut nodes = 0;
    for (at, node) in clock
        .ranks
        .into_iter()
        .flat_map(|rank| rank.graph)
        .enumerate()
    {
        let (prefix, entry) = match (node.prefix, node.entry) {
            (Some(prefix), Some(entry)) if entry.repr_data >= 0.0 => (prefix, entry),
            (_, entry) => {
                let place = Place {
                    name: Some(format!("graph[{at}]")),
                    ..Place::file(path)
                };
                let problem = match entry {
                    Some(entry) if entry.repr_data < 0.0 => "lasts a negative time",
                    _ => "has no name or no figures",
                };
                log.add(Damage::new(place, problem))?;
                continue;
            }
        };
        let (thread, label) = split_label(&prefix);
        let total = entry.repr_data * scale;
        profile.regions.push(Region {
            label,
            thread,
            depth: node.depth,
            calls: entry.laps,
            total_s: total,
            mean_s: total / entry.laps.max(1) as f64,
            min_s: node
                .stats
                .as_ref()
                .and_then(|stats| stats.min)
                .map(|min| min * scale),
            max_s: node
                .stats
                .as_ref()
                .and_then(|stats| stats.max)
                .map(|max| max * scale),
            self_percent: None,
        });
        nodes += 1;
    }
    Ok(nodes)
}
