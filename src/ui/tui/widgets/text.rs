//! Formats text and numbers for panels.

use ratatui::prelude::{Line, Span, Style};
use unicode_width::UnicodeWidthStr;

use crate::tui::{LONGEST_LINE, Theme, hanging, wrap};
use tinyllama_base::columns::{Column, GAP};
use tinyllama_base::table;
use tinyllama_runs::Metric;

/// Replaces an unknown figure, which never becomes 0.
pub use tinyllama_base::units::{NOT_REPORTED, count, duration, grouped, milliseconds};

/// The timed parts of a step, in order. Everywhere the `n`th part has the style of series `n + 1`.
pub const PARTS_OF_A_STEP: [(Metric, &str); 3] = [
    (Metric::ForwardMs, "forward"),
    (Metric::BackwardMs, "backward"),
    (Metric::OptimizerMs, "optimizer"),
];

/// Number of columns that `text` takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Cuts `text` to at most `most` columns and adds an ellipsis if it was longer.
pub fn cut(text: &str, most: usize, theme: &Theme) -> String {
    table::cut(text, most, theme.glyphs.ellipsis)
}

/// Keeps both ends of `text`, because kernel names often differ at their end.
pub fn cut_middle(text: &str, most: usize, theme: &Theme) -> String {
    table::cut_middle(text, most, theme.glyphs.ellipsis)
}

/// Wraps text as one paragraph in one style, in lines of at most [`LONGEST_LINE`]; returns at least one line.
pub fn paragraph(text: &str, width: u16, style: Style) -> Vec<Line<'static>> {
    let width = width.min(LONGEST_LINE);
    wrap(vec![Span::styled(text.to_owned(), style)], width.into())
}

/// A label in a left column, and text wrapped to the right of it.
pub fn labelled(
    label: &str,
    columns: usize,
    text: Span<'static>,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let label = Span::styled(format!("{label:<columns$}"), theme.muted());
    let blank = Span::styled(" ".repeat(columns), theme.muted());
    // On a very narrow screen the end of the text is cut off.
    let width = usize::from(width).max(columns + 8);
    hanging(vec![label], blank, vec![text], width)
}

/// Lines for the full name of a kernel. Template names can have kilobytes.
const NAME_LINES: usize = 3;

/// The full name of a kernel for below a table. Generated names are long, and their ends tell them apart.
pub fn name_lines(name: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let name = vec![Span::styled(name.to_owned(), theme.code())];
    let name = wrap(name, width.into()).into_iter();
    std::iter::once(Line::default())
        .chain(name.take(NAME_LINES))
        .collect()
}

/// A line with one text at its left end and one at its right end. The left text is cut to leave at least
/// `gap` blanks.
pub fn both_ends(
    left: Vec<Span<'static>>,
    right: Span<'static>,
    gap: usize,
    width: u16,
    theme: &Theme,
) -> Line<'static> {
    let width = usize::from(width);
    let taken = right.width();
    let gap = if taken > 0 { gap } else { 0 };
    let room = width.saturating_sub(taken + gap);
    let mut used = 0;
    let mut spans = Vec::new();
    for span in left {
        let text = cut(&span.content, room.saturating_sub(used), theme);
        used += self::width(&text);
        spans.push(Span::styled(text, span.style));
    }
    spans.push(Span::raw(" ".repeat(width.saturating_sub(used + taken))));
    spans.push(right);
    Line::from(spans)
}

/// A line of a table: the cells in their columns.
pub fn aligned(
    columns: &[Column],
    cells: impl IntoIterator<Item = Vec<Span<'static>>>,
) -> Line<'static> {
    let mut spans = Vec::new();
    for (at, (column, cell)) in columns.iter().zip(cells).enumerate() {
        if at > 0 {
            spans.push(Span::raw(" ".repeat(GAP)));
        }
        let taken = cell.iter().map(Span::width).sum();
        let [before, after] = column.blanks(taken).map(Span::raw);
        spans.push(before);
        spans.extend(cell);
        spans.push(after);
    }
    Line::from(spans)
}

/// A bar of `columns`, filled by `share` (0 to 1). Any share above 0 fills at least one column.
pub fn bar(share: f64, columns: usize, theme: &Theme) -> (String, String) {
    let share = if share.is_finite() { share } else { 0.0 };
    let mut full = (share.clamp(0.0, 1.0) * columns as f64).round() as usize;
    if share > 0.0 {
        full = full.max(1).min(columns);
    }
    let [filled, empty] = theme.glyphs.bar;
    (filled.repeat(full), empty.repeat(columns - full))
}

/// A number without unit, because the heading above it names the unit.
pub fn plain_number(value: f64) -> String {
    let shown = tinyllama_runs::MetricUnit::Count("").show(value);
    shown.trim_end().to_owned()
}

/// The plus-minus sign.
pub fn plus_minus(theme: &Theme) -> &'static str {
    if theme.glyphs.unicode { "±" } else { "+/-" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, most: u16) -> Vec<String> {
        let lines = paragraph(text, most, Style::new());
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn text_is_cut_and_wrapped_by_columns_and_nothing_is_lost() {
        let ascii = Theme::new(true, true);
        assert_eq!(cut("attention", 6, &ascii), "att...");
        assert_eq!(cut("attention", 9, &ascii), "attention");
        assert_eq!(cut("attention", 2, &ascii), "..");
        assert_eq!(
            cut_middle("rmsnorm_forward_f32_wave64", 15, &ascii),
            "rmsnor...wave64"
        );
        // Each of these characters takes two columns.
        assert!(width(&cut("学习学习学习", 7, &ascii)) <= 7);
        let text = "the words of a sentence, and averyveryverylongword";
        for most in 1..60 {
            let lines = lines(text, most);
            assert!(
                lines.iter().all(|line| width(line) <= most.into()),
                "{lines:?}"
            );
            let squeeze = |text: &str| text.replace(' ', "");
            assert_eq!(squeeze(&lines.concat()), squeeze(text));
        }
        assert_eq!(lines("", 10), [""]);
        assert_eq!(lines("学学", 1).concat(), "学学");
    }

    #[test]
    fn numbers_read_like_numbers() {
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(999), "999");
    }

    #[test]
    fn a_bar_shows_the_least_share_and_never_overflows() {
        let theme = Theme::new(true, true);
        assert_eq!(bar(0.001, 4, &theme), ("#".into(), "...".into()));
        assert_eq!(bar(0.0, 4, &theme), (String::new(), "....".into()));
        assert_eq!(bar(7.0, 4, &theme), ("####".into(), String::new()));
        assert_eq!(bar(f64::NAN, 4, &theme).0, "");
        assert_eq!(bar(0.5, 0, &theme), (String::new(), String::new()));
    }
}
