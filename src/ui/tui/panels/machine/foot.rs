//! What the chosen instruction did: its access, its wait, its registers in one lane.

use std::collections::BTreeSet;

use ratatui::prelude::{Line, Span, Style};
use tinyllama_machine::{
    AccessFigures, EXEC, Instruction, Kind, M0, Operand, Record, Space, UNWRITTEN, VCC, Wave,
    bank_rivals,
};

use super::{MachinePanel, NO_TIME, lanes};
use crate::tui::{Pane, Theme, width, wrap};
use tinyllama_base::{plain, plural};

/// Columns of a register with its value.
const REGISTER: usize = 25;

impl MachinePanel {
    pub(super) fn instruction(&self) -> Option<&Instruction> {
        let instructions = &self.trace.program.instructions;
        instructions.get(self.pc(self.at)? as usize)
    }

    pub(super) fn foot(&self, wide: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some(instruction) = self.instruction() else {
            return vec![Line::from(
                "No wave of this workgroup executed an instruction.",
            )];
        };
        let record = self.record(self.at);
        let exec = record.map_or(self.stopped_exec, |record| record.exec);
        let line = self.line(self.at);
        let source = match line.and_then(|line| Some((line, self.trace.file.line(line)?))) {
            Some((line, text)) => format!("{line:>5} | {}", plain(&text.replace('\t', "    "))),
            None => "      | the compiler names no line".into(),
        };
        let wave_size = self.trace.program.wave_size;
        let glyphs = lanes(exec, wave_size, wave_size, theme);
        let before: String = glyphs.chars().take(self.lane).collect();
        let lane: String = glyphs.chars().skip(self.lane).take(1).collect();
        let after: String = glyphs.chars().skip(self.lane + 1).collect();
        let active = exec.count_ones();
        let (vectors, scalars) = self.alive();
        let alive = format!(
            "registers that a later step reads: {} of {} vector, {} of {} scalar",
            vectors.len(),
            self.trace.program.vectors + self.trace.program.accumulators,
            scalars.len(),
            VCC + 2
        );
        let plainly = |text: String, style: Style| match width(&text) <= wide {
            true => vec![Line::styled(text, style)],
            false => wrap(vec![Span::styled(text, style)], wide),
        };
        let (effect, style) = match (record, &self.trace.stopped) {
            (None, Some(error)) => (format!("Ended here: {}", error.fault), theme.bad()),
            (Some(record), _) => (self.effect(instruction, record), theme.text()),
            (None, None) => (String::new(), theme.text()),
        };
        let other = self.other_side().into_iter();
        let other = other.flat_map(|text| plainly(text, theme.bad()));
        let mut foot = plainly(source, theme.emphasis());
        foot.extend(plainly(instruction.text.replace('\t', " "), theme.code()));
        foot.extend(plainly(effect, style));
        foot.extend(other);
        foot.push(Line::from_iter([
            Span::raw(before),
            Span::styled(lane, theme.selection()),
            Span::raw(format!("{after} {active:>2} on")),
        ]));
        foot.extend(plainly(self.operands(instruction), theme.text()));
        foot.extend(plainly(alive, theme.text()));
        foot.extend(plainly(NO_TIME.into(), theme.muted()));
        foot
    }

    /// Describes the access, the exchange or the wait in one line.
    fn effect(&self, instruction: &Instruction, record: &Record) -> String {
        if let Some(access) = &record.access {
            return self.access(record, access);
        }
        if let Some(part) = instruction.matrix_part(self.lane) {
            let (side, depth) = (part.side, ranges(&part.depth));
            let [a, b] = [1, 2].map(|at| match self.loaded(&instruction.operands[at]) {
                Some(place) => format!(" from {place}"),
                None => String::new(),
            });
            return format!(
                "lane {}: brings a[{side}][{depth}]{a} and b[{depth}][{side}]{b}, gets d[{}][{side}]",
                self.lane,
                ranges(&part.rows)
            );
        }
        let is_own = |one: &&(u8, u64, u8)| usize::from(one.0) == self.lane;
        if let Some((_, from, is_on)) = record.elements.iter().find(is_own) {
            let idle = match is_on {
                0 => ", which is off and gives 0",
                _ => "",
            };
            let all = record.elements.iter().filter(|one| one.2 == 0).count();
            return format!(
                "lane {} takes from lane {from}{idle}; {} from lanes that are off",
                self.lane,
                plural(all, "lane")
            );
        }
        match &*instruction.name {
            name if name.starts_with("s_waitcnt") => self.waits(record),
            "s_barrier" => self.meeting(),
            _ => String::new(),
        }
    }

    fn access(&self, record: &Record, access: &AccessFigures) -> String {
        let is_own = |one: &&(u8, u64, u8)| usize::from(one.0) == self.lane;
        let address = |at: u64| self.address(access.space, at);
        let lane = match record.elements.iter().find(is_own) {
            Some((_, at, _)) => format!("; lane {}: {}", self.lane, address(*at)),
            None => format!("; lane {}: none", self.lane),
        };
        let bytes = access.bytes;
        match access.space {
            Space::Lds if access.unwritten_error != 0 => {
                let lanes = access.unwritten_error.count_ones() as usize;
                format!(
                    "{} read LDS that no wave wrote{lane}",
                    plural(lanes, "lane")
                )
            }
            Space::Lds => format!(
                "LDS: {}, {} without conflicts{lane}{}",
                plural(access.passes as usize, "pass"),
                access.least_passes,
                self.bank(record)
            ),
            Space::Scratch => format!("private memory: {bytes} bytes{lane}"),
            Space::Scalar => format!(
                "scalar load: {bytes} bytes from {}",
                address(record.elements[0].1)
            ),
            Space::Global => {
                let lines = plural(access.lines_128 as usize, "cache line");
                format!(
                    "{bytes} bytes, {lines} of 128 ({} of 64){lane}",
                    access.lines_64
                )
            }
        }
    }

