//! Draws every screen at every size, with colours, without, and in ASCII.

use std::sync::Arc;

use crossterm::event::Event;
use ratatui::prelude::{Buffer, Rect};

use serde_json::Value;

use super::draw;
use crate::tui::model::message::Message;
use crate::tui::panels::PANELS;
use crate::tui::script::Script;
use crate::tui::sheet::{SIZES, sheet, text};
use crate::tui::update::scroll;
use crate::tui::view::document;
use crate::tui::{
    ChoiceList, FocusedScreen, KeyMap, Model, Overlay, Palette, Pane, Reveal, Snippet, StepView,
    Theme,
};
use crate::tui::{News, Reply};
use tinyllama_lesson::{Course, CourseSource, MarkedAnswer, Quiz, QuizAnswer, Step, Verdict};
use tinyllama_runs::recording::documents;
use tinyllama_session::kernel::CheckedKernel;
use tinyllama_session::{CheckResultText, MeasuredRuns, SessionState, StepRef};
use tinyllama_tutor_core::PanelAction;
use tinyllama_tutor_core::output;
use tinyllama_workbench::check::ExerciseCheck;
use tinyllama_workbench::{FindingKind, KernelFile, KernelFinding, find};

/// The screen of a first visit after `keys`.
fn shown(keys: &str) -> String {
    sheet(|pane| picture(&mut Script::in_new_folder(), keys, pane))
}

fn picture(script: &mut Script, keys: &str, pane: Pane) {
    script.model.theme = *pane.theme;
    script.event(Event::Resize(pane.area.width, pane.area.height));
    script.keys(keys);
    draw(&script.model, pane.area, pane.buffer);
}

#[test]
fn outline() {
    insta::assert_snapshot!(shown("enter"));
}

#[test]
fn reading() {
    insta::assert_snapshot!(shown("enter enter"));
}

#[test]
fn a_question_answered_wrong() {
    insta::assert_snapshot!(shown("enter enter n n n n 1 enter"));
}

#[test]
fn a_field_with_a_problem() {
    insta::assert_snapshot!(shown("enter enter n enter x enter"));
}

#[test]
fn help() {
    insta::assert_snapshot!(shown("enter enter ?"));
}

#[test]
fn palette() {
    insta::assert_snapshot!(shown(": l e s"));
}

#[test]
fn checks_after_a_run() {
    insta::assert_snapshot!(sheet(|pane| {
        let mut script = Script::in_new_folder();
        script.event(Event::Resize(pane.area.width, pane.area.height));
        script.keys("enter enter n n enter");
        let id = script.started().expect("a run");
        script.finish(id);
        picture(&mut script, "h", pane);
    }));
}

/// The characters of a screen at the most important sizes.
fn at_sizes(show: impl Fn(&mut Script)) -> String {
    let mut all = String::new();
    for (width, height) in SIZES {
        let mut script = Script::at_first();
        script.event(Event::Resize(width, height));
        show(&mut script);
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        draw(&script.model, area, &mut buffer);
        all.push_str(&format!("=== {width}x{height}\n{}", text(&buffer)));
    }
    all
}

#[test]
fn the_first_page() {
    insta::assert_snapshot!(at_sizes(|_| {}));
}

#[test]
fn a_run_that_ended() {
    insta::assert_snapshot!(at_sizes(|script| {
        script.keys("esc enter enter n enter 2 5 enter enter enter");
        let id = script.started().expect("a run");
        script.finish(id);
    }));
}

#[test]
fn the_end_of_a_lesson() {
    insta::assert_snapshot!(at_sizes(|script| {
        script.keys("esc enter enter n enter 2 5 enter enter");
        while script.model.overlay.is_none() {
            script.keys("s");
            match script.model.overlay {
                Some(_) => script.keys("x enter"),
                None => script.keys("n"),
            }
        }
    }));
}

/// The kinds of step that other tests do not draw, and overlays over a step: name, step, keys.
const SCREENS: &[(&str, [&str; 2], &str)] = &[
    ("prediction", ["first", "guess"], ""),
    ("flags", ["first", "baseline"], "f"),
    ("hints", ["first", "baseline"], "h h"),
    ("choices", ["first", "question"], "2"),
    ("number", ["first", "number"], "enter 7 enter"),
    ("writing", ["first", "thoughts"], "enter A space l o t"),
    ("comparison", ["second", "together"], "enter"),
    ("profile", ["second", "profiler"], ""),
    ("kernel", ["kinds", "kernel"], ""),
    ("command", ["kinds", "command"], ""),
    ("case", ["kinds", "case"], ""),
    ("search", ["first", "text"], "/ t h i n g enter"),
];

