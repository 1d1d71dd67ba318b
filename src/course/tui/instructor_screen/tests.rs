use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::instructor::dashboard::{Deed, Entry};
use crate::instructor::stuck::Sign;
use crate::instructor::view::{LearnerView, LessonView, Position};
use crate::lesson::Source;
use crate::session::StepRef;
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
        lessons: ["welcome", "first-baseline", "memory"]
            .map(|id| LessonView {
                id: id.into(),
                finished: if id == "welcome" { 2 } else { 0 },
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

fn press(dashboard: &mut Dashboard, keys: &str) -> Answer {
    let course = Course::load(&Source::BuiltIn).unwrap();
    let mut answer = Answer::Nothing;
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
    assert_eq!(press(&mut shown, "umeas\t"), Answer::Nothing);
    assert_eq!(shown.text, "measure-well", "the only lesson that begins so");
    let unlocked = press(&mut shown, "\n");
    assert!(
        matches!(unlocked, Answer::Do(Deed::To { .. })),
        "{unlocked:?}"
    );
    assert_eq!(press(&mut shown, "\n"), Answer::Report("ada".into()));
    assert_eq!(press(&mut shown, "?"), Answer::Help);
    assert_eq!(
        press(&mut shown, "\u{1b}"),
        Answer::Nothing,
        "Esc leaves nothing but an entry"
    );
    assert_eq!(press(&mut shown, "q"), Answer::Leave);
}

#[test]
fn everybody_is_seen_at_every_size_in_every_look() {
    for entry in [None, Some(Entry::Pin)] {
        let mut shown = dashboard();
        shown.entry = entry;
        let sheet = sheet(|pane| draw(&shown, "Class x", pane));
        for expected in ["eve", "ada", "q quit"] {
            assert!(sheet.matches(expected).count() >= 8, "{expected}:\n{sheet}");
        }
    }
    let (mut tiny, theme) = (Buffer::empty(Rect::new(0, 0, 5, 2)), Theme::default());
    draw(&dashboard(), "t", Pane::new(tiny.area, &mut tiny, &theme));
}
