//! Renders Markdown as lines of a terminal.

mod table;
pub mod wrap;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::prelude::{Line, Modifier, Span, Style};

use self::table::MarkdownTable;
use self::wrap::{LONGEST_LINE, folded, hang};
use crate::tui::{Highlighter, Theme};
use tinyllama_base::wrap::{LongWords, NO_BREAK};

/// Renders `text` in lines of at most `width` columns; single long words and code may exceed it.
/// Code is coloured if there is a highlighter.
pub fn render(
    text: &str,
    width: u16,
    theme: &Theme,
    highlighter: Option<&Highlighter>,
) -> Vec<Line<'static>> {
    MarkdownWriter::new(width, theme, highlighter).write(text)
}

/// Renders `text` for a terminal that is no screen. Commands and addresses stay in one piece, so that they can be
/// copied: their words are joined by [`NO_BREAK`]. With `marks`, headings keep those of their source.
pub fn render_lines(text: &str, width: u16, theme: &Theme, marks: bool) -> Vec<Line<'static>> {
    let writer = MarkdownWriter::new(width, theme, None);
    MarkdownWriter {
        is_for_lines: true,
        marks,
        ..writer
    }
    .write(text)
}

/// The name and target of each link in a text.
pub fn links(text: &str) -> Vec<(String, String)> {
    let mut links = Vec::new();
    let (mut name, mut target) = (String::new(), String::new());
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                name.clear();
                target = dest_url.to_string();
            }
            Event::End(TagEnd::Link) => links.push((name.clone(), target.clone())),
            Event::Text(text) | Event::Code(text) => name.push_str(&text),
            Event::SoftBreak => name.push(' '),
            _ => {}
        }
    }
    links
}

struct MarkdownWriter<'a> {
    theme: &'a Theme,
    highlighter: Option<&'a Highlighter>,
    is_for_lines: bool,
    /// Headings keep their marks.
    marks: bool,
    width: usize,
    lines: Vec<Line<'static>>,
    /// Spans of the current paragraph.
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// Target of the current link, and the number of spans before its name.
    link: Option<(String, usize)>,
    /// The next number of each enclosing list; `None` for a list with bullets.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// Marker before the first line of a list item.
    marker: Option<String>,
    /// Language and text of the current code block.
    code: Option<(String, String)>,
    table: Option<MarkdownTable>,
}

impl<'a> MarkdownWriter<'a> {
    fn new(width: u16, theme: &'a Theme, highlighter: Option<&'a Highlighter>) -> Self {
        MarkdownWriter {
            theme,
            highlighter,
            is_for_lines: false,
            marks: false,
            width: usize::from(width),
            lines: Vec::new(),
            spans: Vec::new(),
            styles: vec![theme.text()],
            link: None,
            lists: Vec::new(),
            quotes: 0,
            marker: None,
            code: None,
            table: None,
        }
    }

