//! Reads rocprofv3's `stats_ui_output_agent_N_dispatch_N.csv` of a thread trace: cycles of the traced waves, counted by
//! instruction and source line.

use super::instructions::InstructionCounts;
use super::{FormatContent, ProfileFormat};
use crate::read::fields::{Field, FieldSource};
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 thread trace (CSV)",
    recognises: |file| file.has(&["vaddr", "instruction", "hitcount", "latency"]),
    read,
    content: FormatContent::Part,
};

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let mut counts = InstructionCounts::default();
    let rows = reading.rows(|records, row| {
        let instruction = row.needed_text(Field::Instruction)?;
        // A kernel's name stands above its instructions.
        if instruction.starts_with(';') {
            return Ok(());
        }
        let count = |field| row.needed(field, row.unsigned(field)?);
        let [executed, latency] = [count(Field::Executed)?, count(Field::Latency)?];
        let [stalled, idle] = [count(Field::StallCycles)?, count(Field::IdleCycles)?];
        let too_many = || row.problem(Field::StallCycles, "is more than the latency".into());
        let issued = latency.checked_sub(stalled).ok_or_else(too_many)?;
        let line = row.text(Field::SourceLine)?.unwrap_or_default();
        let parts = [
            ("", issued, executed),
            ("busy unit", stalled, 0),
            ("idle", idle, 0),
        ];
        for (stall, cycles, executed) in parts {
            if cycles > 0 || executed > 0 {
                let key = [instruction, line, stall];
                counts.add(records.profile, key, (cycles, Some(executed)));
            }
        }
        Ok(())
    })?;
    counts.keep(reading.profile);
    Ok(rows)
}
