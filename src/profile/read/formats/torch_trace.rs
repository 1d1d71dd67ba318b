//! Reads the trace that `torch.profiler` exports (`export_chrome_trace`): kernels, copies and calls, times in
//! microseconds.
//!
//! PyTorch names categories after CUDA on AMD's GPUs too, but the functions in them are HIP's.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ProfileFormat;
use crate::model::{
    Agent, ApiCall, Dispatch, LaunchVariant, MemoryCopy, ProcessId, Profile, TimeSpan, TraceLane,
};
use crate::name;
use crate::read::table::shown;
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "torch.profiler trace (JSON)",
    recognises: |file| {
        let is_trace = file.has_keys(&["traceEvents"]) || file.has_keys(&["deviceProperties"]);
        is_trace && file.has_keys(&["schemaVersion"])
    },
    read,
};

/// Domain of ranges that a program marked with `record_function`, and of the profiler's own steps.
const MARKED: &str = "MARKER (user_annotation)";

#[derive(Deserialize)]
struct TorchTrace {
    #[serde(default, rename = "deviceProperties")]
    devices: Vec<Device>,
    #[serde(rename = "traceEvents")]
    events: Vec<TraceEvent>,
}

#[derive(Deserialize)]
struct Device {
    id: u64,
    #[serde(default)]
    name: String,
    #[serde(rename = "warpSize")]
    wave_size: Option<u64>,
    #[serde(rename = "numSms")]
    compute_units: Option<u64>,
}

#[derive(Deserialize)]
struct TraceEvent {
    #[serde(default)]
    cat: String,
    #[serde(default)]
    name: String,
    tid: Option<Box<RawValue>>,
    /// Kept as text: microseconds since 1970 with three decimals do not fit into a float.
    ts: Option<Box<RawValue>>,
    dur: Option<Box<RawValue>>,
    #[serde(default)]
    args: Details,
}

/// Details of an event. Several kinds of event use the same names for different things, so each value is checked before
/// use.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    device: Value,
    stream: Value,
    correlation: Value,
    /// Workgroups of the launch.
    grid: Value,
    /// Work-items of a workgroup.
    block: Value,
    #[serde(rename = "registers per thread")]
    registers: Value,
    #[serde(rename = "shared memory")]
    shared_memory: Value,
    bytes: Value,
}

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let process = reading.process();
    let document: TorchTrace = reading.json()?;
    for device in document.devices {
        reading.profile.add_agent(Agent {
            number: Some(device.id),
            gpu: true,
            product: device.name.clone(),
            name: device.name,
            compute_units: device.compute_units,
            wave_size: device.wave_size,
            ..Agent::default()
        });
    }
    let mut rows = 0;
    for (at, event) in document.events.into_iter().enumerate() {
        match add(event, process, reading.profile) {
            Ok(is_kept) => rows += u64::from(is_kept),
            Err(problem) => reading.damaged_record("traceEvents", at, problem)?,
        }
    }
    Ok(rows)
}

/// Adds an event. Returns false if its kind is not kept.
fn add(event: TraceEvent, process: ProcessId, profile: &mut Profile) -> Result<bool, String> {
    let details = &event.args;
    let lane = TraceLane {
        process,
        agent: details.device.as_u64(),
        stream: details.stream.as_u64(),
        ..TraceLane::default()
    };
    match event.cat.as_str() {
        "kernel" => {
            let time = event.time()?;
            let kernel = profile.name_id(name::strip_suffix(&event.name));
            let launch = Dispatch {
                variant: profile.variant_id(details.variant(LaunchVariant::unknown(kernel))),
                lane: profile.lane_id(lane),
                id: None,
                correlation: details.correlation.as_u64(),
                time: Some(time),
            };
            profile.dispatches.push(launch);
        }
        "gpu_memcpy" => {
            let copy = MemoryCopy {
                time: event.time()?,
                lane: profile.lane_id(lane),
                direction: profile.name_id(&event.name),
                source: None,
                destination: None,
                bytes: details.bytes.as_u64(),
                correlation: details.correlation.as_u64(),
            };
            profile.copies.push(copy);
        }
        category => {
            let is_call = category.ends_with("_runtime") || category.ends_with("_driver");
            if !is_call && category != "user_annotation" {
                return Ok(false);
            }
            let thread = event.tid.as_ref().and_then(|tid| tid.get().parse().ok());
            let call = ApiCall {
                time: event.time()?,
                domain: profile.name_id(if is_call { category } else { MARKED }),
                function: profile.name_id(&event.name),
                lane: profile.lane_id(TraceLane {
                    process,
                    thread,
                    ..TraceLane::default()
                }),
                correlation: details.correlation.as_u64(),
            };
            profile.calls.push(call);
        }
    }
    Ok(true)
}

impl Details {
    fn variant(&self, kernel: LaunchVariant) -> LaunchVariant {
        let block: Option<[u32; 3]> = Deserialize::deserialize(&self.block).ok();
        let grid: Option<[u64; 3]> = Deserialize::deserialize(&self.grid).ok();
        let items = grid.zip(block).map(|(grid, block)| {
            let axis = |at: usize| grid[at].saturating_mul(u64::from(block[at]));
            [axis(0), axis(1), axis(2)]
        });
        let small = |value: &Value| value.as_u64().and_then(|value| value.try_into().ok());
        LaunchVariant {
            workgroup: block,
            grid: items,
            lds: small(&self.shared_memory),
            vgpr: small(&self.registers).filter(|&registers| registers > 0),
            ..kernel
        }
    }
}

impl TraceEvent {
    fn time(&self) -> Result<TimeSpan, String> {
        let ns = |value: &Option<Box<RawValue>>| {
            let text = value.as_ref().map_or("", |value| value.get());
            nanoseconds(text)
                .ok_or_else(|| format!("`{}` is not a time in microseconds", shown(text)))
        };
        let (start, length) = (ns(&self.ts)?, ns(&self.dur)?);
        let end = start.checked_add(length);
        end.and_then(|end| TimeSpan::new(start, end))
            .ok_or_else(|| format!("lasts {length} ns"))
    }
}

/// Converts microseconds with up to three decimals. Further ones are cut.
fn nanoseconds(text: &str) -> Option<i64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if !decimals.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let decimals = &decimals[..decimals.len().min(3)];
    let thousandths: i64 = format!("{decimals:0<3}").parse().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(thousandths)
}