    fn waits(&self, record: &Record) -> String {
        let program = &self.trace.program;
        let of = |pc: &u32| {
            let waited = &program.instructions[*pc as usize];
            format!("{} ({})", waited.name, program.place(waited.location))
        };
        match itertools::join(record.waited.iter().map(of), ", ") {
            waited if waited.is_empty() => "waits for nothing: all of it has arrived before".into(),
            waited => format!("waits for {waited}"),
        }
    }

    /// The bank of the lane's word, and the lanes that want other words of it.
    fn bank(&self, record: &Record) -> String {
        let Some((bank, rivals)) = bank_rivals(&record.elements, self.lane) else {
            return String::new();
        };
        let rivals = rivals
            .iter()
            .map(|lane| usize::from(*lane))
            .collect::<Vec<_>>();
        match &*ranges(&rivals) {
            "" => format!(", bank {bank}"),
            rivals => format!(", bank {bank} like lanes {rivals}"),
        }
    }

    /// The registers that the instruction names, in the chosen lane, after it.
    fn operands(&self, instruction: &Instruction) -> String {
        let Some(wave) = self.registers() else {
            return String::new();
        };
        let when = match self.record(self.at) {
            Some(_) => "after it, in",
            None => "before it, in",
        };
        let mut text = format!("{when} lane {}:", self.lane);
        let mut seen = vec![];
        for operand in instruction.written().chain(instruction.read()) {
            for register in rows(operand) {
                if !seen.contains(&register) {
                    seen.push(register);
                    text.push_str(&format!("  {}", self.named(wave, register)));
                }
            }
        }
        text
    }

    fn named(&self, wave: &Wave, (kind, index): (Kind, u16)) -> String {
        let name = Operand::new(kind, index, 1).name(self.trace.program.vectors);
        let word = match kind {
            Kind::Vector => wave.vector(index).get(self.lane).copied(),
            _ => wave.scalars.get(usize::from(index)).copied(),
        };
        format!("{name} = {}", word.map_or(String::new(), value))
    }

    /// Vector and scalar registers whose values a later step of the wave reads.
    pub(super) fn alive(&self) -> (BTreeSet<u16>, BTreeSet<u16>) {
        let (mut vectors, mut scalars) = (BTreeSet::new(), BTreeSet::new());
        for row in (self.at + 1..self.rows()).rev() {
            let Some(pc) = self.pc(row) else { continue };
            let instruction = &self.trace.program.instructions[pc as usize];
            // A lane that EXEC excludes keeps its old value.
            let all = u64::MAX >> (64 - self.trace.program.wave_size);
            let whole = self.record(row).is_some_and(|record| record.exec == all);
            for (kind, index) in instruction.written().flat_map(rows) {
                match kind {
                    Kind::Vector => whole && vectors.remove(&index),
                    _ => scalars.remove(&index),
                };
            }
            for (kind, index) in instruction.read().flat_map(rows) {
                match kind {
                    Kind::Vector => vectors.insert(index),
                    _ => scalars.insert(index),
                };
            }
        }
        (vectors, scalars)
    }

    /// Every register that is alive, in the chosen lane.
    pub(super) fn put_registers(&self, pane: &mut Pane) {
        let (vectors, scalars) = self.alive();
        let Some(wave) = self.registers() else {
            return pane.remark("No wave of this workgroup executed an instruction.");
        };
        let theme = pane.theme;
        let head = format!("Registers that a later step reads, in lane {}", self.lane);
        pane.put([Line::styled(head, theme.emphasis())]);
        let special = [EXEC, EXEC + 1, VCC, VCC + 1, M0];
        let scalars = scalars.into_iter().filter(|index| !special.contains(index));
        let vectors = vectors.into_iter().map(|index| (Kind::Vector, index));
        let scalars = special
            .into_iter()
            .chain(scalars)
            .map(|index| (Kind::Scalar, index));
        let all: Vec<_> = vectors.chain(scalars).collect();
        let columns = (pane.width() / REGISTER).max(1);
        let room = usize::from(pane.area.height).saturating_sub(2);
        for row in all.chunks(columns).take(room) {
            let cells = row
                .iter()
                .map(|register| format!("{:<REGISTER$}", self.named(wave, *register)));
            pane.put([Line::from(cells.collect::<String>())]);
        }
        let shown = all.len().min(room * columns);
        if shown < all.len() {
            pane.remark(&format!("{} more have no room here", all.len() - shown));
        }
        pane.remark(NO_TIME);
    }
}

pub(super) fn rows(operand: &Operand) -> impl Iterator<Item = (Kind, u16)> + use<> {
    let kind = operand.kind;
    let all = operand.index..operand.index + operand.width.max(1);
    all.map(move |index| (kind, index))
}

/// Formats ascending numbers, such as `0-3, 8`.
pub(super) fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let runs = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run[0].to_string(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// Shows bits as a whole number or a float, whichever they look like.
fn value(word: u32) -> String {
    let (whole, float) = (word.cast_signed(), f32::from_bits(word));
    match word {
        UNWRITTEN => "unwritten".into(),
        _ if whole.unsigned_abs() < 1 << 20 => whole.to_string(),
        _ if float.is_nan() => "NaN".into(),
        _ if (1e-9..1e9).contains(&float.abs()) => format!("{float:.6}"),
        _ => format!("{word:#x}"),
    }
}
