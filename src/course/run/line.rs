//! Reading an event stream, whatever its version and whatever is mixed into it.

use serde::Deserialize;
use serde::de::IgnoredAny;

use tinyllama_contract::Event;

/// One line of a child's output.
#[derive(Clone, Debug)]
pub enum Line {
    Event(Box<Event>),
    /// JSON of a kind this version does not know; kept, not shown.
    Unknown,
    /// Anything else the program, or a profiler around it, printed.
    Log(String),
}

/// Understands a line. Never fails: what is not understood is log.
pub fn read_line(line: &str) -> Line {
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "event")]
        _event: IgnoredAny,
    }
    match serde_json::from_str(line) {
        Ok(event) => Line::Event(Box::new(event)),
        Err(_) if serde_json::from_str::<Kind>(line).is_ok() => Line::Unknown,
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
