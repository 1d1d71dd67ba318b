//! The instructor's dashboard on a full screen.
//!
//! ```text
//! Class /data/course                                     12 learners, pinned to memory
//! learner   position              steps tries hints  min  last   remarks
//! > ada     memory/long (6 of 7)  28/36    38     4   83  2 min  missed checks 3 times
//!   eve     welcome/doctor        3/36      1     0    4  now    open
//! ─────────────────────────────────────────────────────────────────────────────────────
//! what came of the last decision, or the line that is being entered
//! m message  M all  r reset step  l reset lesson  b restore  u unlock  s solve  p pin  q quit
//! ```

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, StatefulWidget, Table, TableState, Widget, Wrap};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use super::theme::Theme;
use crate::instructor::Class;
use crate::instructor::carry_out::carry_out;
use crate::instructor::dashboard::{Dashboard, Deed, Entry};
use crate::instructor::view::{LearnerView, views};
use crate::lesson::{Course, StepKind};
use crate::session::class_file;

/// How often the class folder is looked at.
const INTERVAL: Duration = Duration::from_secs(2);

/// Below this there is no room for a table.
const SMALLEST: (u16, u16) = (60, 12);

const KEYS: &str = "m message  M to all  r reset step  l reset lesson  b restore  u unlock  s solve  p pin  q quit";

/// Runs the dashboard until the instructor leaves.
///
/// # Errors
/// When the terminal or the class folder cannot be used any more.
pub fn run(mut class: Class, course: &Course, by: &str, theme: Theme) -> Result<()> {
    let mut terminal = ratatui::try_init()?;
    watch_signals()?;
    let result = hold(&mut terminal, &mut class, course, by, &theme);
    ratatui::restore();
    result
}

/// The dashboard keeps nothing of its own: a signal gives the terminal back and ends it.
fn watch_signals() -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGTERM, SIGINT, SIGQUIT])?;
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            if signal != SIGHUP {
                ratatui::restore();
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

fn hold(
    terminal: &mut ratatui::DefaultTerminal,
    class: &mut Class,
    course: &Course,
    by: &str,
    theme: &Theme,
) -> Result<()> {
    let mut dashboard = Dashboard::default();
    let mut looked: Option<Instant> = None;
    let mut dirty = true;
    loop {
        if looked.is_none_or(|looked| looked.elapsed() >= INTERVAL) {
            dirty |= dashboard.refresh(views(class, course)?);
            looked = Some(Instant::now());
        }
        if dirty {
            let pinned = class_file::read(class.folder())?.and_then(|pin| pin.lesson);
            let title = title(class, &dashboard, pinned.as_deref());
            terminal.draw(|frame| {
                render(&dashboard, &title, frame.area(), frame.buffer_mut(), theme);
            })?;
            dirty = false;
        }
        if !event::poll(INTERVAL)? {
            continue;
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                match on_key(&mut dashboard, key, course) {
                    Answer::Leave => return Ok(()),
                    Answer::Nothing => {}
                    Answer::Do(deed) => {
                        let done = carry_out(deed, class, course, by);
                        dashboard.news = done.unwrap_or_else(|error| format!("{error:#}"));
                        looked = None;
                    }
                }
                dirty = true;
            }
            Event::Resize(..) => dirty = true,
            _ => {}
        }
    }
}

fn title(class: &Class, dashboard: &Dashboard, pinned: Option<&str>) -> String {
    let pinned = pinned.map_or(String::new(), |lesson| format!(", pinned to {lesson}"));
    format!(
        "Class {}: {} learners{pinned}",
        class.folder().display(),
        dashboard.views.len()
    )
}

/// What a key came to.
#[derive(Debug, PartialEq)]
enum Answer {
    Nothing,
    Do(Deed),
    Leave,
}

fn on_key(dashboard: &mut Dashboard, key: KeyEvent, course: &Course) -> Answer {
    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
        return Answer::Leave;
    }
    match dashboard.entry.clone() {
        Some(entry) if entry.asks_for_text() => in_text(dashboard, key, course),
        Some(_) => match key.code {
            KeyCode::Char('y' | 'Y') => accept(dashboard, course),
            _ => {
                dashboard.cancel();
                Answer::Nothing
            }
        },
        None => in_list(dashboard, key, course),
    }
}

