//! What the scenario leaves behind: a log of each stage to read, and its events.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::analysis::MeasuredRun;

/// Writes `stageN.log` and `stageN.events.jsonl` of each stage's last run; other runs stay in their own folders.
pub fn keep(folder: &Path, runs: &[(String, Vec<MeasuredRun>)]) -> Result<()> {
    for (target, runs) in runs {
        let Some(last) = runs.last() else { continue };
        let log = folder.join(format!("{target}.log"));
        fs::write(&log, text(runs)).with_context(|| format!("cannot write {}", log.display()))?;
        let events = last.path.join("events.jsonl");
        let copy = folder.join(format!("{target}.events.jsonl"));
        fs::copy(&events, &copy)
            .with_context(|| format!("cannot copy {} to {}", events.display(), copy.display()))?;
    }
    Ok(())
}

fn text(runs: &[MeasuredRun]) -> String {
    let mut text = String::new();
    for run in runs {
        let hello = &run.hello;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} on {} ({}), seed {}, {} warm-up and {} counted steps\nfiles: {}",
            hello.target,
            hello.device,
            hello.backend,
            hello.seed,
            hello.warmup,
            hello.steps,
            run.path.display()
        );
        for step in &run.steps {
            let part = |name: &str, ms: Option<f64>| {
                ms.map_or(String::new(), |ms| format!("  {name} {ms:.3}"))
            };
            let _ = writeln!(
                text,
                "step {:>4}  loss {:.4}  {:.3} ms{}{}{}  {:.1} samples/s{}",
                step.n,
                step.loss,
                step.total_ms,
                part("forward", step.forward_ms),
                part("backward", step.backward_ms),
                part("optimizer", step.optimizer_ms),
                step.samples_per_s,
                if step.synchronized {
                    ""
                } else {
                    "  (parts read without waiting)"
                }
            );
        }
        let summary = &run.summary;
        let _ = writeln!(
            text,
            "gradients: {} of {}\n",
            summary
                .parameters_with_gradient
                .map_or("not reported".into(), |with| with.to_string()),
            summary.parameter_tensors
        );
    }
    text
}
