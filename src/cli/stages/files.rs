//! Files of the debugging scenario: a log for each stage, and its events.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};

use crate::cli::run_printers::LinePrinter;
use tinyllama_analysis::comparison::Side;
use tinyllama_engine::train::EventSink;
use tinyllama_runs::{Line, read_line};

/// Writes `stageN.log` in the format of `run` for every run, and `stageN.events.jsonl` for each stage's last run.
/// Other runs stay in their own folders.
pub fn write_stage_files(folder: &Path, stages: &[Side]) -> Result<()> {
    for stage in stages {
        let mut log = Vec::new();
        for run in &stage.runs {
            let events = run.path.join("events.jsonl");
            let mut lines = LinePrinter::new(&mut log);
            let file = File::open(&events);
            let file = file.with_context(|| format!("cannot open {}", events.display()))?;
            for line in BufReader::new(file).lines() {
                if let Line::Event(event) = read_line(&line?) {
                    lines.event(&event)?;
                }
            }
            let copy = folder.join(format!("{}.events.jsonl", stage.name));
            fs::copy(&events, &copy).with_context(|| {
                format!("cannot copy {} to {}", events.display(), copy.display())
            })?;
        }
        let path = folder.join(format!("{}.log", stage.name));
        fs::write(&path, log).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
