//! Figures of other programs for comparison, from their own output.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;

use tinyllama_analysis::comparison::ComparisonRow;
use tinyllama_analysis::relative::{RelativeTime, USUAL_MARGIN};
use tinyllama_base::statistics::Series;
use tinyllama_base::{die_with_parent, errln, plain};
use tinyllama_contract::flags::UsageError;
use tinyllama_runs::{Control, each_line, signal_group};

/// A note about these figures for the reader.
pub const NOTE: &str = "other programs ran once, before the first round, and timed themselves: a ratio with them has no interval";

/// A shell's exit statuses for a missing program, and for one that it must not execute.
const NO_PROGRAM: [i32; 2] = [126, 127];
const INTERVAL: Duration = Duration::from_millis(50);

/// A line that such a program printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Peer {
    name: String,
    step_ms: f64,
    samples_per_s: Option<f64>,
    launches_per_step: Option<f64>,
    /// Peak memory that the program reports.
    peak_bytes: Option<u64>,
    /// Step time divided by that of the comparison's first row, without an interval.
    relative_time: Option<RelativeTime>,
}

/// Runs a command and hands an end by the kernel on to everything that it started.
const SHELL: &str = r#"trap 'trap - TERM; kill 0' TERM; sh -c "$1" & wait $!"#;

/// Runs each command once, until `stop` asks for the end. Output other than JSON objects is ignored.
///
/// # Errors
/// If a program is missing, fails, or prints no step time.
pub fn run(commands: &[String], stop: &Control) -> Result<Vec<Peer>> {
    let mut peers = Vec::new();
    for command in commands {
        errln!("peer: {command}");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", SHELL, "sh", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        die_with_parent(&mut shell, libc::SIGTERM);
        let child = shell.spawn();
        let child = child.with_context(|| format!("cannot start `{command}`"))?;
        let output = output(child, stop)?;
        let status = output.status;
        if status.code().is_some_and(|code| NO_PROGRAM.contains(&code)) {
            bail!(UsageError(format!(
                "--peer: there is no program to run as `{command}`"
            )));
        }
        if !status.success() {
            bail!("`{command}` ended with {status}");
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let before = peers.len();
        peers.extend(text.lines().filter_map(Peer::read));
        if peers.len() == before {
            bail!("`{command}` printed no JSON line with a `step_ms` above zero:\n{text}");
        }
    }
    Ok(peers)
}

/// Waits for a process that leads its group, and shows what it says. The terminal's interrupts do not reach it.
fn output(mut child: Child, stop: &Control) -> Result<Output> {
    let (group, errors) = (child.id(), child.stderr.take());
    let (ended, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while end.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if stop.stopped().is_some() {
                    signal_group(group, libc::SIGTERM);
                }
            }
        });
        scope.spawn(|| {
            let show = |line: Vec<u8>| errln!("{}", plain(&String::from_utf8_lossy(&line)));
            if let Some(errors) = errors {
                each_line(errors, |line| line.map(show).is_ok());
            }
        });
        let output = child.wait_with_output();
        drop(ended);
        output.context("waiting for it failed")
    })
}

impl Peer {
    fn read(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let number = |name: &str| value.get(name).and_then(Value::as_f64);
        let keys = ["peer", "cfg", "variant", "dtype"];
        let name = keys.iter().filter_map(|word| value.get(*word)?.as_str());
        Some(Peer {
            name: itertools::join(name, " "),
            step_ms: number("step_ms").filter(|ms| ms.is_finite() && *ms > 0.0)?,
            samples_per_s: number("samples_s"),
            launches_per_step: number("kernels"),
            peak_bytes: number("peak_mb").map(|mebibytes| (mebibytes * 1024.0 * 1024.0) as u64),
            relative_time: None,
        })
    }

    /// Adds the ratio to the runs of `base`.
    pub fn relative_to(self, base: &[Series], confidence: f64) -> Self {
        let series = Series::new(vec![self.step_ms]);
        Peer {
            relative_time: series.ok().and_then(|series| {
                RelativeTime::from_runs(&[series], base, confidence, USUAL_MARGIN)
            }),
            ..self
        }
    }

    /// Converts it to a row of the tables.
    pub fn row(&self) -> ComparisonRow {
        ComparisonRow {
            name: self.name.clone(),
            step_ms: Some(self.step_ms),
            samples_per_s: self.samples_per_s,
            launches_per_step: self.launches_per_step,
            peak_bytes_reserved: self.peak_bytes,
            relative_time: self.relative_time.clone(),
            ..ComparisonRow::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peers_line_is_read_and_other_lines_are_passed_over() {
        let base = [Series::new(vec![35.0]).unwrap()];
        let read = |line: &str| Some(Peer::read(line)?.relative_to(&base, 0.95));
        let peer =
            read(r#"{"cfg":"small","variant":"v1_tf32","step_ms":17.5,"kernels":null}"#).unwrap();
        assert_eq!(
            (peer.name.as_str(), peer.step_ms, peer.launches_per_step),
            ("small v1_tf32", 17.5, None)
        );
        let time = peer.relative_time.unwrap();
        assert_eq!((time.ratio, time.interval), (0.5, None));
        assert!(read("2.11.0+cu130 NVIDIA H200").is_none());
        assert!(read(r#"{"variant":"broken","step_ms":0.0}"#).is_none());
    }
}
