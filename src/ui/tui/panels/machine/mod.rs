//! Steps through a kernel as the instructions of an AMD GPU, forward and back, wave by wave.

mod foot;
mod load;
mod relations;
#[cfg(test)]
mod tests;

use ratatui::prelude::{Line, Span};
use tinyllama_machine::{Record, Space, Wave};

pub use self::load::open;
use crate::tui::{Effects, Pane, Panel, PanelCommand, Scroll, Tabs, Theme, both_ends, cut, width};
use tinyllama_base::plural;
use tinyllama_tutor_core::PanelAction;
use tinyllama_workbench::judge::own_line;
use tinyllama_workbench::machine::trace::Trace;

const STEPS: usize = 0;
const REGISTERS: usize = 1;
const NAMES: [&str; 3] = ["steps", "registers", "mix"];

/// Readers would look for times here.
const NO_TIME: &str = "This is an emulator: it measures no cycles, no stalls and no speed.";

/// What the columns of the steps are.
const COLUMNS: &str =
    "count of all waves | lanes on | bytes moved, lines of 128 bytes | LDS passes";

/// Rows that a page key moves by in the counts.
const PAGE: usize = 10;

#[derive(Debug)]
pub struct MachinePanel {
    trace: Trace,
    request: load::TraceRequest,
    wave: u32,
    lane: usize,
    /// Positions in the history of the wave's steps.
    steps: Vec<usize>,
    /// The row under the cursor, which was executed last.
    at: usize,
    /// EXEC at the instruction that a fault ended.
    stopped_exec: u64,
    tabs: Tabs,
    scroll: Scroll,
}

impl MachinePanel {
    fn new(trace: Trace, request: load::TraceRequest) -> Self {
        let start = trace.start;
        let mut panel = Self {
            trace,
            request,
            wave: start.wave,
            lane: start.lane,
            steps: vec![],
            at: 0,
            stopped_exec: 0,
            tabs: Tabs::default(),
            scroll: Scroll::default(),
        };
        panel.take_wave(start.wave);
        panel.go(start.step);
        panel.stopped_exec = panel.registers().map_or(0, Wave::exec);
        panel
    }

    /// Follows a wave from the step that it executed last.
    fn take_wave(&mut self, wave: u32) {
        let position = self.trace.history.position();
        let steps = self.trace.history.steps().iter().enumerate();
        let own = steps.filter(|(_, step)| step.wave == wave);
        self.steps = own.map(|(at, _)| at).collect();
        self.wave = wave;
        let done = self.steps.partition_point(|step| *step < position);
        self.go(done.saturating_sub(1));
    }

    /// Number of rows. The last one may be the instruction that a fault ended.
    fn rows(&self) -> usize {
        let stopped = self.trace.stopped.as_ref();
        self.steps.len() + usize::from(stopped.is_some_and(|error| error.wave == self.wave))
    }

    /// Moves to a row, with all registers as they are after it.
    fn go(&mut self, row: usize) -> bool {
        let row = row.min(self.rows().saturating_sub(1));
        let end = self.trace.history.steps().len();
        let position = self.steps.get(row).map_or(end, |step| step + 1);
        self.trace.history.seek(position);
        std::mem::replace(&mut self.at, row) != row
    }

    fn record(&self, row: usize) -> Option<&Record> {
        self.trace.history.steps().get(*self.steps.get(row)?)
    }

    /// Index of the row's instruction.
    fn pc(&self, row: usize) -> Option<u32> {
        let stopped = self.trace.stopped.as_ref();
        let stopped = stopped.filter(|error| error.wave == self.wave);
        let record = self.record(row).map(|record| record.pc);
        record.or(stopped.map(|error| error.pc))
    }

    fn line(&self, row: usize) -> Option<u32> {
        let program = &self.trace.program;
        let instruction = program.instructions.get(self.pc(row)? as usize)?;
        own_line(program, instruction.location)
    }

    fn registers(&self) -> Option<&Wave> {
        self.trace.history.waves().get(self.wave as usize)
    }

    /// The first row of the next or previous source line.
    fn of_other_line(&self, forward: bool) -> usize {
        let here = self.line(self.at);
        let is_other = |row: &usize| self.line(*row).is_some_and(|line| Some(line) != here);
        if forward {
            return (self.at..self.rows()).find(is_other).unwrap_or(self.at);
        }
        let last = (0..self.at).rev().find(is_other).unwrap_or(0);
        let line = self.line(last);
        let is_same = |row: &usize| self.line(*row) == line;
        (0..=last).rev().take_while(is_same).last().unwrap_or(0)
    }

