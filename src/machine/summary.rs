//! Counts executed instructions: by instruction, by source line, by group.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::instruction::{Group, Space};
use crate::observe::{Observer, Step};
use crate::program::{Location, Program};

/// Counts of one instruction over all waves and workgroups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub executed: u64,
    /// Number of lanes in EXEC, summed over all executions.
    pub lanes: u64,
    /// Number of executions with no lane in EXEC.
    pub idle: u64,
    /// Union of the active lanes over all executions.
    pub mask: u64,
    pub space: Option<Space>,
    pub stores: bool,
    pub bytes: u64,
    pub lines_64: u64,
    pub lines_128: u64,
    pub passes: u64,
    pub least_passes: u64,
    /// Number of executions in which a lane read LDS that no wave had written.
    pub unwritten_error: u64,
    /// Number of executions in which a lane took the value of a lane that EXEC excludes.
    pub idle_sources: u64,
    /// Instructions that this one waited for, with the number of times.
    pub waited: BTreeMap<u32, u64>,
}

/// An [`Observer`] that counts each instruction of a program.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Counts by index of the instruction; empty until an instruction is executed.
    pub counts: Vec<Count>,
    pub workgroups: u64,
    pub waves: u64,
}

impl Summary {
    /// Returns the executed instructions with their index, in the order of the program.
    pub fn executed(&self) -> impl Iterator<Item = (u32, &Count)> {
        let all = (0..).zip(&self.counts);
        all.filter(|(_, count)| count.executed > 0)
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.executed).sum()
    }

    /// Returns how often instructions of each group were executed.
    pub fn by_group(&self, program: &Program) -> BTreeMap<Group, u64> {
        let mut groups = BTreeMap::new();
        for (index, count) in self.executed() {
            let group = program.instructions[index as usize].group;
            *groups.entry(group).or_default() += count.executed;
        }
        groups
    }

    /// Returns how often instructions of each source line were executed, by group.
    pub fn by_line(&self, program: &Program) -> BTreeMap<Location, BTreeMap<Group, u64>> {
        let mut lines: BTreeMap<Location, BTreeMap<Group, u64>> = BTreeMap::new();
        for (index, count) in self.executed() {
            let instruction = &program.instructions[index as usize];
            let groups = lines.entry(instruction.location).or_default();
            *groups.entry(instruction.group).or_default() += count.executed;
        }
        lines
    }
}

impl Observer for Summary {
    fn begin(&mut self, program: &Program, _: [u32; 3], waves: &[crate::Wave], _: &crate::Lds) {
        self.counts
            .resize(program.instructions.len(), Count::default());
        self.workgroups += 1;
        self.waves += waves.len() as u64;
    }

    fn step(&mut self, step: &Step<'_>) {
        let Some(count) = self.counts.get_mut(step.pc as usize) else {
            return;
        };
        count.executed += 1;
        count.lanes += u64::from(step.exec.count_ones());
        count.idle += u64::from(step.exec == 0);
        count.mask |= step.exec;
        for pc in step.waited {
            *count.waited.entry(*pc).or_default() += 1;
        }
        count.idle_sources += u64::from(step.access.takes_from_idle());
        if let Some(figures) = step.access.figures() {
            count.space = Some(figures.space);
            count.stores = step.access.stores;
            count.bytes += u64::from(figures.bytes);
            count.lines_64 += u64::from(figures.lines_64);
            count.lines_128 += u64::from(figures.lines_128);
            count.passes += u64::from(figures.passes);
            count.least_passes += u64::from(figures.least_passes);
            count.unwritten_error += u64::from(figures.unwritten_error != 0);
        }
    }
}
