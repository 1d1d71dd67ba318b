//! What a step has to do with other steps: the waves that meet at a barrier, the lanes that share an address, the load
//! that a value comes from.

use tinyllama_machine::{Kind, Operand, Space};

use super::MachinePanel;
use super::foot::{ranges, rows};
use tinyllama_workbench::FindingKind;

/// A step of another lane that uses the bytes of the chosen lane, with no barrier between the two.
pub(super) struct Rival {
    /// Position in the history.
    pub step: usize,
    pub wave: u32,
    pub lane: usize,
}

impl MachinePanel {
    pub(super) fn address(&self, space: Space, at: u64) -> String {
        match (space, self.trace.memory.name(at)) {
            (Space::Global, Some((name, offset))) => format!("{name}[{}]", offset / 4),
            (Space::Scalar, Some((name, offset))) => format!("{name}, byte {offset}"),
            _ => format!("byte {at}"),
        }
    }

    fn is_barrier(&self, pc: u32) -> bool {
        self.trace.program.instructions[pc as usize].name == "s_barrier"
    }

    /// Says which waves come to the barrier of the chosen row.
    pub(super) fn meeting(&self) -> String {
        let history = &self.trace.history;
        let number = self.steps[..self.at].iter();
        let number = number.filter(|step| self.is_barrier(history.steps()[**step].pc));
        let number = number.count();
        let waves = history.waves().len();
        let is_there = |wave: &usize| {
            let steps = history.steps().iter();
            let mut barriers =
                steps.filter(|step| step.wave as usize == *wave && self.is_barrier(step.pc));
            barriers.nth(number).map(|step| step.pc) == self.pc(self.at)
        };
        let (here, others): (Vec<usize>, Vec<usize>) = (0..waves).partition(is_there);
        let named = |waves: &[usize]| {
            let word = if waves.len() == 1 { "wave" } else { "waves" };
            let counted: Vec<usize> = waves.iter().map(|wave| wave + 1).collect();
            format!("{word} {}", ranges(&counted))
        };
        let others = match (others.is_empty(), &self.trace.stopped) {
            (true, _) => String::new(),
            (false, Some(_)) => format!("; not yet: {}", named(&others)),
            (false, None) => format!("; at another or at none: {}", named(&others)),
        };
        format!("at this barrier: {} of {waves}{others}", named(&here))
    }

    /// Finds the nearest step of another lane that uses the bytes of the chosen lane while nothing orders the two.
    pub(super) fn rival(&self) -> Option<Rival> {
        let (history, program) = (&self.trace.history, &self.trace.program);
        let instruction = self.instruction()?;
        let record = self.record(self.at)?;
        let mut elements = record.elements.iter();
        let (_, at, bytes) = *elements.find(|one| usize::from(one.0) == self.lane)?;
        let space = record.access?.space;
        if !matches!(space, Space::Global | Space::Lds) {
            return None;
        }
        let here = self.steps.get(self.at).copied();
        let here = here.unwrap_or(history.steps().len());
        let mut passed = vec![0; history.waves().len()];
        let (mut found, mut interval) = (vec![], None);
        for (step, record) in history.steps().iter().enumerate() {
            if step == here {
                interval = Some(passed[self.wave as usize]);
            }
            let other = &program.instructions[record.pc as usize];
            passed[record.wave as usize] += usize::from(self.is_barrier(record.pc));
            if !other.needs_order(instruction)
                || record.access.is_none_or(|access| access.space != space)
            {
                continue;
            }
            let overlaps = |one: &&(u8, u64, u8)| {
                let is_own = record.wave == self.wave && usize::from(one.0) == self.lane;
                !is_own && one.1 < at + u64::from(bytes) && at < one.1 + u64::from(one.2)
            };
            if let Some(one) = record.elements.iter().find(overlaps) {
                let (wave, lane) = (record.wave, usize::from(one.0));
                let rival = Rival { step, wave, lane };
                found.push((passed[wave as usize], rival));
            }
        }
        let interval = interval.unwrap_or(passed[self.wave as usize]);
        let found = found.into_iter().filter(|(number, _)| *number == interval);
        // A wave keeps the order of its instructions, so another wave is the likelier reason.
        let nearest = found.min_by_key(|(_, rival)| {
            let is_ordered = rival.wave == self.wave && rival.step != here;
            (is_ordered, rival.step.abs_diff(here))
        });
        nearest.map(|(_, rival)| rival)
    }

    /// Describes the other side of a race.
    pub(super) fn other_side(&self) -> Option<String> {
        if let Some(rival) = self.rival() {
            let program = &self.trace.program;
            let record = &self.trace.history.steps()[rival.step];
            let instruction = &program.instructions[record.pc as usize];
            return Some(format!(
                "lane {} of wave {} {} it at {}, with no barrier between the two",
                rival.lane,
                rival.wave + 1,
                instruction.verb()?,
                program.place(instruction.location)
            ));
        }
        let finding = self.request.finding.as_ref();
        let finding = finding.filter(|finding| finding.kind == FindingKind::Race)?;
        let other = finding.other_line.filter(|_| {
            let start = self.trace.start;
            (self.at, self.wave) == (start.step, start.wave)
        })?;
        let text = self.trace.file.line(other)?.trim();
        Some(format!("the other side, elsewhere: {other} | {text}"))
    }

    /// Returns where the chosen lane's value of a register was loaded from, if a load wrote it last.
    pub(super) fn loaded(&self, operand: &Operand) -> Option<String> {
        let register = (Kind::Vector, operand.index);
        for row in (0..self.at).rev() {
            let record = self.record(row)?;
            let instruction = &self.trace.program.instructions[record.pc as usize];
            let mut written = instruction.written().flat_map(rows);
            if record.exec >> self.lane & 1 == 0 || !written.any(|one| one == register) {
                continue;
            }
            let first = instruction.operands.first()?.index;
            let mut elements = record.elements.iter();
            let (_, at, _) = elements.find(|one| usize::from(one.0) == self.lane)?;
            let at = at + 4 * u64::from(operand.index - first);
            return Some(self.address(record.access?.space, at));
        }
        None
    }
}
