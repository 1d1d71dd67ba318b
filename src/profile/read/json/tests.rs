use serde_json::{Value, json};

use super::*;

/// Reads a text with records three brackets deep. Returns the document and the damage.
fn read_text(text: &[u8]) -> (Result<Value, Damage>, Option<Damage>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, text).unwrap();
    let mut found = None;
    let document = read(&path, 2, |damage| {
        found = Some(damage);
        Ok(())
    });
    (document, found)
}

#[test]
fn whole_records_before_the_damage_are_kept() {
    let text = r#"{"a": {"b": [1]}, "events": [{"n": 1, "in": {"x": "}"}}, {"n": 2}, {"n": 3"#;
    let kept = json!({"a": {"b": [1]}, "events": [{"n": 1, "in": {"x": "}"}}, {"n": 2}]});
    let (document, damage) = read_text(text.as_bytes());
    assert_eq!(document.unwrap(), kept);
    assert!(damage.unwrap().problem.contains("cut off"));
    // An error in the middle ends the document too.
    let (document, damage) = read_text(format!("{text}: :}}, {{\"n\": 4}}]}}").as_bytes());
    assert_eq!(document.unwrap(), kept);
    let place = damage.unwrap().location;
    assert_eq!(
        (place.line, place.column),
        (Some(1), Some(text.len() as u64 + 1))
    );
    // Wherever it is cut, there is a document with whole records, or none.
    for cut in 0..text.len() {
        let (document, damage) = read_text(&text.as_bytes()[..cut]);
        let events = document
            .map(|document| document["events"].clone())
            .unwrap_or_default();
        let whole = kept["events"].as_array().unwrap();
        let events = events.as_array().cloned().unwrap_or_default();
        assert_eq!(events, whole[..events.len()], "cut at {cut}");
        assert!(damage.is_some() || events.is_empty(), "cut at {cut}");
    }
}

#[test]
fn what_programs_write_beyond_json_is_no_damage() {
    let (document, damage) = read_text(b"[{\"a\": NaN, \"b\": -Infinity, \"c\": \"C:\\p\n\"},\n");
    assert_eq!(
        document.unwrap(),
        json!([{"a": null, "b": null, "c": "C:\\p "}])
    );
    assert_eq!(damage, None);
    let (document, _) = read_text(b"{\"a\": [");
    assert!(document.unwrap_err().problem.contains("cut off"));
}

#[test]
fn outer_keys_are_found_wherever_they_stand() {
    let long = format!(
        "{{\"x\": \"{}\", \"in\": {{\"b\": {{\"c\": 1}}}}, \"e\": [{{\"f\": 1}}], \"last\": 1",
        "a".repeat(100_000)
    );
    let outline = JsonOutline::read(long.as_bytes());
    let keys: Vec<&str> = outline.keys.iter().map(String::as_str).collect();
    assert_eq!(keys, ["b", "e", "in", "last", "x"]);
    let outline = JsonOutline::read(&b"[{\"ph\": \"X\", \"args\": {\"y\": 1}}, {\"ts\": 1}"[..]);
    assert!(outline.has("ph") && outline.has("ts") && !outline.has("y"));
}
