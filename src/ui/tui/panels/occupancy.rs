//! Shows which registers, local memory and waves the compiler gives a learner's kernel, for settings that the learner moves.

use ratatui::prelude::Line;

use crate::tui::model::occupancy::tuning;
use crate::tui::{Effects, Model, OccupancyPanel, OpenStep, Pane, Panel, PanelCommand, cut};
use tinyllama_session::kernel::start_exercise;
use tinyllama_tutor_core::PanelAction;
use tinyllama_workbench::KernelFile;
use tinyllama_workbench::amd::{ARCHITECTURES, Tuning};
use tinyllama_workbench::occupancy::Occupancies;

/// Opens the view on the open step's kernel and asks the compiler about the file as it is.
pub fn open(model: &mut Model, here: &OpenStep) -> Effects {
    let Some(kernel) = here.step.as_kernel() else {
        return model.notify("This step asks for no kernel.");
    };
    let read = start_exercise(kernel.exercise, &model.workbench)
        .and_then(|(path, _)| KernelFile::read(&path));
    let file = match read {
        Ok(Ok(file)) => file,
        Ok(Err(finding)) => return model.warn(finding.message),
        Err(error) => return model.warn(format!("{error:#}")),
    };
    let mut panel = OccupancyPanel::new(kernel.exercise, file);
    let effects = panel.ask();
    model.open(panel);
    effects
}

impl OccupancyPanel {
    /// The settings, the chosen value of each, and what it is instead.
    fn settings(&self) -> [(&'static str, String); 3] {
        let tuning = tuning(self.chosen);
        let threads = |value: Option<u32>, else_: &str| match value {
            Some(threads) => format!("{threads} threads"),
            None => else_.to_owned(),
        };
        let unroll = tuning.unroll.map(|times| match times {
            1 => "not at all".to_owned(),
            times => format!("each loop {times} times"),
        });
        [
            (
                "block size",
                threads(tuning.block, "as the exercise launches it"),
            ),
            (
                "launch bounds",
                threads(tuning.launch_bounds, "as the file says"),
            ),
            (
                "unrolling",
                unroll.unwrap_or("as the compiler likes".into()),
            ),
        ]
    }

    fn lines(&self, wide: usize) -> Vec<String> {
        let tuning = tuning(self.chosen);
        let progress = self.asked.map(|(_, done)| {
            format!(
                "The compiler is asked: {done} of {} GPUs are done.",
                ARCHITECTURES.len()
            )
        });
        let changed = match tuning == Tuning::default() {
            true => None,
            false => self.answer(tuning),
        };
        let problem = |text: &String| tinyllama_base::wrapped(text, wide);
        let mut lines = match (self.answer(Tuning::default()), changed) {
            (None, _) => vec![],
            (Some(Err(text)), _) | (_, Some(Err(text))) => problem(text),
            (Some(Ok(file)), changed) => {
                let changed = changed.and_then(|one| one.as_ref().ok());
                let changed = changed.map(|one| (tuning, one));
                Occupancies { file, changed }.lines(wide)
            }
        };
        lines.extend(progress);
        lines
    }
}

impl Panel for OccupancyPanel {
    fn title(&self) -> String {
        format!("{}: what the compiler makes of it", self.exercise.name)
    }

    fn paint(&self, pane: &mut Pane) {
        let (wide, theme) = (pane.width(), pane.theme);
        for (at, (name, value)) in self.settings().into_iter().enumerate() {
            let (mark, style) = match at == self.row {
                true => (theme.glyphs.here, theme.selection()),
                false => (" ", theme.text()),
            };
            let text = format!("{mark} {name:<14} {value}");
            pane.put([Line::styled(cut(&text, wide, theme), style)]);
        }
        pane.put([Line::default()]);
        let lines = self.lines(wide);
        let first = self.scroll.first(lines.len(), pane.area.height.into());
        let shown = lines.into_iter().skip(first);
        pane.put(shown.map(|line| Line::raw(cut(&line, wide, theme))));
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let before = (self.row, self.chosen);
        (self.row, self.chosen) = self.moved(action);
        if let Some(tuning) = self.question(self.chosen) {
            self.asked = Some((tuning, 0));
        }
        before != (self.row, self.chosen) || self.scroll.act(action, self.scroll.page())
    }

    fn effects(&self, action: PanelAction) -> Effects {
        let (_, chosen) = self.moved(action);
        self.job(self.question(chosen)?)
    }

    fn as_occupancy(&mut self) -> Option<&mut OccupancyPanel> {
        Some(self)
    }

    fn commands(&self) -> Vec<PanelCommand> {
        vec![
            (PanelAction::Right, "more"),
            (PanelAction::Left, "less"),
            (PanelAction::Down, "next setting"),
            (PanelAction::Up, "setting before"),
        ]
    }

