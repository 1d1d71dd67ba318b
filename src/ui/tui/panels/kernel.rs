//! Shows a learner's kernel: the file and the result of its check, side by side if they fit, else in two sections.

use std::path::PathBuf;

use ratatui::prelude::{Constraint, Line, Span, Style};

use crate::tui::markdown::wrap::folded;
use crate::tui::{Pane, Panel, PanelCommand, Scroll, Tabs, Theme, cut};
use tinyllama_base::wrapped;
use tinyllama_session::CheckedKernel;
use tinyllama_tutor_core::PanelAction;
use tinyllama_workbench::{FindingKind, find, text};

/// From this width on, the file and the results stand side by side.
const SIDE_BY_SIDE: usize = 130;

const RESULTS: usize = 0;
const FILE: usize = 1;
const SOLUTION: usize = 3;
const NAMES: [&str; 4] = ["results", "file", "memory", "solution"];

#[derive(Debug, Default)]
pub struct KernelPanel {
    path: PathBuf,
    results: Vec<String>,
    file: Vec<String>,
    /// Line numbers that findings name, from 1.
    named: Vec<u32>,
    picture: [Vec<String>; 2],
    /// Once the file passes.
    solution: Vec<String>,
    passed: bool,
    tabs: Tabs,
    scrolls: [Scroll; 4],
}

impl KernelPanel {
    pub fn new(path: PathBuf) -> Self {
        Self {
            results: vec!["The check is running; results appear here.".into()],
            path,
            ..Self::default()
        }
    }

    /// Says why this machine cannot check kernels.
    pub fn failed(path: PathBuf, problem: &str) -> Self {
        Self {
            results: vec![
                "This machine cannot check the kernel.".into(),
                String::new(),
                problem.to_owned(),
                String::new(),
                "Save the file to try again. The other steps of the lesson stay open.".into(),
            ],
            path,
            ..Self::default()
        }
    }

    /// Takes over the result of a check. `machine` is the key that opens the machine.
    pub fn take(&mut self, tried: &CheckedKernel, machine: &str) {
        self.results = tried.lines();
        // A kernel that does not compile cannot be executed.
        let findings = tried.checked.findings.iter();
        let mut lines = findings
            .filter(|finding| finding.kind != FindingKind::Compile)
            .filter_map(|finding| finding.line);
        if let Some(line) = lines.next() {
            self.results.push(String::new());
            self.results.push(format!(
                "Press {machine} to step through line {line} as an AMD GPU executes it: lanes, addresses, registers."
            ));
        }
        self.passed = tried.checked.passed;
        if let (true, Ok(exercise)) = (self.passed, find(&tried.checked.exercise)) {
            self.results.push(String::new());
            // Wrapped when they are drawn.
            self.results.extend(text::after_pass(exercise, usize::MAX));
            let solution = exercise.solution().unwrap_or_default().lines();
            self.solution = solution.map(str::to_owned).collect();
        }
        let lines = tried.file.text.lines();
        self.file = lines.map(|text| text.replace('\t', "    ")).collect();
        let findings = tried.checked.findings.iter();
        self.named = findings
            .flat_map(|finding| finding.line.into_iter().chain(finding.other_line))
            .collect();
        self.picture =
            [false, true].map(|unicode| text::pictures(&tried.checked, &tried.file, unicode));
    }

