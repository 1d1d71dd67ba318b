//! The result of a finished run: the prediction next to the measurement, in large digits, and the verdicts of
//! its checks.

use ratatui::text::{Line, Span};

use super::measured::measured;
use super::state::RunState;
use crate::tui::markdown::wrap::hanging;
use crate::tui::{Theme, cut, markdown, verdict, width};
use tinyllama_lesson::Verdict;

/// Rows of large figures.
const TALL: usize = 5;

/// Columns between the two figures.
const GAP: usize = 4;

/// Lines of a verdict's text.
const WORDS: usize = 2;

/// Rows of the figures below. What passed is sentence in sentences only if they have room.
const FIGURES: usize = 11;

/// Most useful lines first, at most `room`. Empty while the run goes on, and if nothing was predicted or checked.
pub fn lines(state: &RunState, wide: u16, room: usize, theme: &Theme) -> Vec<Line<'static>> {
    if state.is_running() {
        return Vec::new();
    }
    let mut verdicts = verdicts(state, wide, true, theme);
    if verdicts.len() + FIGURES > room {
        verdicts = self::verdicts(state, wide, false, theme);
    }
    let large = room >= verdicts.len() + TALL + 10;
    let mut lines = guess(state, usize::from(wide), large, theme).unwrap_or_default();
    if lines.len() > 1 && !verdicts.is_empty() {
        lines.push(Line::default());
    }
    lines.extend(verdicts);
    lines.truncate(room);
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines
}

/// A line such as `You sentence 300 ms; it was 539 ms: 1.8x`, with both figures in large digits if there is room.
fn guess(state: &RunState, wide: usize, large: bool, theme: &Theme) -> Option<Vec<Line<'static>>> {
    let prediction = state.context.prediction.as_ref()?;
    let own = prediction.metric.and_then(|metric| measured(state, metric));
    let value = own.or(state.prediction_outcome)?;
    let unit = prediction.unit;
    let [guess, was] = [prediction.value, value].map(|value| short(&unit.show(value)));
    let far = distance(prediction.value, value, theme);
    let sentence = format!("You said {guess}; it was {was}{far}");
    let sentence = Line::styled(cut(&sentence, wide, theme), theme.emphasis());
    let [left, right] = [&guess, &was].map(|text| big(text, theme));
    let (left_wide, right_wide) = (columns(&left), columns(&right));
    if !large || left_wide + right_wide + GAP > wide {
        return Some(vec![sentence]);
    }
    let rows = left.iter().zip(&right).map(|(left, right)| {
        Line::from(vec![
            Span::styled(format!("{left:<left_wide$}"), theme.muted()),
            Span::raw(" ".repeat(GAP)),
            Span::styled(right.clone(), theme.accent()),
        ])
    });
    let head = [sentence, Line::default()];
    Some(head.into_iter().chain(rows).collect())
}

/// Shortens `15.00 ms` to `15 ms`.
fn short(shown: &str) -> String {
    let (figure, unit) = shown.split_once(' ').unwrap_or((shown, ""));
    let figure = match figure.contains('.') {
        true => figure.trim_end_matches('0').trim_end_matches('.'),
        false => figure,
    };
    format!("{figure} {unit}").trim_end().to_owned()
}

/// A text such as `: 1.8x away`.
fn distance(guess: f64, was: f64, theme: &Theme) -> String {
    let factor = (was / guess).max(guess / was);
    match factor {
        factor if !factor.is_finite() || factor <= 0.0 => String::new(),
        factor if factor < 1.05 => ": as good as exact".into(),
        factor => format!(": {factor:.1}{} away", theme.glyphs.times),
    }
}

fn columns(rows: &[String]) -> usize {
    rows.iter().map(|row| width(row)).max().unwrap_or(0)
}

/// Digits of three columns by five rows, one bit per cell, from the top.
const FONT: [(char, [u8; TALL]); 12] = [
    ('0', [0b111, 0b101, 0b101, 0b101, 0b111]),
    ('1', [0b010, 0b110, 0b010, 0b010, 0b111]),
    ('2', [0b111, 0b001, 0b111, 0b100, 0b111]),
    ('3', [0b111, 0b001, 0b111, 0b001, 0b111]),
    ('4', [0b101, 0b101, 0b111, 0b001, 0b001]),
    ('5', [0b111, 0b100, 0b111, 0b001, 0b111]),
    ('6', [0b111, 0b100, 0b111, 0b101, 0b111]),
    ('7', [0b111, 0b001, 0b010, 0b010, 0b010]),
    ('8', [0b111, 0b101, 0b111, 0b101, 0b111]),
    ('9', [0b111, 0b101, 0b111, 0b001, 0b111]),
    ('.', [0b000, 0b000, 0b000, 0b000, 0b010]),
    ('-', [0b000, 0b000, 0b111, 0b000, 0b000]),
];

