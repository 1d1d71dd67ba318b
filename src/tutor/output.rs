//! Formats a command's JSON document as text, for any command: scalars by name, lists of objects as tables.

use std::fmt::Write as _;

use itertools::Itertools as _;
use serde_json::{Map, Value};

use tinyllama_base::columns::{Align, ColumnLayout, row_text};
use tinyllama_base::{NOT_REPORTED, figure, shortened, wrapped};
use tinyllama_lesson::OutputView;
use tinyllama_lesson::figure::{Path, show, unit_of, yes_or_no};
use tinyllama_lesson::output_view::MOST_ROWS;

/// Most lines of a document. The session's files contain all of it.
const MOST_LINES: usize = 60;
/// Most columns of a cell.
const CELL: usize = 34;

/// Formats `document` in at most `width` columns: the parts that `views` name, or all of it.
pub fn lines(document: &Value, views: &[OutputView], width: usize) -> Vec<String> {
    let mut text = String::new();
    if views.is_empty() {
        write_value(&mut text, "", document, 0, width);
    }
    for view in views {
        write_view(&mut text, view, document, width);
    }
    let mut lines: Vec<String> = text.lines().map(|line| shortened(line, width)).collect();
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("({more} more lines)"));
    }
    lines
}

fn write_view(text: &mut String, view: &OutputView, document: &Value, width: usize) {
    let value = view.path.find(document).unwrap_or_default();
    if view.columns.is_empty() {
        if let Some(line) = scalar(&value, view.path.unit()) {
            let line = format!("{}: {line}", label(&view.label));
            text.push_str(&(wrapped(&line, width).join("\n") + "\n"));
            return;
        }
        return write_value(text, &view.label, &value, 0, width);
    }
    let mut rows = match value {
        Value::Array(rows) => rows,
        row => vec![row],
    };
    if let Some((column, sign)) = &view.order {
        let number = |row: &Value| column.find(row).and_then(|value| value.as_f64());
        rows.sort_by(|a, b| {
            let [a, b] = [a, b].map(|row| number(row).map_or(f64::INFINITY, |it| sign * it));
            a.total_cmp(&b)
        });
    }
    let cell =
        |row: &Value, path: &Path| path.find(row).and_then(|value| cell(&value, path.unit()));
    let row = |row: &Value| {
        let cells = view.columns.iter().map(|(name, path)| {
            let cell = cell(row, path).unwrap_or("-".into());
            (name.clone(), cell)
        });
        cells.collect()
    };
    let rows = rows.iter().map(row).collect();
    write_table(text, &view.label, rows, view.most, 0, width);
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
            if let Some(cell) = scalar(value, unit_of(name)) {
                let _ = writeln!(text, "{indent}{}: {cell}", label(name));
            }
        }
    }
}

/// Writes scalars first, lists and objects after them.
fn write_object(text: &mut String, map: &Map<String, Value>, depth: usize, width: usize) {
    let (short, long): (Vec<_>, Vec<_>) = map
        .iter()
        .partition(|(_, value)| scalar(value, "").is_some());
    for (name, value) in short.into_iter().chain(long) {
        write_value(text, name, value, depth, width);
    }
}

fn write_rows(text: &mut String, name: &str, rows: &[Value], depth: usize, width: usize) {
    if let [Value::Object(only)] = rows {
        return write_object(text, only, depth, width);
    }
    let flat = rows.iter().map(|row| flattened("", row)).collect();
    write_table(text, name, flat, MOST_ROWS, depth, width);
}

