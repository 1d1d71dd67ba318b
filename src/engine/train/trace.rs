//! Writes a profile pass as a trace: in Perfetto's own format for a file `.pftrace`, else in that of Chrome, which Perfetto and
//! `chrome://tracing` open.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;
use tinyllama_base::file;

use super::kernel_table::short_name;
use super::perfetto;
use crate::train::Trace;

const HOST: u32 = 1;
const DEVICE: u32 = 2;

/// Writes `trace` to `path`: one track for the host's phases, one for the device's kernels.
///
/// Kernels without time stamps are left out; the metadata of a Chrome trace has their number.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write_trace(path: &Path, trace: &Trace) -> Result<()> {
    let write = match path.extension().is_some_and(|it| it == "pftrace") {
        true => perfetto::write,
        false => write_chrome,
    };
    file::write_output(path, |out| write(out, trace))
        .with_context(|| format!("cannot write the trace {}", path.display()))
}

fn write_chrome(out: &mut dyn Write, trace: &Trace) -> std::io::Result<()> {
    let without_stamps = trace.launches.iter().filter(|l| l.device.is_none()).count();
    let mut events = vec![
        json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": HOST, "args": {"name": "host"}}),
        json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": DEVICE, "args": {"name": "device kernels"}}),
    ];
    for span in &trace.host {
        events.push(json!({
            "ph": "X", "name": span.name, "cat": "host", "pid": 1, "tid": HOST,
            "ts": span.start * 1e6, "dur": (span.end - span.start) * 1e6,
        }));
    }
    for launch in &trace.launches {
        let Some((start, end)) = launch.device else {
            continue;
        };
        events.push(json!({
            "ph": "X", "name": short_name(launch.kernel), "cat": "kernel", "pid": 1, "tid": DEVICE,
            "ts": start * 1e6, "dur": (end - start) * 1e6,
            "args": {
                "part": launch.part.to_string(),
                "fused_operations": launch.fused_operations,
                "full_name": launch.kernel,
            },
        }));
    }
    let document = json!({
        "displayTimeUnit": "ms",
        "traceEvents": events,
        "otherData": {"steps": trace.steps, "launches_without_time_stamps": without_stamps},
    });
    serde_json::to_writer(out, &document)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Part;
    use crate::train::telemetry::{HostSpan, KernelLaunch};

    #[test]
    fn host_and_device_are_tracks_in_microseconds() {
        let launch = |device| KernelLaunch {
            kernel: "a::matmul<f32>",
            part: Part::Attention(3),
            within: None,
            fused_operations: None,
            work: None,
            device,
        };
        let trace = Trace {
            steps: 1,
            launches: vec![launch(Some((0.001, 0.0015))), launch(None)],
            host: vec![HostSpan {
                name: "forward".into(),
                start: 0.0,
                end: 0.002,
            }],
            ..Trace::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        write_trace(&path, &trace).unwrap();
        let written: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let kernel = written["traceEvents"].as_array().unwrap().last().unwrap();
        assert_eq!(kernel["name"], "matmul");
        assert_eq!(kernel["args"]["part"], "layer 3 attention");
        assert!((kernel["dur"].as_f64().unwrap() - 500.0).abs() < 1e-6);
        assert_eq!(written["otherData"]["launches_without_time_stamps"], 1);
        let path = folder.path().join("trace.pftrace");
        write_trace(&path, &trace).unwrap();
        let first = std::fs::read(&path).unwrap()[0];
        assert_eq!(first, 0x0a, "the tag of a packet");
        assert!(write_trace(&folder.path().join("no/such/trace.json"), &trace).is_err());
    }
}
