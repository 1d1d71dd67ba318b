//! Breaks styled text into lines at spaces.

use std::ops::Range;

use ratatui::prelude::{Line, Span, Style};
use tinyllama_base::wrap::{LongWords, cut_at_columns, is_break, line_ranges};

/// Longer lines of prose are hard to read.
pub const LONGEST_LINE: u16 = 100;

/// Returns at least one line, each at most `width` columns. A wider word is cut.
pub fn wrap(spans: Vec<Span<'static>>, width: usize) -> Vec<Line<'static>> {
    wrap_words(&spans, width, LongWords::Cut)
}

fn wrap_words(spans: &[Span<'static>], width: usize, long: LongWords) -> Vec<Line<'static>> {
    let text = StyledText::of_words(spans);
    text.lines(line_ranges(&text.text, width, long))
}

/// Breaks a line of code after the last blank that fits into `width` columns. A longer word is cut.
pub fn folded(line: &Line<'static>, width: usize) -> Vec<Line<'static>> {
    let mut text = StyledText::default();
    for span in &line.spans {
        text.push(&span.content, span.style);
    }
    text.lines(code_ranges(&text.text, width))
}

fn code_ranges(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut rest = 0..text.len();
    while let Some(row) = cut_at_columns(text, rest.clone(), width).into_iter().next() {
        if row.end == text.len() {
            ranges.push(row);
            break;
        }
        let code = &text[row.clone()];
        // The blanks before the first word are its indentation.
        let blank = code
            .rfind(' ')
            .filter(|at| !code[..*at].trim_start().is_empty());
        let end = blank.map_or(row.end, |at| row.start + at + 1);
        ranges.push(rest.start..end);
        rest.start = end;
    }
    ranges
}

/// Wraps `text` behind `first` on the first line and behind `rest` on the others.
pub fn hanging(
    first: Vec<Span<'static>>,
    rest: Span<'static>,
    text: Vec<Span<'static>>,
    width: usize,
) -> Vec<Line<'static>> {
    hang(first, rest, &text, width, LongWords::Cut)
}

/// Like [`hanging`], with a choice for words that are wider than the line.
pub fn hang(
    first: Vec<Span<'static>>,
    rest: Span<'static>,
    text: &[Span<'static>],
    width: usize,
    long: LongWords,
) -> Vec<Line<'static>> {
    let mut lines = wrap_words(text, width.saturating_sub(rest.width()), long);
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

/// The text of spans, and the style of each of its parts.
#[derive(Default)]
struct StyledText {
    text: String,
    /// Where each style ends.
    ends: Vec<(usize, Style)>,
}

impl StyledText {
    /// The words of spans with one blank between them.
    fn of_words(spans: &[Span<'static>]) -> Self {
        let mut text = Self::default();
        let mut is_after_blank = false;
        for span in spans {
            for piece in span.content.split_inclusive(is_break) {
                let word = piece.trim_end_matches(is_break);
                if !word.is_empty() {
                    if is_after_blank && let Some((_, last)) = text.ends.last().copied() {
                        // Underlining covers the blank only within a phrase.
                        let is_within = last == span.style;
                        text.push(" ", if is_within { last } else { Style::default() });
                    }
                    text.push(word, span.style);
                    is_after_blank = false;
                }
                is_after_blank |= word.len() < piece.len();
            }
        }
        text
    }

    fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        match self.ends.last_mut() {
            Some((end, last)) if *last == style => *end = self.text.len(),
            _ => self.ends.push((self.text.len(), style)),
        }
    }

    fn lines(&self, ranges: Vec<Range<usize>>) -> Vec<Line<'static>> {
        ranges.into_iter().map(|range| self.line(range)).collect()
    }

    /// A part of the text as a line.
    fn line(&self, range: Range<usize>) -> Line<'static> {
        let first = self.ends.partition_point(|(end, _)| *end <= range.start);
        let mut start = range.start;
        let spans = self.ends[first..].iter().map_while(|(end, style)| {
            let part = start..range.end.min(*end);
            start = part.end;
            (!part.is_empty()).then(|| Span::styled(self.text[part].to_owned(), *style))
        });
        Line::from_iter(spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_breaks_between_words_and_keeps_its_indentation() {
        let rows = |text: &str, width| {
            let rows = folded(&Line::raw(text.to_owned()), width);
            rows.iter().map(Line::to_string).collect::<Vec<_>>()
        };
        assert_eq!(rows("    let a = b;", 20), ["    let a = b;"]);
        assert_eq!(rows("// one two three", 11), ["// one two ", "three"]);
        assert_eq!(
            rows("    abcdefgh", 8),
            ["    abcd", "efgh"],
            "one long word"
        );
        assert_eq!(rows("", 8), [""]);
        for text in ["int main() { return 0; }", "      x", "\u{4e16}\u{754c}"] {
            assert_eq!(rows(text, 1).concat(), text, "nothing is lost");
        }
    }
}
