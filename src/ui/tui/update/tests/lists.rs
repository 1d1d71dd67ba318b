//! Lists: filters, orders, panes, and the palette as a command line.

use super::*;
use crate::tui::RunPhase;
use tinyllama_tutor_core::PanelAction;

fn filtered(script: &mut Script, text: &str) {
    script.keys("/");
    script.type_text(text);
    script.keys("enter");
}

/// The first line with the text.
fn line_with(text: &str, screen: &str) -> String {
    let line = screen.lines().find(|line| line.contains(text));
    line.expect("a line with the text").trim().to_owned()
}

#[test]
fn the_outline_shows_lessons_with_a_text_until_esc() {
    let mut script = Script::in_new_folder();
    script.keys("enter");
    let all = script.look();
    assert!(all.contains("Basics"), "{all}");
    let lessons = script.model.course.lessons().skip(1);
    let title = lessons.map(|lesson| lesson.title.clone()).next().unwrap();
    filtered(&mut script, &title.to_uppercase());
    let look = script.look();
    assert!(look.contains(&title), "{look}");
    assert!(!look.contains("Basics"), "{look}");
    insta::assert_snapshot!(line_with(&title.to_uppercase(), &look), @r#"with "THE SECOND LESSON"; esc shows all"#);
    script.keys("esc");
    // The cursor stays at the top. Its row is filled to the end.
    let rows = |look: &str| {
        look.lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(rows(&script.look()), rows(&all));
    filtered(&mut script, "no lesson has this title");
    script.keys("enter down");
    let look = script.look();
    insta::assert_snapshot!(line_with("esc shows all", &look), @r#"with "no lesson has this title"; esc shows all"#);
    insta::assert_snapshot!(line_with("no step", &look), @"No lesson and no step has this text in its title.");
}

#[test]
fn the_outline_finds_a_step_of_a_lesson_whose_steps_are_not_listed() {
    let mut script = Script::with_course(Course::load(&CourseSource::BuiltIn).unwrap());
    script.keys("esc");
    filtered(&mut script, "lanes of a matrix");
    let look = script.look();
    let mut rows = look.lines();
    let row = rows.find(|row| row.contains("Lanes of a matrix instruction"));
    let row = row.unwrap_or_else(|| panic!("{look}"));
    assert!(row.contains("Inside a fast matrix product"), "{look}");
}

#[test]
fn help_says_what_the_keys_do_in_the_panel_that_is_open() {
    let mut script = Script::in_new_folder();
    script.keys("enter K");
    let panel = script.model.top_panel().unwrap();
    let (_, does) = panel
        .commands()
        .into_iter()
        .find(|(action, _)| *action == PanelAction::Select)
        .unwrap();
    script.keys("?");
    let help = drawn(&mut script, 80, 60);
    let mut rows = help.lines().filter(|line| line.contains("  enter  "));
    assert!(rows.any(|row| row.contains(does)), "{does}: {help}");
}

#[test]
fn the_outline_is_filtered_while_a_step_shows_figures() {
    let mut script = in_the_first_lesson();
    script.keys("n enter 9 enter n enter");
    let id = script.started().expect("a run");
    script.keys("o");
    filtered(&mut script, "no lesson has this title");
    insta::assert_snapshot!(line_with("no lesson", &script.look()), @r#"with "no lesson has this title"; esc shows all"#);
    script.finish(id);
}

#[test]
fn rows_of_a_panel_are_filtered_and_a_page_has_none() {
    let mut script = Script::in_new_folder();
    script.keys("enter K");
    filtered(&mut script, "attention");
    let look = script.look();
    assert!(look.contains("are hidden"), "{look}");
    assert!(!look.contains("cross_entropy"), "{look}");
    // Enter opens the kernel that is selected among those that are left.
    script.keys("enter");
    assert!(script.look().contains("attention"), "{}", script.look());
    script.keys("esc enter enter R /");
    let mut script = in_the_first_lesson();
    script
        .model
        .open(ReportPanel::new("text".into(), "a".into()));
    script.keys("/");
    insta::assert_snapshot!(script.notice());
}

#[test]
fn the_palette_runs_a_command_with_its_flags() {
    for (typed, expected) in [
        (
            "roofline v3 --config \"my small\"",
            ["roofline", "v3", "--config", "my small"].as_slice(),
        ),
        ("tinyllama-tutor run v1", &["run", "v1"]),
    ] {
        let mut script = in_the_first_lesson();
        script.model.program_commands = ["roofline", "run"].map(String::from).into();
        script.keys(":");
        script.type_text(typed);
        script.keys("enter");
        let [HandOver::Command(argv)] = &script.handler.handed_over[..] else {
            panic!("{:?}", script.handler.handed_over)
        };
        assert_eq!(argv, expected);
    }
}

#[test]
fn the_palette_finds_a_page_by_the_heading_that_texts_name() {
    let mut script = Script::with_course(Course::load(&CourseSource::BuiltIn).unwrap());
    script.open(StepRef::new("welcome", "the-model"));
    script.keys(":");
    script.type_text("what was measured");
    script.keys("enter");
    let look = script.look();
    assert!(look.contains("What was measured, and on what"), "{look}");
}

#[test]
fn up_in_the_palette_goes_back_through_what_was_chosen() {
    let mut script = in_the_first_lesson();
    let [older, newer] = ["runs so far", "outline"];
    for text in [newer, older, newer] {
        script.keys(":");
        script.type_text(text);
        script.keys("enter esc");
    }
    assert_eq!(script.model.palette_history, [older, newer]);
    script.keys(":");
    script.type_text("not chosen");
    script.keys("esc : up");
    assert!(script.look().contains(newer), "{}", script.look());
    script.keys("up");
    let look = script.look();
    assert!(look.contains(older), "{look}");
    // The text can be changed, and there is nothing above the oldest.
    script.keys("up");
    script.type_text("x");
    let look = script.look();
    assert!(look.contains(&format!("{older}x")), "{look}");
}

#[test]
fn a_pane_takes_the_whole_screen_and_gives_it_back() {
    let mut script = in_the_first_lesson();
    let both = drawn(&mut script, 120, 30);
    assert!(both.contains("Basics"), "{both}");
    script.keys("z");
    let text = drawn(&mut script, 120, 30);
    assert!(!text.contains("Basics"), "{text}");
    script.keys("o");
    let outline = drawn(&mut script, 120, 30);
    assert!(outline.contains("Basics"), "{outline}");
    script.keys("o z");
    assert_eq!(drawn(&mut script, 120, 30), both);

    // Figures next to a text, alone, and hidden.
    script.keys("n enter 9 enter n enter");
    let id = script.started().expect("a run");
    let beside = drawn(&mut script, 160, 40);
    script.keys("z");
    let alone = drawn(&mut script, 160, 40);
    assert!(
        beside.contains("Basics") && beside.contains("Overview"),
        "{beside}"
    );
    assert!(
        !alone.contains("Basics") && alone.contains("Overview"),
        "{alone}"
    );
    script.keys("esc");
    let hidden = drawn(&mut script, 160, 40);
    assert!(!hidden.contains("Overview"), "{hidden}");
    script.finish(id);
    assert!(
        script
            .model
            .runs
            .iter()
            .all(|run| run.phase != RunPhase::Queued)
    );
}