fn in_text(dashboard: &mut Dashboard, key: KeyEvent, course: &Course) -> Answer {
    match key.code {
        KeyCode::Enter => return accept(dashboard, course),
        KeyCode::Esc => dashboard.cancel(),
        KeyCode::Backspace => drop(dashboard.text.pop()),
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
            dashboard.text.push(c)
        }
        _ => {}
    }
    Answer::Nothing
}

fn accept(dashboard: &mut Dashboard, course: &Course) -> Answer {
    match dashboard.accept(course) {
        Ok(Some(deed)) => Answer::Do(deed),
        Ok(None) => Answer::Nothing,
        Err(error) => {
            dashboard.news = error.to_string();
            Answer::Nothing
        }
    }
}

fn in_list(dashboard: &mut Dashboard, key: KeyEvent, course: &Course) -> Answer {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return Answer::Leave,
        KeyCode::Up | KeyCode::Char('k') => dashboard.move_by(-1),
        KeyCode::Down | KeyCode::Char('j') => dashboard.move_by(1),
        KeyCode::PageUp => dashboard.move_by(-10),
        KeyCode::PageDown => dashboard.move_by(10),
        KeyCode::Char('m') => dashboard.begin(|view| {
            Some(Entry::Message {
                to: Some(view.name.clone()),
            })
        }),
        KeyCode::Char('M') => dashboard.begin(|_| Some(Entry::Message { to: None })),
        KeyCode::Char('u') => dashboard.begin(|view| {
            Some(Entry::Unlock {
                learner: view.name.clone(),
            })
        }),
        KeyCode::Char('p') => dashboard.begin(|_| Some(Entry::Pin)),
        KeyCode::Char('r') => dashboard.begin(|view| {
            Some(Entry::ResetStep {
                learner: view.name.clone(),
                step: step_name(view)?,
            })
        }),
        KeyCode::Char('l') => dashboard.begin(|view| {
            Some(Entry::ResetLesson {
                learner: view.name.clone(),
                lesson: view.position.as_ref()?.at.lesson.clone(),
            })
        }),
        KeyCode::Char('s') => begin_solving(dashboard, course),
        KeyCode::Char('b') => {
            if let Some(view) = dashboard.selected() {
                let learner = view.name.clone();
                return Answer::Do(Deed::RestoreNewest { learner });
            }
        }
        _ => {}
    }
    Answer::Nothing
}

fn step_name(view: &LearnerView) -> Option<String> {
    let at = &view.position.as_ref()?.at;
    Some(format!("{}/{}", at.lesson, at.step))
}

/// A run would take minutes in which the dashboard stands still.
fn begin_solving(dashboard: &mut Dashboard, course: &Course) {
    let Some(view) = dashboard.selected() else {
        return;
    };
    let at = view.position.as_ref().map(|position| &position.at);
    let step = at.and_then(|at| course.step(&at.lesson, &at.step));
    if step.is_some_and(|step| matches!(step.kind, StepKind::Run { .. })) {
        let name = step_name(view).unwrap_or_default();
        dashboard.news = format!(
            "This step trains. In another terminal: tinyllama-tutor instructor solve {} {name}",
            view.name
        );
        return;
    }
    dashboard.begin(|view| {
        Some(Entry::Solve {
            learner: view.name.clone(),
            step: step_name(view)?,
        })
    });
}

