//! Reads rocprofv3's `pc_sampling_host_trap` and `pc_sampling_stochastic`: samples of the program counter, counted by
//! instruction, source line and reason of a stall.

use std::collections::{BTreeMap, HashMap};

use super::ProfileFormat;
use crate::model::{InstructionSamples, ProcessId, Profile};
use crate::read::fields::{Field, FieldSource};
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 program counter samples (CSV)",
    recognises: |file| file.has(&["sample_timestamp", "instruction"]),
    read,
};

/// Stands for an instruction that the tool could not decode.
const NOT_DECODED: &str = "(not decoded)";

/// An instruction and what waves did there. Empty texts are not known.
#[derive(Clone, Copy, Default)]
pub struct InstructionPlace<'a> {
    pub kernel: &'a str,
    pub code_object: Option<u64>,
    pub address: Option<u64>,
    pub instruction: &'a str,
    pub line: &'a str,
    pub stall: &'a str,
}

/// Counts by place: samples or cycles, and executions. The key has none of them.
#[derive(Default)]
pub struct InstructionCounts(BTreeMap<InstructionSamples, (u64, Option<u64>)>);

impl InstructionCounts {
    pub fn add(
        &mut self,
        profile: &mut Profile,
        place: InstructionPlace<'_>,
        (samples, executed): (u64, Option<u64>),
    ) {
        let mut id = |name: &str| (!name.is_empty()).then(|| profile.name_id(name));
        let (kernel, line, stall) = (id(place.kernel), id(place.line), id(place.stall));
        let instruction = match place.instruction {
            "" => NOT_DECODED,
            decoded => decoded,
        };
        let key = InstructionSamples {
            kernel,
            code_object: place.code_object,
            address: place.address,
            instruction: profile.name_id(instruction),
            line,
            stall,
            samples: 0,
            executed: None,
        };
        let entry = self.0.entry(key).or_default();
        entry.0 = entry.0.saturating_add(samples);
        let sum = executed.map(|more| entry.1.unwrap_or(0).saturating_add(more));
        entry.1 = sum.or(entry.1);
    }

    pub fn keep(self, profile: &mut Profile) {
        let counted = self.0.into_iter();
        let counted = counted.map(|(key, (samples, executed))| InstructionSamples {
            samples,
            executed,
            ..key
        });
        profile.instructions.extend(counted);
    }
}

/// Names of the kernels of this process by the numbers of their launches, as far as they were read before.
fn kernels_by_launch(profile: &Profile, process: ProcessId) -> HashMap<u64, String> {
    let launches = profile.dispatches.iter();
    let own = launches.filter(|launch| profile.lane(launch.lane).process == process);
    let named = own.filter_map(|launch| {
        let kernel = profile.kernel_name(launch.variant);
        Some((launch.id?, kernel.to_owned()))
    });
    named.collect()
}

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let mut counts = InstructionCounts::default();
    let process = reading.process();
    let kernels = kernels_by_launch(reading.profile, process);
    let rows = reading.rows(|records, row| {
        let instruction = row.needed_text(Field::Instruction)?;
        let launch = row.unsigned(Field::Dispatch)?;
        let kernel = launch.and_then(|launch| kernels.get(&launch));
        // For code that it cannot decode, the tool writes a message instead of a line.
        let line = row.text(Field::SourceLine)?;
        let line = line.filter(|_| !instruction.is_empty()).unwrap_or_default();
        // An issued instruction has a reason too, which means nothing.
        let is_stalled = matches!(row.text(Field::Issued)?, Some("0" | "False" | "false"));
        let stall = row.text(Field::Stall)?.filter(|_| is_stalled);
        let stall = stall.map(|stall| stall.rsplit_once("REASON_").map_or(stall, |(_, it)| it));
        let place = InstructionPlace {
            kernel: kernel.map_or("", String::as_str),
            instruction,
            line,
            stall: stall.unwrap_or_default(),
            ..InstructionPlace::default()
        };
        counts.add(records.profile, place, (1, None));
        Ok(())
    })?;
    counts.keep(reading.profile);
    Ok(rows)
}
