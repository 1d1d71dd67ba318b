//! Finds the first difference between a record and what the tutor would have written.

use serde_json::Value;

use tinyllama_session::SessionEvent;

/// Largest relative difference between a figure and the same figure from another build.
const ROUNDING: f64 = 1e-9;

/// Length of the longest quoted value.
const QUOTED: usize = 60;

/// Describes how `recorded` differs from `made`, the event that the tutor writes. `None` if they are the same up to what writing
/// and reading a decimal can change.
pub fn difference(recorded: &SessionEvent, made: &SessionEvent) -> Option<String> {
    if recorded == made {
        return None;
    }
    let [recorded, made] =
        [recorded, made].map(|event| serde_json::to_value(event).unwrap_or_default());
    // The only key is the name of the event.
    let [of_recorded, of_made] = [&recorded, &made].map(|event| event.as_object()?.iter().next());
    match (of_recorded, of_made) {
        (Some((a, recorded)), Some((b, made))) if a == b => first("", recorded, made),
        _ => Some(format!("what was done gives {}", quoted(&made))),
    }
}

/// The name of an event, as a record has it.
pub fn name(event: &SessionEvent) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    let name = value.as_object().and_then(|map| map.keys().next().cloned());
    name.unwrap_or("unknown event".into()).replace('_', " ")
}

fn first(path: &str, recorded: &Value, made: &Value) -> Option<String> {
    let below = |name: &str| match path {
        "" => name.replace('_', " "),
        path => format!("{path}, {name}"),
    };
    match (recorded, made) {
        (Value::Object(a), Value::Object(b)) => {
            let names = a
                .keys()
                .chain(b.keys().filter(|name| !a.contains_key(*name)));
            let mut names = names.map(|name| first(&below(name), &recorded[name], &made[name]));
            names.find_map(|found| found)
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b);
            pairs.find_map(|(a, b)| first(path, a, b))
        }
        (Value::Number(a), Value::Number(b))
            if a.as_f64()
                .zip(b.as_f64())
                .is_some_and(|(a, b)| is_close(a, b)) =>
        {
            None
        }
        _ if recorded == made => None,
        _ => Some(format!(
            "{path}: it says {}, and what was done gives {}",
            quoted(recorded),
            quoted(made)
        )),
    }
}

fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}

fn quoted(value: &Value) -> String {
    let text = match value {
        Value::Null => return "nothing".into(),
        value => value.to_string(),
    };
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
