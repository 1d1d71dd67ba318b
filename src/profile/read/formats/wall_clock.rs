//! Reads rocprof-sys's call tree, `wall_clock-<pid>.txt` and `.json`.

use serde::Deserialize;

use super::ProfileFormat;
use crate::model::CallRegion;
use crate::read::damage::{Damage, FileLocation};
use crate::read::table::shown;
use crate::read::{FileImport, RowCount};
use tinyllama_base::units::Percentage;

pub const TEXT: ProfileFormat = ProfileFormat {
    name: "rocprof-sys call tree (text)",
    recognises: |file| {
        let is_tree = file.contains_all(&["| LABEL "]) || file.contains_all(&["LABEL", ">>>"]);
        // Other metrics have the same tables, such as memory in MB.
        let node = file.lines().find(|line| line.contains(">>>"));
        is_tree
            && node
                .and_then(unit)
                .is_none_or(|unit| seconds_in(unit).is_some())
    },
    read: read_text,
};

pub const JSON: ProfileFormat = ProfileFormat {
    name: "rocprof-sys call tree (JSON)",
    recognises: |file| file.has_keys(&["timemory", "wall_clock"]),
    read: read_json,
};

/// Columns right of the label: COUNT DEPTH METRIC UNITS SUM MEAN MIN MAX VAR STDDEV % SELF.
const COLUMNS: usize = 11;

fn read_text(reading: &mut FileImport<'_>) -> RowCount {
    let mut nodes = 0;
    let mut header_seen = false;
    for line in reading.lines()? {
        let (number, line) = line?;
        if !header_seen {
            let header = ["LABEL", "COUNT", "DEPTH"];
            header_seen = header.iter().all(|name| line.contains(name));
        } else if line.contains(">>>") {
            match node(&line) {
                Ok(region) => {
                    nodes += 1;
                    reading.profile.regions.push(region);
                }
                Err((column, problem)) => reading.damaged_line(number, Some(column), problem)?,
            }
        }
    }
    Ok(nodes)
}

/// The unit in a line of the table. `None` for a line that was cut off.
fn unit(line: &str) -> Option<&str> {
    const FROM_THE_RIGHT: usize = 7;
    let inner = line.trim().trim_end_matches('|');
    let unit = inner.rsplit('|').nth(FROM_THE_RIGHT)?.trim();
    (!unit.is_empty() && !unit.contains(char::is_numeric)).then_some(unit)
}

/// Parses a line of the table. Labels contain `|`, so the figures are taken from the right. The error has the column of
/// the fault.
fn node(line: &str) -> Result<CallRegion, (u64, String)> {
    let inner = line.trim().trim_end_matches('|');
    let mut fields: Vec<&str> = inner.rsplitn(COLUMNS + 1, '|').collect();
    fields.reverse();
    let [label, count, depth, _, unit, sum, _, _, _, _, _, own] = fields[..] else {
        let (found, wanted) = (fields.len(), COLUMNS + 1);
        let problem =
            format!("the line has {found} columns, not {wanted}; the file was probably cut off");
        return Err((line.len() as u64, problem));
    };
    let wrong = |field: &str, problem: String| {
        let column = field.as_ptr() as usize - line.as_ptr() as usize;
        (column as u64 + 1, problem)
    };
    let refuse = |field: &str, what| wrong(field, format!("`{}` is {what}", shown(field.trim())));
    let number = |field: &str| match field.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(refuse(field, "not a figure from 0 upwards")),
    };
    let whole = |field: &str| {
        let number = field.trim().parse::<u64>();
        number.map_err(|_| refuse(field, "not a whole number"))
    };
    let scale = seconds_in(unit.trim()).ok_or_else(|| refuse(unit, "not a unit of time"))?;
    let (thread, name) = split_label(label.trim().trim_start_matches('|'));
    Ok(CallRegion {
        label: name,
        thread,
        depth: u32::try_from(whole(depth)?).map_err(|_| wrong(depth, "is too large".to_owned()))?,
        calls: whole(count)?,
        total_s: number(sum)? * scale,
        self_percent: Some(Percentage(number(own)?)),
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

/// Splits `|00>>>   |_conj_grad` into thread 0 and `conj_grad`.
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
struct WallClockDocument {
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
    graph: Vec<CallNode>,
}

#[derive(Deserialize)]
struct CallNode {
    prefix: Option<String>,
    #[serde(default)]
    depth: u32,
    entry: Option<WallClockEntry>,
}

#[derive(Deserialize)]
struct WallClockEntry {
    laps: u64,
    repr_data: f64,
}

fn seconds() -> String {
    "sec".to_owned()
}

/// Brackets around a node: four objects, the ranks, one rank, and its nodes.
const NODES: usize = 6;

fn read_json(reading: &mut FileImport<'_>) -> RowCount {
    let document: WallClockDocument = reading.json(NODES)?;
    let clock = document.timemory.wall_clock;
    let scale = seconds_in(&clock.unit_repr).ok_or_else(|| {
        let problem = format!("`{}` is not a unit of time", shown(&clock.unit_repr));
        Damage::new(FileLocation::file(reading.path), problem)
    })?;
    let mut rows = 0;
    let nodes = clock.ranks.into_iter().flat_map(|rank| rank.graph);
    for (at, node) in nodes.enumerate() {
        match region(node, scale) {
            Ok(region) => {
                rows += 1;
                reading.profile.regions.push(region);
            }
            Err(problem) => reading.damaged_record("graph", at, problem)?,
        }
    }
    Ok(rows)
}

fn region(node: CallNode, scale: f64) -> Result<CallRegion, &'static str> {
    let (prefix, entry) = match (node.prefix, node.entry) {
        (_, Some(entry)) if entry.repr_data < 0.0 => return Err("lasts a negative time"),
        (Some(prefix), Some(entry)) => (prefix, entry),
        _ => return Err("has no name or no figures"),
    };
    let (thread, label) = split_label(&prefix);
    Ok(CallRegion {
        label,
        thread,
        depth: node.depth,
        calls: entry.laps,
        total_s: entry.repr_data * scale,
        self_percent: None,
    })
}
