//! The dashboard, drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, StatefulWidget, Table, TableState, Widget, Wrap};

use crate::instructor::Class;
use crate::instructor::dashboard::Dashboard;
use crate::instructor::view::LearnerView;
use crate::tui::theme::Theme;

/// Below this there is no room for a table.
const SMALLEST: (u16, u16) = (60, 12);

const KEYS: &str = "m message  M to all  r reset step  l reset lesson  b restore  u unlock  s solve  p pin  q quit";

pub(super) fn title(class: &Class, dashboard: &Dashboard, pinned: Option<&str>) -> String {
    let pinned = pinned.map_or(String::new(), |lesson| format!(", pinned to {lesson}"));
    format!(
        "Class {}: {} learners{pinned}",
        class.folder().display(),
        dashboard.views.len()
    )
}

pub(super) fn render(
    dashboard: &Dashboard,
    title: &str,
    area: Rect,
    buffer: &mut Buffer,
    theme: &Theme,
) {
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!("Needs {} x {} characters.", SMALLEST.0, SMALLEST.1);
        Paragraph::new(text)
            .wrap(Wrap { trim: true })
            .render(area, buffer);
        return;
    }
    let [head, list, line, detail, bar] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(3),
        Constraint::Length(2),
    ])
    .areas(area);
    Line::styled(title.to_string(), theme.heading()).render(head, buffer);
    render_list(dashboard, list, buffer, theme);
    let rule = theme.glyphs.horizontal.repeat(usize::from(line.width));
    Line::styled(rule, theme.border()).render(line, buffer);
    Paragraph::new(said(dashboard, theme))
        .wrap(Wrap { trim: true })
        .render(detail, buffer);
    Paragraph::new(KEYS)
        .style(theme.muted())
        .wrap(Wrap { trim: true })
        .render(bar, buffer);
}

/// The line that is entered, else what came of the last decision, else what is known of the selected learner.
fn said<'a>(dashboard: &'a Dashboard, theme: &Theme) -> Line<'a> {
    if let Some(entry) = &dashboard.entry {
        let text = if entry.asks_for_text() {
            &dashboard.text
        } else {
            ""
        };
        let cursor = Span::styled(" ", theme.selection());
        return Line::from(vec![
            Span::styled(entry.prompt(), theme.accent()),
            Span::raw(text),
            cursor,
        ]);
    }
    if !dashboard.news.is_empty() {
        return Line::from(dashboard.news.replace(char::is_control, " "));
    }
    Line::from(
        dashboard
            .selected()
            .map_or("Nobody has begun yet.".into(), in_full),
    )
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

fn render_list(dashboard: &Dashboard, area: Rect, buffer: &mut Buffer, theme: &Theme) {
    let rows = dashboard.views.iter().map(|view| {
        let style = match (&view.problem, view.signs.is_empty()) {
            (Some(_), _) => theme.bad(),
            (None, false) => theme.warning(),
            (None, true) => Style::new(),
        };
        Row::new(cells(view)).style(style)
    });
    let widths = [
        Constraint::Length(14),
        Constraint::Fill(2),
        Constraint::Length(7),
        Constraint::Length(5),
        Constraint::Length(5),
        Constraint::Length(4),
        Constraint::Length(7),
        Constraint::Fill(1),
    ];
    let head = [
        "learner", "position", "steps", "tries", "hints", "min", "last", "remarks",
    ];
    let table = Table::new(rows, widths)
        .header(Row::new(head).style(theme.emphasis()))
        .row_highlight_style(theme.selection());
    let mut state = TableState::new().with_selected(dashboard.place());
    StatefulWidget::render(table, area, buffer, &mut state);
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
