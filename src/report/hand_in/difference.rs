//! Finds the differences between two documents, name by name.

use std::collections::BTreeSet;

use itertools::Itertools;
use serde_json::Value;

use tinyllama_base::same_number;

/// Largest number of differences that are named. More would not change the conclusion.
const MAX_SHOWN: usize = 50;

/// Keys that identify the entries of a list. The first set that all entries have is used.
const KEYS: [&[&str]; 3] = [&["id"], &["lesson", "step"], &["stage"]];

/// Length of the longest quoted value.
const QUOTED: usize = 60;

/// Lists differences of `said` from `derived`, except at paths for which `leave` returns true.
pub fn differences(
    said: &Value,
    derived: &Value,
    leave: &dyn Fn(&[String]) -> bool,
) -> Vec<String> {
    let mut compared = Compared {
        leave,
        found: Vec::new(),
    };
    compared.value(&mut Vec::new(), said, derived);
    let more = compared.found.len().saturating_sub(MAX_SHOWN);
    compared.found.truncate(MAX_SHOWN);
    if more > 0 {
        compared.found.push(format!("{more} more differences."));
    }
    compared.found
}

struct Compared<'a> {
    leave: &'a dyn Fn(&[String]) -> bool,
    found: Vec<String>,
}

impl Compared<'_> {
    fn value(&mut self, path: &mut Vec<String>, said: &Value, derived: &Value) {
        if (self.leave)(path) {
            return;
        }
        match (said, derived) {
            (Value::Object(a), Value::Object(b)) => {
                let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
                for name in names {
                    self.below(path, name.clone(), &said[name], &derived[name]);
                }
            }
            (Value::Array(said), Value::Array(derived)) => self.list(path, said, derived),
            (Value::Number(a), Value::Number(b)) => {
                let both = a.as_f64().zip(b.as_f64());
                let floats = a.is_f64() || b.is_f64();
                if !(a == b || floats && both.is_some_and(|(a, b)| same_number(a, b))) {
                    self.differ(path, said, derived);
                }
            }
            _ if said == derived => {}
            _ => self.differ(path, said, derived),
        }
    }

    fn below(&mut self, path: &mut Vec<String>, name: String, said: &Value, derived: &Value) {
        path.push(name);
        self.value(path, said, derived);
        path.pop();
    }

    fn list(&mut self, path: &mut Vec<String>, said: &[Value], derived: &[Value]) {
        let Some((said_names, derived_names)) = names(said).zip(names(derived)) else {
            for index in 0..said.len().max(derived.len()) {
                let of = |list: &[Value]| list.get(index).cloned().unwrap_or_default();
                self.below(path, index.to_string(), &of(said), &of(derived));
            }
            return;
        };
        for (name, derived) in derived_names.iter().zip(derived) {
            let location = said_names.iter().position(|other| other == name);
            let said = location.map_or(Value::Null, |location| said[location].clone());
            self.below(path, name.clone(), &said, derived);
        }
        for (name, said) in said_names.iter().zip(said) {
            if !derived_names.contains(name) {
                self.below(path, name.clone(), said, &Value::Null);
            }
        }
        let in_both = |names: &[String], others: &[String]| -> Vec<String> {
            names
                .iter()
                .filter(|name| others.contains(name))
                .cloned()
                .collect()
        };
        path.push("order".into());
        let is_left = (self.leave)(path);
        path.pop();
        if !is_left && in_both(&said_names, &derived_names) != in_both(&derived_names, &said_names)
        {
            self.found
                .push(format!("{} is in another order.", path.join("/")));
        }
    }

    fn differ(&mut self, path: &[String], said: &Value, derived: &Value) {
        let location = path.join("/");
        self.found.push(match (said, derived) {
            (Value::Null, Value::Object(_)) => format!("{location} was recorded and is left out."),
            (Value::Object(_), Value::Null) => format!("{location} is not among its records."),
            _ => format!(
                "{location} says {}, and its records give {}.",
                quoted(said),
                quoted(derived)
            ),
        });
    }
}

