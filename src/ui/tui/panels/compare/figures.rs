//! Figures of compared runs, and what the data say about each one.

use ratatui::text::{Line, Span};

use crate::tui::{
    Cell, ComparedRun, NOT_REPORTED, TableView, Theme, Tone, cut, labelled, paragraph, width,
};
use tinyllama_analysis::relative::{RelativeTime, USUAL_CONFIDENCE, USUAL_MARGIN, middle};
use tinyllama_base::table::shortened_apart;
use tinyllama_base::{Align, Finding, Series};
use tinyllama_runs::recording::label;
use tinyllama_runs::{Metric, Statistic};

/// Columns of a label at least, if it is that long.
const LABEL: usize = 18;

/// Columns of a table for the names of figures, and for a comparison with the first run.
const METRIC: usize = 19;
const RATIO: usize = 22;

/// The labels of runs in at most `room` columns, but no fewer than have to be. Cut ones still differ.
pub fn labels(runs: &[ComparedRun], room: usize, theme: &Theme) -> Vec<String> {
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    let room = room.max(LABEL);
    shortened_apart(&labels, room, theme.glyphs.ellipsis, |label| {
        cut(label, room, theme)
    })
}

/// The figure of a run. Times: the median of the repeats' medians. Other metrics: the last repeat that reports one.
pub fn value(run: &ComparedRun, metric: Metric) -> Option<f64> {
    if metric.is_per_step() {
        return middle(&series(run, metric));
    }
    let mut repeats = run.repeats.iter().rev();
    repeats.find_map(|repeat| repeat.value(metric, Statistic::Median))
}

pub fn series(run: &ComparedRun, metric: Metric) -> Vec<Series> {
    run.repeats
        .iter()
        .filter_map(|repeat| repeat.series(metric))
        .collect()
}

/// Lists which runs are recordings; empty if all runs were made here.
pub fn origins(runs: &[ComparedRun], wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for run in runs {
        if let Some(origin) = &run.recorded {
            let text = format!("{}: {}", run.label, label(origin));
            lines.extend(paragraph(&text, wide, theme.warning()));
        }
    }
    if runs
        .windows(2)
        .any(|pair| matches!(pair, [a, b] if a.recorded != b.recorded))
    {
        let text = "Runs of different machines are not compared with each other.";
        lines.extend(paragraph(text, wide, theme.muted()));
    }
    lines
}

/// The run's figure compared with the figure of the first run.
enum RatioToFirst {
    /// Both are the same recording, played twice.
    Itself,
    Time(RelativeTime),
    /// A plain ratio, because its spread is not known.
    Plain(f64),
}

fn ratio_to_first(run: &ComparedRun, base: &ComparedRun, metric: Metric) -> Option<RatioToFirst> {
    if run.recorded != base.recorded {
        return None;
    }
    let [own, first] = [run, base].map(|run| series(run, metric));
    if run.recorded.is_some() && !own.is_empty() && own == first {
        return Some(RatioToFirst::Itself);
    }
    if metric.is_per_step() && run.is_in_turns() {
        let [own, first] = [&own, &first].map(|all| &all[all.len().saturating_sub(run.rounds)..]);
        return RelativeTime::from_rounds(own, first, USUAL_CONFIDENCE, USUAL_MARGIN)
            .map(RatioToFirst::Time);
    }
    if metric.is_per_step() {
        return RelativeTime::from_runs(&own, &first, USUAL_CONFIDENCE, USUAL_MARGIN)
            .map(RatioToFirst::Time);
    }
    let (value, base) = (value(run, metric)?, value(base, metric)?);
    let ratio = value / base;
    (ratio.is_finite() && base != 0.0).then_some(RatioToFirst::Plain(ratio))
}

/// Stands instead of a verdict when both runs are one recording.
const SAME: &str = "the same recording";

/// Stands instead of a verdict when the same command gave other times.
const DIFFERS: &str = "differs";

/// Stands instead of a verdict for runs made one after the other: a drift of the machine can be all of the difference.
const NO_TURNS: &str = "not in turns";

/// Returns whether a difference comes from chance: both runs have the same setup, so no change can explain it.
fn is_chance(run: &ComparedRun, base: Option<&ComparedRun>, relative: &RelativeTime) -> bool {
    base.is_some_and(|base| run.is_set_up_as(base))
        && matches!(relative.finding, Some(Finding::Faster | Finding::Slower))
}

fn tone(relative: &RelativeTime) -> Tone {
    match relative.finding {
        Some(Finding::Faster) => Tone::Good,
        Some(Finding::Slower) => Tone::Bad,
        Some(Finding::NoDifference) => Tone::Plain,
        Some(Finding::TooNoisy { .. }) | None => Tone::Warning,
    }
}

