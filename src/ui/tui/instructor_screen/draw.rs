//! Draws the instructor's dashboard.

mod grid;

pub(super) use grid::labels;

use ratatui::prelude::{Constraint, Line, Span, StatefulWidget, Style, Text, Widget};
use ratatui::widgets::{Paragraph, Row, Table, TableState, Wrap};
use unicode_width::UnicodeWidthStr;

use super::keys::HELP;
use crate::tui::{Pane, Theme, cut, paragraph};
use tinyllama_lesson::Course;
use tinyllama_tutor_core::instructor::{Class, Dashboard, LearnerView};

/// A smaller screen has no room for the table.
const SMALLEST: (u16, u16) = (60, 12);

pub(super) fn title(class: &Class, dashboard: &Dashboard, pinned: Option<&str>) -> String {
    let pinned = pinned.map_or(String::new(), |lesson| format!(", pinned to {lesson}"));
    format!(
        "Class {}: {}{pinned}",
        class.folder.display(),
        dashboard.count()
    )
}

pub(super) fn draw(dashboard: &Dashboard, course: &Course, title: &str, mut pane: Pane) {
    let theme = pane.theme;
    if pane.area.width < SMALLEST.0 || pane.area.height < SMALLEST.1 {
        let text = format!(
            "Needs {} x {} characters. q quits; `instructor list` prints lines.",
            SMALLEST.0, SMALLEST.1
        );
        return pane.put_text(&text, theme.text());
    }
    // A long answer gets the room it needs, from the list.
    let news = paragraph(&dashboard.news, pane.area.width, Style::new()).len();
    let described = grid::described(dashboard, course);
    let about = paragraph(&described, pane.area.width, Style::new()).len();
    let [head, list, line, lesson, detail, bar] = pane.rows([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(columns(about)),
        Constraint::Length(columns(news).clamp(3, (pane.area.height / 2).max(3))),
        Constraint::Length(2),
    ]);
    pane.sub_pane(head)
        .put([Line::styled(title.to_string(), theme.heading())]);
    match dashboard.in_figures {
        true => draw_figures(dashboard, pane.sub_pane(list)),
        false => grid::draw(dashboard, course, pane.sub_pane(list)),
    }
    let rule = theme.glyphs.horizontal.repeat(usize::from(line.width));
    pane.sub_pane(line).put([Line::styled(rule, theme.muted())]);
    pane.sub_pane(lesson).remark(&described);
    Paragraph::new(status_line(dashboard, theme))
        .wrap(Wrap { trim: true })
        .render(detail, pane.buffer);
    let named = HELP.iter().filter(|(_, word, _)| !word.is_empty());
    let keys = named.flat_map(|(key, does, _)| {
        let key = Span::styled(*key, theme.accent());
        // Non-breaking blanks keep the words of a command on one line.
        [
            key,
            Span::raw(format!("\u{a0}{}  ", does.replace(' ', "\u{a0}"))),
        ]
    });
    Paragraph::new(Line::from_iter(keys))
        .wrap(Wrap { trim: true })
        .render(bar, pane.buffer);
    // Draws non-breaking blanks as plain ones.
    for position in bar.positions() {
        let cell = &mut pane.buffer[position];
        if cell.symbol() == "\u{a0}" {
            cell.set_symbol(" ");
        }
    }
}

/// The current input, else the result of the last decision, else what is known of the selected learner.
fn status_line<'a>(dashboard: &'a Dashboard, theme: &Theme) -> Line<'a> {
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
    Line::from(selected.map_or("No learner has started yet.".into(), in_full))
}

fn in_full(view: &LearnerView) -> String {
    match (&view.problem, &view.position) {
        (Some(problem), _) => problem.clone(),
        (None, Some(position)) => format!(
            "{}: {}, {} ({}). {}. {}",
            view.name,
            position.lesson,
            position.step,
            position.status,
            view.steps_in_words(),
            view.remarks(false)
        ),
        (None, None) => format!("{} has not begun.", view.name),
    }
}

