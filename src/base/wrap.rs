//! Breaks text into lines of a width, measured in columns of the terminal.

use std::fmt::Write;
use std::ops::Range;

use unicode_width::UnicodeWidthStr;

/// Words on both sides of it stay in one line.
pub const NO_BREAK: char = '\u{a0}';

/// Returns whether a line may end here.
pub fn is_break(c: char) -> bool {
    c.is_whitespace() && c != NO_BREAK
}

/// What happens to a word that is wider than a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongWords {
    /// It stays whole: a terminal breaks it without a line end, so that it can be copied.
    Keep,
    /// It is cut wherever a line is full.
    Cut,
}

/// The lines of at most `width` columns into which `text` is broken between words, as ranges of it without the blanks
/// around them. Returns at least one line.
pub fn line_ranges(text: &str, width: usize, long_words: LongWords) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let (mut line, mut used) = (0..0, 0);
    for word in words(text) {
        let pieces = match long_words {
            LongWords::Cut if text[word.clone()].width() > width => {
                cut_at_columns(text, word, width)
            }
            _ => vec![word],
        };
        for piece in pieces {
            let more = text[line.end..piece.end].width();
            if !line.is_empty() && used + more > width {
                lines.push(line);
                used = text[piece.clone()].width();
                line = piece;
            } else {
                used += more;
                line.end = piece.end;
            }
        }
    }
    lines.push(line);
    lines
}

/// Ranges of `text` without a break between them.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    text.split_inclusive(is_break).filter_map(move |piece| {
        let start = end;
        end += piece.len();
        let word = piece.trim_end_matches(is_break);
        (!word.is_empty()).then(|| start..start + word.len())
    })
}

/// Cuts `part`, a range of `text`, wherever `width` columns are full. Each piece has at least one character.
pub fn cut_at_columns(text: &str, part: Range<usize>, width: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let (mut start, mut used) = (part.start, 0);
    for (at, c) in text[part.clone()].char_indices() {
        let at = part.start + at;
        let columns = text[at..at + c.len_utf8()].width();
        if used > 0 && used + columns > width {
            pieces.push(start..at);
            (start, used) = (at, 0);
        }
        used += columns;
    }
    pieces.push(start..part.end);
    pieces
}

/// Wraps `text` between words into lines of at most `width` columns. A text that fits stays unchanged.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    if text.width() <= width {
        return vec![text.to_owned()];
    }
    filled_lines(text, width)
}

/// Like [`wrapped`], with one blank between words even if the text fits.
fn filled_lines(text: &str, width: usize) -> Vec<String> {
    let words: Vec<&str> = words(text).map(|word| &text[word]).collect();
    let text = words.join(" ");
    let lines = line_ranges(&text, width, LongWords::Keep).into_iter();
    lines.map(|line| text[line].to_owned()).collect()
}

/// Appends `text` in lines of at most `width`, indented by two.
pub fn push_wrapped(into: &mut String, text: &str, width: usize) {
    if text.trim().is_empty() {
        return;
    }
    for line in filled_lines(text, width.saturating_sub(2).max(20)) {
        // Writing to a string cannot fail.
        let _ = writeln!(into, "  {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize, long_words: LongWords) -> Vec<&str> {
        let lines = line_ranges(text, width, long_words).into_iter();
        lines.map(|line| &text[line]).collect()
    }

    #[test]
    fn lines_end_between_words_and_long_words_stay_whole_or_are_cut() {
        let text = "  two  words and averylongword to end";
        let kept = ["  two  words", "and", "averylongword", "to end"];
        assert_eq!(lines(text, 12, LongWords::Keep), kept);
        let cut = ["  two  words", "and", "averylongwor", "d to end"];
        assert_eq!(lines(text, 12, LongWords::Cut), cut);
        // Each of these characters takes two columns.
        assert_eq!(lines("学习 学习", 5, LongWords::Cut), ["学习", "学习"]);
        assert_eq!(lines("学学", 1, LongWords::Cut), ["学", "学"]);
        assert_eq!(
            lines("run\u{a0}v1 now", 5, LongWords::Keep),
            ["run\u{a0}v1", "now"]
        );
        assert_eq!(lines("", 5, LongWords::Cut), [""]);
        assert_eq!(wrapped("it  fits", 8), ["it  fits"]);
        assert_eq!(wrapped("it  does not", 8), ["it does", "not"]);
    }
}