    fn write(mut self, text: &str) -> Vec<Line<'static>> {
        for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
            self.event(event);
        }
        self.flush();
        while self.lines.last().is_some_and(|line| line.width() == 0) {
            self.lines.pop();
        }
        self.lines
    }

    /// Code whose words stay in one line, unless it has to fit a cell of a table.
    fn unbroken(&self, code: &str) -> String {
        match self.is_for_lines && self.table.is_none() {
            true => code.replace(' ', &NO_BREAK.to_string()),
            false => code.to_owned(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.push(text.to_string(), self.style()),
            },
            Event::Code(text) => {
                let style = self.style().patch(self.theme.code());
                self.push(self.unbroken(&text), style);
            }
            Event::SoftBreak => self.push(" ".into(), self.style()),
            Event::HardBreak => self.flush(),
            Event::Rule => {
                self.flush();
                let rule = self.theme.glyphs.horizontal.repeat(self.width);
                self.lines.push(Line::styled(rule, self.theme.muted()));
                self.blank();
            }
            Event::Html(text) | Event::InlineHtml(text) => {
                self.push(text.trim_end().to_string(), self.style());
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let (style, theme) = (self.style(), self.theme);
        match tag {
            Tag::Heading { level, .. } => {
                self.styles.push(match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => theme.heading(),
                    _ => theme.emphasis(),
                });
                if self.marks {
                    self.push("#".repeat(level as usize) + " ", self.style());
                }
            }
            Tag::TableHead => self.styles.push(theme.emphasis()),
            Tag::Emphasis => self.styles.push(style.add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(style.patch(theme.emphasis())),
            Tag::Strikethrough => self.styles.push(style.add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } => {
                self.link = Some((dest_url.to_string(), self.spans.len()));
                let style = style.patch(theme.accent());
                self.styles.push(style.add_modifier(Modifier::UNDERLINED));
            }
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                self.marker = Some(match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => format!("{} ", theme.glyphs.bullet),
                });
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::Table(alignments) => {
                self.flush();
                self.table = Some(MarkdownTable {
                    alignments,
                    ..MarkdownTable::default()
                });
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            // The items of a tight list stay together.
            TagEnd::Paragraph => {
                self.flush();
                self.blank();
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.blank();
            }
            TagEnd::Link => {
                self.styles.pop();
                let Some((target, from)) = self.link.take() else {
                    return;
                };
                // A page of the course opens with a key, but an address elsewhere has to be readable.
                let name: String = self
                    .spans
                    .iter()
                    .skip(from)
                    .map(|it| &*it.content)
                    .collect();
                if target.starts_with("http") && !name.contains(&target) {
                    self.push(format!(" ({target})"), self.style());
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => self.quotes = self.quotes.saturating_sub(1),
            TagEnd::Item => self.flush(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.blank();
                }
            }
            TagEnd::CodeBlock => self.code_block(),
            tag => self.end_in_table(tag),
        }
    }

    fn end_in_table(&mut self, tag: TagEnd) {
        let Some(table) = &mut self.table else {
            return;
        };
        match tag {
            TagEnd::TableCell => table.row.push(std::mem::take(&mut self.spans)),
            TagEnd::TableHead => {
                self.styles.pop();
                table.end_row();
            }
            TagEnd::TableRow => table.end_row(),
            TagEnd::Table => {
                let lines = self
                    .table
                    .take()
                    .map(|table| table.lines(self.width, self.theme));
                self.lines.extend(lines.unwrap_or_default());
                self.blank();
            }
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push(&mut self, text: String, style: Style) {
        self.spans.push(Span::styled(text, style));
    }

    /// Ends the current paragraph.
    fn flush(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let (first, rest) = self.indents();
        let most = match self.is_for_lines {
            true => self.width,
            false => self.width.min(LONGEST_LINE.into()),
        };
        let width = most.max(rest.chars().count() + 8);
        let [first, rest] = [first, rest].map(|text| Span::styled(text, self.theme.accent()));
        let long_words = match self.is_for_lines {
            true => LongWords::Keep,
            false => LongWords::Cut,
        };
        let lines = hang(vec![first], rest, &spans, width, long_words);
        self.lines.extend(lines);
    }

    /// Prefixes of the first line and of the other lines of a paragraph.
    fn indents(&mut self) -> (String, String) {
        let quote = format!("{} ", self.theme.glyphs.vertical).repeat(self.quotes);
        let depth = "  ".repeat(self.lists.len().saturating_sub(1));
        let numbered = matches!(self.lists.last(), Some(Some(_)));
        let hang = match (self.lists.is_empty(), numbered) {
            (true, _) => "",
            (false, true) => "   ",
            (false, false) => "  ",
        };
        let rest = format!("{quote}{depth}{hang}");
        let first = match self.marker.take() {
            Some(marker) => format!("{quote}{depth}{marker}"),
            None => rest.clone(),
        };
        (first, rest)
    }

    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    fn code_block(&mut self) {
        let Some((language, code)) = self.code.take() else {
            return;
        };
        let code = code.trim_end();
        let lines = match self.highlighter {
            Some(highlighter) => highlighter.lines(code, &language, self.theme),
            None => code
                .lines()
                .map(|line| Line::raw(self.unbroken(line)))
                .collect(),
        };
        // A wide picture gives up its margin first.
        let widest = lines.iter().map(Line::width).max().unwrap_or(0);
        let margin = self.width.saturating_sub(widest).min(4);
        // Only the screen has a highlighter. Lines for a pipe stay whole.
        let is_folded = self.highlighter.is_some() && language.trim() != "picture";
        let most = match is_folded {
            true => self.width.saturating_sub(margin).max(8),
            false => usize::MAX,
        };
        let lines = lines.into_iter().flat_map(|line| folded(&line, most));
        for mut line in lines {
            line.spans.insert(0, Span::raw(" ".repeat(margin)));
            self.lines.push(line);
        }
        self.blank();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: u16) -> String {
        let theme = Theme::new(true, false);
        let lines = render(text, width, &theme, None);
        let texts: Vec<String> = lines.iter().map(ToString::to_string).collect();
        texts.join("\n")
    }

    #[test]
    fn paragraphs_lists_and_code_keep_their_shape() {
        let text = "# Title\n\nSome *long* text that\nhas to be wrapped.\n\n- one\n- two that is longer than a line\n  - inner\n\n3. three\n4. four\n\n```sh\ncargo run\n  --release\n```\nend";
        insta::assert_snapshot!(shown(text, 24));
    }

    #[test]
    fn an_address_outside_the_course_is_readable() {
        let text = "[docs](https://a.dev/x), <https://a.dev>, [a page](glossary.md)";
        let expected = "docs (https://a.dev/x), https://a.dev, a page";
        assert_eq!(shown(text, 80), expected);
    }

    #[test]
    fn a_table_fits_the_width_and_loses_no_word() {
        let means = "half of the steps were faster, half slower";
        let text =
            &format!("| figure | here | means |\n|---|---:|---|\n| step | 7.5 ms | {means} |\n");
        let wide = shown(text, 80);
        assert!(wide.lines().all(|line| line.chars().count() <= 80));
        assert!(wide.contains(means), "{wide}");
        let narrow = shown(text, 36);
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 36),
            "{narrow}"
        );
        for word in ["figure", "7.5 ms", "slower"] {
            assert!(narrow.contains(word), "{narrow}");
        }
    }

    #[test]
    fn a_word_wider_than_the_screen_is_cut_into_lines_and_width_zero_does_not_hang() {
        let long = "x".repeat(30);
        assert_eq!(shown(&long, 10).replace('\n', ""), long);
        assert!(!shown(&long, 0).is_empty());
    }
}