    /// The next row with the same instruction, or the first one again.
    fn same_again(&self) -> usize {
        let pc = self.pc(self.at);
        let mut rows = (self.at + 1..self.rows()).chain(0..self.at);
        rows.find(|row| self.pc(*row) == pc).unwrap_or(self.at)
    }

    fn put_steps(&self, pane: &mut Pane) {
        let (wide, theme) = (pane.width(), pane.theme);
        let foot = self.foot(wide, theme);
        let room = usize::from(pane.area.height).saturating_sub(foot.len() + 2);
        // One glyph stands for several lanes unless there is room for all of them.
        let glyphs = match wide {
            0..100 => 8,
            100..140 => 16,
            _ => self.trace.program.wave_size,
        };
        let text = wide.saturating_sub(33 + glyphs);
        let head = format!(
            "{:>5} {:>7} {:<glyphs$} {:<text$} {:>5} {:>5} {:>4}",
            "line", "count", "lanes", "instruction", "bytes", "lines", "LDS"
        );
        pane.put([
            Line::styled(cut(COLUMNS, wide, theme), theme.muted()),
            Line::styled(head, theme.emphasis()),
        ]);
        let first = self.at.saturating_sub(room / 2);
        let first = first.min(self.rows().saturating_sub(room));
        for row in (first..self.rows()).take(room) {
            let line = self.row(row, glyphs, text, theme);
            let style = match row == self.at {
                true => theme.selection(),
                false => theme.text(),
            };
            pane.put([Line::styled(line, style)]);
        }
        let drawn = self.rows().saturating_sub(first).min(room);
        pane.put((drawn..room).map(|_| Line::default()));
        pane.put(foot);
    }

    fn row(&self, row: usize, glyphs: usize, text: usize, theme: &Theme) -> String {
        let Some(pc) = self.pc(row) else {
            return String::new();
        };
        let instruction = &self.trace.program.instructions[pc as usize];
        let line = self
            .line(row)
            .map_or(String::new(), |line| line.to_string());
        let mut counts = self.trace.listing.instructions.iter();
        let count = counts
            .find(|one| one.index == pc)
            .map(|one| one.count.executed);
        let record = self.record(row);
        let exec = record.map_or(self.stopped_exec, |record| record.exec);
        let access = record.and_then(|record| record.access);
        let (mut bytes, mut lines, mut passes) = (String::new(), String::new(), String::new());
        if let Some(access) = access {
            bytes = access.bytes.to_string();
            match access.space {
                Space::Lds => passes = access.passes.to_string(),
                Space::Scratch => {}
                Space::Global | Space::Scalar => lines = access.lines_128.to_string(),
            }
        }
        format!(
            "{}{line:>4} {:>7} {:<glyphs$} {:<text$} {bytes:>5} {lines:>5} {passes:>4}",
            if row == self.at {
                theme.glyphs.here
            } else {
                " "
            },
            count.unwrap_or(0),
            lanes(exec, self.trace.program.wave_size, glyphs, theme),
            cut(&instruction.text.replace('\t', " "), text, theme),
        )
    }

    /// The counts of the whole case.
    fn put_mix(&self, pane: &mut Pane) {
        let listing = &self.trace.listing;
        let (waves, groups) = (listing.waves, listing.workgroups);
        let head = format!(
            "All {} and {}: {} wave instructions",
            plural(groups as usize, "workgroup"),
            plural(waves as usize, "wave"),
            listing.executed
        );
        let mut lines = vec![head];
        if self.trace.stopped.is_some() {
            lines.push("A fault ended this run, so these counts end there, too.".into());
        }
        lines.push(String::new());
        lines.extend(listing.mix());
        lines.push(String::new());
        lines.extend(listing.by_line(&self.trace.file));
        let room = usize::from(pane.area.height).saturating_sub(1);
        let first = self.scroll.first(lines.len(), room);
        let shown = lines.into_iter().skip(first).take(room).map(Line::from);
        let shown: Vec<_> = shown.collect();
        pane.put(shown);
        pane.remark(NO_TIME);
    }
}

