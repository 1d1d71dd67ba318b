//! Reads rocprofv3's `pc_sampling_host_trap` and `pc_sampling_stochastic`: samples of the program counter, counted by
//! instruction.

use std::collections::BTreeMap;

use super::Format;
use crate::profiler::model::{InstructionSamples, NameId};
use crate::profiler::read::fields::{Field, Row};
use crate::profiler::read::{Reading, Rows};

pub const FORMAT: Format = Format {
    name: "rocprofv3 program counter samples (CSV)",
    recognises: |file| file.has(&["sample_timestamp", "instruction"]),
    read,
};

fn read(reading: &mut Reading<'_>) -> Rows {
    let mut counts: BTreeMap<NameId, u64> = BTreeMap::new();
    let rows = reading.rows(|records, row| {
        let name = row.needed_text(Field::Instruction)?;
        let instruction = records.profile.name_id(name);
        *counts.entry(instruction).or_default() += 1;
        Ok(())
    })?;
    let counted = counts.into_iter();
    let counted = counted.map(|(instruction, samples)| InstructionSamples {
        instruction,
        samples,
    });
    reading.profile.instructions.extend(counted);
    Ok(rows)
}
