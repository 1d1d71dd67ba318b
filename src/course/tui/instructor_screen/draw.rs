//! The dashboard, drawn.

use ratatui::prelude::{Constraint, Line, Span, StatefulWidget, Style, Widget};
use ratatui::widgets::{Paragraph, Row, Table, TableState, Wrap};

use crate::instructor::{Class, Dashboard, LearnerView};
use crate::tui::{Pane, Theme};

/// Below this there is no room for a table.
const SMALLEST: (u16, u16) = (60, 12);

const KEYS: &str = "enter report  tab figures  m message  M to all  r reset step  l reset lesson  b restore  u unlock  s solve  p pin  ? help  q quit";

/// Columns of figures and places with their widths; those of no width share what is left, in parts.
const COLUMNS: [(&str, Constraint); 8] = [
    ("learner", Constraint::Length(14)),
    ("position", Constraint::Fill(2)),
    ("steps", Constraint::Length(7)),
    ("tries", Constraint::Length(5)),
    ("hints", Constraint::Length(5)),
    ("min", Constraint::Length(4)),
    ("last", Constraint::Length(7)),
    ("remarks", Constraint::Fill(1)),
];

/// Columns of a learner's name beside lessons.
const NAME: u16 = 14;

pub(super) fn title(class: &Class, dashboard: &Dashboard, pinned: Option<&str>) -> String {
    let pinned = pinned.map_or(String::new(), |lesson| format!(", pinned to {lesson}"));
    format!(
        "Class {}: {} learners{pinned}",
        class.folder.display(),
        dashboard.views.len()
    )
}

pub(super) fn draw(dashboard: &Dashboard, title: &str, mut pane: Pane) {
    let theme = pane.theme;
    if pane.area.width < SMALLEST.0 || pane.area.height < SMALLEST.1 {
        let text = format!("Needs {} x {} characters.", SMALLEST.0, SMALLEST.1);
        return pane.put_text(&text, theme.text());
    }
    let [head, list, line, detail, bar] = pane.rows([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(3),
        Constraint::Length(2),
    ]);
    pane.at(head)
        .put([Line::styled(title.to_string(), theme.heading())]);
    match dashboard.in_figures {
        true => draw_figures(dashboard, pane.at(list)),
        false => draw_grid(dashboard, pane.at(list)),
    }
    let rule = theme.glyphs.horizontal.repeat(usize::from(line.width));
    pane.at(line).put([Line::styled(rule, theme.muted())]);
    Paragraph::new(said(dashboard, theme))
        .wrap(Wrap { trim: true })
        .render(detail, pane.buffer);
    pane.at(bar).remark(KEYS);
}

/// The line that is entered, else what came of the last decision, else what is known of the selected learner.
fn said<'a>(dashboard: &'a Dashboard, theme: &Theme) -> Line<'a> {
    if let Some(entry) = &dashboard.entry {
        let text = match entry.asks_for_text() {
            true => dashboard.text.as_str(),
            false => "",
        };
        return Line::from(vec![
            Span::styled(entry.prompt(), theme.accent()),
            Span::raw(text),
            Span::styled(" ", theme.selection()),
            Span::styled(offered(dashboard), theme.muted()),
        ]);
    }
    if !dashboard.news.is_empty() {
        return Line::from(dashboard.news.replace(char::is_control, " "));
    }
    let selected = dashboard.selected();
    Line::from(selected.map_or("Nobody has begun yet.".into(), in_full))
}

fn in_full(view: &LearnerView) -> String {
    match (&view.problem, &view.position) {
        (Some(problem), _) => problem.clone(),
        (None, Some(position)) => format!(
            "{}: {}, {} ({}). {}",
            view.name,
            position.lesson,
            position.step,
            position.status,
            view.remarks(false)
        ),
        (None, None) => format!("{} has not begun.", view.name),
    }
}

