//! Steps of lessons: questions, hints, kernels, cases, and the way from one to the next.

use super::*;
use crate::tui::update::{navigate, recall};
use crate::tui::{News, Reply};
use tinyllama_lesson::{Lesson, Quiz, QuizAnswer, Step};
use tinyllama_session::{Record, Scope, SessionEvent};

#[test]
fn a_wrong_answer_gets_its_reason_and_only_the_right_one_completes() {
    let mut script = in_the_first_lesson();
    script.keys("n n n n enter");
    assert_eq!(script.step(), "question");
    let answers = |script: &Script| {
        script
            .model
            .progress_at(&StepRef::new("first", "question"))
            .answers
            .len()
    };
    assert_eq!(answers(&script), 0, "Enter on nothing answers nothing");
    script.keys("1 enter");
    let mut shown = vec![script.text()];
    assert_eq!(status(&script, "question"), StepStatus::Open);
    script.keys("2 enter");
    shown.push(script.text());
    assert_eq!(status(&script, "question"), StepStatus::Done);

    script.keys("enter enter");
    script.type_text("six");
    script.keys("enter");
    let Some(Overlay::Ask(ask)) = &script.model.overlay else {
        panic!("the field stays open");
    };
    shown.push(ask.problem.clone().expect("what is wrong"));
    script.keys("backspace backspace backspace 5 enter");
    assert_eq!(status(&script, "number"), StepStatus::Open);
    let number = script.model.course.step("first", "number").unwrap();
    let Some(Quiz::Number(number)) = number.as_quiz() else {
        panic!("{number:?}");
    };
    let because = number.because.clone();
    assert!(
        !script.text().contains(&because),
        "the explanation is shown only after the answer"
    );
    script.keys("enter 6 enter");
    assert_eq!(status(&script, "number"), StepStatus::Done);
    assert!(script.text().contains(&because));
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_reset_by_an_instructor_takes_the_marks_off_the_open_question() {
    let mut script = in_the_first_lesson();
    script.keys("n n n n");
    let fresh = script.text();
    script.keys("1 enter");
    assert_ne!(script.text(), fresh);
    let event = SessionEvent::Reset {
        backup: "reset-1".into(),
        scope: Scope::Step(StepRef::new("first", "question")),
        by: "Teacher".into(),
    };
    let (n, time) = (99, String::new());
    script.send(Message::Session(Box::new(Reply {
        records: vec![Record { n, time, event }],
        unsaved: 0,
        measured: None,
        news: News::None,
    })));
    assert_eq!(script.text(), fresh);
}

#[test]
fn another_learner_sees_the_choices_in_another_order() {
    let mut script = in_the_first_lesson();
    Arc::make_mut(&mut script.model.state).identity = "dora".into();
    script.keys("n n n n 1 enter");
    assert_eq!(status(&script, "question"), StepStatus::Done);
}

#[test]
fn a_locked_lesson_says_what_it_needs_and_skipping_everything_opens_it() {
    let mut script = Script::in_new_folder();
    script.keys("end up up up enter enter");
    assert_eq!(script.step(), "");
    let first = &script.model.course.lesson("first").unwrap().title;
    assert!(script.notice().contains(first), "{}", script.notice());
    script.keys("up down enter");
    assert_eq!(
        script.model.step.as_ref().map(|it| &*it.at.lesson),
        Some("second")
    );
    assert!(script.model.state.opened_early.contains("second"));

    // From the palette, the second press of the key is for the lesson that was chosen there.
    let mut script = in_the_first_lesson();
    let second = script.model.course.lesson("second").unwrap().title.clone();
    script.keys(":");
    script.type_text(&second);
    script.keys("enter");
    assert!(script.notice().contains(&second), "{}", script.notice());
    assert!(script.model.state.opened_early.is_empty());
    script.keys("enter");
    assert!(script.model.state.opened_early.contains("second"));

    let mut script = in_the_first_lesson();
    script.keys("s");
    assert!(
        script.notice().contains("is done"),
        "what is done cannot be skipped: {}",
        script.notice()
    );
    while script.step() != "again" {
        let here = script.step().to_string();
        if status(&script, &here) == StepStatus::Open {
            script.keys("s");
            script.type_text("no time");
            script.keys("enter");
            assert_eq!(
                status(&script, &here),
                StepStatus::Skipped("no time".into())
            );
        } else {
            script.keys("n");
        }
        assert_ne!(script.step(), here, "{}", script.notice());
    }
    assert_eq!(script.step(), "again", "{}", script.notice());
}

#[test]
fn hints_come_one_by_one_and_reflections_are_kept_when_the_field_is_left() {
    let mut script = in_the_first_lesson();
    script.keys("n n h");
    assert!(script.text().contains("Hint 1 of 2"));
    assert!(!script.text().contains("Another hint."));
    script.keys("h h");
    assert!(script.text().contains("Hint 2 of 2"));
    insta::assert_snapshot!(script.notice());

    script.keys("n n n n");
    assert_eq!(script.step(), "thoughts");
    script.keys("enter");
    let learned = "quite a lot";
    script.type_text(learned);
    script.keys("enter");
    script.type_text("q");
    script.keys("esc");
    let shown = script.text();
    assert!(shown.contains(&format!("{learned}\n  q")), "{shown}");
    assert_eq!(status(&script, "thoughts"), StepStatus::Done);
    script.keys("e");
    let handed = script.handler.handed_over.last();
    let written = format!("{learned}\nq");
    assert!(matches!(handed, Some(HandOver::Write { text, .. }) if *text == written));
}

#[test]
fn the_first_page_starts_the_first_run_and_a_lesson_ends_with_a_page() {
    let mut script = Script::at_first();
    assert!(matches!(script.model.overlay, Some(Overlay::Panel(_))));
    script.keys("enter");
    assert_eq!(script.step(), "baseline");
    let id = script.started().expect("the first run");
    script.finish(id);
    script.open(StepRef::new("first", "text"));
    while script.model.overlay.is_none() {
        match status(&script, script.step()) {
            StepStatus::Open => script.keys("s x enter"),
            _ => script.keys("n"),
        }
    }
    insta::assert_snapshot!(drawn(&mut script, 80, 40));
    script.keys("enter");
    assert_eq!(script.step(), "again");
}

#[test]
fn after_the_first_run_the_lesson_begins_without_a_word_about_its_end() {
    let mut script = Script::with_course(Course::load(&CourseSource::BuiltIn).unwrap());
    script.keys("enter");
    let id = script.started().expect("the first run");
    script.finish(id);
    script.keys("enter");
    assert!(script.look().contains("Step 1 of 6"), "{}", script.look());
    assert!(script.model.notice.is_none(), "{:?}", script.model.notice);
    script.keys("n");
    assert!(script.look().contains("Step 2 of 6"), "{}", script.look());
    assert!(script.model.notice.is_none(), "{:?}", script.model.notice);
}

#[test]
fn a_choice_that_was_wrong_is_not_counted_once_more() {
    let mut script = in_the_first_lesson();
    script.keys("n n n n 1 enter");
    let attempts = |script: &Script| {
        let step = script.model.state.step("first", "question");
        step.map(|step| step.attempts)
    };
    assert_eq!(attempts(&script), Some(1));
    script.keys("enter");
    assert_eq!(attempts(&script), Some(1));
    let said = &script.model.notice.as_ref().expect("a notice").text;
    insta::assert_snapshot!(said, @"That answer was wrong before; choose another one.");
    script.keys("2 enter");
    assert_eq!(attempts(&script), Some(2));
    assert_eq!(status(&script, "question"), StepStatus::Done);
}

#[test]
fn a_kernel_has_hints_a_solution_a_new_beginning_and_a_bench() {
    let mut script = Script::in_new_folder();
    let folder = tempfile::tempdir().expect("a folder");
    script.model.workbench = folder.path().to_path_buf();
    script.open(StepRef::new("kinds", "kernel"));
    let screen = drawn(&mut script, 120, 30);
    for key in ["h hint", "S solution", "N begin anew", "B time it"] {
        assert!(screen.contains(key), "{key}: {screen}");
    }
    for columns in [60, 80] {
        let text = drawn(&mut script, columns, 24);
        assert!(text.contains("M machine"), "{text}");
        script.keys("v");
        let figures = drawn(&mut script, columns, 24);
        script.keys("v");
        assert!(figures.contains("M machine"), "{figures}");
    }
    script.keys("h");
    assert!(
        unwrapped(&script).contains("Hint 1 of "),
        "{}",
        script.text()
    );
    script.keys("S");
    let solution = drawn(&mut script, 120, 50);
    assert!(solution.contains("out[i] = "), "{solution}");
    script.keys("esc");
    let file = folder.path().join("elementwise.hip");
    std::fs::write(&file, "mine").expect("a file");
    script.keys("N");
    let kept = std::fs::read_to_string(file.with_extension("1.hip"));
    assert_eq!(kept.expect("a file"), "mine");
    assert!(
        std::fs::read_to_string(&file)
            .expect("a file")
            .contains("scale_add")
    );
    std::fs::remove_file(&file).expect("a file");
    script.keys("B");
    assert!(file.exists(), "a file that was not opened yet is begun");
    assert!(
        script.handler.handed_over.is_empty(),
        "the guess comes first"
    );
    script.type_text("less");
    script.keys("enter");
    let asked = script.handler.handed_over.last();
    let Some(HandOver::Command(phrase)) = asked else {
        panic!("{asked:?}");
    };
    assert_eq!(phrase[..3], ["workbench", "bench", "elementwise"]);
}

#[test]
fn a_case_offers_nothing_twice_and_a_solved_one_goes_on_with_enter() {
    let mut script = Script::in_new_folder();
    script.open(StepRef::new("kinds", "case"));
    let mut bars = vec![bar(&mut script)];
    script.keys("2 enter");
    let measured = script.started().expect("a measurement");
    script.finish(measured);
    // Enter leads from the figures to the text with the lines to choose from.
    script.keys("enter");
    bars.push(bar(&mut script));
    script.keys("3 enter 5 enter");
    let fixed = script.started().expect("the fix");
    script.finish(fixed);
    script.keys("esc");
    let case = StepRef::new("kinds", "case");
    assert_eq!(script.model.progress_at(&case).status, StepStatus::Done);
    bars.push(bar(&mut script));
    insta::assert_snapshot!(bars.join("\n"));
    script.keys("enter");
    assert_eq!(script.started(), None, "no run is made again");
}

#[test]
fn from_a_lessons_end_enter_leads_from_open_step_to_open_step() {
    let mut script = in_the_first_lesson();
    script.keys("n n n n 2 enter");
    assert_eq!(status(&script, "question"), StepStatus::Done);
    script.open(StepRef::new("first", "thoughts"));
    let mut steps = Vec::new();
    for _ in 0..4 {
        script.keys("n");
        steps.push(script.step().to_string());
    }
    assert_eq!(steps, ["guess", "baseline", "number", "thoughts"]);
    let mut notices = vec![script.notice().to_owned()];
    for step in ["thoughts", "guess", "baseline"] {
        assert_eq!(script.step(), step);
        script.keys("s x enter");
    }
    assert_eq!(script.step(), "number");
    script.keys("n");
    assert_eq!(script.step(), "number", "there is no other one");
    notices.push(script.notice().to_owned());
    insta::assert_snapshot!(notices.join("\n"));
}

#[test]
fn a_question_seen_again_shows_what_was_right_and_why() {
    let mut script = in_the_first_lesson();
    script.keys("n n n n 2 enter n enter");
    script.type_text("6");
    script.keys("enter");
    let shown = ["question", "number"].map(|step| {
        script.open(StepRef::new("first", step));
        script.text()
    });
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_path_is_chosen_on_the_first_page_and_the_outline_shows_what_is_on_it() {
    let course = Course::load(&CourseSource::BuiltIn).unwrap();
    let mut script = Script::with_course(course);
    assert!(
        drawn(&mut script, 99, 60).contains("proof"),
        "the welcome names the paths"
    );
    script.keys("P ?");
    let help = drawn(&mut script, 80, 24);
    assert!(help.contains("proof: one question"), "{help}");
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "Letters of a name shorten this list.",
        "\"Paths through the course\" says what each leaves out.",
    ] {
        assert!(words.contains(said), "{help}");
    }
    script.keys("p r o o f enter");
    let path = script.model.state.path.clone();
    assert_eq!(path.map(|path| path.id).as_deref(), Some("proof"));
    script.keys("esc");
    let outline = drawn(&mut script, 99, 60);
    let lines = outline.lines().map(str::trim_end);
    let shown: Vec<&str> = lines
        .skip_while(|line| !line.contains("Foundation"))
        .take_while(|line| !line.contains("Optimization"))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
    script.keys("P w h o l e enter");
    assert_eq!(script.model.state.path, None);
}

#[test]
fn a_whole_lesson_is_skipped_with_its_reason_and_the_next_one_follows() {
    let mut script = in_the_first_lesson();
    script.keys("X");
    script.type_text("known");
    script.keys("enter");
    let state = script.handler.session.state();
    let steps = &state.lessons["first"];
    let skipped = StepStatus::Skipped("known".into());
    let count = steps.values().filter(|step| step.status == skipped).count();
    assert!(count > 3, "{steps:?}");
    assert!(steps.values().all(|step| step.status != StepStatus::Open));
    assert_ne!(script.model.step.as_ref().unwrap().at.lesson, "first");
}

#[test]
fn an_earlier_question_is_asked_again_without_its_answer() {
    let mut script = Script::in_new_folder();
    script.keys("enter enter n n n n");
    let at = script.model.step.as_ref().unwrap().at.clone();
    script.keys("2 enter");
    let progress = |script: &Script| script.handler.session.state().progress(&at);
    let before = progress(&script);
    assert!(!before.answers.is_empty());
    recall::ask(&mut script.model, Some(at.clone()));
    assert!(
        script.look().contains("asked again, 1 of 1"),
        "{}",
        script.screen()
    );
    assert_eq!(script.model.progress_at(&at).answers.len(), 0);
    script.keys("1 enter");
    let after = progress(&script);
    assert_eq!(after.recalled.len(), 1);
    assert_eq!(after.answers.len(), before.answers.len());
    script.keys("enter");
    assert!(script.model.step.as_ref().unwrap().recall.is_none());
    let right = usize::from(after.recalled[0]);
    let said = format!("Earlier questions: {right} of 1 right.");
    assert!(script.look().contains(&said), "{}", script.screen());
}

/// A learner who has answered the questions of the first session, one of them wrong at first, and has skipped the rest.
fn at_the_end_of_the_first_session() -> (Script, StepRef) {
    let course = Course::load(&CourseSource::BuiltIn).unwrap();
    let mut script = Script::with_course(course);
    let course = Arc::clone(&script.model.course);
    script.model.clear_overlays();
    let session = &mut script.handler.session;
    let mut missed = None;
    for lesson in course.lessons().filter(|it| it.session == "foundation") {
        for step in &lesson.steps {
            let at = StepRef::new(&lesson.id, &step.id);
            let Some(right) = step.as_quiz().and_then(Quiz::solution) else {
                continue;
            };
            if step.again.is_some() && missed.is_none() {
                let wrong = QuizAnswer::Number(-1.0);
                session.answer(at.clone(), &course, step, wrong).unwrap();
                missed = Some(at.clone());
            }
            session.answer(at, &course, step, right).unwrap();
        }
        session.skip_lesson(lesson, "").unwrap();
    }
    let state = session.state().clone();
    script.model.state = Arc::new(state);
    (script, missed.unwrap())
}

fn asked_again(script: &mut Script, missed: &StepRef, of: usize) {
    let shown = script.look();
    let place = format!("asked again, 1 of {of}");
    assert!(shown.contains(&place), "{shown}");
    assert_eq!(&script.model.step.as_ref().unwrap().at, missed);
    let course = Arc::clone(&script.model.course);
    let step = course.step(&missed.lesson, &missed.step).unwrap();
    let other = step.asked_again();
    assert_ne!(other.text, step.text, "it returns with other figures");
    let begin: String = other.text.split_whitespace().take(4).collect();
    let text: String = script.text().split_whitespace().collect();
    assert!(text.contains(&begin), "{text}");
}

#[test]
fn a_session_of_the_course_begins_with_three_earlier_questions_the_missed_one_first() {
    let (mut script, missed) = at_the_end_of_the_first_session();
    let course = Arc::clone(&script.model.course);
    let of = |session: &'static str| course.lessons().filter(move |it| it.session == session);
    let at = |lesson: &Lesson, step: &Step| StepRef::new(&lesson.id, &step.id);
    let (last, next) = (of("foundation").last(), of("optimization").next());
    let (last, next) = (last.unwrap(), next.unwrap());
    let second = at(next, &next.steps[0]);
    script.open(at(last, last.steps.last().unwrap()));
    script.keys("n");
    let end = script.look();
    let title = end.lines().find(|line| line.starts_with('┌'));
    insta::assert_snapshot!(title.unwrap(), @"┌ The end of a lesson ─────────────────────────────────────────────────────────┐");
    script.keys("enter");
    asked_again(&mut script, &missed, 3);
    script.keys("n n n");
    assert_eq!(script.model.step.as_ref().unwrap().at, second);
    assert!(script.model.step.as_ref().unwrap().recall.is_none());

    // The same from the outline, and only before the first step.
    let (mut script, missed) = at_the_end_of_the_first_session();
    navigate::open(&mut script.model, second.clone());
    asked_again(&mut script, &missed, 3);
    script.keys("n n n");
    assert_eq!(script.model.step.as_ref().unwrap().at, second);
    script.open(at(next, &next.steps[1]));
    assert_eq!(script.step(), next.steps[1].id);
}

#[test]
fn the_course_ends_with_a_test_of_fifteen_questions() {
    let (mut script, missed) = at_the_end_of_the_first_session();
    let course = Arc::clone(&script.model.course);
    let others = course.steps().filter_map(|(lesson, step)| {
        let right = step.as_quiz().and_then(Quiz::solution)?;
        Some((StepRef::new(&lesson.id, &step.id), step, right))
    });
    let session = &mut script.handler.session;
    for (at, step, right) in others.filter(|it| it.1.as_quiz().unwrap().asked_step().is_none()) {
        session.answer(at, &course, step, right).unwrap();
    }
    for lesson in course.lessons() {
        session.skip_lesson(lesson, "").unwrap();
    }
    let last = course.lessons().last().unwrap();
    let last = StepRef::new(&last.id, &last.steps.last().unwrap().id);
    script.model.state = Arc::new(script.handler.session.state().clone());
    script.open(last);
    script.keys("n esc");
    asked_again(&mut script, &missed, 15);
}