#[test]
fn further_steps_panels_and_what_lies_over_them() {
    let screens = SCREENS
        .iter()
        .map(|&(name, at, keys)| (name.to_owned(), at, keys));
    let panels = PANELS.iter();
    let panels = panels.map(|(action, keys, ..)| (action.name(), ["first", "text"], *keys));
    for (name, [lesson, step], keys) in screens.chain(panels) {
        let shown = at_sizes(|script| {
            script.model.clear_overlays();
            script.model.workbench = "workbench".into();
            let state = Arc::make_mut(&mut script.model.state);
            state.unlocked.insert("second".into(), "a picture".into());
            script.open(StepRef::new(lesson, step));
            script.keys(keys);
        });
        insta::assert_snapshot!(&*name, shown);
    }
}

#[test]
fn the_result_of_a_kernel_is_shown() {
    let exercise = find("elementwise").expect("an exercise");
    let tried = |passed: bool| CheckedKernel {
        file: KernelFile {
            path: "elementwise.hip".into(),
            text: exercise.starter().expect("a starter").into(),
        },
        checked: ExerciseCheck {
            exercise: exercise.name.clone(),
            passed,
            cases: 8,
            findings: match passed {
                true => vec![],
                false => vec![KernelFinding::new(
                    FindingKind::Nan,
                    Some(4),
                    "out[0] is NaN",
                )],
            },
            ..ExerciseCheck::default()
        },
    };
    for (name, passed) in [("kernel_failed", false), ("kernel_passed", true)] {
        let shown = at_sizes(|script| {
            script.model.clear_overlays();
            let at = StepRef::new("kinds", "kernel");
            script.open(at.clone());
            script.send(Message::Kernel(at, Ok(Box::new(tried(passed)))));
            script.model.step.as_mut().expect("a step").panel_open = true;
        });
        insta::assert_snapshot!(name, shown);
    }
}

#[test]
fn a_terminal_that_is_too_small_is_asked_for_room_in_whatever_room_there_is() {
    for (width, height) in [(40, 10), (59, 20), (60, 19), (1, 1), (0, 0)] {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let (mut script, theme) = (Script::in_new_folder(), Theme::default());
        picture(&mut script, "", Pane::new(area, &mut buffer, &theme));
        if width >= 40 {
            let shown = text(&buffer);
            let words: Vec<&str> = shown.split_whitespace().collect();
            assert!(words.join(" ").contains("60 and 20"), "{shown}");
        }
    }
}

#[test]
fn no_screen_panics_at_any_size() {
    for keys in [
        "enter",
        "enter enter",
        "enter enter n n n n 1 enter",
        "?",
        ": a",
        "enter enter n enter",
    ] {
        for (width, height) in [
            (60, 20),
            (61, 21),
            (99, 20),
            (100, 20),
            (300, 100),
            (60, 200),
        ] {
            let area = Rect::new(0, 0, width, height);
            let mut buffer = Buffer::empty(area);
            let (mut script, theme) = (Script::in_new_folder(), Theme::default());
            picture(&mut script, keys, Pane::new(area, &mut buffer, &theme));
        }
    }
}

/// Next to figures, the outline is hidden to leave room for the text, until the learner asks for it.
#[test]
fn the_outline_folds_away_beside_figures() {
    let mut script = Script::in_new_folder();
    script.event(Event::Resize(120, 40));
    script.keys("enter enter n n enter");
    let id = script.started().expect("a run");
    script.finish(id);
    let places = |script: &Script| {
        let areas = super::layout::areas(&script.model, Rect::new(0, 0, 120, 40));
        let width = |area: Option<Rect>| area.map(|area| area.width);
        (
            width(areas.outline),
            width(areas.content),
            width(areas.figures),
        )
    };
    let (outline, text, figures) = places(&script);
    assert_eq!(outline, None);
    let text = super::text_area(&script.model).width.min(text.unwrap());
    assert!(text >= 60 && figures >= Some(56), "{text} {figures:?}");
    script.keys("o");
    assert!(places(&script).0.is_some(), "o brings it back");
}

