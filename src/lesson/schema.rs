//! JSON Schemas of the course's files, for editors that complete and check YAML.

use schemars::{Schema, schema_for};
use serde_json::{Value, json};

use super::document::Kind;
use super::kinds::COMMON;
use crate::{LessonDocument, WorkshopDocument};
use tinyllama_contract::targets;

/// The schema of workshop.yaml.
pub fn workshop() -> Schema {
    schema_for!(WorkshopDocument)
}

/// The schema of a lesson's file, with the keys of each kind of step.
pub fn lesson() -> Schema {
    let mut schema = schema_for!(LessonDocument);
    if let Some(step) = schema
        .pointer_mut("/$defs/StepDocument")
        .and_then(Value::as_object_mut)
    {
        if let Some(target) = step
            .get_mut("properties")
            .and_then(|properties| properties.get_mut("target"))
        {
            let names: Vec<Value> = targets::names()
                .map(|name| json!(name))
                .chain([Value::Null])
                .collect();
            target["enum"] = json!(names);
        }
        step.insert("allOf".into(), Kind::ALL.map(of_kind).into_iter().collect());
    }
    schema
}

fn of_kind(kind: Kind) -> Value {
    let keys = kind.keys();
    let allowed = [&COMMON[..], keys.needs, keys.may].concat();
    json!({
        "if": { "properties": { "kind": { "const": kind.name() } }, "required": ["kind"] },
        "then": { "propertyNames": { "enum": allowed }, "required": keys.needs },
    })
}
