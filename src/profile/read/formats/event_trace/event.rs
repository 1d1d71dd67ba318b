//! An event of a timeline. Programs write numbers as texts too, and the same names for different things, so each value is
//! checked before use.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::{LaunchVariant, TimeSpan};
use crate::read::fields::time_span;
use crate::read::table::shown;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Event {
    ph: Value,
    cat: Value,
    name: Value,
    pid: Value,
    tid: Value,
    /// Kept as text: microseconds since 1970 with three decimals do not fit into a float.
    ts: Option<Box<RawValue>>,
    dur: Option<Box<RawValue>>,
    args: Option<Box<RawValue>>,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventSubject {
    Kernel,
    /// A copy, or a fill, of memory.
    Copy,
    /// A call, with its domain.
    Call(String),
    /// A range that the program marked.
    Marked,
}

impl EventSubject {
    /// Finds it by the category of PyTorch. Before PyTorch 2.0, categories began with a capital letter.
    fn from_category(category: &str) -> Option<Self> {
        let category = category.to_lowercase();
        Some(match category.as_str() {
            "kernel" => EventSubject::Kernel,
            "gpu_memcpy" | "gpu_memset" | "memcpy" | "memset" => EventSubject::Copy,
            "user_annotation" => EventSubject::Marked,
            "runtime" | "driver" => EventSubject::Call(category),
            _ if category.ends_with("_runtime") || category.ends_with("_driver") => {
                EventSubject::Call(category)
            }
            _ => return None,
        })
    }

    /// Finds it by the name that the first rocprof gives a process.
    fn from_process(name: &str) -> Option<Self> {
        match name {
            "COPY" => Some(EventSubject::Copy),
            "Markers and Ranges" => Some(EventSubject::Marked),
            _ if name.starts_with("GPU") => Some(EventSubject::Kernel),
            _ => {
                let domain = name.strip_prefix("CPU ")?;
                Some(EventSubject::Call(domain.replace(' ', "_")))
            }
        }
    }
}

/// An event with a time.
#[derive(Debug)]
pub struct TimedEvent {
    pub subject: EventSubject,
    /// False while only the name of its process can tell the subject.
    is_settled: bool,
    pub name: String,
    pub pid: String,
    pub tid: String,
    pub time: TimeSpan,
    pub details: Details,
}

/// Details of an event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Details {
    device: Value,
    #[serde(rename = "dev-id")]
    device_of_rocprof: Value,
    stream: Value,
    #[serde(rename = "stream-id")]
    stream_of_rocprof: Value,
    #[serde(rename = "queue-id")]
    pub queue: Value,
    pub correlation: Value,
    /// Workgroups of the launch.
    grid: Value,
    /// Work-items of a workgroup.
    block: Value,
    #[serde(rename = "registers per thread")]
    registers: Value,
    #[serde(rename = "shared memory")]
    shared_memory: Value,
    pub bytes: Value,
    /// Nanoseconds, of the first rocprof.
    #[serde(rename = "BeginNs")]
    begin_ns: Value,
    #[serde(rename = "EndNs")]
    end_ns: Value,
    /// The whole name, where the event's own is short.
    #[serde(rename = "Name")]
    name: Value,
    /// The name of a process.
    #[serde(rename = "name")]
    process_name: Value,
}

impl Event {
    /// Returns the event if its kind is kept, and notes the name of a process.
    pub fn read(
        self,
        process_names: &mut HashMap<String, String>,
    ) -> Result<Option<TimedEvent>, String> {
        let (phase, name) = (text(&self.ph), text(&self.name));
        let is_name = phase == "M" && name == "process_name";
        let subject = EventSubject::from_category(&text(&self.cat));
        let is_unknown = subject.is_none() && self.cat.is_null();
        if !is_name && (phase != "X" || subject.is_none() && !is_unknown) {
            return Ok(None);
        }
        let details = self.args.as_ref().map_or("", |args| args.get());
        let details: Details = serde_json::from_str(details).unwrap_or_default();
        if is_name {
            process_names.insert(text(&self.pid), text(&details.process_name));
            return Ok(None);
        }
        if is_unknown && details.begin_ns.is_null() {
            return Ok(None);
        }
        let name = match details.name.as_str() {
            Some(whole) if is_unknown && !whole.is_empty() => whole.to_owned(),
            _ => name,
        };
        Ok(Some(TimedEvent {
            is_settled: subject.is_some(),
            subject: subject.unwrap_or(EventSubject::Kernel),
            name,
            pid: text(&self.pid),
            tid: text(&self.tid),
            time: self.time(&details)?,
            details,
        }))
    }