/// The ends of titles tell them apart, so they go on in a second line where they have to.
#[test]
fn no_title_is_cut_in_the_outline_or_above_a_step() {
    let course = built_in();
    let words = |text: &str| -> Vec<String> {
        // Only what stands left of the divider is the outline.
        let lines = text.lines();
        let lines = lines.map(|line| line.split('│').next().unwrap_or_default());
        let words = lines.flat_map(str::split_whitespace);
        words.map(String::from).collect()
    };
    let has = |shown: &[String], title: &str, width: u16| {
        let title = words(title);
        let is_whole = shown.windows(title.len()).any(|part| part == title);
        assert!(is_whole, "{title:?} at {width} in {shown:?}");
    };
    for width in [60, 80, 120, 200] {
        let mut model = at_80x24(&course, StepRef::new("welcome", "doctor"));
        for lesson in course.lessons() {
            model.screen = FocusedScreen::Step;
            model.step.as_mut().unwrap().at = StepRef::new(&lesson.id, &lesson.steps[0].id);
            model.size = (width, 20);
            let header = drawn(&model).lines().next().unwrap_or_default().to_owned();
            assert!(header.contains(&lesson.title), "{header}");
            model.size = (width, 120);
            model.screen = FocusedScreen::Outline;
            model.outline.select(&course, &lesson.id);
            let shown = words(&drawn(&model));
            let steps = lesson.steps.iter().map(|step| &step.title);
            let lessons = course.lessons().map(|lesson| &lesson.title);
            steps
                .chain(lessons)
                .for_each(|title| has(&shown, title, width));
        }
        // Steps of several lessons stand with the title of their lesson.
        model.size = (width, 800);
        model.outline.cursor.filter = "e".into();
        let shown = words(&drawn(&model));
        for (lesson, step) in course.steps() {
            if step.title.to_lowercase().contains('e') {
                has(&shown, &format!("{} {}", step.title, lesson.title), width);
            }
        }
    }
}

#[test]
fn commands_that_differ_at_their_ends_differ_in_a_list() {
    let command = "tinyllama-tutor run v2 --num-steps 20 --flops --qkv-fusion off --flash-attention off --graph-fusion";
    let copies = ["on", "off"].map(|end| Snippet::new("the command", format!("{command} {end}")));
    for width in [60, 80, 120, 200] {
        let mut script = Script::at_first();
        script.event(Event::Resize(width, 24));
        script.model.push_overlay(Overlay::Palette(Palette {
            list: ChoiceList::Copies(copies.to_vec()),
            ..Palette::default()
        }));
        let shown = drawn(&script.model);
        // What stands left and right of the list is the screen below it.
        let list = usize::from(width - 4).min(100);
        let left = (usize::from(width) - list) / 2;
        let lines = shown.lines().flat_map(|line| {
            let line: String = line.chars().skip(left + 1).take(list - 2).collect();
            line.split_whitespace()
                .map(String::from)
                .collect::<Vec<_>>()
        });
        let flowing = lines.collect::<Vec<_>>().join(" ");
        for copied in &copies {
            assert!(flowing.contains(&copied.text), "{width}:\n{shown}");
        }
    }
}

/// A picture cannot be folded, so it has to fit the narrowest terminal.
#[test]
fn every_picture_has_room_at_60_columns() {
    let course = built_in();
    let mut model = at_80x24(&course, StepRef::new("welcome", "doctor"));
    model.size = (60, 20);
    let room = usize::from(super::text_area(&model).width);
    let mut lines = 0;
    for (lesson, step) in course.steps() {
        let pictures = step.text.split("```picture\n").skip(1);
        let pictures = pictures.filter_map(|rest| rest.split("```").next());
        for line in pictures.flat_map(str::lines) {
            lines += 1;
            let at = format!("{}/{}: {line}", lesson.id, step.id);
            assert!(line.chars().count() <= room, "{at} is wider than {room}");
        }
    }
    assert!(lines > 100, "{lines}");
}

/// A notice about an instructor's action appears while the learner types, and stays until they are done.
#[test]
fn a_notice_is_seen_while_something_is_typed() {
    let mut script = Script::in_new_folder();
    script.keys("enter enter n enter 4");
    let notice = "Teacher reset the step.";
    let reply = Reply {
        records: Vec::new(),
        unsaved: 0,
        measured: None,
        news: News::Notices(vec![notice.into()]),
    };
    script.send(Message::Session(Box::new(reply)));
    script.keys("7");
    for (width, height) in [(80, 24), (60, 20)] {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        script.event(Event::Resize(width, height));
        draw(&script.model, area, &mut buffer);
        let screen = text(&buffer);
        assert!(screen.contains(notice), "{screen}");
        assert!(screen.contains("47"), "{screen}");
    }
    script.keys("esc down");
    assert_eq!(script.notice(), "");
}

