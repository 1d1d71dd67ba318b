//! A step as one text: what it says, what is asked, and what came of it.

mod kinds;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::layout::text_area;
use crate::lesson::live;
use crate::session::state::Status;
use crate::tui::markdown;
use crate::tui::markdown::wrap::wrap;
use crate::tui::model::Model;
use crate::tui::theme::Theme;
use crate::tutor::outcome::{Mark, Shown};

/// Lines of a step's text, and where in them things are.
#[derive(Debug, Default)]
pub struct Document {
    pub lines: Vec<Line<'static>>,
    /// First line and the one after the last of the choice under the cursor.
    pub choice: Option<(usize, usize)>,
    /// Where what came of the learner's doing begins.
    pub news: Option<usize>,
}

impl Document {
    /// Lines that contain `search`, whatever the case.
    pub fn matches(&self, search: &str) -> Vec<usize> {
        let wanted = search.to_lowercase();
        self.lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.to_string().to_lowercase().contains(&wanted))
            .map(|(index, _)| index)
            .collect()
    }

    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    fn begin_news(&mut self) {
        self.blank();
        self.news.get_or_insert(self.lines.len());
    }
}

/// The text of the step that is open, as wide as it is shown.
pub fn document(model: &Model) -> Document {
    let mut document = Document::default();
    let Some((lesson, step, view)) = model.current() else {
        return document;
    };
    let theme = &model.theme;
    let width = text_area(model).width;
    document.lines.push(title(model, &step.title));
    document.lines.push(Line::default());
    let text = live::fill(&step.text, &lesson.id, &*model.measured);
    document.lines.extend(markdown::render(
        &text,
        width,
        theme,
        model.highlighter.as_deref(),
    ));
    document.blank();
    kinds::add(model, &mut document, width);
    hints(&mut document, model, width);
    outcomes(&mut document, &view.outcomes, theme, width);
    document
}

/// The step's title with its state.
fn title(model: &Model, title: &str) -> Line<'static> {
    let theme = &model.theme;
    let glyphs = &theme.glyphs;
    let status = model
        .current()
        .map(|(lesson, step, _)| model.progress_of(lesson, step).status);
    let (mark, style) = match status {
        Some(Status::Done) => (format!("   {} done", glyphs.check), theme.good()),
        Some(Status::Skipped(note)) if note.is_empty() => {
            (format!("   {} skipped", glyphs.skipped), theme.warning())
        }
        Some(Status::Skipped(note)) => (
            format!("   {} skipped: {note}", glyphs.skipped),
            theme.warning(),
        ),
        _ => (String::new(), theme.text()),
    };
    Line::from(vec![
        Span::styled(title.to_string(), theme.heading()),
        Span::styled(mark, style),
    ])
}

fn hints(document: &mut Document, model: &Model, width: u16) {
    let Some(view) = &model.step else { return };
    for (index, hint) in view.hints.iter().enumerate() {
        document.blank();
        if index + 1 == view.hints.len() {
            document.news = Some(document.lines.len());
        }
        let label = format!("Hint {} of {}", hint.number, hint.of);
        document
            .lines
            .push(Line::styled(label, model.theme.emphasis()));
        document.lines.extend(markdown::render(
            &hint.text,
            width,
            &model.theme,
            model.highlighter.as_deref(),
        ));
    }
}

/// The verdicts of the checks, each with its words.
fn outcomes(document: &mut Document, outcomes: &[Shown], theme: &Theme, width: u16) {
    if outcomes.is_empty() {
        return;
    }
    document.blank();
    document.news = Some(document.lines.len());
    document
        .lines
        .push(Line::styled("Checks", theme.emphasis()));
    for outcome in outcomes {
        let (glyph, style) = mark(outcome, theme);
        document.lines.push(Line::from(vec![
            Span::styled(format!("{glyph} {}", outcome.verdict()), style),
            Span::styled(format!("  {}", outcome.check), theme.muted()),
        ]));
        indented(document, &outcome.text, theme.text(), width);
    }
}

fn mark(outcome: &Shown, theme: &Theme) -> (&'static str, Style) {
    match outcome.mark {
        Mark::Passed => (theme.glyphs.check, theme.good()),
        Mark::NotYet if outcome.required => (theme.glyphs.cross, theme.bad()),
        Mark::NotYet => (theme.glyphs.skipped, theme.warning()),
        Mark::Undecided => (theme.glyphs.undecided, theme.warning()),
    }
}

/// Text two columns in.
fn indented(document: &mut Document, text: &str, style: Style, width: u16) {
    let room = usize::from(width).saturating_sub(2).max(1);
    for line in text.lines() {
        let wrapped = wrap(vec![Span::styled(line.to_string(), style)], room);
        document.lines.extend(wrapped.into_iter().map(|mut line| {
            line.spans.insert(0, Span::raw("  "));
            line
        }));
    }
}
