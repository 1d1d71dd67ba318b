//! Paths and conditions with which lessons refer to values in a command's JSON document: `step: path` and
//! `path >= 3`.
//!
//! A path names keys with points between them. `[2]` takes an element of a list, and `[name=v1]` the first one that
//! has this value. `[least=ms]` and `[most=ms]` take the one with the smallest and the largest value; `#` counts.

use std::fmt;

use serde_json::Value;

use crate::StepRef;
use tinyllama_base::{Share, figure, milliseconds, percent, rate};
use tinyllama_runs::MetricUnit;

/// The source of commands' outputs.
pub trait CommandOutputs {
    /// The newest output of a step; `None` if it has not run yet.
    fn document(&self, name: &StepRef) -> Option<&Value>;
}

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathPart {
    Key(String),
    Index(usize),
    With(Path, String),
    Least(Path),
    Most(Path),
    Count,
}

/// The path of a value in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(Vec<PathPart>);

impl Path {
    /// Parses a path.
    ///
    /// # Errors
    /// A message about the mistake in the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a path: write `key.key[0].key`, or `list[name=v1].key`");
        let mut parts = Vec::new();
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            if let Some(inside) = rest.strip_prefix('[') {
                let (selector, after) = inside.split_once(']').ok_or_else(wrong)?;
                parts.push(select(selector).ok_or_else(wrong)?);
                rest = after;
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (key, after) = rest.split_at(end);
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                parts.push(match key {
                    "#" => PathPart::Count,
                    key if !key.is_empty() && key.chars().all(plain) => PathPart::Key(key.into()),
                    _ => return Err(wrong()),
                });
                rest = after;
            }
            rest = match rest.strip_prefix('.') {
                Some("") => return Err(wrong()),
                Some(next) => next,
                None if rest.is_empty() || rest.starts_with('[') => rest,
                None => return Err(wrong()),
            };
        }
        Ok(Self(parts))
    }

    /// The value at this path; `None` if there is none, or `null`.
    pub fn find(&self, document: &Value) -> Option<Value> {
        let mut at = document;
        for part in &self.0 {
            at = match part {
                PathPart::Key(key) => at.get(key)?,
                PathPart::Index(index) => at.get(index)?,
                PathPart::With(key, wanted) => at
                    .as_array()?
                    .iter()
                    .find(|row| key.find(row).is_some_and(|value| plain(&value) == *wanted))?,
                PathPart::Least(key) => extreme(at, key, -1.0)?,
                PathPart::Most(key) => extreme(at, key, 1.0)?,
                PathPart::Count => return Some(at.as_array()?.len().into()),
            };
        }
        (!at.is_null()).then(|| at.clone())
    }

    /// The unit that the names of the path's keys tell; empty if they tell none.
    pub fn unit(&self) -> &'static str {
        let keys = self.0.iter().rev().map(|part| match part {
            PathPart::Key(key) => key.as_str(),
            _ => "",
        });
        unit_of_keys(keys)
    }
}

/// The unit that a name such as `bandwidth.bytes_per_s.median` tells; empty if it tells none.
pub fn unit_of(name: &str) -> &'static str {
    unit_of_keys(name.rsplit('.'))
}

/// Innermost key first. Around a statistic stands the figure it is of.
fn unit_of_keys<'a>(mut keys: impl Iterator<Item = &'a str>) -> &'static str {
    const STATISTICS: [&str; 5] = ["median", "mean", "p10", "p90", "value"];
    let key = keys.find(|key| !STATISTICS.contains(key));
    let key = key.unwrap_or_default();
    let names = |ends: &[&str]| ends.iter().any(|end| key.ends_with(end));
    match () {
        () if names(&["bytes_per_s"]) => "B/s",
        () if names(&["flops_per_s"]) => "FLOP/s",
        () if names(&["bytes", "bytes_per_step", "bytes_in_use", "bytes_reserved"]) => "B",
        () => "",
    }
}

fn select(text: &str) -> Option<PathPart> {
    if let Ok(index) = text.parse() {
        return Some(PathPart::Index(index));
    }
    let (key, value) = text.split_once('=')?;
    Some(match key {
        "least" => PathPart::Least(Path::parse(value).ok()?),
        "most" => PathPart::Most(Path::parse(value).ok()?),
        key => PathPart::With(Path::parse(key).ok()?, value.into()),
    })
}

fn extreme<'a>(list: &'a Value, key: &Path, sign: f64) -> Option<&'a Value> {
    let numbered = list.as_array()?.iter().filter_map(|row| {
        let value = key.find(row)?.as_f64()?;
        Some((sign * value, row))
    });
    numbered
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, row)| row)
}

