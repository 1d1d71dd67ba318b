//! Reads an event stream of any version, with other lines mixed in.

use serde::Deserialize;
use serde::de::IgnoredAny;

use tinyllama_contract::Event;

/// One line of a child's output.
#[derive(Clone, Debug)]
pub enum Line {
    Event(Box<Event>),
    /// JSON of a kind that this version does not know. It is stored, but not shown.
    Unknown,
    /// Any other line that the program, or a profiler around it, printed.
    Log(String),
}

/// Parses a line. It never fails: a line that is not understood is a log line.
pub fn read_line(line: &str) -> Line {
    #[derive(Deserialize)]
    struct AnyEvent {
        #[serde(rename = "event")]
        _event: IgnoredAny,
    }
    match serde_json::from_str(line) {
        Ok(event) => Line::Event(Box::new(event)),
        Err(_) if serde_json::from_str::<AnyEvent>(line).is_ok() => Line::Unknown,
        Err(_) => Line::Log(line.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_contract::event::Body;

    #[test]
    fn unknown_fields_and_events_do_not_stop_a_reader() {
        let note = r#"{"t":1.5,"event":"note","message":"hello","colour":"blue"}"#;
        assert!(matches!(
            read_line(note),
            Line::Event(event) if matches!(event.body, Body::Note(_)) && event.t == 1.5
        ));
        assert!(matches!(
            read_line(r#"{"t":2,"event":"from the future"}"#),
            Line::Unknown
        ));
        for log in [
            "rocprofv3: writing results",
            "{\"t\":1.5,\"eve",
            r#"{"t":1.5}"#,
        ] {
            assert!(matches!(read_line(log), Line::Log(_)), "{log}");
        }
    }
}