/// Completions of the current input.
fn offered(dashboard: &Dashboard) -> String {
    match dashboard.offer.as_slice() {
        [] => String::new(),
        offer => format!("  {}", offer.join("  ")),
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
    const HEAD: [&str; 9] = [
        "learner", "position", "done", "skipped", "tries", "hints", "min", "last", "remarks",
    ];
    let theme = pane.theme;
    let rows: Vec<[String; 9]> = dashboard
        .views
        .iter()
        .map(|view| figures(dashboard, view, theme))
        .collect();
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| row[at].width());
        columns(cells.chain([HEAD[at].width()]).max().unwrap_or(0))
    };
    let mut widths: [u16; 9] = std::array::from_fn(widest);
    let left = pane.area.width.saturating_sub(8);
    widths[0] = widths[0].min(left / 4);
    let fixed: u16 = [0, 2, 3, 4, 5, 6, 7].iter().map(|at| widths[*at]).sum();
    let left = left.saturating_sub(fixed);
    // Short remarks leave their room to the positions.
    widths[1] = widths[1].min(left - widths[8].min(left * 2 / 5));
    widths[8] = left.saturating_sub(widths[1]);
    let rows = rows.into_iter().map(|row| {
        let cells = row.into_iter().zip(widths);
        cells
            .map(|(cell, width)| folded(&cell, width, theme))
            .collect()
    });
    let head = HEAD.map(Text::from).to_vec();
    draw_table(dashboard, rows.collect(), head, &widths, None, pane);
}

/// Wraps the text, or cuts it if the column is too narrow for words.
fn folded(text: &str, width: u16, theme: &Theme) -> Text<'static> {
    const NARROW: u16 = 10;
    match width < NARROW {
        true => Text::from(cut(text, width.into(), theme)),
        false => Text::from(paragraph(text, width, Style::new())),
    }
}

fn columns(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// The learner's name, behind a sign if it is marked.
fn name(dashboard: &Dashboard, view: &LearnerView, theme: &Theme) -> String {
    let mark = match dashboard.is_marked(view) {
        true => theme.glyphs.bullet,
        false => " ",
    };
    format!("{mark}{}", view.name)
}

/// One row per learner, as high as its highest cell; the total stands below the last row.
fn draw_table(
    dashboard: &Dashboard,
    rows: Vec<Vec<Text<'static>>>,
    head: Vec<Text<'static>>,
    widths: &[u16],
    total: Option<Vec<Text<'static>>>,
    mut pane: Pane,
) {
    let theme = pane.theme;
    let high = |cells: &[Text]| cells.iter().map(Text::height).max().unwrap_or(1);
    let row = |cells: Vec<Text<'static>>| {
        let height = columns(high(&cells));
        (Row::new(cells).height(height), height)
    };
    let (head, mut height) = row(head);
    let rows: Vec<(Row, u16)> = rows.into_iter().map(row).collect();
    height += rows.iter().map(|(_, height)| height).sum::<u16>();
    let rows = rows.into_iter().zip(&dashboard.views);
    let rows = rows.map(|((row, _), view)| row.style(look(view, theme)));
    let widths = widths.iter().map(|width| Constraint::Length(*width));
    let mut table = Table::new(rows, widths)
        .header(head.style(theme.emphasis()))
        .row_highlight_style(theme.selection());
    if let Some(total) = total {
        let (total, lines) = row(total);
        height += lines;
        table = table.footer(total.style(theme.emphasis()));
    }
    let mut state = TableState::new().with_selected(dashboard.place());
    let area = pane.take(height).area;
    StatefulWidget::render(table, area, pane.buffer, &mut state);
}

fn figures(dashboard: &Dashboard, view: &LearnerView, theme: &Theme) -> [String; 9] {
    let position = view.position.as_ref();
    [
        name(dashboard, view, theme),
        position.map_or("-".into(), ToString::to_string),
        view.done_of_steps(),
        view.steps_skipped.to_string(),
        view.attempts.to_string(),
        view.hints.to_string(),
        format!("{:.0}", view.minutes),
        view.last_seen(),
        view.remarks(false),
    ]
}
