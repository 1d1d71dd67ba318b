//! The document around the events. Of each event only what is kept is stored.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::event::{Event, TimedEvent};

#[derive(Debug, Default)]
pub struct EventTrace {
    pub devices: Vec<Device>,
    pub events: Vec<TimedEvent>,
    /// Index and fault of each damaged event.
    pub damaged: Vec<(usize, String)>,
    /// Version of HIP that wrote the trace: 70226015 is 7.2.26015.
    pub hip: Option<u64>,
    /// Names of the processes by their number.
    pub process_names: HashMap<String, String>,
}

#[derive(Debug, serde::Deserialize)]
pub struct Device {
    pub id: u64,
    #[serde(default)]
    pub name: String,
    #[serde(rename = "numSms")]
    pub compute_units: Option<u64>,
}

impl<'de> Deserialize<'de> for EventTrace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut trace = deserializer.deserialize_any(DocumentVisitor)?;
        trace.settle();
        Ok(trace)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = EventTrace;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object with traceEvents, or a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, events: A) -> Result<EventTrace, A::Error> {
        let mut trace = EventTrace::default();
        trace.add_events(events)?;
        Ok(trace)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventTrace, A::Error> {
        let mut trace = EventTrace::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "traceEvents" => {
                    let Events(more) = map.next_value()?;
                    trace.events.extend(more.events);
                    trace.damaged.extend(more.damaged);
                    trace.process_names.extend(more.process_names);
                }
                "deviceProperties" => {
                    let devices: Value = map.next_value()?;
                    let devices = devices.as_array().into_iter().flatten();
                    let devices = devices.map(Device::deserialize);
                    trace.devices.extend(devices.filter_map(Result::ok));
                }
                "hip_runtime_version" => trace.hip = map.next_value::<Value>()?.as_u64(),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(trace)
    }
}

/// A list of events within a document.
struct Events(EventTrace);

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(DocumentVisitor).map(Events)
    }
}

impl EventTrace {
    fn add_events<'de, A: SeqAccess<'de>>(&mut self, mut events: A) -> Result<(), A::Error> {
        let mut at = 0;
        while let Some(text) = events.next_element::<Box<RawValue>>()? {
            // Some traces begin with an empty event, and others have texts between their events.
            if let Ok(event) = serde_json::from_str::<Event>(text.get()) {
                match event.read(&mut self.process_names) {
                    Ok(event) => self.events.extend(event),
                    Err(problem) => self.damaged.push((at, problem)),
                }
            }
            at += 1;
        }
        Ok(())
    }

    /// Finds the subjects of events without a category, by the names of their processes, which may stand behind them.
    fn settle(&mut self) {
        let names = &self.process_names;
        self.events.retain_mut(|event| event.settle(names));
    }
}