    fn hidden(&self) -> (usize, usize) {
        self.scroll.hidden()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;
    use crate::tui::model::occupancy::CompilerReply;
    use crate::tui::{OccupancyAnswer, Theme, sheet};
    use tinyllama_workbench::amd::Compiled;
    use tinyllama_workbench::compiled::assembly::Resources;
    use tinyllama_workbench::compiled::facts::KernelFacts;
    use tinyllama_workbench::find;

    fn panel() -> OccupancyPanel {
        let file = KernelFile {
            path: "rope.hip".into(),
            text: String::new(),
        };
        OccupancyPanel::new(find("rope").unwrap(), file)
    }

    /// A kernel with these registers on every GPU that clang 19 knows.
    fn compiled(vgprs: u32) -> CompilerReply {
        let kernel = |architecture: &str| KernelFacts {
            architecture: architecture.into(),
            operation: "rope".into(),
            kernel: "rope".into(),
            dtype: "f32".into(),
            case: String::new(),
            threads: 256,
            lds_bytes: 0,
            resources: Resources {
                target: format!("amdgcn-amd-amdhsa--{architecture}"),
                wave_size: if architecture == "gfx1100" { 32 } else { 64 },
                vgprs,
                agprs: 0,
                sgprs: 20,
                vgpr_spills: 0,
                sgpr_spills: 0,
                scratch_bytes: 0,
            },
            source: String::new(),
        };
        let why = "clang 19.1.7 does not know gfx950".to_owned();
        let mut compiled = Compiled::default();
        compiled
            .kernels
            .extend(["gfx90a", "gfx942", "gfx1100"].map(kernel));
        compiled.missing.push(("gfx950".into(), why));
        CompilerReply::Compiled(Ok(compiled))
    }

    fn answer(panel: &mut OccupancyPanel, reply: CompilerReply) -> Effects {
        let (tuning, _) = panel.asked.expect("a question");
        let file = Arc::clone(&panel.file);
        panel.take(OccupancyAnswer {
            file,
            tuning,
            reply,
        })
    }

    fn drawn(panel: &OccupancyPanel, columns: u16, rows: u16) -> String {
        let area = Rect::new(0, 0, columns, rows);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::new(true, false);
        panel.draw(Pane::new(area, &mut buffer, &theme));
        sheet::text(&buffer)
    }

    #[test]
    fn the_compiler_is_asked_once_for_each_choice_and_after_the_file_as_it_is() {
        let mut panel = panel();
        assert!(panel.ask().is_some());
        // Keys go on while the compiler works; one question is asked at a time.
        for _ in 0..2 {
            assert!(panel.effects(PanelAction::Right).is_none());
            assert!(panel.act(PanelAction::Right));
        }
        assert!(answer(&mut panel, CompilerReply::Progress(3)).is_none());
        let waits = drawn(&panel, 80, 20);
        assert!(waits.contains("block size     128 threads"), "{waits}");
        assert!(waits.contains("3 of 4 GPUs are done"), "{waits}");
        // The next question is about what is shown now, not about 64 threads in between.
        assert!(answer(&mut panel, compiled(40)).is_some());
        let asked = panel.asked.expect("a question").0;
        assert_eq!((asked.block, asked.launch_bounds), (Some(128), None));
        assert!(answer(&mut panel, compiled(150)).is_none());
        insta::assert_snapshot!(drawn(&panel, 80, 20));
        // What is known is shown at once.
        assert!(panel.effects(PanelAction::Left).is_some());
        assert!(panel.act(PanelAction::Left));
        assert!(answer(&mut panel, compiled(90)).is_none());
        assert!(panel.effects(PanelAction::Left).is_none());
        assert!(panel.act(PanelAction::Left));
        assert!(!drawn(&panel, 80, 20).contains("changed"));
        assert!(!panel.act(PanelAction::Left));
        for (columns, rows) in [(1, 1), (20, 3), (60, 20)] {
            drawn(&panel, columns, rows);
        }
    }

    #[test]
    fn a_machine_without_a_compiler_says_so_and_keeps_saying_it() {
        let mut panel = panel();
        assert!(panel.ask().is_some());
        let problem = "no clang was found; install Debian's package clang-19";
        assert!(answer(&mut panel, CompilerReply::Compiled(Err(problem.into()))).is_none());
        assert!(drawn(&panel, 80, 20).contains(problem));
        assert!(panel.effects(PanelAction::Down).is_none());
        assert!(panel.act(PanelAction::Down));
        assert!(drawn(&panel, 80, 20).contains(problem));
    }

    #[test]
    fn an_answer_about_an_earlier_file_is_left_out() {
        let mut earlier = panel();
        assert!(earlier.ask().is_some());
        let mut panel = panel();
        assert!(panel.ask().is_some());
        let file = Arc::clone(&earlier.file);
        let tuning = Tuning::default();
        let reply = compiled(40);
        assert!(
            panel
                .take(OccupancyAnswer {
                    file,
                    tuning,
                    reply
                })
                .is_none()
        );
        assert!(panel.answers.is_empty() && panel.asked.is_some());
    }
}
