//! Draws one row per learner and one column per lesson, grouped by the sessions of the course.

use ratatui::prelude::{Line, Span, Style, Text};
use unicode_width::UnicodeWidthStr;

use super::{columns, draw_table, folded, name};
use crate::tui::widgets::text::cut_middle;
use crate::tui::{Pane, Theme};
use tinyllama_base::table::shortened_apart;
use tinyllama_lesson::Course;
use tinyllama_tutor_core::instructor::{Dashboard, LearnerView};

/// Columns of the minutes and of the time since the learner's last action.
const TIMES: [u16; 2] = [5, 7];

/// Columns of remarks that names leave free: these, or fewer if no remark is so long.
const LEAST_REMARKS: u16 = 18;
const FEWEST_REMARKS: u16 = 12;
const LEAST_NAME: u16 = 14;

/// Lessons of one session.
struct LessonGroup<'a> {
    title: &'a str,
    /// Indices of lessons in the course, from 0.
    lessons: std::ops::Range<usize>,
}

impl LessonGroup<'_> {
    /// A short name such as `F3`, for the third lesson of the foundation.
    fn label(&self, at: usize) -> String {
        let letter = self.title.chars().next().unwrap_or(' ');
        format!("{letter}{}", at - self.lessons.start + 1)
    }
}

fn groups(course: &Course) -> Vec<LessonGroup<'_>> {
    let mut begin = 0;
    let groups = course.sessions.iter().map(|session| {
        let lessons = begin..begin + session.lessons.len();
        begin = lessons.end;
        let title = &session.title;
        LessonGroup { title, lessons }
    });
    groups.collect()
}

/// The names of all columns.
pub fn labels(course: &Course) -> Vec<String> {
    let groups = groups(course).into_iter();
    let labels = groups.flat_map(|group| {
        let lessons = group.lessons.clone();
        lessons.map(move |at| group.label(at))
    });
    labels.collect()
}

/// Describes the selected column, and says how far how many learners have come in it.
pub fn described(dashboard: &Dashboard, course: &Course) -> String {
    let Some(at) = dashboard.described() else {
        return String::new();
    };
    let groups = groups(course);
    let group = groups.iter().find(|group| group.lessons.contains(&at));
    let (Some(group), Some(lesson)) = (group, course.lessons().nth(at)) else {
        return String::new();
    };
    let views = dashboard.views.iter();
    let lessons = views.clone().filter_map(|view| view.lessons.get(at));
    // A learner who has not done a step of it yet may be at its first one.
    let is_there = |view: &LearnerView| {
        let place = view.position.as_ref();
        place.is_some_and(|place| place.at.lesson == lesson.id)
    };
    let begun = views.filter(|view| {
        view.lessons
            .get(at)
            .is_some_and(|lesson| lesson.finished > 0)
            || is_there(view)
    });
    let begun = begun.count();
    let finished = lessons
        .clone()
        .filter(|lesson| lesson.is_finished())
        .count();
    format!(
        "{} {}: {finished} finished it, {} in it, {} not begun",
        group.label(at),
        lesson.title,
        begun - finished,
        lessons.count() - begun
    )
}

pub fn draw(dashboard: &Dashboard, course: &Course, pane: Pane) {
    let (theme, area) = (pane.theme, pane.area);
    let groups = groups(course);
    let names: Vec<String> = dashboard
        .views
        .iter()
        .map(|view| name(dashboard, view, theme))
        .collect();
    let longest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let lessons: usize = groups.iter().map(|group| group.lessons.len()).sum();
    let grid = |cell: usize| columns(lessons * cell + groups.len());
    // A long name is cut to leave the remarks at least a word or two.
    let remarks = dashboard
        .views
        .iter()
        .map(|view| view.remarks(false).width());
    let remarks = columns(remarks.max().unwrap_or(0)).clamp(FEWEST_REMARKS, LEAST_REMARKS);
    let others = grid(1) + TIMES.iter().sum::<u16>() + 4 + remarks;
    let most = area.width.saturating_sub(others).max(LEAST_NAME);
    let longest = columns(longest.max(" learner".len())).min(most);
    // Columns that remain for remarks, with a blank between columns.
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let cut = |name: &str| cut_middle(name, longest.into(), theme);
    let names = shortened_apart(&all, longest.into(), theme.glyphs.ellipsis, cut);
    let left = |cell: usize| {
        let taken = longest + grid(cell) + TIMES.iter().sum::<u16>() + 4;
        area.width.saturating_sub(taken)
    };
    let cell = match (left(3), left(2)) {
        (36.., _) => 3,
        (_, 24..) => 2,
        _ => 1,
    };
    let widths = [longest, grid(cell), TIMES[0], TIMES[1], left(cell)];
    let rows = dashboard.views.iter().zip(names).map(|(view, name)| {
        let mut cells = Vec::new();
        for group in &groups {
            cells.extend(
                group
                    .lessons
                    .clone()
                    .map(|at| of_lesson(view, at, cell, theme)),
            );
            cells.push(" ".into());
        }
        vec![
            Text::from(name),
            Text::from(Line::from(cells)),
            Text::from(format!("{:.0}", view.minutes)),
            Text::from(view.last_seen()),
            folded(&view.remarks(false), left(cell), theme),
        ]
    });
    let total = total(dashboard, &groups, cell, left(cell));
    draw_table(
        dashboard,
        rows.collect(),
        head(dashboard, &groups, cell, theme),
        &widths,
        (!dashboard.views.is_empty()).then_some(total),
        pane,
    );
}