/// Draws EXEC: each glyph stands for the same number of lanes.
fn lanes(exec: u64, wave_size: usize, glyphs: usize, theme: &Theme) -> String {
    let each = (wave_size / glyphs).max(1);
    let all = u64::MAX >> (64 - each);
    let [full, none] = theme.glyphs.bar;
    let groups = (0..wave_size / each).map(|group| match exec >> (group * each) & all {
        0 => none,
        some if some == all => full,
        _ => theme.glyphs.levels[3],
    });
    groups.collect()
}

impl Panel for MachinePanel {
    fn title(&self) -> String {
        let listing = &self.trace.listing;
        format!("{} on {}", listing.exercise, listing.architecture)
    }

    fn paint(&self, pane: &mut Pane) {
        let [x, y, z] = self.trace.start.workgroup;
        let (wave, waves) = (self.wave + 1, self.trace.history.waves().len());
        let (step, steps, lane) = (self.at + 1, self.rows(), self.lane);
        // The name of the section has to stand next to it.
        let place = match pane.width() {
            0..80 => {
                format!("group {x},{y},{z}  wave {wave}/{waves}  step {step}/{steps}  lane {lane}")
            }
            _ => format!(
                "workgroup {x},{y},{z}  wave {wave} of {waves}  step {step} of {steps}  lane {lane}"
            ),
        };
        let names = match pane.width() > 20 + width(&place) {
            true => self.tabs.line(&NAMES, pane.width(), pane.theme),
            false => self.tabs.line(&NAMES, 0, pane.theme),
        };
        let place = Span::styled(place, pane.theme.muted());
        let wide = pane.area.width;
        pane.put([both_ends(names.spans, place, 1, wide, pane.theme)]);
        match self.tabs.at {
            STEPS => self.put_steps(pane),
            REGISTERS => self.put_registers(pane),
            _ => self.put_mix(pane),
        }
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let lanes = self.trace.program.wave_size;
        let waves = self.trace.history.waves().len().max(1) as u32;
        match action {
            PanelAction::NextSection | PanelAction::PreviousSection => {
                return self.tabs.act(action, NAMES.len());
            }
            PanelAction::Left | PanelAction::Right => {
                let by = if action == PanelAction::Left {
                    lanes - 1
                } else {
                    1
                };
                self.lane = (self.lane + by) % lanes;
                return true;
            }
            PanelAction::Toggle => {
                self.take_wave((self.wave + 1) % waves);
                return true;
            }
            _ if self.tabs.at > REGISTERS => return self.scroll.act(action, PAGE),
            _ => {}
        }
        let row = match action {
            PanelAction::Up => self.at.saturating_sub(1),
            PanelAction::Down => self.at + 1,
            PanelAction::PageUp => self.of_other_line(false),
            PanelAction::PageDown => self.of_other_line(true),
            PanelAction::Top => 0,
            PanelAction::Bottom => usize::MAX,
            PanelAction::Select => match self.rival() {
                Some(rival) => {
                    self.lane = rival.lane;
                    self.trace.history.seek(rival.step + 1);
                    self.take_wave(rival.wave);
                    return true;
                }
                None => self.same_again(),
            },
            _ => return false,
        };
        self.go(row)
    }

    fn effects(&self, action: PanelAction) -> Effects {
        (action == PanelAction::Sort).then(|| vec![self.request.next_architecture().effect()])
    }

    fn commands(&self) -> Vec<PanelCommand> {
        vec![
            (PanelAction::Down, "step"),
            (PanelAction::Up, "back"),
            (PanelAction::PageDown, "next line"),
            (PanelAction::NextSection, "section"),
            (PanelAction::Right, "lane"),
            (PanelAction::Toggle, "wave"),
            (PanelAction::Sort, "GPU"),
            (
                PanelAction::Select,
                match self.rival() {
                    Some(_) => "the other lane",
                    None => "this instruction again",
                },
            ),
            (PanelAction::PageUp, "previous line"),
            (PanelAction::Left, "lane before"),
        ]
    }

    fn hidden(&self) -> (usize, usize) {
        match self.tabs.at {
            STEPS => (self.at, self.rows().saturating_sub(self.at + 1)),
            REGISTERS => (0, 0),
            _ => self.scroll.hidden(),
        }
    }
}
