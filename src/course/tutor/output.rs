//! Formats a command's JSON document as text, for any command: scalars by name, lists of objects as tables.

use std::fmt::Write as _;

use itertools::Itertools as _;
use serde_json::{Map, Value};

use tinyllama_base::{figure, shortened};

/// Most lines of a document. The session's files contain all of it.
const MOST_LINES: usize = 60;
/// Most rows of one list.
const MOST_ROWS: usize = 16;
/// Most columns of a cell.
const CELL: usize = 34;

/// Formats `document` in at most `width` columns.
pub fn lines(document: &Value, width: usize) -> Vec<String> {
    let mut text = String::new();
    write_value(&mut text, "", document, 0, width);
    let mut lines: Vec<String> = text.lines().map(|line| shortened(line, width)).collect();
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("({more} more lines)"));
    }
    lines
}

fn write_value(text: &mut String, name: &str, value: &Value, depth: usize, width: usize) {
    let indent = "  ".repeat(depth);
    // Writing to a string cannot fail.
    match value {
        Value::Object(map) => {
            let below = if name.is_empty() { depth } else { depth + 1 };
            if !name.is_empty() {
                let _ = writeln!(text, "{indent}{}", label(name));
            }
            write_object(text, map, below, width);
        }
        Value::Array(rows) if rows.iter().any(Value::is_object) => {
            write_rows(text, name, rows, depth, width);
        }
        value => {
            if let Some(cell) = scalar(value) {
                let _ = writeln!(text, "{indent}{}: {cell}", label(name));
            }
        }
    }
}

/// Writes scalars first, lists and objects after them.
fn write_object(text: &mut String, map: &Map<String, Value>, depth: usize, width: usize) {
    let (short, long): (Vec<_>, Vec<_>) =
        map.iter().partition(|(_, value)| scalar(value).is_some());
    for (name, value) in short.into_iter().chain(long) {
        write_value(text, name, value, depth, width);
    }
}

fn write_rows(text: &mut String, name: &str, rows: &[Value], depth: usize, width: usize) {
    let indent = "  ".repeat(depth);
    if let [Value::Object(only)] = rows {
        return write_object(text, only, depth, width);
    }
    let flat: Vec<Vec<(String, String)>> = rows.iter().map(|row| flattened("", row)).collect();
    let columns = flat.iter().flatten().map(|(column, _)| column).unique();
    let cell = |row: &[(String, String)], column: &String| {
        let found = row.iter().find(|(name, _)| name == column);
        found.map_or("-".to_string(), |(_, cell)| cell.clone())
    };
    let mut left = width.saturating_sub(indent.len());
    let mut shown = Vec::new();
    for column in columns {
        let widths = flat.iter().map(|row| cell(row, column).chars().count());
        let size = widths
            .chain([label(column).chars().count()])
            .max()
            .unwrap_or(0)
            + 2;
        if size > left {
            break;
        }
        left -= size;
        shown.push((column, size));
    }
    if !name.is_empty() {
        let _ = writeln!(text, "{indent}{} ({})", label(name), rows.len());
    }
    let line = |cells: Vec<String>| {
        let cells = cells.iter().zip(&shown);
        let cells = cells.map(|(cell, (_, size))| format!("{cell:<size$}"));
        cells.collect::<String>()
    };
    let head = line(shown.iter().map(|(column, _)| label(column)).collect());
    let _ = writeln!(text, "{indent}{}", head.trim_end());
    for row in flat.iter().take(MOST_ROWS) {
        let row = line(shown.iter().map(|(column, _)| cell(row, column)).collect());
        let _ = writeln!(text, "{indent}{}", row.trim_end());
    }
    if rows.len() > MOST_ROWS {
        let _ = writeln!(text, "{indent}({} more)", rows.len() - MOST_ROWS);
    }
}

/// Returns the scalars of a row, by name. Names of nested scalars contain the name of the object around them.
fn flattened(prefix: &str, row: &Value) -> Vec<(String, String)> {
    let Value::Object(map) = row else {
        return scalar(row)
            .map(|cell| (prefix.to_string(), cell))
            .into_iter()
            .collect();
    };
    let cells = map.iter().flat_map(|(name, value)| {
        let name = match prefix {
            "" => name.clone(),
            prefix => format!("{prefix}.{name}"),
        };
        match value {
            Value::Object(_) => flattened(&name, value),
            value => scalar(value).map(|cell| (name, cell)).into_iter().collect(),
        }
    });
    cells.collect()
}

/// Formats a value that fits into one cell, also a list of such values.
fn scalar(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => "not reported".into(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), short),
        Value::String(text) => text.replace(char::is_control, " "),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) => {
            let cells = items.iter().map(|item| match item {
                Value::Array(_) | Value::Object(_) => None,
                item => scalar(item),
            });
            cells.collect::<Option<Vec<_>>>()?.join(" ")
        }
        Value::Object(_) => return None,
    };
    Some(shortened(&text, CELL))
}

fn short(number: f64) -> String {
    match number.fract() == 0.0 && number.abs() < 1e7 {
        true => format!("{number:.0}"),
        false => figure(number),
    }
}

/// Turns `step_ms` into `step ms`.
fn label(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_reads_as_names_and_tables_within_the_columns_there_are() {
        let document = json!({
            "target": "v2",
            "main_effects": [
                { "switches": ["qkv-fusion"], "time_ratio": 0.943594, "interval": { "low": 0.85, "high": 1.05 } },
                { "switches": ["graph-fusion"], "time_ratio": 0.51, "interval": null },
            ],
            "step_ms": null,
        });
        let text = lines(&document, 60).join("\n");
        assert!(
            text.contains("target: v2") && text.contains("step ms: not reported"),
            "{text}"
        );
        assert!(
            text.contains("main effects (2)") && text.contains("0.9436"),
            "{text}"
        );
        for width in [30, 60, 100] {
            for line in lines(&document, width) {
                assert!(line.chars().count() <= width, "{line}");
            }
        }
        for id in [
            "calibrate",
            "stages",
            "roofline-v3",
            "compare",
            "tune",
            "ablate",
            "scale",
        ] {
            let document = &crate::recording::documents::find(id).unwrap().value;
            let lines = lines(document, 76);
            assert!(lines.len() > 5, "{id}: {lines:?}");
            assert!(lines.iter().all(|line| line.chars().count() <= 76), "{id}");
        }
    }
}