    fn lines(&self, tab: usize, wide: usize, theme: &Theme) -> Vec<Line<'static>> {
        let styled = |(index, text): (usize, &String)| -> Vec<Line<'static>> {
            let named = tab == FILE && self.named.iter().any(|line| *line as usize == index + 1);
            let style = match (tab, index) {
                _ if named => theme.bad(),
                (RESULTS, 0) if self.passed => theme.good(),
                (RESULTS, 0) => theme.emphasis(),
                _ => theme.text(),
            };
            // The results are prose and may wrap; code is folded, and the picture keeps its columns.
            let parts = match tab {
                RESULTS if !text.contains(" | ") => wrapped(text, wide),
                FILE => return numbered(index + 1, text, style, wide),
                RESULTS | SOLUTION => {
                    return folded(&Line::styled(text.clone(), style), wide);
                }
                _ => vec![cut(text, wide, theme)],
            };
            let parts = parts.into_iter();
            parts.map(|part| Line::styled(part, style)).collect()
        };
        let lines = match tab {
            RESULTS => &self.results,
            FILE => &self.file,
            SOLUTION => &self.solution,
            _ => &self.picture[usize::from(theme.glyphs.unicode)],
        };
        lines.iter().enumerate().flat_map(styled).collect()
    }

    fn put(&self, tab: usize, pane: &mut Pane) {
        let lines = self.lines(tab, pane.width(), pane.theme);
        if lines.is_empty() {
            return pane.remark(match tab {
                SOLUTION => "Nothing to see yet: it appears once the kernel passes.",
                _ => "Nothing to see yet: it appears once the kernel runs and reads or writes memory.",
            });
        }
        let first = self.scrolls[tab].first(lines.len(), pane.area.height.into());
        pane.put(lines.into_iter().skip(first));
    }
}

/// A line of the file behind its number. What does not fit goes on below, behind as many blanks.
fn numbered(number: usize, text: &str, style: Style, wide: usize) -> Vec<Line<'static>> {
    const NUMBER: usize = 5;
    let code = Line::styled(text.to_owned(), style);
    let lines = folded(&code, wide.saturating_sub(NUMBER)).into_iter();
    let number = std::iter::once(format!("{number:>4} "));
    let mut margins = number.chain(std::iter::repeat(" ".repeat(NUMBER)));
    lines
        .map(|mut line| {
            let margin = margins.next().unwrap_or_default();
            line.spans.insert(0, Span::styled(margin, style));
            line
        })
        .collect()
}

impl Panel for KernelPanel {
    fn title(&self) -> String {
        self.path.display().to_string()
    }

    fn paint(&self, pane: &mut Pane) {
        let wide = pane.width();
        let head = self.tabs.line(&NAMES, wide, pane.theme);
        pane.put([head, Line::default()]);
        if wide < SIDE_BY_SIDE || self.tabs.at == FILE {
            return self.put(self.tabs.at, pane);
        }
        let [left, _, right] = pane.columns([
            Constraint::Fill(1),
            Constraint::Length(2),
            Constraint::Length(80),
        ]);
        self.put(FILE, &mut pane.sub_pane(left));
        self.put(self.tabs.at, &mut pane.sub_pane(right));
    }

    fn act(&mut self, action: PanelAction) -> bool {
        self.tabs.act(action, NAMES.len()) || {
            let scroll = &self.scrolls[self.tabs.at];
            scroll.act(action, scroll.page())
        }
    }

    fn commands(&self) -> Vec<PanelCommand> {
        vec![(PanelAction::NextSection, "section")]
    }