/// What may be meant by what is entered.
fn offered(dashboard: &Dashboard) -> String {
    match dashboard.offer.as_slice() {
        [] => String::new(),
        offer => format!("  {}", offer.join("  ")),
    }
}

/// A learner a row, a lesson a column.
fn draw_grid(dashboard: &Dashboard, pane: Pane) {
    let lessons = dashboard.views.iter().map(|view| view.lessons.len()).max();
    let lessons = lessons.unwrap_or(0);
    // A blank between lessons where there is room for it.
    let wide = usize::from(pane.area.width.saturating_sub(NAME + 16)) >= 2 * lessons;
    let cell = if wide { 2 } else { 1 };
    let numbers: String = (1..=lessons)
        .map(|at| format!("{:<cell$}", at % 10))
        .collect();
    let columns = [
        Constraint::Length(NAME),
        Constraint::Length(u16::try_from(lessons * cell).unwrap_or(u16::MAX)),
        Constraint::Length(5),
        Constraint::Length(7),
        Constraint::Fill(1),
    ];
    let head = [
        "learner".to_owned(),
        numbers,
        "min".into(),
        "last".into(),
        "remarks".into(),
    ];
    let theme = pane.theme;
    let rows = dashboard.views.iter().map(|view| {
        let cells: String = (0..lessons)
            .map(|at| format!("{:<cell$}", of_lesson(view, at, theme)))
            .collect();
        let cells = [
            view.name.clone(),
            cells,
            format!("{:.0}", view.minutes),
            view.last_seen(),
            view.remarks(false),
        ];
        Row::new(cells).style(look(view, theme))
    });
    draw_table(dashboard, rows.collect(), head.to_vec(), &columns, pane);
}

/// One letter: done, so many tenths, where the learner is with nothing done, or nothing.
fn of_lesson(view: &LearnerView, at: usize, theme: &Theme) -> String {
    let Some(lesson) = view.lessons.get(at) else {
        return " ".into();
    };
    let is_here = view
        .position
        .as_ref()
        .is_some_and(|position| position.at.lesson == lesson.id);
    match (lesson.finished, lesson.of) {
        (finished, of) if of > 0 && finished == of => theme.glyphs.check.into(),
        (0, _) if is_here => theme.glyphs.here.into(),
        (0, _) => ".".into(),
        (finished, of) => (10 * finished / of.max(1)).clamp(1, 9).to_string(),
    }
}

fn look(view: &LearnerView, theme: &Theme) -> Style {
    match (&view.problem, view.signs.is_empty()) {
        (Some(_), _) => theme.bad(),
        (None, false) => theme.warning(),
        (None, true) => Style::new(),
    }
}

fn draw_figures(dashboard: &Dashboard, pane: Pane) {
    let theme = pane.theme;
    let rows = dashboard
        .views
        .iter()
        .map(|view| Row::new(cells(view)).style(look(view, theme)));
    let head = COLUMNS.map(|(title, _)| title.to_owned()).to_vec();
    let widths = COLUMNS.map(|(_, width)| width);
    draw_table(dashboard, rows.collect(), head, &widths, pane);
}

fn draw_table(
    dashboard: &Dashboard,
    rows: Vec<Row>,
    head: Vec<String>,
    widths: &[Constraint],
    pane: Pane,
) {
    let theme = pane.theme;
    let table = Table::new(rows, widths.to_vec())
        .header(Row::new(head).style(theme.emphasis()))
        .row_highlight_style(theme.selection());
    let mut state = TableState::new().with_selected(dashboard.place());
    StatefulWidget::render(table, pane.area, pane.buffer, &mut state);
}

fn cells(view: &LearnerView) -> [String; 8] {
    let position = view.position.as_ref();
    [
        view.name.clone(),
        position.map_or("-".into(), ToString::to_string),
        format!("{}/{}", view.steps_finished, view.steps),
        view.attempts.to_string(),
        view.hints.to_string(),
        format!("{:.0}", view.minutes),
        view.last_seen(),
        view.remarks(false),
    ]
}
