//! Writes a step as one text: its lesson text, its question, and the results so far.

mod blocks;

use ratatui::prelude::{Line, Span, Style};

use crate::tui::{
    Area, Model, OpenStep, StepView, Theme, hanging, markdown, text_area, verdict, wrap_plain,
};
use tinyllama_lesson::{Lesson, live};
use tinyllama_session::{StepProgress, StepStatus};
use tinyllama_tutor_core::Action;

/// The lines of a step, and the positions of its parts.
#[derive(Debug, Default)]
pub struct StepPage {
    pub lines: Vec<Line<'static>>,
    /// First line of the choice under the cursor, and the line after its last one.
    pub choice: Option<(usize, usize)>,
    /// First line of the results that the last action produced.
    pub news: Option<usize>,
}

impl StepPage {
    /// Lines that contain `search` in any case.
    pub fn matches(&self, search: &str) -> Vec<usize> {
        let wanted = search.to_lowercase();
        let lines = self.lines.iter().enumerate();
        lines
            .filter(|(_, line)| line.to_string().to_lowercase().contains(&wanted))
            .map(|(index, _)| index)
            .collect()
    }
}

/// The text of the open step, wrapped to its width on the screen.
pub fn document(model: &Model) -> StepPage {
    let (Some(here), Some(view)) = (model.open_step(&model.course), &model.step) else {
        return StepPage::default();
    };
    let mut writer = StepWriter {
        progress: model.progress_at(&here.at),
        width: text_area(model).width,
        theme: &model.theme,
        document: StepPage::default(),
        output: None,
        model,
        here,
        view,
    };
    writer.title();
    let (step, lesson) = (writer.here.step, writer.here.lesson);
    writer.filled(&step.text, lesson);
    writer.blank();
    writer.blocks();
    writer.hints();
    writer.outcomes();
    let mut document = writer.document;
    // An empty line at the end is not worth scrolling.
    while document.lines.last().is_some_and(|line| line.width() == 0) {
        document.lines.pop();
    }
    document
}

struct StepWriter<'a> {
    model: &'a Model,
    here: OpenStep<'a>,
    view: &'a StepView,
    progress: StepProgress,
    theme: &'a Theme,
    width: u16,
    document: StepPage,
    /// First line of a command's output.
    output: Option<usize>,
}

impl StepWriter<'_> {
    fn line(&mut self, text: impl Into<String>, style: Style) {
        let line = Line::styled(text.into(), style);
        self.document.lines.push(line);
    }

    /// Adds wrapped lines of text.
    fn styled(&mut self, text: &str, style: Style) {
        let lines = wrap_plain(text, self.width.into(), style);
        self.document.lines.extend(lines);
    }

    fn plain(&mut self, text: &str) {
        self.styled(text, self.theme.text());
    }

    /// Adds wrapped lines, indented by `columns`.
    fn indented(&mut self, text: &str, columns: usize, style: Style) {
        let blank = Span::raw(" ".repeat(columns));
        for line in text.lines() {
            let text = vec![Span::styled(line.to_string(), style)];
            let lines = hanging(vec![blank.clone()], blank.clone(), text, self.width.into());
            self.document.lines.extend(lines);
        }
    }

    fn markdown(&mut self, text: &str) {
        let highlighter = self.model.highlighter.as_deref();
        let lines = markdown::render(text, self.width, self.theme, highlighter);
        self.document.lines.extend(lines);
    }

    /// Adds Markdown after its figures are filled in.
    fn filled(&mut self, text: &str, lesson: &Lesson) {
        let measured = &*self.model.measured;
        self.markdown(&live::fill(text, lesson, measured));
    }

    fn blank(&mut self) {
        let lines = &mut self.document.lines;
        if lines.last().is_some_and(|line| line.width() > 0) {
            lines.push(Line::default());
        }
    }

    fn begin_news(&mut self) {
        self.blank();
        let document = &mut self.document;
        document.news.get_or_insert(document.lines.len());
    }

    /// The key that triggers an action at a step.
    fn key(&self, action: Action) -> String {
        self.model.keys.shown(Area::Step, action)
    }

    /// The step's title with its state.
    fn title(&mut self) {
        let (theme, glyphs) = (self.theme, &self.theme.glyphs);
        let (mark, style) = match &self.progress.status {
            StepStatus::Done => (format!("   {} done", glyphs.check), theme.good()),
            StepStatus::Skipped(note) => {
                let colon = if note.is_empty() { "" } else { ": " };
                let mark = format!("   {} skipped{colon}{note}", glyphs.skipped);
                (mark, theme.warning())
            }
            StepStatus::Open => (String::new(), theme.text()),
        };
        let asked_again = self.view.recall.as_ref().map_or(String::new(), |it| {
            format!("  asked again, {} of {}", it.of - it.left.len(), it.of)
        });
        let optional = if self.here.step.optional {
            "  may be left out"
        } else {
            ""
        };
        let title = Line::from(vec![
            Span::styled(self.here.step.title.clone(), theme.heading()),
            Span::styled(optional, theme.muted()),
            Span::styled(asked_again, theme.accent()),
            Span::styled(mark, style),
        ]);
        self.document.lines.extend([title, Line::default()]);
        if self.view.recall.is_some() {
            let next = self.key(Action::Next);
            self.styled(
                &format!(
                    "Earlier questions come back before each session, because what is recalled is kept. {next} passes one."
                ),
                self.theme.muted(),
            );
            self.blank();
        }
    }

    fn hints(&mut self) {
        for hint in &self.view.hints {
            self.blank();
            self.document.news = Some(self.document.lines.len());
            let label = format!("Hint {} of {}", hint.number, hint.of);
            self.line(label, self.theme.emphasis());
            self.markdown(&hint.text);
        }
    }

    /// The verdicts of the checks, each with its text.
    fn outcomes(&mut self) {
        if self.view.outcomes.is_empty() {
            return;
        }
        self.blank();
        // A command's output is read from its start, and its checks stand below it.
        self.document.news = self.output.or(Some(self.document.lines.len()));
        self.line("Checks", self.theme.emphasis());
        for outcome in &self.view.outcomes {
            self.document
                .lines
                .push(verdict(outcome, self.theme).into());
            let width = self.width.saturating_sub(2);
            let text = markdown::render(&outcome.text, width, self.theme, None);
            let text = text.into_iter().map(|mut line| {
                line.spans.insert(0, Span::raw("  "));
                line
            });
            self.document.lines.extend(text);
        }
    }
}