fn render(dashboard: &Dashboard, title: &str, area: Rect, buffer: &mut Buffer, theme: &Theme) {
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
    let position = view.position.as_ref().map_or("-".into(), |position| {
        let number = position
            .number
            .map_or("?".into(), |number| number.to_string());
        format!(
            "{}/{} ({number} of {})",
            position.at.lesson, position.at.step, position.of
        )
    });
    let last = view
        .idle_minutes
        .map_or("-".into(), |minutes| match minutes {
            minutes if minutes < 1.0 => "now".into(),
            minutes if minutes < 120.0 => format!("{minutes:.0} min"),
            minutes => format!("{:.0} h", minutes / 60.0),
        });
    [
        view.name.clone(),
        position,
        format!("{}/{}", view.steps_finished, view.steps),
        view.attempts.to_string(),
        view.hints.to_string(),
        format!("{:.0}", view.minutes),
        last,
        remarks(view),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instructor::stuck::Sign;
    use crate::instructor::view::Position;
    use crate::lesson::Source;
    use crate::session::event::StepRef;
    use crate::session::order::Action;
    use crate::tui::sheet::sheet;

    fn view(name: &str, signs: Vec<Sign>) -> LearnerView {
        LearnerView {
            name: name.into(),
            problem: None,
            position: Some(Position {
                at: StepRef::new("welcome", "doctor"),
                lesson: "What you will do, and on what".into(),
                step: "The doctor".into(),
                number: Some(3),
                of: 4,
                status: "open".into(),
            }),
            last: None,
            idle_minutes: Some(3.0),
            open_in: None,
            running: None,
            steps_finished: 2,
            steps: 36,
            attempts: 5,
            hints: 1,
            minutes: 12.0,
            signs,
            damaged_lines: 0,
            orders_waiting: 0,
        }
    }

    fn dashboard() -> Dashboard {
        let mut dashboard = Dashboard::default();
        dashboard.refresh(vec![
            view("eve", vec![Sign::ChecksMissed { times: 3 }]),
            view("ada", vec![]),
        ]);
        dashboard
    }

    fn press(dashboard: &mut Dashboard, keys: &str) -> Answer {
        let course = Course::load(&Source::BuiltIn).unwrap();
        let mut answer = Answer::Nothing;
        for c in keys.chars() {
            let code = if c == '\n' {
                KeyCode::Enter
            } else {
                KeyCode::Char(c)
            };
            answer = on_key(dashboard, KeyEvent::new(code, KeyModifiers::NONE), &course);
        }
        answer
    }

    #[test]
    fn keys_come_to_the_deeds_they_name() {
        let mut shown = dashboard();
        let Answer::Do(Deed::To { learner, action }) = press(&mut shown, "jmWell done.\n") else {
            panic!("no message");
        };
        let text = "Well done.".into();
        assert_eq!(
            (learner.as_str(), action),
            ("ada", Action::Message { text })
        );
        // The selection stays with the learner when the order changes.
        shown.refresh(vec![view("ada", vec![]), view("eve", vec![])]);
        assert_eq!(shown.selected().unwrap().name, "ada");

        assert_eq!(press(&mut shown, "rn"), Answer::Nothing);
        assert_eq!(shown.entry, None);
        let reset = press(&mut shown, "ry");
        assert!(
            matches!(
                reset,
                Answer::Do(Deed::To {
                    action: Action::Reset { .. },
                    ..
                })
            ),
            "{reset:?}"
        );
        assert_eq!(press(&mut shown, "unowhere\n"), Answer::Nothing);
        assert!(shown.news.contains("no lesson `nowhere`"));
        let pinned = press(&mut shown, "pwelcome\n");
        assert_eq!(
            pinned,
            Answer::Do(Deed::Pin {
                lesson: Some("welcome".into())
            })
        );
        assert_eq!(press(&mut shown, "q"), Answer::Leave);
    }

    #[test]
    fn everybody_is_seen_at_every_size_in_every_look() {
        for entry in [None, Some(Entry::Pin)] {
            let mut shown = dashboard();
            shown.entry = entry;
            let sheet = sheet(|area, buffer, theme| render(&shown, "Class x", area, buffer, theme));
            for expected in ["eve", "ada", "welcome/doctor", "q quit"] {
                assert!(sheet.matches(expected).count() >= 8, "{expected}:\n{sheet}");
            }
        }
        let mut tiny = Buffer::empty(Rect::new(0, 0, 5, 2));
        render(
            &dashboard(),
            "t",
            *tiny.area(),
            &mut tiny,
            &Theme::default(),
        );
    }
}