/// Several that arrive at once do not fit. The newest is whole, and the page of messages has the others.
#[test]
fn of_several_notices_at_once_the_newest_is_whole() {
    let mut script = Script::in_new_folder();
    script.event(Event::Resize(60, 20));
    let opened = |lesson| format!("Teacher opened the lesson \"{lesson}\" for you.");
    let lessons = [
        "First contact with the rocprof tools",
        "The baseline",
        "Four cases",
    ];
    let mut notices: Vec<String> = lessons.map(opened).into();
    notices.push("Message from Teacher: Well done so far.".into());
    let reply = Reply {
        records: Vec::new(),
        unsaved: 0,
        measured: None,
        news: News::Notices(notices),
    };
    script.send(Message::Session(Box::new(reply)));
    let area = Rect::new(0, 0, 60, 20);
    let mut buffer = Buffer::empty(area);
    draw(&script.model, area, &mut buffer);
    let screen = text(&buffer);
    let words: Vec<&str> = screen.split_whitespace().collect();
    let shown = "Message from Teacher: Well done so far. 3 messages came before it: press m.";
    assert!(words.join(" ").contains(shown), "{screen}");
}

/// The document of a command: its recording, or what it printed on a machine with a CPU.
fn kept_output(asked: &Step) -> Value {
    let recorded = asked.recording.as_deref().and_then(documents::find);
    let name = asked.as_command().unwrap().command.name;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/commands");
    match recorded {
        Some(document) => document.value.clone(),
        None => {
            let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
            serde_json::from_str(&text).unwrap()
        }
    }
}

/// A model at 80x24 whose open step is `at`.
fn at_80x24(course: &Arc<Course>, at: StepRef) -> Model {
    let mut model = Model::new(
        Arc::clone(course),
        Arc::default(),
        KeyMap::default(),
        Theme::default(),
    );
    assert_eq!(model.size, (80, 24));
    model.screen = FocusedScreen::Step;
    model.step = Some(StepView {
        at,
        ..StepView::default()
    });
    model
}

fn built_in() -> Arc<Course> {
    Arc::new(Course::load(&CourseSource::BuiltIn).unwrap())
}

fn screen(model: &Model) -> String {
    assert_eq!(model.size, (80, 24));
    drawn(model)
}

fn drawn(model: &Model) -> String {
    let area = Rect::new(0, 0, model.size.0, model.size.1);
    let mut buffer = Buffer::empty(area);
    draw(model, area, &mut buffer);
    text(&buffer)
}

/// The screens of a step from its first line to its last.
fn screens(model: &mut Model) -> Vec<String> {
    let mut screens = vec![screen(model)];
    while model.step.as_ref().unwrap().scroll.hidden().1 > 0 {
        scroll::text(model, PanelAction::PageDown);
        screens.push(screen(model));
    }
    screens
}

#[test]
fn a_question_about_an_output_shows_what_it_asks_about_at_80x24() {
    let course = built_in();
    let written = course.lessons().map(|lesson| {
        let path = format!("{}/{}.yaml", lesson.session, lesson.id);
        let file = CourseSource::BuiltIn.read(&path).unwrap();
        file.lines()
            .filter(|line| line.trim_start().starts_with("of: "))
            .count()
    });
    let written: usize = written.sum();
    let mut asked_about = 0;
    for (lesson, step) in course.steps() {
        let Some(quiz) = step.as_quiz() else { continue };
        let Some(of) = quiz.asked_step().cloned() else {
            continue;
        };
        asked_about += 1;
        let output = kept_output(course.step(&of.lesson, &of.step).unwrap());
        let mut model = at_80x24(&course, StepRef::new(&lesson.id, &step.id));
        model.measured = Arc::new(MeasuredRuns::with_output(of, output.clone()));
        let screens = screens(&mut model);
        let at = &step.id;
        let heading = screens.iter().find(|text| text.contains("From \""));
        assert!(
            heading.is_some(),
            "{at} does not show its output: {screens:#?}"
        );
        // The part below the heading, as far as the question goes, and no more than fits next to it.
        let document = document(&model);
        let lines = document.lines.iter().map(ToString::to_string);
        let table: Vec<_> = lines
            .skip_while(|line| !line.starts_with("From \""))
            .take_while(|line| !line.is_empty())
            .take(12)
            .filter(|line| screens.iter().any(|text| text.contains(line.trim_end())))
            .collect();
        for figure in quiz.figures() {
            for (value, unit) in figure.parts(&output) {
                let cells = match value {
                    // What a document lacks is shown as lacking.
                    None => vec!["not reported".into(), "none".into(), " -".into()],
                    Some(value) if value.as_f64() == Some(0.0) => vec!["none".into()],
                    Some(value) => vec![output::cell(&value, unit).unwrap()],
                };
                let is_shown = table
                    .iter()
                    .any(|line| cells.iter().any(|cell| line.contains(cell)));
                assert!(is_shown, "{at}: {figure} is {cells:?}, not in {table:#?}");
            }
        }
    }
    assert!(asked_about >= 14);
    assert_eq!(asked_about, written, "each `of:` is asked about");
}