pub fn table(runs: &[ComparedRun], metrics: &[Metric], wide: u16, theme: &Theme) -> TableView {
    let mut table = TableView::new(&[("", Align::Left)]);
    // Figures of all runs are better than whole labels.
    let others = METRIC + runs.len().saturating_sub(1) * RATIO;
    let room = usize::from(wide).saturating_sub(others) / runs.len().max(1);
    let labels = labels(runs, room.saturating_sub(2), theme);
    for (at, label) in labels.into_iter().enumerate() {
        table.columns.push((label, Align::Right));
        if at > 0 {
            table.columns.push(("of the first".to_owned(), Align::Left));
        }
    }
    for metric in metrics {
        let mut row = vec![Cell::from(metric.in_words())];
        for (at, run) in runs.iter().enumerate() {
            row.push(Cell::figure(
                value(run, *metric).map(|value| metric.unit().show(value)),
            ));
            if at > 0 {
                row.push(ratio_cell(run, runs.first(), *metric, theme));
            }
        }
        table.rows.push(row);
    }
    table
}

fn ratio_cell(
    run: &ComparedRun,
    base: Option<&ComparedRun>,
    metric: Metric,
    theme: &Theme,
) -> Cell {
    match base.and_then(|base| ratio_to_first(run, base, metric)) {
        None => Cell::new("-", Tone::Muted),
        Some(RatioToFirst::Itself) => Cell::new(SAME, Tone::Muted),
        Some(RatioToFirst::Plain(ratio)) => Cell::new(theme.ratio(ratio), Tone::Plain),
        Some(RatioToFirst::Time(relative)) => {
            let (word, tone) = match relative.finding {
                _ if is_chance(run, base, &relative) => (DIFFERS.to_owned(), Tone::Warning),
                Some(_) if !run.is_in_turns() => (NO_TURNS.to_owned(), Tone::Muted),
                Some(finding) => (finding.to_string(), tone(&relative)),
                None => ("unknown".to_owned(), tone(&relative)),
            };
            Cell::new(format!("{} {word}", theme.ratio(relative.ratio)), tone)
        }
    }
}

/// Spread and verdict of every run for one figure.
pub fn detail(
    runs: &[ComparedRun],
    metric: Metric,
    wide: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let title = format!("{}: {}", metric.in_words(), metric.origin());
    let mut lines = paragraph(&title, wide, theme.emphasis());
    let labels = labels(runs, usize::from(wide) / 4, theme);
    let columns = labels.iter().map(|label| width(label)).max().unwrap_or(0);
    for (at, (run, label)) in runs.iter().zip(labels).enumerate() {
        let label = format!(" {label}");
        let base = runs.first().filter(|_| at > 0);
        let (text, tone) = describe_run(run, base, metric, theme);
        let text = Span::styled(text, theme.tone(tone));
        lines.extend(labelled(&label, columns + 2, text, wide, theme));
    }
    lines
}

fn describe_run(
    run: &ComparedRun,
    base: Option<&ComparedRun>,
    metric: Metric,
    theme: &Theme,
) -> (String, Tone) {
    let Some(value) = value(run, metric) else {
        return (NOT_REPORTED.to_owned(), Tone::Muted);
    };
    let unit = metric.unit();
    let mut text = unit.show(value);
    let series = series(run, metric);
    match &series[..] {
        [] => {}
        [only] => text.push_str(&format!(
            ", p10 {}, p90 {}, {} steps",
            unit.show(only.quantile(0.1)),
            unit.show(only.quantile(0.9)),
            only.values().len()
        )),
        several => {
            let medians = several.iter().map(Series::median);
            text.push_str(&format!(
                ", the middle of {} runs from {} to {}",
                several.len(),
                unit.show(medians.clone().fold(f64::INFINITY, f64::min)),
                unit.show(medians.fold(0.0, f64::max)),
            ));
        }
    }
    let mut meant = Tone::Plain;
    match base.and_then(|base| ratio_to_first(run, base, metric)) {
        Some(RatioToFirst::Time(relative)) if is_chance(run, base, &relative) => {
            meant = Tone::Warning;
            text.push_str(&format!(
                "; {} the first, though nothing was changed: {DIFFERS}, because something else was running",
                theme.ratio(relative.ratio)
            ));
        }
        Some(RatioToFirst::Time(relative)) if !run.is_in_turns() => {
            let speedup = relative.speedup_text().replacen('x', theme.glyphs.times, 1);
            text.push_str(&format!(
                "; speed {speedup} that of the first. These runs were not made in turns, so a drift of the machine is not in \
                 this interval: c at the step of the run takes both in turns"
            ));
        }
        Some(RatioToFirst::Time(relative)) => {
            meant = tone(&relative);
            let speedup = relative.speedup_text().replacen('x', theme.glyphs.times, 1);
            text.push_str(&format!(
                "; speed {speedup} that of the first: {}",
                relative.finding_text()
            ));
        }
        Some(RatioToFirst::Plain(ratio)) => {
            text.push_str(&format!("; {} the first", theme.ratio(ratio)));
        }
        Some(RatioToFirst::Itself) => text.push_str(&format!("; {SAME} as the first")),
        None => {}
    }
    (text, meant)
}