    fn time(&self, details: &Details) -> Result<TimeSpan, String> {
        let exact = whole(&details.begin_ns).zip(whole(&details.end_ns));
        if let Some((start, end)) = exact {
            let stamp = |ns| i64::try_from(ns).unwrap_or(i64::MAX);
            let (start, end) = (stamp(start), stamp(end));
            return time_span(start, end);
        }
        let ns = |value: &Option<Box<RawValue>>| {
            let text = value.as_ref().map_or("", |value| value.get());
            nanoseconds(text.trim_matches('"'))
                .ok_or_else(|| format!("`{}` is not a time in microseconds", shown(text)))
        };
        let (start, length) = (ns(&self.ts)?, ns(&self.dur)?);
        let end = start.checked_add(length);
        end.and_then(|end| TimeSpan::new(start, end))
            .ok_or_else(|| format!("lasts {length} ns"))
    }
}

impl TimedEvent {
    /// Finds the subject by the name of the process. Returns false if it does not tell.
    pub fn settle(&mut self, process_names: &HashMap<String, String>) -> bool {
        if !self.is_settled {
            let name = process_names.get(&self.pid);
            let Some(subject) = name.and_then(|name| EventSubject::from_process(name)) else {
                return false;
            };
            (self.subject, self.is_settled) = (subject, true);
        }
        true
    }
}

impl Details {
    pub fn device(&self) -> Option<u64> {
        whole(&self.device).or_else(|| whole(&self.device_of_rocprof))
    }

    pub fn stream(&self) -> Option<u64> {
        whole(&self.stream).or_else(|| whole(&self.stream_of_rocprof))
    }

    pub fn variant(&self, kernel: LaunchVariant) -> LaunchVariant {
        let block: Option<[u32; 3]> = Deserialize::deserialize(&self.block).ok();
        let grid: Option<[u64; 3]> = Deserialize::deserialize(&self.grid).ok();
        let items = grid.zip(block).map(|(grid, block)| {
            let axis = |at: usize| grid[at].saturating_mul(u64::from(block[at]));
            [axis(0), axis(1), axis(2)]
        });
        let small = |value: &Value| whole(value).and_then(|value| value.try_into().ok());
        LaunchVariant {
            workgroup: block,
            grid: items,
            lds: small(&self.shared_memory),
            vgpr: small(&self.registers).filter(|&registers| registers > 0),
            ..kernel
        }
    }
}

/// A whole number, also one written as text.
pub fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_u64().or_else(|| {
            let number = number.as_f64()?;
            (number >= 0.0 && number.fract() == 0.0 && number < 2f64.powi(53))
                .then_some(number as u64)
        }),
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Converts microseconds with up to three decimals. Further ones are cut.
fn nanoseconds(text: &str) -> Option<i64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !decimals.bytes().all(|digit| digit.is_ascii_digit()) {
        // Python writes numbers from 1e16 on with an exponent.
        let number: f64 = text.parse().ok()?;
        let ns = 1e3 * number;
        return (ns.abs() < 2f64.powi(62)).then_some(ns.round() as i64);
    }
    let decimals = &decimals[..decimals.len().min(3)];
    let thousandths: i64 = format!("{decimals:0<3}").parse().ok()?;
    let whole: i64 = whole.parse().ok()?;
    let whole = whole.checked_mul(1000)?;
    match text.starts_with('-') {
        true => whole.checked_sub(thousandths),
        false => whole.checked_add(thousandths),
    }
}
