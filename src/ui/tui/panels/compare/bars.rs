//! Draws median step times as bars on one scale, and their parts as letters.

use ratatui::prelude::{Line, Span, Style};

use super::figures::{labels, value};
use crate::tui::{ComparedRun, PARTS_OF_A_STEP, Theme, milliseconds, paragraph, width};
use tinyllama_runs::Metric;

/// A heading that explains the letters, then one line per run. Empty if no run has a step time.
pub fn lines(runs: &[ComparedRun], wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let times: Vec<Option<f64>> = runs.iter().map(|run| value(run, Metric::TotalMs)).collect();
    let longest = times.iter().copied().flatten().fold(0.0, f64::max);
    if longest <= 0.0 {
        return Vec::new();
    }
    let heading = "Median step: F forward, B backward, O optimizer, = in no part";
    let mut lines = paragraph(heading, wide, theme.emphasis());
    let labels = labels(runs, usize::from(wide) / 4, theme);
    let columns = labels.iter().map(|label| width(label)).max().unwrap_or(0);
    // The label, one blank on each side, and the time at the end of the bar.
    let room = usize::from(wide).saturating_sub(columns + 2 + 10);
    for ((run, label), total) in runs.iter().zip(labels).zip(times) {
        let label = format!("{label:<columns$} ");
        let mut spans = vec![Span::styled(label, theme.muted())];
        match total {
            Some(total) => {
                spans.extend(bar(run, total, longest, room, theme));
                spans.push(Span::raw(format!(" {}", milliseconds(total))));
            }
            None => spans.push(Span::styled("no step time", theme.muted())),
        }
        lines.push(Line::from(spans));
    }
    lines
}

fn bar(
    run: &ComparedRun,
    total: f64,
    longest: f64,
    room: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let place = |ms: f64| (ms / longest * room as f64).round().max(0.0) as usize;
    let end = place(total).clamp(1, room.max(1));
    let mut spans = Vec::new();
    let (mut sum, mut from) = (0.0, 0);
    let mut add = |to: usize, letter: &str, style: Style| {
        let to = to.clamp(from, end);
        spans.push(Span::styled(letter.repeat(to - from), style));
        from = to;
    };
    for (at, (metric, name)) in PARTS_OF_A_STEP.into_iter().enumerate() {
        if let Some(ms) = value(run, metric) {
            sum += ms;
            // The run's own panel uses the same styles.
            let letter = name[..1].to_uppercase();
            add(place(sum), &letter, theme.series(at + 1));
        }
    }
    add(end, "=", theme.text());
    spans
}