/// Names of a list's entries. Returns `None` unless each entry has a unique name.
fn names(list: &[Value]) -> Option<Vec<String>> {
    KEYS.iter().find_map(|keys| {
        let names: Option<Vec<String>> = list.iter().map(|entry| name(entry, keys)).collect();
        names.filter(|names| names.iter().all_unique())
    })
}

fn name(entry: &Value, keys: &[&str]) -> Option<String> {
    let parts: Option<Vec<&str>> = keys.iter().map(|key| entry.get(key)?.as_str()).collect();
    parts.map(|parts| parts.join("/"))
}

fn quoted(value: &Value) -> String {
    let text = match value {
        Value::Null => return "nothing".into(),
        Value::Array(list) => return format!("a list of {}", list.len()),
        Value::Object(_) => return "something".into(),
        value => value.to_string(),
    };
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compare(said: &Value, derived: &Value) -> Vec<String> {
        differences(said, derived, &|path| {
            path.last().is_some_and(|name| name == "left")
        })
    }

    #[test]
    fn every_change_is_named_by_its_place_and_rounding_is_none() {
        let derived = json!({"minutes": 12.1, "left": 1, "steps": [{"id": "a", "n": 1}, {"id": "b", "n": 2}], "none": null});
        // Another build may read and write the neighbouring number.
        let honest = json!({"minutes": 12.1_f64.next_up(), "left": 2, "steps": [{"id": "a", "n": 1}, {"id": "b", "n": 2}]});
        assert_eq!(compare(&honest, &derived), [""; 0]);
        let forged = json!({"minutes": 12.1000001, "steps": [{"id": "b", "n": 1}, {"id": "c"}], "more": true});
        insta::assert_snapshot!(compare(&forged, &derived).join("\n"));
        let turned = json!([{"id": "b"}, {"id": "a"}]);
        assert_eq!(
            compare(&turned, &json!([{"id": "a"}, {"id": "b"}])).len(),
            1
        );
        assert_eq!(compare(&json!([1, 2]), &json!([1])).len(), 1);
        assert_eq!(
            compare(&json!(1_u64 << 60), &json!((1_u64 << 60) + 1)).len(),
            1
        );
    }

    #[test]
    fn fifty_differences_are_named_and_long_values_are_cut_short() {
        let list = |from: usize, to: usize| json!((from..to).collect::<Vec<_>>());
        assert_eq!(compare(&list(0, 50), &list(1, 51)).len(), 50);
        let found = compare(&list(0, 60), &list(1, 61));
        assert_eq!((found.len(), &*found[50]), (51, "10 more differences."));
        // The same number, written with a fraction and without.
        assert_eq!(compare(&json!([1.0, 2]), &json!([1, 2.0])), [""; 0]);
        let said = json!({"list": [1, 2], "text": "ä".repeat(61), "short": "ä".repeat(58), "id": {"a": 1}});
        let derived = json!({"list": "a", "text": 1, "short": 2, "id": 3});
        insta::assert_snapshot!(compare(&said, &derived).join("\n"));
    }

    #[test]
    fn an_order_may_be_left_out_of_the_comparison() {
        let of = |said: &Value, derived: &Value| {
            differences(said, derived, &|path| {
                path.last().is_some_and(|name| name == "order")
            })
        };
        let entries = |ids: &[&str]| -> Value { ids.iter().map(|id| json!({"id": id})).collect() };
        assert_eq!(of(&entries(&["a", "b"]), &entries(&["b", "a"])), [""; 0]);
        let lists = [entries(&["a", "b"]), entries(&["a", "c"])].map(|list| json!({"list": list}));
        insta::assert_snapshot!(of(&lists[0], &lists[1]).join("\n"));
        let turned = json!({"list": entries(&["b", "a"]), "next": 1});
        insta::assert_snapshot!(
            compare(&turned, &json!({"list": entries(&["a", "b"]), "next": 2})).join("\n")
        );
    }
}