/// The sessions' titles above the lessons' numbers.
fn head(
    dashboard: &Dashboard,
    groups: &[LessonGroup],
    cell: usize,
    theme: &Theme,
) -> Vec<Text<'static>> {
    let mut titles = String::new();
    let mut numbers = Vec::new();
    for group in groups {
        let wide = group.lessons.len() * cell;
        let title = match group.title.width() <= wide {
            true => group.title.to_owned(),
            false => group.title.chars().take(1).collect(),
        };
        titles.push_str(&format!("{title:<wide$} "));
        for at in group.lessons.clone() {
            let label = group.label(at);
            let label = match cell {
                3 if label.len() < cell => label,
                // A blank to the next column says more than the letter once more.
                3 => label.chars().skip(1).collect(),
                _ => label.chars().last().into_iter().collect(),
            };
            let style = match dashboard.described() == Some(at) {
                true => theme.selection(),
                false => Style::new(),
            };
            numbers.push(Span::styled(label.clone(), style));
            numbers.push(Span::raw(" ".repeat(cell.saturating_sub(label.len()))));
        }
        numbers.push(" ".into());
    }
    let below = |text: &str| Text::from(vec![Line::default(), Line::from(text.to_owned())]);
    vec![
        below(" learner"),
        Text::from(vec![Line::from(titles), Line::from(numbers)]),
        below("min"),
        below("last"),
        below("remarks"),
    ]
}

/// Number of learners who have finished each lesson.
fn total(
    dashboard: &Dashboard,
    groups: &[LessonGroup],
    cell: usize,
    room: u16,
) -> Vec<Text<'static>> {
    let finished = |at: usize| {
        let lessons = dashboard
            .views
            .iter()
            .filter_map(|view| view.lessons.get(at));
        lessons.filter(|lesson| lesson.is_finished()).count()
    };
    let mut counts = String::new();
    for group in groups {
        for at in group.lessons.clone() {
            let count = match finished(at) {
                0 => String::new(),
                many if many > 9 && cell == 1 => "+".into(),
                count => count.to_string(),
            };
            counts.push_str(&format!("{count:<cell$}"));
        }
        counts.push(' ');
    }
    let blank = Text::default;
    // In more lines it would hide learners.
    let text = match room {
        26.. => Text::from("learners past each lesson"),
        _ => blank(),
    };
    vec![
        Text::from(" past it"),
        Text::from(counts),
        blank(),
        blank(),
        text,
    ]
}

/// One sign: finished, finished with skipped steps, tenths of the steps done, the learner's position without a
/// finished step, or not begun.
fn of_lesson(view: &LearnerView, at: usize, cell: usize, theme: &Theme) -> Span<'static> {
    let Some(lesson) = view.lessons.get(at) else {
        return " ".repeat(cell).into();
    };
    let here = view.position.as_ref().map(|position| &position.at.lesson);
    let (glyph, style) = match (lesson.finished, lesson.skipped) {
        (_, 0) if lesson.is_finished() => (theme.glyphs.check.to_owned(), theme.good()),
        _ if lesson.is_finished() => (theme.glyphs.skipped.to_owned(), theme.warning()),
        (0, _) if here == Some(&lesson.id) => (theme.glyphs.here.to_owned(), theme.accent()),
        (0, _) => (".".to_owned(), theme.muted()),
        (finished, _) => {
            let tenths = (10 * finished / lesson.of.max(1)).clamp(1, 9);
            (tenths.to_string(), theme.accent())
        }
    };
    Span::styled(format!("{glyph:<cell$}"), style)
}