#[test]
fn questions_reasons_and_guesses_show_no_markup() {
    let course = built_in();
    let mut looked_at = 0;
    for (lesson, step) in course.steps() {
        let at = StepRef::new(&lesson.id, &step.id);
        let mut model = at_80x24(&course, at.clone());
        let mut marked = vec![None];
        if let Some(Quiz::Choices(choices)) = step.as_quiz() {
            marked.extend((0..choices.len()).map(|index| {
                Some(MarkedAnswer {
                    answer: QuizAnswer::Choice(index),
                    correct: choices[index].correct,
                    because: choices[index].because.clone(),
                })
            }));
        } else if step.as_predict().is_some() {
            let mut state = SessionState::default();
            let steps = state.lessons.entry(at.lesson.clone()).or_default();
            steps.entry(at.step.clone()).or_default().prediction = Some(2.0);
            model.state = Arc::new(state);
        } else {
            continue;
        }
        for marked in marked {
            model.step.as_mut().unwrap().marked = marked;
            let shown = document(&model).lines;
            let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
            let is_raw = |line: &&String| line.contains('`') || line.contains("**");
            assert_eq!(shown.iter().find(is_raw), None, "{at}: {shown:#?}");
            looked_at += 1;
        }
    }
    assert!(looked_at > 200, "{looked_at}");
}

/// Markup may cost no words: nothing in a choice is taken for a list, a heading or a tag.
#[test]
fn every_word_of_a_choice_is_on_the_screen() {
    let course = built_in();
    for (lesson, step) in course.steps() {
        let Some(Quiz::Choices(choices)) = step.as_quiz() else {
            continue;
        };
        let model = at_80x24(&course, StepRef::new(&lesson.id, &step.id));
        let shown = document(&model).lines;
        let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
        let shown = shown.join(" ");
        let shown: Vec<&str> = shown.split_whitespace().collect();
        for choice in choices {
            let text = choice.text.replace(['`', '*'], "");
            let words: Vec<&str> = text.split_whitespace().collect();
            let is_shown = shown.windows(words.len()).any(|part| part == words);
            assert!(
                is_shown,
                "{}/{}: {words:?} in {shown:?}",
                lesson.id, step.id
            );
        }
    }
}

#[test]
fn what_doctor_found_is_read_from_its_start_with_its_status_and_nothing_else() {
    let course = built_in();
    let at = StepRef::new("welcome", "doctor");
    let output = kept_output(course.step("welcome", "doctor").unwrap());
    let mut model = at_80x24(&course, at.clone());
    model.measured = Arc::new(MeasuredRuns::with_output(at, output));
    let view = model.step.as_mut().unwrap();
    view.outcomes = vec![CheckResultText {
        check: "ready".into(),
        verdict: Verdict::Passed,
        value: None,
        required: true,
        text: "This machine can run the course.".into(),
        is_worth_rounds: false,
    }];
    view.reveal.set(Some(Reveal::News));
    let shown = screen(&model);
    let first = ["It says:", "findings", "rocm", "cuda", "vulkan"];
    assert!(first.iter().all(|words| shown.contains(words)), "{shown}");
    // What a program without a terminal sees of one says nothing about the learner's.
    let all = screens(&mut model).concat();
    assert!(all.contains("This machine can run the course."), "{all}");
    for wrong in ["is terminal", "columns", "rows"] {
        assert!(!all.contains(wrong), "{all}");
    }
}

#[test]
fn at_80_columns_the_outline_says_how_a_lesson_is_found() {
    let mut script = Script::in_new_folder();
    let shown = script.look();
    let bar = shown.lines().last().unwrap_or_default();
    insta::assert_snapshot!(bar.trim(), @"enter open  c continue  ? help  q quit  o outline  : find a command or lesson");
}
