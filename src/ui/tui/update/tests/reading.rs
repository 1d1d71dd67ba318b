//! Reading: paging, links, search, copying, long messages.

use super::*;

#[test]
fn a_search_finds_its_word_and_says_when_there_is_none() {
    let mut script = in_the_first_lesson();
    script.event(Event::Resize(60, 20));
    script.keys("/");
    script.type_text("LOSS");
    script.keys("enter");
    assert!(
        script.notice().starts_with("line 1 of 1"),
        "{}",
        script.notice()
    );
    let step = script.step().to_owned();
    script.keys("n");
    assert!(script.notice().starts_with("line 1 of 1"), "the next match");
    script.keys("N");
    assert_eq!(
        script.step(),
        step,
        "n and N mean matches while a search is on"
    );
    // The field begins empty.
    script.keys("/");
    script.type_text("absent");
    script.keys("enter");
    insta::assert_snapshot!(script.notice(), @r#""absent" is not in this step's text."#);
    script.keys("esc");
    assert_eq!(
        script.model.screen,
        FocusedScreen::Step,
        "esc ends the search"
    );
    script.keys("n");
    assert_ne!(script.step(), step, "then n is the next step again");
}

#[test]
fn the_item_under_the_cursor_is_copied_and_named() {
    let mut script = in_the_first_lesson();
    script.keys("n enter 9 enter n y");
    let mut notices = vec![script.notice().to_owned()];
    script.keys("enter");
    let id = script.started().expect("a run");
    script.finish(id);
    // There are two texts to copy, the command and the id, so the learner has to choose.
    script.keys("esc y");
    let Some(Overlay::Palette(_)) = &script.model.overlay else {
        panic!("no choice: {}", script.look());
    };
    script.keys("down enter");
    assert!(script.notice().ends_with(&format!(" run-{}", id.0)));
    notices.push(script.notice().to_owned());
    insta::assert_snapshot!(notices.join("\n"));
}

/// The first text of the course on a screen that is too small for it.
fn at_a_long_text() -> Script {
    let course = Course::load(&CourseSource::BuiltIn).unwrap();
    let mut script = Script::with_course(course);
    script.event(Event::Resize(60, 20));
    script.open(StepRef::new("welcome", "the-model"));
    script
}

fn is_read(script: &Script) -> bool {
    let state = script.handler.session.state();
    let step = state.step("welcome", "the-model");
    step.is_some_and(|step| step.status == StepStatus::Done)
}

#[test]
fn space_pages_first_and_a_text_is_done_only_once_its_end_was_seen() {
    let mut script = at_a_long_text();
    assert!(!is_read(&script), "most of it was not on the screen");
    let mut pages = 0;
    while !is_read(&script) {
        script.keys("space");
        assert_eq!(script.step(), "the-model", "it pages before it goes on");
        pages += 1;
        assert!(pages < 20);
    }
    assert!(pages >= 1, "{pages}");
    script.keys("space");
    assert_eq!(script.step(), "triage");
    script.keys("space space space space space space space space");
    assert_eq!(
        script.step(),
        "which-part-changes",
        "a question waits for its answer"
    );
    assert!(script.notice().contains("answer"), "{}", script.notice());
}

#[test]
fn links_open_pages_that_can_be_searched_and_lead_back_and_words_are_explained() {
    let mut script = at_a_long_text();
    script.keys("L");
    assert!(script.look().contains("Glossary"), "{}", script.look());
    script.keys("/");
    script.type_text("warp");
    script.keys("enter");
    assert!(
        script.notice().starts_with("line 1 of"),
        "{}",
        script.notice()
    );
    assert!(script.look().contains("warp"), "{}", script.look());
    script.keys("/ esc ? esc");
    assert!(
        script.look().contains("glossary"),
        "the page is still there: {}",
        script.look()
    );
    script.keys("esc");
    let title = &script
        .model
        .course
        .step("welcome", "the-model")
        .unwrap()
        .title
        .clone();
    assert!(script.look().contains(title));

    script.keys("w");
    let Some(Overlay::Palette(_)) = &script.model.overlay else {
        panic!("no words: {}", script.look());
    };
    script.type_text("gradient");
    script.keys("enter");
    assert!(script.look().contains("gradient."), "{}", script.look());
    script.keys("esc");
    assert!(script.model.overlay.is_none());
}

#[test]
fn a_long_message_keeps_its_end_at_80_columns() {
    let mut script = in_the_first_lesson();
    let phrase = "Something went wrong in a way that takes many words to say, and only the very last of them tell what to do \
                 about it: take another one.";
    script.send(Message::WorkDone(Err(phrase.into())));
    let screen = script.look().replace('\n', " ");
    let screen: Vec<&str> = screen.split_whitespace().collect();
    assert!(screen.join(" ").contains(phrase), "{}", script.look());
}

#[test]
fn ctrl_u_clears_what_was_typed() {
    let mut script = in_the_first_lesson();
    script.keys("n enter 1 2 3 ctrl-u 7 enter");
    assert!(script.text().contains("You guessed 7"), "{}", script.text());
}

#[test]
fn words_of_checks_are_markdown_and_a_bar_names_no_key_twice() {
    let mut script = in_the_first_lesson();
    script.open(StepRef::new("first", "baseline"));
    script.keys("enter");
    let id = script.started().expect("a run");
    script.finish(id);
    let step = script.model.course.step("first", "baseline").unwrap();
    let not_yet = step.checks[1].not_yet.clone();
    let said = unwrapped(&script);
    assert!(
        not_yet.contains('*') && said.contains(&not_yet.replace('*', "")),
        "{said}"
    );
    script.open(StepRef::new("first", "thoughts"));
    let screen = script.look();
    let bar = screen.lines().last().expect("a bar");
    assert_eq!(bar.matches("enter").count(), 1, "{bar}");
    // A word that does not fit moves to the next line as a whole.
    script.keys("enter");
    script.type_text(&"word ".repeat(30));
    let screen = script.look().replace("own words", "");
    assert_eq!(screen.matches("word").count(), 30, "{screen}");
}

#[test]
fn enter_reads_on_before_it_goes_on() {
    let mut script = at_a_long_text();
    let mut pages = 0;
    while !is_read(&script) {
        insta::allow_duplicates! {
            insta::assert_snapshot!(
                script.look().lines().last().unwrap().trim(),
                @"enter read on  L links  ? help  w words  n next  p back"
            );
        }
        script.keys("enter");
        assert_eq!(script.step(), "the-model", "it pages before it goes on");
        pages += 1;
        assert!(pages < 20);
    }
    assert!(pages >= 1, "{pages}");
    script.keys("enter");
    assert_eq!(script.step(), "triage");
}
