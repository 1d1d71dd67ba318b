//! Reads rocprofv3's `pc_sampling_host_trap` and `pc_sampling_stochastic`: samples of the program counter, counted by
//! instruction, source line and reason of a stall.

use std::collections::BTreeMap;

use super::ProfileFormat;
use crate::profiler::model::InstructionSamples;
use crate::profiler::read::fields::{Field, FieldSource};
use crate::profiler::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 program counter samples (CSV)",
    recognises: |file| file.has(&["sample_timestamp", "instruction"]),
    read,
};

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let mut counts = BTreeMap::new();
    let rows = reading.rows(|records, row| {
        let instruction = row.needed_text(Field::Instruction)?;
        // For code that it cannot decode, the tool writes a message instead of a line.
        let line = row.text(Field::SourceLine)?;
        let line = line.filter(|line| !line.is_empty() && !instruction.is_empty());
        // An issued instruction has a reason too, which means nothing.
        let is_stalled = matches!(row.text(Field::Issued)?, Some("0" | "False" | "false"));
        let stall = row.text(Field::Stall)?.filter(|_| is_stalled);
        let stall = stall.map(|stall| stall.rsplit_once("REASON_").map_or(stall, |(_, it)| it));
        let mut id = |name: &str| records.profile.name_id(name);
        let key = (id(instruction), line.map(&mut id), stall.map(&mut id));
        *counts.entry(key).or_default() += 1;
        Ok(())
    })?;
    let counted = counts.into_iter();
    let counted = counted.map(|((instruction, line, stall), samples)| InstructionSamples {
        instruction,
        line,
        stall,
        samples,
    });
    reading.profile.instructions.extend(counted);
    Ok(rows)
}