/// The value as a person writes it: a text without quotation marks, a list of one element as this element.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(only) if only.len() == 1 => plain(&only[0]),
        value => value.to_string(),
    }
}

/// A value in the output of a step, or the ratio of two numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFigure {
    pub step: StepRef,
    path: Path,
    over: Option<Path>,
    text: String,
}

impl OutputFigure {
    /// Parses `path` or `path / path`, with or without `step:` before it. Without it, the paths refer to `step`.
    ///
    /// # Errors
    /// A message about the mistake in the text.
    pub fn parse(text: &str, step: &StepRef) -> Result<Self, String> {
        let (step, paths) = match text.split_once(':') {
            Some((other, paths)) => (StepRef::parse(other.trim(), &step.lesson), paths),
            None => (step.clone(), text),
        };
        let (path, over) = match paths.split_once(" / ") {
            Some((path, over)) => (path, Some(Path::parse(over)?)),
            None => (paths, None),
        };
        Ok(Self {
            step,
            path: Path::parse(path)?,
            over,
            text: paths.trim().into(),
        })
    }

    /// The value; `None` if the step has not run, or its output has no such value.
    pub fn value(&self, outputs: &dyn CommandOutputs) -> Option<Value> {
        let document = outputs.document(&self.step)?;
        match &self.over {
            None => self.path.find(document),
            Some(over) => {
                let number = |path: &Path| path.find(document)?.as_f64();
                Some((number(&self.path)? / number(over)?).into())
            }
        }
    }

    /// The values that the figure is made of, with their units; `None` for one that the document does not have.
    pub fn parts(&self, document: &Value) -> Vec<(Option<Value>, &'static str)> {
        let paths = [Some(&self.path), self.over.as_ref()].into_iter().flatten();
        paths
            .map(|path| (path.find(document), path.unit()))
            .collect()
    }

    /// The unit that its keys tell; empty for a ratio, and if they tell none.
    pub fn unit(&self) -> &'static str {
        match self.over {
            None => self.path.unit(),
            Some(_) => "",
        }
    }

    pub fn number(&self, outputs: &dyn CommandOutputs) -> Option<f64> {
        let value = self.value(outputs)?.as_f64();
        value.filter(|value| value.is_finite())
    }
}

impl fmt::Display for OutputFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Formats a value with its unit: `ms`, `%`, `x`, `B`, `FLOP/s`, or any other text after the number.
pub fn show(value: &Value, unit: &str) -> String {
    let Some(number) = value.as_f64() else {
        return match value.as_bool() {
            Some(yes) => yes_or_no(yes).into(),
            None => plain(value),
        };
    };
    match unit {
        "" => figure(number),
        "ms" => milliseconds(number),
        "B" => MetricUnit::Bytes.show(number),
        "%" => percent(Share(number)),
        "x" => format!("{} times", figure(number)),
        "FLOP/s" => rate(number, "FLOP"),
        "B/s" => rate(number, "B"),
        other => format!("{} {other}", figure(number)),
    }
}

/// Formats a truth value as an answer.
pub fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// A condition: comparisons joined by `&&`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition(Vec<FigureComparison>);

#[derive(Clone, Debug, PartialEq)]
struct FigureComparison {
    figure: OutputFigure,
    sign: &'static str,
    /// The expected value as written; `null` means a missing one.
    wanted: String,
}

