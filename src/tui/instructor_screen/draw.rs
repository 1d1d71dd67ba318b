//! The dashboard, drawn.

use ratatui::layout::Constraint;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, StatefulWidget, Table, TableState, Widget, Wrap};

use crate::instructor::Class;
use crate::instructor::dashboard::Dashboard;
use crate::instructor::view::LearnerView;
use crate::tui::pane::Pane;
use crate::tui::theme::Theme;

/// Below this there is no room for a table.
const SMALLEST: (u16, u16) = (60, 12);

const KEYS: &str = "m message  M to all  r reset step  l reset lesson  b restore  u unlock  s solve  p pin  q quit";

/// The columns of the table with their widths; those of no width share what is left, in parts.
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

pub(super) fn title(class: &Class, dashboard: &Dashboard, pinned: Option<&str>) -> String {
    let pinned = pinned.map_or(String::new(), |lesson| format!(", pinned to {lesson}"));
    format!(
        "Class {}: {} learners{pinned}",
        class.folder().display(),
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
    draw_list(dashboard, pane.at(list));
    let rule = theme.glyphs.horizontal.repeat(usize::from(line.width));
    pane.at(line).put([Line::styled(rule, theme.border())]);
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
            remarks(view)
        ),
        (None, None) => format!("{} has not begun.", view.name),
    }
}

fn remarks(view: &LearnerView) -> String {
    let mut remarks: Vec<String> = view.signs.iter().map(|sign| sign.in_words()).collect();
    remarks.extend(view.running.iter().map(|target| format!("runs {target}")));
    remarks.extend(view.problem.clone());
    if view.orders_waiting > 0 {
        remarks.push(format!("{} orders wait", view.orders_waiting));
    }
    if view.open_in.is_some() && view.running.is_none() {
        remarks.push("open".into());
    }
    remarks.join("; ")
}

fn draw_list(dashboard: &Dashboard, pane: Pane) {
    let theme = pane.theme;
    let rows = dashboard.views.iter().map(|view| {
        let style = match (&view.problem, view.signs.is_empty()) {
            (Some(_), _) => theme.bad(),
            (None, false) => theme.warning(),
            (None, true) => Style::new(),
        };
        Row::new(cells(view)).style(style)
    });
    let head = COLUMNS.map(|(title, _)| title);
    let table = Table::new(rows, COLUMNS.map(|(_, width)| width))
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
        remarks(view),
    ]
}