/// Writes a table of rows, whose cells have the names of their columns.
fn write_table(
    text: &mut String,
    name: &str,
    flat: Vec<Vec<(String, String)>>,
    most: usize,
    depth: usize,
    width: usize,
) {
    let indent = "  ".repeat(depth);
    let columns = flat.iter().flatten().map(|(column, _)| column);
    let columns: Vec<&String> = columns.unique().collect();
    let titles: Vec<String> = columns.iter().map(|column| label(column)).collect();
    let titles = titles.iter().map(String::as_str);
    let rows = flat.iter().map(|row| {
        let cell = |column| row.iter().find(|(name, _)| name == column);
        let cells = columns.iter().map(move |column| cell(*column));
        cells.map(|cell| cell.map_or("-", |(_, cell)| cell))
    });
    let aligned = titles.clone().map(|title| (title, Align::Left));
    let layout = ColumnLayout::from_texts(aligned, rows.clone());
    let shown = layout.whole(width.saturating_sub(indent.len()));
    if !name.is_empty() {
        let _ = writeln!(text, "{indent}{}", label(name));
    }
    let _ = writeln!(text, "{indent}{}", row_text(&shown, titles));
    for row in rows.take(most) {
        let _ = writeln!(text, "{indent}{}", row_text(&shown, row));
    }
    if flat.len() > most {
        let _ = writeln!(text, "{indent}({} more)", flat.len() - most);
    }
}

/// Returns the scalars of a row, by name. Names of nested scalars contain the name of the object around them.
fn flattened(prefix: &str, row: &Value) -> Vec<(String, String)> {
    let Value::Object(map) = row else {
        return cell(row, unit_of(prefix))
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
            value => {
                let cell = cell(value, unit_of(&name));
                cell.map(|cell| (name, cell)).into_iter().collect()
            }
        }
    });
    cells.collect()
}

/// Formats a value for a table.
pub fn cell(value: &Value, unit: &str) -> Option<String> {
    Some(shortened(&scalar(value, unit)?, CELL))
}

/// Formats a value that fits into one line, also a list of such values.
fn scalar(value: &Value, unit: &str) -> Option<String> {
    let text = match value {
        Value::Null => NOT_REPORTED.into(),
        Value::Bool(yes) => yes_or_no(*yes).into(),
        Value::Number(_) if !unit.is_empty() => show(value, unit),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), short),
        Value::String(text) => text.replace(char::is_control, " "),
        Value::Array(items) if items.is_empty() => "none".into(),
        Value::Array(items) => {
            let cells = items.iter().map(|item| match item {
                Value::Array(_) | Value::Object(_) => None,
                item => scalar(item, unit),
            });
            cells.collect::<Option<Vec<_>>>()?.join(" ")
        }
        Value::Object(_) => return None,
    };
    Some(text)
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
    fn a_view_shows_the_rows_and_columns_that_the_step_chose() {
        let document = json!({
            "kernels": [
                { "name": "slow", "time": { "ms": 3.0 }, "part": "forward" },
                { "name": "quick", "time": { "ms": 1.0 }, "part": null },
                { "name": "middle", "time": { "ms": 2.0 }, "part": "backward" },
            ],
            "text": "word ".repeat(20),
        });
        let view = |text: &str| {
            let view = OutputView::parse(text).unwrap();
            lines(&document, &[view], 40)
        };
        let shown = view("2 of all = kernels by -time.ms: part, ms = time.ms");
        assert_eq!(
            shown,
            [
                "all",
                "part      ms",
                "forward   3",
                "backward  2",
                "(1 more)"
            ]
        );
        assert_eq!(
            view("kernels[name=quick]: part"),
            ["kernels[name=quick]", "part", "-"]
        );
        let wrapped = view("text");
        assert!(wrapped.len() > 2 && wrapped.iter().all(|line| line.len() <= 40));
        assert_eq!(view("nothing"), ["nothing: not reported"]);
        for wrong in ["a b: c", "kernels: a b", "kernels by: c"] {
            assert!(OutputView::parse(wrong).is_err(), "{wrong}");
        }
    }

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
        let text = lines(&document, &[], 60).join("\n");
        assert!(
            text.contains("target: v2") && text.contains("step ms: not reported"),
            "{text}"
        );
        assert!(
            text.contains("main effects\n") && text.contains("0.9436"),
            "{text}"
        );
        for width in [30, 60, 100] {
            for line in lines(&document, &[], width) {
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
            let document = &tinyllama_runs::recording::documents::find(id)
                .unwrap()
                .value;
            let lines = lines(document, &[], 76);
            assert!(lines.len() > 5, "{id}: {lines:?}");
            assert!(lines.iter().all(|line| line.chars().count() <= 76), "{id}");
        }
    }
}