/// Longer signs come first, because `>` begins `>=`.
const SIGNS: [&str; 6] = [" >= ", " <= ", " != ", " > ", " < ", " = "];

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// A message about the mistake in the text.
    pub fn parse(text: &str, step: &StepRef) -> Result<Self, String> {
        let one = |text: &str| {
            let found = SIGNS.iter().find_map(|sign| {
                let (figure, wanted) = text.split_once(sign)?;
                Some((figure, *sign, wanted.trim()))
            });
            let (figure, sign, wanted) = found.ok_or_else(|| {
                format!(
                    "`{text}` compares nothing: write `path >= 3`, `path = text` or `path != null`"
                )
            })?;
            let ordered = !matches!(sign, " = " | " != ");
            if ordered && wanted.parse::<f64>().is_err() {
                return Err(format!("`{wanted}` is not a number to compare with"));
            }
            Ok(FigureComparison {
                figure: OutputFigure::parse(figure, step)?,
                sign,
                wanted: wanted.into(),
            })
        };
        text.split(" && ")
            .map(one)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub fn figures(&self) -> impl Iterator<Item = &OutputFigure> {
        self.0.iter().map(|comparison| &comparison.figure)
    }

    /// Returns whether the condition holds; `None` if one of its steps has not run yet.
    pub fn holds(&self, outputs: &dyn CommandOutputs) -> Option<bool> {
        let mut all = true;
        for comparison in &self.0 {
            let (figure, wanted) = (&comparison.figure, &comparison.wanted);
            outputs.document(&figure.step)?;
            let value = figure.value(outputs);
            let number = value.as_ref().and_then(Value::as_f64);
            let against = wanted.parse::<f64>().ok();
            let ordered =
                |so: fn(&f64, &f64) -> bool| number.zip(against).is_some_and(|(a, b)| so(&a, &b));
            let equal = match (&value, number.zip(against)) {
                (None, _) => wanted == "null",
                (_, Some((a, b))) => a == b,
                (Some(value), None) => plain(value) == *wanted,
            };
            all &= match comparison.sign {
                " >= " => ordered(f64::ge),
                " <= " => ordered(f64::le),
                " > " => ordered(f64::gt),
                " < " => ordered(f64::lt),
                " = " => equal,
                _ => !equal,
            };
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::json;

    use super::*;

    pub struct KnownOutputs(pub HashMap<StepRef, Value>);

    impl CommandOutputs for KnownOutputs {
        fn document(&self, name: &StepRef) -> Option<&Value> {
            self.0.get(name)
        }
    }

    fn kept() -> (KnownOutputs, StepRef) {
        let document = json!({
            "rows": [{ "name": "v1", "ms": 40.0, "on": [] }, { "name": "v4", "ms": 2.0, "gone": null }],
            "ready": true,
        });
        let name = StepRef::parse("compare", "lesson");
        (
            KnownOutputs(HashMap::from([(name.clone(), document)])),
            name,
        )
    }

    #[test]
    fn names_of_keys_tell_bytes_and_rates() {
        for (path, unit) in [
            ("[0].bandwidth[level=cold].bytes_per_s.median", "B/s"),
            ("rows[0].flops_per_s", "FLOP/s"),
            ("fit.peak_bytes", "B"),
            ("bytes_per_s.spread", ""),
            ("rows.#", ""),
            ("step_ms", ""),
        ] {
            assert_eq!(Path::parse(path).unwrap().unit(), unit, "{path}");
        }
        assert_eq!(unit_of("memory.peak_bytes_in_use"), "B");
        let (kept, step) = kept();
        let ready = OutputFigure::parse("ready", &step).unwrap().value(&kept);
        assert_eq!(show(&ready.unwrap(), ""), "yes");
    }

    #[test]
    fn paths_lead_by_keys_places_values_and_extremes() {
        let (kept, step) = kept();
        for (text, expected) in [
            ("rows[name=v4].ms", Some(json!(2.0))),
            ("compare: rows[0].name", Some(json!("v1"))),
            ("lesson/compare: rows[least=ms].name", Some(json!("v4"))),
            ("rows[most=ms].name", Some(json!("v1"))),
            ("rows.#", Some(json!(2))),
            ("rows[name=v1].ms / rows[name=v4].ms", Some(json!(20.0))),
            ("rows[1].gone", None),
            ("rows[7].name", None),
            ("other: ready", None),
        ] {
            let value = OutputFigure::parse(text, &step).unwrap().value(&kept);
            assert_eq!(value, expected, "{text}");
        }
        for text in ["", "a..b", "a.", "rows[", "rows[x]", "a b", "[0]b"] {
            assert!(OutputFigure::parse(text, &step).is_err(), "{text}");
        }
    }

    #[test]
    fn a_condition_holds_where_every_comparison_does_and_waits_for_the_output() {
        let (kept, step) = kept();
        for (text, expected) in [
            ("rows[0].ms >= 40", Some(true)),
            ("rows[0].ms > 40", Some(false)),
            ("ready = true && rows[1].name != v1", Some(true)),
            ("ready = true && rows[1].name = v1", Some(false)),
            ("rows[1].gone = null", Some(true)),
            ("rows[1].gone >= 0", Some(false)),
            ("rows[least=ms].name = v4", Some(true)),
            ("other: ready = true", None),
        ] {
            let condition = Condition::parse(text, &step).unwrap();
            assert_eq!(condition.holds(&kept), expected, "{text}");
        }
        assert!(Condition::parse("ready", &step).is_err());
        assert!(Condition::parse("rows[0].ms >= many", &step).is_err());
    }
}
