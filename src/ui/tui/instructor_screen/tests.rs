use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::tui::sheet::sheet;
use tinyllama_lesson::CourseSource;
use tinyllama_session::StepRef;
use tinyllama_session::order::OrderAction;
use tinyllama_tutor_core::instructor::dashboard::{InstructorAction, Prompt};
use tinyllama_tutor_core::instructor::stuck::Sign;
use tinyllama_tutor_core::instructor::view::{LearnerPosition, LearnerView, LessonView};

fn view(name: &str, signs: Vec<Sign>) -> LearnerView {
    LearnerView {
        name: name.into(),
        problem: None,
        path: None,
        position: Some(LearnerPosition {
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
        steps_skipped: 0,
        steps: 36,
        lessons: ["welcome", "first-baseline", "memory"]
            .map(|id| LessonView {
                id: id.into(),
                finished: if id == "welcome" { 2 } else { 0 },
                skipped: 0,
                of: 4,
            })
            .into(),
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

fn press(dashboard: &mut Dashboard, keys: &str) -> KeyOutcome {
    let course = Course::load(&CourseSource::BuiltIn).unwrap();
    let mut answer = KeyOutcome::Nothing;
    for c in keys.chars() {
        let code = match c {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\u{1b}' => KeyCode::Esc,
            c => KeyCode::Char(c),
        };
        answer = on_key(dashboard, KeyEvent::new(code, KeyModifiers::NONE), &course);
    }
    answer
}

#[test]
fn keys_come_to_the_deeds_they_name() {
    let mut shown = dashboard();
    let text = "Well done.".into();
    let orders = vec![("ada".into(), OrderAction::Message { text })];
    assert_eq!(
        press(&mut shown, "jmWell done.\n"),
        KeyOutcome::Do(InstructorAction::To { orders })
    );
    // The selection stays with the learner when the order changes.
    shown.refresh(vec![view("ada", vec![]), view("eve", vec![])]);
    assert_eq!(shown.selected().unwrap().name, "ada");

    assert_eq!(press(&mut shown, "rn"), KeyOutcome::Nothing);
    assert_eq!(shown.entry, None);
    let KeyOutcome::Do(InstructorAction::To { orders }) = press(&mut shown, "ry") else {
        panic!("no reset");
    };
    assert!(
        matches!(&orders[..], [(name, OrderAction::Reset { .. })] if name == "ada"),
        "{orders:?}"
    );
    assert_eq!(press(&mut shown, "unowhere\n"), KeyOutcome::Nothing);
    assert!(shown.news.contains("no lesson `nowhere`"));
    // The answer names all lessons, and none is cut off.
    let answer = grid(&shown, (80, 24));
    assert!(answer.contains("regression-and-wrap-up"), "{answer}");
    let pinned = press(&mut shown, "pwelcome\n");
    assert_eq!(
        pinned,
        KeyOutcome::Do(InstructorAction::Pin {
            lesson: Some("welcome".into())
        })
    );
    assert_eq!(press(&mut shown, "umeas\t"), KeyOutcome::Nothing);
    assert_eq!(shown.text, "measure-well", "the only lesson that begins so");
    let unlocked = press(&mut shown, "\n");
    assert!(
        matches!(unlocked, KeyOutcome::Do(InstructorAction::To { .. })),
        "{unlocked:?}"
    );
    press(&mut shown, "uits LIMITS\t");
    assert_eq!(shown.text, "roofline", "a part of the title as it is shown");
    press(&mut shown, "\u{1b}");
    assert_eq!(press(&mut shown, "\n"), KeyOutcome::Report("ada".into()));
    assert_eq!(press(&mut shown, "?"), KeyOutcome::Help);
    assert_eq!(
        press(&mut shown, "\u{1b}"),
        KeyOutcome::Nothing,
        "Esc leaves nothing but an entry"
    );
    assert_eq!(press(&mut shown, "q"), KeyOutcome::Leave);
}

#[test]
fn a_decision_applies_to_every_marked_learner() {
    let learners = |answer: KeyOutcome| match answer {
        KeyOutcome::Do(InstructorAction::To { orders }) => {
            orders.into_iter().map(|(name, _)| name).collect()
        }
        other => vec![format!("{other:?}")],
    };
    let mut shown = dashboard();
    for decision in ["mHello\n", "ry", "ly", "uwelcome\n"] {
        assert_eq!(press(&mut shown, "  "), KeyOutcome::Nothing);
        assert_eq!(
            learners(press(&mut shown, decision)),
            ["eve", "ada"],
            "{decision}"
        );
        // Esc clears the marks; the selection stands on the last learner.
        press(&mut shown, "\u{1b}");
        assert_eq!(learners(press(&mut shown, decision)), ["ada"], "{decision}");
        shown.move_by(-1);
    }
    press(&mut shown, "  ");
    let learners = vec!["ada".to_owned(), "eve".to_owned()];
    let KeyOutcome::Do(InstructorAction::RestoreNewest {
        learners: mut found,
    }) = press(&mut shown, "b")
    else {
        panic!("nothing is restored");
    };
    found.sort();
    assert_eq!(found, learners);
}

/// The grid at a size, as text.
fn grid(shown: &Dashboard, (width, height): (u16, u16)) -> String {
    let course = Course::load(&CourseSource::BuiltIn).unwrap();
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    let theme = Theme::default();
    draw(
        shown,
        &course,
        "Class x",
        Pane::new(buffer.area, &mut buffer, &theme),
    );
    crate::tui::sheet::text(&buffer)
}

#[test]
fn the_grid_shows_whole_names_sessions_titles_totals_and_skipped_steps() {
    let name = "carla-maria.von-und-zu-hohenstein-langenfeld";
    let mut skipping = view(
        name,
        vec![
            Sign::WrongAnswers { times: 3 },
            Sign::Idle { minutes: 12.0 },
        ],
    );
    skipping.lessons[0].finished = 4;
    skipping.lessons[0].skipped = 2;
    (skipping.steps_finished, skipping.steps_skipped) = (13, 3);
    let mut done = view("ada", vec![]);
    done.lessons[0].finished = 4;
    let mut shown = Dashboard::default();
    shown.refresh(vec![skipping, done]);
    // Wide enough for the columns of all lessons, three characters each.
    let lessons = Course::load(&CourseSource::BuiltIn)
        .unwrap()
        .lessons()
        .count() as u16;
    let width = 101 + 3 * lessons;
    let wide = grid(&shown, (width, 50));
    for expected in [
        name,
        "Foundation",
        "F1 F2 F3",
        "O1 O2",
        "F1 What you will do",
        "2 finished it",
        "10 done, 3 skipped",
        "past it",
    ] {
        assert!(wide.contains(expected), "{expected}:\n{wide}");
    }
    let row = |name: &str| wide.lines().find(|line| line.contains(name)).unwrap();
    assert!(
        row(name).contains('–') && !row(name).contains('✓'),
        "{wide}"
    );
    assert!(row(" ada").contains('✓'), "{wide}");
    // A learner may be in a lesson without having done a step of it.
    let mut at_the_start = view("cy", vec![]);
    at_the_start.lessons[0].finished = 0;
    let mut shown_too = Dashboard::default();
    shown_too.refresh(vec![at_the_start]);
    let first = grid(&shown_too, (width, 50));
    assert!(
        first.contains("0 finished it, 1 in it, 0 not begun"),
        "{first}"
    );
    let narrow = grid(&shown_too, (60, 20));
    let words: Vec<&str> = narrow.split_whitespace().collect();
    assert!(words.join(" ").contains("1 in it, 0 not begun"), "{narrow}");
    shown.move_column_by(2);
    assert!(grid(&shown, (width, 50)).contains("F3 "));
    // Warnings are complete at 80 columns.
    shown.refresh(vec![view(
        "bo",
        vec![
            Sign::WrongAnswers { times: 3 },
            Sign::Idle { minutes: 12.0 },
        ],
    )]);
    let narrow = grid(&shown, (80, 24));
    let words: Vec<&str> = narrow.split_whitespace().collect();
    assert!(words.join(" ").contains("idle for 12 min"), "{narrow}");
    let beside = [
        Sign::WrongAnswers { times: 3 },
        Sign::Idle { minutes: 12.0 },
    ];
    shown.refresh(vec![view(name, beside.into())]);
    let crowded = grid(&shown, (80, 24));
    let words: Vec<&str> = crowded
        .lines()
        .take(8)
        .flat_map(str::split_whitespace)
        .collect();
    assert!(words.join(" ").contains("idle for 12 min"), "{crowded}");
    let in_table = narrow.lines().take(7).any(|line| line.contains("12 min"));
    assert!(in_table, "{narrow}");
}

#[test]
fn twelve_long_names_are_told_apart_and_none_is_hidden_at_80x24() {
    let names = [
        "alexander",
        "andreas",
        "antonia",
        "aurelia",
        "barnabas",
        "beatrice",
        "benedikt",
        "cecilia",
        "clemens",
        "cordula",
        "dominik",
        "dorothea",
    ];
    let long = |name: &str| view(&format!("maximilian-{name}-mustermann"), vec![]);
    let mut shown = Dashboard::default();
    shown.refresh(names.map(long).into());
    let text = grid(&shown, (80, 24));
    let rows: Vec<&str> = text.lines().take(16).collect();
    for name in names {
        assert!(rows.iter().any(|row| row.contains(name)), "{name}: {text}");
    }
}

#[test]
fn lessons_with_two_digits_keep_a_blank_and_short_remarks_leave_room_for_positions() {
    let mut shown = dashboard();
    let wide = grid(&shown, (200, 50));
    assert!(wide.contains("M9 10 11 12 "), "{wide}");
    let mut ada = view("ada", vec![]);
    ada.position.as_mut().unwrap().at = StepRef::new("first-profile", "one-kernel");
    shown.refresh(vec![ada]);
    shown.in_figures = true;
    let figures = grid(&shown, (80, 24));
    assert!(figures.contains(" first-profile/one-kernel "), "{figures}");
}

#[test]
fn everybody_is_seen_at_every_size_in_every_look() {
    let course = Course::load(&CourseSource::BuiltIn).unwrap();
    for entry in [None, Some(Prompt::Pin)] {
        let mut shown = dashboard();
        shown.entry = entry;
        let sheet = sheet(|pane| draw(&shown, &course, "Class x", pane));
        for expected in ["eve", "ada", "q quit"] {
            assert!(sheet.matches(expected).count() >= 8, "{expected}:\n{sheet}");
        }
    }
    let (mut tiny, theme) = (Buffer::empty(Rect::new(0, 0, 5, 2)), Theme::default());
    draw(
        &dashboard(),
        &course,
        "t",
        Pane::new(tiny.area, &mut tiny, &theme),
    );
}

#[test]
fn learners_are_filtered_and_sorted_by_keys() {
    let mut dashboard = dashboard();
    let names = |dashboard: &Dashboard| -> Vec<String> {
        let views = dashboard.views.iter();
        views.map(|view| view.name.clone()).collect()
    };
    assert_eq!(names(&dashboard), ["eve", "ada"]);
    press(&mut dashboard, "o");
    assert_eq!(names(&dashboard), ["ada", "eve"]);
    assert!(dashboard.news.contains("by name"), "{}", dashboard.news);
    press(&mut dashboard, "/EV\n");
    assert_eq!(names(&dashboard), ["eve"]);
    assert_eq!(dashboard.selected().unwrap().name, "eve");
    assert!(
        dashboard.count().starts_with("1 of 2"),
        "{}",
        dashboard.count()
    );
    // New figures keep filter and order.
    dashboard.refresh(vec![
        view("eve", vec![]),
        view("ada", vec![]),
        view("steve", vec![]),
    ]);
    assert_eq!(names(&dashboard), ["eve", "steve"]);
    press(&mut dashboard, "/what you\n");
    assert_eq!(names(&dashboard).len(), 3, "the lesson's title counts, too");
    press(&mut dashboard, "/nobody\n");
    assert_eq!(press(&mut dashboard, "\n"), KeyOutcome::Nothing);
    press(&mut dashboard, "/\nooo");
    assert_eq!(names(&dashboard), ["eve", "ada", "steve"]);
}