/// A figure in large digits; its unit stays small, on the lowest row.
fn big(text: &str, theme: &Theme) -> Vec<String> {
    let (figure, unit) = text.split_once(' ').unwrap_or((text, ""));
    let block = theme.glyphs.bar[0];
    let mut rows = vec![String::new(); TALL];
    for c in figure.chars() {
        let Some((_, shape)) = FONT.iter().find(|(known, _)| *known == c) else {
            continue;
        };
        for (row, bits) in rows.iter_mut().zip(shape) {
            for bit in [0b100, 0b010, 0b001] {
                row.push_str(if bits & bit == 0 { " " } else { block });
            }
            row.push(' ');
        }
    }
    if let Some(last) = rows.last_mut() {
        last.push_str(unit);
    }
    rows
}

/// Each check with its verdict and the first lines of its text. A sentence is shown whole or not at all.
fn verdicts(state: &RunState, wide: u16, has_room: bool, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for outcome in &state.verdicts {
        let mut line = verdict(outcome, theme);
        if outcome.verdict == Verdict::Passed {
            // A passed check needs no more than its first sentence; the step's text has all of them.
            let sentence: Vec<&str> = outcome.text.split_whitespace().collect();
            let sentence = sentence.join(" ");
            let sentence = sentence.split(". ").next().unwrap_or_default();
            let sentence = Span::raw(format!("  {sentence}"));
            let columns = line.iter().map(Span::width).sum::<usize>() + sentence.width();
            let is_long = columns > usize::from(wide);
            if !is_long {
                line.push(sentence.clone());
            }
            lines.push(Line::from(line));
            if is_long && has_room {
                let indent = Span::raw("  ");
                let (first, wide) = (vec![indent.clone()], wide.into());
                lines.extend(hanging(first, indent, vec![sentence], wide));
            }
            continue;
        }
        lines.push(Line::from(line));
        let most = if has_room { usize::MAX } else { WORDS };
        let text = whole_sentences(&outcome.text, wide.saturating_sub(2), most, theme);
        lines.extend(text.into_iter().map(|mut line| {
            line.spans.insert(0, Span::raw("  "));
            line
        }));
    }
    lines
}

/// The first sentences of a text that fit into `most` lines, but one at least, however long it is.
fn whole_sentences(text: &str, wide: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut end = words.len();
    loop {
        let lines = markdown::render(&words[..end].join(" "), wide, theme, None);
        let is_end = |word: &&str| word.ends_with(['.', '!', '?', ':']);
        let shorter = words[..end.saturating_sub(1)].iter().rposition(is_end);
        match shorter {
            Some(last) if lines.len() > most => end = last + 1,
            _ => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tinyllama_runs::MetricUnit;

    #[test]
    fn a_text_is_cut_between_sentences_alone() {
        let theme = Theme::new(true, true);
        let lines = |text: &str, most| {
            let lines = whole_sentences(text, 20, most, &theme);
            lines
                .iter()
                .map(Line::to_string)
                .collect::<Vec<_>>()
                .join("/")
        };
        assert_eq!(
            lines("One two. Three four five six. Seven eight nine ten.", 2),
            "One two. Three four/five six."
        );
        assert_eq!(lines("One two. Three four five six seven.", 1), "One two.");
        assert_eq!(
            lines("One two three four five six.", 1),
            "One two three four/five six."
        );
    }

    #[test]
    fn large_figures_are_those_of_the_text_and_its_unit_is_small() {
        let theme = Theme::new(true, true);
        let rows = big("17.5 ms", &theme);
        assert_eq!(rows[0], " #  ###     ### ");
        assert_eq!(rows[4], "###  #   #  ### ms");
        assert!(rows.iter().all(|row| row.is_ascii()));
        let exact = distance(100.0, 101.0, &theme);
        assert!(exact.contains("exact"), "{exact}");
        assert_eq!(distance(300.0, 539.0, &theme), ": 1.8x away");
        assert_eq!(MetricUnit::Milliseconds.show(539.0).split(' ').count(), 2);
    }
}
