//! Reads rocprofv3's `pc_sampling_host_trap` and `pc_sampling_stochastic`: samples of the program counter, counted by
//! instruction, source line and reason of a stall.

use std::collections::BTreeMap;

use super::{FormatContent, ProfileFormat};
use crate::model::{InstructionSamples, NameId, Profile};
use crate::read::fields::{Field, FieldSource};
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 program counter samples (CSV)",
    recognises: |file| file.has(&["sample_timestamp", "instruction"]),
    read,
    content: FormatContent::Part,
};

/// Stands for an instruction that the tool could not decode.
const NOT_DECODED: &str = "(not decoded)";

/// An instruction, its source line and the reason of a stall.
type Place = (NameId, Option<NameId>, Option<NameId>);

/// Counts by place: samples or cycles, and executions.
#[derive(Default)]
pub(super) struct InstructionCounts(BTreeMap<Place, (u64, Option<u64>)>);

impl InstructionCounts {
    pub fn add(
        &mut self,
        profile: &mut Profile,
        [instruction, line, stall]: [&str; 3],
        (samples, executed): (u64, Option<u64>),
    ) {
        let mut id = |name: &str| (!name.is_empty()).then(|| profile.name_id(name));
        let (line, stall) = (id(line), id(stall));
        let instruction = match instruction {
            "" => NOT_DECODED,
            decoded => decoded,
        };
        let key = (profile.name_id(instruction), line, stall);
        let entry = self.0.entry(key).or_default();
        entry.0 = entry.0.saturating_add(samples);
        let sum = executed.map(|more| entry.1.unwrap_or(0).saturating_add(more));
        entry.1 = sum.or(entry.1);
    }

    pub fn keep(self, profile: &mut Profile) {
        let counted = self.0.into_iter().map(|(key, (samples, executed))| {
            let (instruction, line, stall) = key;
            InstructionSamples {
                instruction,
                line,
                stall,
                samples,
                executed,
            }
        });
        profile.instructions.extend(counted);
    }
}

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let mut counts = InstructionCounts::default();
    let rows = reading.rows(|records, row| {
        let instruction = row.needed_text(Field::Instruction)?;
        // For code that it cannot decode, the tool writes a message instead of a line.
        let line = row.text(Field::SourceLine)?;
        let line = line.filter(|_| !instruction.is_empty()).unwrap_or_default();
        // An issued instruction has a reason too, which means nothing.
        let is_stalled = matches!(row.text(Field::Issued)?, Some("0" | "False" | "false"));
        let stall = row.text(Field::Stall)?.filter(|_| is_stalled);
        let stall = stall.map(|stall| stall.rsplit_once("REASON_").map_or(stall, |(_, it)| it));
        let key = [instruction, line, stall.unwrap_or_default()];
        counts.add(records.profile, key, (1, None));
        Ok(())
    })?;
    counts.keep(reading.profile);
    Ok(rows)
}
