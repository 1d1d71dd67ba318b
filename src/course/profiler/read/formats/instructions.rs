//! Reads rocprofv3's `pc_sampling_host_trap` and `pc_sampling_stochastic`: samples of the program counter, counted by
//! instruction.

use std::collections::BTreeMap;

use super::ProfileFormat;
use crate::profiler::model::{InstructionSamples, NameId};
use crate::profiler::read::fields::{Field, FieldSource};
use crate::profiler::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 program counter samples (CSV)",
    recognises: |file| file.has(&["sample_timestamp", "instruction"]),
    read,
};

fn read(reading: &mut FileImport<'_>) -> RowCount {
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