    fn hidden(&self) -> (usize, usize) {
        self.scrolls[self.tabs.at].hidden()
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;
    use tinyllama_workbench::check::{ExerciseCheck, WavePictures};
    use tinyllama_workbench::picture::AccessPicture;
    use tinyllama_workbench::{KernelFile, KernelFinding};

    fn tried() -> CheckedKernel {
        let picture = AccessPicture {
            line: 2,
            access: "read".into(),
            array: "x".into(),
            width: 4,
            requests: 1,
            lines: 4,
            fewest: 1,
            sectors: 4,
            lanes: [0, 128, 256, 384].map(Some).into(),
            ..AccessPicture::default()
        };
        let mut finding = KernelFinding::new(
            FindingKind::Race,
            Some(2),
            "thread 0 writes y[1], which thread 1 reads in line 1",
        );
        finding.other_line = Some(1);
        CheckedKernel {
            file: KernelFile {
                path: "rope.hip".into(),
                text: "float a = y[1];\ny[i] = x[i];\n".into(),
            },
            checked: ExerciseCheck {
                exercise: "rope".into(),
                findings: vec![finding],
                cases: 2,
                pictures: vec![WavePictures {
                    wave: 64,
                    pictures: vec![picture],
                }],
                ..ExerciseCheck::default()
            },
        }
    }

    #[test]
    fn a_machine_without_a_compiler_says_so_and_keeps_saying_it() {
        let problem = "no clang was found; install Debian's package clang-19";
        let panel = KernelPanel::failed("rope.hip".into(), problem);
        let drawn = drawn(&panel, 80, 24, &Theme::new(true, false));
        assert!(drawn.contains(problem), "{drawn}");
        assert!(!drawn.contains("running"), "{drawn}");
    }

    fn drawn(panel: &KernelPanel, columns: u16, rows: u16, theme: &Theme) -> String {
        let area = Rect::new(0, 0, columns, rows);
        let mut buffer = Buffer::empty(area);
        panel.draw(Pane::new(area, &mut buffer, theme));
        crate::tui::sheet::text(&buffer)
    }

    #[test]
    fn results_file_and_memory_stand_one_after_the_other_or_side_by_side() {
        let mut panel = KernelPanel::new("rope.hip".into());
        panel.take(&tried(), "M");
        let theme = Theme::new(true, false);
        let results = drawn(&panel, 80, 24, &theme);
        assert!(
            results.contains("race, line 2") && !results.contains("   1 float"),
            "{results}"
        );
        insta::assert_snapshot!("results", results);
        let mut refused = tried();
        refused.checked.findings[0].kind = FindingKind::Compile;
        let mut other = KernelPanel::new("rope.hip".into());
        other.take(&refused, "M");
        let results = drawn(&other, 80, 24, &theme);
        insta::assert_snapshot!("results_of_a_file_that_does_not_compile", results);
        let wide = drawn(&panel, 150, 24, &theme);
        assert!(
            wide.contains("race, line 2") && wide.contains("   1 float"),
            "{wide}"
        );
        assert!(panel.act(PanelAction::NextSection));
        assert!(drawn(&panel, 80, 24, &theme).contains("   1 float"));
        assert!(panel.act(PanelAction::NextSection));
        insta::assert_snapshot!(drawn(&panel, 80, 24, &theme));
        for (columns, rows) in [(1, 1), (20, 3), (60, 20)] {
            drawn(&panel, columns, rows, &theme);
        }
    }

    #[test]
    fn at_80_columns_no_part_of_a_line_of_code_is_lost() {
        let mut panel = KernelPanel::new("coalescing.hip".into());
        let theme = Theme::new(true, false);
        let mut tried = tried();
        let end = "int rows, int width) { // the last word";
        tried.file.text = format!(
            "extern \"C\" __global__ void f({} {end}\n",
            "int a, ".repeat(7)
        );
        panel.take(&tried, "M");
        assert!(panel.act(PanelAction::NextSection));
        let file = drawn(&panel, 80, 24, &theme);
        let joined: String = file.split('\n').map(|line| format!("{line:<80}")).collect();
        assert!(joined.contains(end), "{file}");
    }

    #[test]
    fn a_solution_stands_beside_the_file_once_it_passes() {
        let mut panel = KernelPanel::new("rope.hip".into());
        let theme = Theme::new(true, false);
        let mut tried = tried();
        panel.take(&tried, "M");
        (0..3).for_each(|_| assert!(panel.act(PanelAction::NextSection)));
        let failed = drawn(&panel, 150, 24, &theme);
        assert!(!failed.contains("turns[position"), "{failed}");
        tried.checked.passed = true;
        panel.take(&tried, "M");
        let passed = drawn(&panel, 150, 24, &theme);
        let both = passed.contains("   1 float") && passed.contains("turns[position");
        assert!(both, "{passed}");
        assert!(panel.act(PanelAction::NextSection));
        let results = drawn(&panel, 80, 24, &theme);
        assert!(results.contains("Next: rope-in-place"), "{results}");
    }
}
