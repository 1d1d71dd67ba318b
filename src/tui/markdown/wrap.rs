//! Breaking styled text into lines at spaces.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

/// Lines of at most `width` columns. A word that is wider is cut.
pub fn wrap(spans: Vec<Span<'static>>, width: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let mut lines = vec![Builder::default()];
    for word in words(&spans) {
        let current = lines.last().map_or(0, |line| line.width);
        let gap = usize::from(current > 0 && word.after_space);
        if current + gap + word.width > width && current > 0 && word.after_space {
            lines.push(Builder::default());
        }
        let Some(line) = lines.last_mut() else { break };
        if gap > 0 && line.width > 0 {
            line.space(word.pieces.first().map(|(_, style)| *style));
        }
        for (text, style) in word.pieces {
            push_cut(&mut lines, text, style, width);
        }
    }
    lines
        .into_iter()
        .map(|line| Line::from(line.spans))
        .collect()
}

/// Plain text in lines of at most `width` columns, its own line breaks kept.
pub fn wrap_plain(text: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    text.lines()
        .flat_map(|line| wrap(vec![Span::styled(line.to_string(), style)], width))
        .collect()
}

#[derive(Default)]
struct Builder {
    spans: Vec<Span<'static>>,
    width: usize,
}

impl Builder {
    fn push(&mut self, text: String, style: Style) {
        self.width += text.width();
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(&text),
            _ => self.spans.push(Span::styled(text, style)),
        }
    }

    fn space(&mut self, next: Option<Style>) {
        let last = self.spans.last().map(|span| span.style);
        // Underlining goes over the space only within a phrase.
        let style = match (last, next) {
            (Some(last), Some(next)) if last == next => last,
            _ => Style::default(),
        };
        self.push(" ".into(), style);
    }
}

/// Letters without a space between them, whatever their styles.
struct Word {
    pieces: Vec<(String, Style)>,
    width: usize,
    after_space: bool,
}

fn words(spans: &[Span<'static>]) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut after_space = true;
    for span in spans {
        let mut rest = span.content.as_ref();
        while !rest.is_empty() {
            if let Some(trimmed) = rest.strip_prefix(char::is_whitespace) {
                after_space = true;
                rest = trimmed;
                continue;
            }
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (piece, after) = rest.split_at(end);
            match words.last_mut() {
                Some(word) if !after_space => {
                    word.width += piece.width();
                    word.pieces.push((piece.to_string(), span.style));
                }
                _ => words.push(Word {
                    pieces: vec![(piece.to_string(), span.style)],
                    width: piece.width(),
                    after_space: true,
                }),
            }
            after_space = false;
            rest = after;
        }
    }
    words
}

fn push_cut(lines: &mut Vec<Builder>, text: String, style: Style, width: usize) {
    let current = lines.last().map_or(0, |line| line.width);
    if current + text.width() <= width {
        if let Some(line) = lines.last_mut() {
            line.push(text, style);
        }
        return;
    }
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if lines
            .last()
            .is_none_or(|line| line.width + wide > width && line.width > 0)
        {
            lines.push(Builder::default());
        }
        if let Some(line) = lines.last_mut() {
            line.push(c.to_string(), style);
        }
    }
}
