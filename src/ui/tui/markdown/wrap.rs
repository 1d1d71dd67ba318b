//! Breaks styled text into lines at spaces.

use ratatui::prelude::{Line, Span, Style};
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

/// Longer lines of prose are hard to read.
pub const LONGEST_LINE: u16 = 100;

/// Words on both sides of it stay in one line.
pub const NO_BREAK: char = '\u{a0}';

/// Returns at least one line, each at most `width` columns. A wider word is cut.
pub fn wrap(spans: Vec<Span<'static>>, width: usize) -> Vec<Line<'static>> {
    wrap_or_keep(spans, width, true)
}

/// Like [`wrap`], but a wider word stays whole: a terminal breaks it without a line end, so that it can be copied.
fn wrap_or_keep(spans: Vec<Span<'static>>, width: usize, cuts: bool) -> Vec<Line<'static>> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = LineWrapper::default();
    for word in words(&spans) {
        let columns: usize = word.iter().map(Span::width).sum();
        if line.width > 0 && line.width + 1 + columns > width {
            lines.push(std::mem::take(&mut line).line());
        }
        if line.width > 0 {
            line.space(word.first().map(|piece| piece.style));
        }
        for piece in word {
            if !cuts || line.width + piece.width() <= width {
                line.push(&piece.content, piece.style);
                continue;
            }
            for c in piece.content.chars() {
                if line.width > 0 && line.width + c.width().unwrap_or(0) > width {
                    lines.push(std::mem::take(&mut line).line());
                }
                line.push(c.encode_utf8(&mut [0; 4]), piece.style);
            }
        }
    }
    lines.push(line.line());
    lines
}

/// Cuts a line wherever `width` columns are full.
pub fn folded(line: Line<'static>, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![LineWrapper::default()];
    for span in &line.spans {
        for c in span.content.chars() {
            if lines
                .last()
                .is_none_or(|it| it.width + c.width().unwrap_or(0) > width)
            {
                lines.push(LineWrapper::default());
            }
            if let Some(last) = lines.last_mut() {
                last.push(c.encode_utf8(&mut [0; 4]), span.style);
            }
        }
    }
    lines.into_iter().map(LineWrapper::line).collect()
}

/// Wraps `text` behind `first` on the first line and behind `rest` on the others.
pub fn hanging(
    first: Vec<Span<'static>>,
    rest: Span<'static>,
    text: Vec<Span<'static>>,
    width: usize,
) -> Vec<Line<'static>> {
    hang(first, rest, text, width, true)
}

/// Like [`hanging`], but words that are wider than the line stay whole.
pub fn hanging_whole(
    first: Vec<Span<'static>>,
    rest: Span<'static>,
    text: Vec<Span<'static>>,
    width: usize,
) -> Vec<Line<'static>> {
    hang(first, rest, text, width, false)
}

fn hang(
    first: Vec<Span<'static>>,
    rest: Span<'static>,
    text: Vec<Span<'static>>,
    width: usize,
    cuts: bool,
) -> Vec<Line<'static>> {
    let mut lines = wrap_or_keep(text, width.saturating_sub(rest.width()).max(1), cuts);
    let mut leads = std::iter::once(first).chain(std::iter::repeat_with(|| vec![rest.clone()]));
    for line in &mut lines {
        line.spans.splice(0..0, leads.next().unwrap_or_default());
    }
    lines
}

/// Wraps plain text to at most `width` columns, or [`LONGEST_LINE`], and keeps its own line breaks.
pub fn wrap_plain(text: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    let width = width.min(LONGEST_LINE.into());
    text.lines()
        .flat_map(|line| wrap(vec![Span::styled(line.to_string(), style)], width))
        .collect()
}

#[derive(Default)]
struct LineWrapper {
    spans: Vec<Span<'static>>,
    width: usize,
}

impl LineWrapper {
    fn push(&mut self, text: &str, style: Style) {
        self.width += text.width();
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            _ => self.spans.push(Span::styled(text.to_string(), style)),
        }
    }

    fn space(&mut self, next: Option<Style>) {
        let last = self.spans.last().map(|span| span.style);
        // Underlining covers the space only within a phrase.
        self.push(" ", last.filter(|_| last == next).unwrap_or_default());
    }

    fn line(self) -> Line<'static> {
        Line::from(self.spans)
    }
}

/// Groups characters without a space between them, regardless of style.
fn words(spans: &[Span<'static>]) -> Vec<Vec<Span<'static>>> {
    let is_break = |c: char| c.is_whitespace() && c != NO_BREAK;
    let mut words: Vec<Vec<Span>> = Vec::new();
    let mut after_space = true;
    for span in spans {
        for piece in span.content.split_inclusive(is_break) {
            let letters = piece.trim_end_matches(is_break);
            if !letters.is_empty() {
                let letters = Span::styled(letters.to_string(), span.style);
                match words.last_mut() {
                    Some(word) if !after_space => word.push(letters),
                    _ => words.push(vec![letters]),
                }
            }
            after_space = letters.len() < piece.len();
        }
    }
    words
}
