//! Reads rocprofv3's `stats_ui_output_agent_N_dispatch_N.csv` of a thread trace: cycles of the traced waves, counted by
//! instruction and source line.

use super::ProfileFormat;
use super::instructions::{InstructionCounts, InstructionPlace};
use crate::name;
use crate::read::fields::{Field, FieldSource};
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 thread trace (CSV)",
    recognises: |file| file.has(&["vaddr", "instruction", "hitcount", "latency"]),
    read,
};

/// What a wave waits for that cannot issue an instruction. Some instructions do nothing but wait.
fn waits_for(instruction: &str) -> &'static str {
    const OPERANDS: [&str; 3] = ["s_wait_alu", "s_waitcnt_depctr", "s_delay_alu"];
    let begins = |starts: &[&str]| starts.iter().any(|start| instruction.starts_with(start));
    match instruction {
        _ if begins(&OPERANDS) => "an operand",
        _ if begins(&["s_wait"]) => "memory",
        _ if begins(&["s_barrier"]) => "other waves",
        _ if begins(&["s_sleep"]) => "its own sleep",
        _ => "busy unit",
    }
}

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let mut counts = InstructionCounts::default();
    let mut kernel = String::new();
    let rows = reading.rows(|records, row| {
        let instruction = row.needed_text(Field::Instruction)?;
        // A kernel's name stands above its instructions.
        if let Some(name) = instruction.strip_prefix(';') {
            name::strip_suffix(name).clone_into(&mut kernel);
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
            (waits_for(instruction), stalled, 0),
            ("idle", idle, 0),
        ];
        for (stall, cycles, executed) in parts {
            if cycles > 0 || executed > 0 {
                let place = InstructionPlace {
                    kernel: &kernel,
                    code_object: row.unsigned(Field::CodeObject)?,
                    address: row.unsigned(Field::Offset)?,
                    instruction,
                    line,
                    stall,
                };
                counts.add(records.profile, place, (cycles, Some(executed)));
            }
        }
        Ok(())
    })?;
    counts.keep(reading.profile);
    Ok(rows)
}
